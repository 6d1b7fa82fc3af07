package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// engine is a database and what it does in its own way. Queries are written
// with $1; what differs in them stands here.
type engine struct {
	driver string
	// read and write are one pool in PostgreSQL. SQLite writes on one connection.
	read, write *sql.DB
	// text of a query as the engine wants it.
	text func(query string) string
	// hasTag finds a parameter in eval_cases.tags, oneOf in a list.
	hasTag, oneOf func(parameter string) string
	// items is the query for columns of the lists of some cases: of run $1, whose ids
	// are the list $2.
	items func(columns string) string
	// list is the parameter of oneOf, and of items.
	list func([]string) (any, error)
	// insert writes a batch of rows, duplicate says whether it failed for a row with
	// the key of one that is there.
	insert    func(context.Context, *tx, batch) error
	duplicate func(error) bool
	// shrink gives free space back, bytes says what the database takes on disk.
	shrink func(context.Context) error
	bytes  func(context.Context) (int64, error)
	// explain says in a sentence what people can do about an error.
	explain func(error) error
	close   func() error
}

// said is an error with what people can do about it. Drivers have many words for a
// call whose context ended; here it is always the context's error.
func (e *engine) said(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return e.explain(err)
}

// batch is rows of a table, by column.
type batch struct {
	table   string
	rows    int
	columns []column
}

type column struct {
	name string
	at   func(row int) any
}

func col[T any](name string, values []T) column {
	return column{name: name, at: func(row int) any { return values[row] }}
}

// every has the same value in all rows.
func every(name string, value any) column {
	return column{name: name, at: func(int) any { return value }}
}

// orNull is a text that may be missing.
func orNull(name string, at func(row int) *string) column {
	return column{name: name, at: func(row int) any {
		if text := at(row); text != nil {
			return *text
		}
		return nil
	}}
}

func (b batch) names() []string {
	names := make([]string, len(b.columns))
	for i, c := range b.columns {
		names[i] = c.name
	}
	return names
}

// appendRow appends the values of a row.
func (b batch) appendRow(to []any, row int) []any {
	for _, c := range b.columns {
		to = append(to, c.at(row))
	}
	return to
}

// tx is a transaction, and the connection that it has for itself.
type tx struct {
	*sql.Tx
	conn *sql.Conn
}

// inTx runs f in a transaction that holds altogether or not at all.
func (e *engine) inTx(ctx context.Context, f func(*tx) error) (err error) {
	conn, err := e.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closing := conn.Close(); err == nil {
			err = closing
		}
	}()
	begun, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(&tx{begun, conn}); err != nil {
		_ = begun.Rollback() // the first error is the one to tell
		return err
	}
	return begun.Commit()
}
