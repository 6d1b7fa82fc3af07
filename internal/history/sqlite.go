package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	memory = ":memory:"
	// sqliteReaders is how many pages are read at once, beside the one writer.
	sqliteReaders = 4
	// sqliteRows is how many rows one statement inserts: more makes no difference.
	sqliteRows = 64
	// sqliteWAL is what the log is cut back to after a large batch.
	sqliteWAL = 64 << 20
)

// sqliteWords: AUTOINCREMENT gives no id twice, so that nothing written late for
// a deleted run falls to another. Texts compare by bytes anyway.
var sqliteWords = strings.NewReplacer(
	"{{id}}", "INTEGER PRIMARY KEY AUTOINCREMENT",
	"{{key}}", "TEXT",
	"{{bytes}}", "BLOB",
)

// memories numbers the databases in memory, for each to be its own.
var memories atomic.Int64

func sqliteURI(u url.URL, o Options, more url.Values) string {
	q := url.Values{
		"_busy_timeout": {fmt.Sprint(o.BusyTimeout.Milliseconds())},
		"_synchronous":  {"NORMAL"}, // a killed process loses nothing, a power cut the last moments
		"_foreign_keys": {"1"},
		"_txlock":       {"immediate"},
		"_error_rc":     {"1"},
		"_dqs":          {"0"},
		"_pragma": {
			fmt.Sprintf("journal_size_limit(%d)", sqliteWAL),
			// Batches and pages are bounded, and a container may have no folder for temporary files.
			"temp_store(memory)",
		},
		"_defensive": {"1"},
	}
	for k, v := range more {
		q[k] = v
	}
	u.Scheme, u.RawQuery = "file", q.Encode()
	return u.String()
}

// connectSQLite opens the two pools of a file. Readers take no lock that a writer
// holds, which is what the log is for; to make the file give space back bit by
// bit as runs are pruned can only be asked for while it is empty.
func connectSQLite(path string, o Options, empty bool) (*engine, error) {
	u := url.URL{Path: path}
	writing := url.Values{"_journal_mode": {"WAL"}}
	if empty {
		writing.Set("_auto_vacuum", "INCREMENTAL")
	}
	write, err := sql.Open("sqlite", sqliteURI(u, o, writing))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", sqliteURI(u, o, url.Values{"_query_only": {"1"}, "_txlock": {"deferred"}}))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(sqliteReaders)
	read.SetMaxIdleConns(sqliteReaders)
	return sqliteEngine(read, write, func(ctx context.Context) (int64, error) { return filesSize(path) },
		func() error { return errors.Join(read.Close(), write.Close()) }), nil
}

// openSQLiteMemory opens a database that lives as long as the store. All goes
// over one connection, as a shared cache has locks of its own that are not waited
// for; another one keeps the database when that one is dropped.
func openSQLiteMemory(ctx context.Context, o Options) (*engine, error) {
	uri := sqliteURI(url.URL{Opaque: fmt.Sprintf("assay-history-%d", memories.Add(1))}, o,
		url.Values{"mode": {"memory"}, "cache": {"shared"}})
	keeper, err := sql.Open("sqlite", uri)
	if err != nil {
		return nil, err
	}
	keeper.SetMaxOpenConns(1)
	keeper.SetConnMaxIdleTime(0)
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		return nil, errors.Join(err, keeper.Close())
	}
	db.SetMaxOpenConns(1)
	e := sqliteEngine(db, db, nil, func() error { return errors.Join(db.Close(), keeper.Close()) })
	e.bytes = func(ctx context.Context) (n int64, err error) {
		err = db.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&n)
		return n, err
	}
	if err = keeper.PingContext(ctx); err == nil {
		err = migrateSQLite(ctx, e)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func migrateSQLite(ctx context.Context, e *engine) error {
	return migrate(ctx, e.write, goose.DialectSQLite3, sqliteWords)
}

var dollar = regexp.MustCompile(`\$(\d+)`)

func sqliteEngine(read, write *sql.DB, bytes func(context.Context) (int64, error), closeAll func() error) *engine {
	return &engine{
		driver:    "sqlite",
		read:      read,
		write:     write,
		text:      func(query string) string { return dollar.ReplaceAllString(query, "?$1") },
		hasTag:    func(p string) string { return "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = " + p + ")" },
		oneOf:     func(p string) string { return "IN (SELECT value FROM json_each(" + p + "))" },
		items:     sqliteItems,
		list:      func(l []string) (any, error) { text, err := json.Marshal(l); return string(text), err },
		insert:    sqliteInsert,
		duplicate: sqliteDuplicate,
		shrink:    func(ctx context.Context) error { return sqliteShrink(ctx, write) },
		bytes:     bytes,
		explain:   explainSQLite,
		close:     closeAll,
	}
}

func sqliteItems(columns string) string {
	return `SELECT ` + columns + ` FROM eval_retrieved WHERE run_id = $1 AND case_id IN (SELECT value FROM json_each($2)) ORDER BY case_id, position`
}

// sqliteInsert writes many rows a statement, which takes two thirds of the time
// of one each. A statement that fails need not take its rows back, for the
// transaction is rolled back then: to be able to costs SQLite a sixth of the time.
func sqliteInsert(ctx context.Context, tx *tx, b batch) error {
	row := "(?" + strings.Repeat(", ?", len(b.columns)-1) + ")"
	text := func(rows int) string {
		return "INSERT OR FAIL INTO " + b.table + " (" + strings.Join(b.names(), ", ") + ") VALUES " + row + strings.Repeat(", "+row, rows-1)
	}
	values := make([]any, 0, sqliteRows*len(b.columns))
	rows := func(from, to int) []any {
		values = values[:0]
		for i := from; i < to; i++ {
			values = b.appendRow(values, i)
		}
		return values
	}
	full := b.rows - b.rows%sqliteRows
	if full > 0 {
		many, err := tx.PrepareContext(ctx, text(sqliteRows))
		if err != nil {
			return err
		}
		defer many.Close()
		for i := 0; i < full; i += sqliteRows {
			if _, err := many.ExecContext(ctx, rows(i, i+sqliteRows)...); err != nil {
				return err
			}
		}
	}
	if full < b.rows {
		_, err := tx.ExecContext(ctx, text(b.rows-full), rows(full, b.rows)...)
		return err
	}
	return nil
}

func sqliteDuplicate(err error) bool {
	said, ok := errors.AsType[*sqlite.Error](err)
	return ok && said.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// sqliteShrink gives free pages back, some at a time for writers to come between.
func sqliteShrink(ctx context.Context, db *sql.DB) error {
	before := int64(-1)
	for {
		var free int64
		if err := db.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&free); err != nil {
			return err
		}
		// A file that was made without auto_vacuum keeps its pages and uses them again.
		if free == 0 || free == before {
			return nil
		}
		before = free
		if _, err := db.ExecContext(ctx, `PRAGMA incremental_vacuum(1000)`); err != nil {
			return err
		}
	}
}

// filesSize is what the database and its log take.
func filesSize(path string) (int64, error) {
	var total int64
	for _, name := range sqliteFiles(path) {
		info, err := os.Stat(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

func sqliteFiles(path string) []string { return []string{path, path + "-wal", path + "-shm"} }

// sqliteCode is SQLite's primary result code; 0 for other errors.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func explainSQLite(err error) error {
	var say string
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL:
		say = "the disk is full: enlarge the volume, or keep fewer runs"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		say = "the database is locked by another process: SQLite serves one operator, several need PostgreSQL"
	case sqlite3.SQLITE_READONLY:
		say = "the database cannot be written: give the operator a volume that it may write to"
	case sqlite3.SQLITE_CANTOPEN:
		say = "the database or its log cannot be opened: give the operator a folder that it may write to"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		say = "the database file is corrupt: the next start moves it aside"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", say, err)
}
