package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// engine is a database and what it does in its own way. Queries are written
// with $1; what differs in them stands here.
type engine struct {
	driver string
	// read and write are one pool in PostgreSQL. SQLite writes on one connection.
	read, write *sql.DB
	// text of a query as the engine wants it.
	text func(query string) string
	// forUpdate locks the rows that a query finds.
	forUpdate string
	// hasTag finds a parameter in eval_cases.tags, oneOf in a list.
	hasTag, oneOf func(parameter string) string
	// list is the parameter of oneOf.
	list func([]string) (any, error)
	// insert writes a batch of rows.
	insert func(context.Context, *sql.Tx, batch) error
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
	// kind is the type in PostgreSQL; array the values as one parameter of it.
	kind  string
	array any
	at    func(row int) any
}

func col[T any](name, kind string, values []T) column {
	return column{name: name, kind: kind, array: values, at: func(row int) any { return values[row] }}
}

// names lists the columns.
func (b batch) names() string {
	names := make([]string, len(b.columns))
	for i, c := range b.columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// inTx runs f in a transaction that holds altogether or not at all.
func (e *engine) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := e.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the first error is the one to tell
		return err
	}
	return tx.Commit()
}
