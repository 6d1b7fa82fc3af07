package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

const (
	postgresConns = 8
	// postgresLock is the advisory lock that one of several operators migrates under.
	postgresLock = 0x617373_61795f68 // "assay_h"
	// uniqueViolation is the SQLSTATE of a row with a key that is there.
	uniqueViolation = "23505"
)

// postgresWords: keys compare by bytes, as in SQLite, and so does their index,
// whatever the database's locale is and becomes.
var postgresWords = strings.NewReplacer(
	"{{id}}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
	"{{key}}", `TEXT COLLATE "C"`,
	"{{bytes}}", "BYTEA",
)

func openPostgres(ctx context.Context, dsn string) (*engine, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, badURL(dsn, err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "assay"
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(alongIndexes))
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns / 2)
	db.SetConnMaxLifetime(time.Hour)

	e := postgresEngine(db)
	if err = db.PingContext(ctx); err == nil {
		err = migratePostgres(ctx, db)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return e, nil
}

// alongIndexes keeps pages from being sorted. Of a new run the server has no
// statistics and takes it for a few rows; it would rather read and sort them all
// than go along the index, which every order that a page has is there for. What
// has to be sorted then counts as dear, which must not have it compiled.
func alongIndexes(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET enable_sort = off; SET jit = off`)
	return err
}

// badURL says what is wrong with the URL, but nothing that may hold its password,
// which in a URL that cannot be read may be anywhere.
func badURL(dsn string, err error) error {
	want := "the PostgreSQL URL cannot be read: want postgres://user:password@host:5432/database?sslmode=verify-full, with the password's special characters percent-encoded"
	reason := errors.Unwrap(err)
	u, parse := url.Parse(dsn)
	if parse != nil || reason == nil {
		return errors.New(want)
	}
	password, _ := u.User.Password()
	for _, secret := range []string{password, u.Query().Get("password"), u.Query().Get("sslpassword")} {
		if secret != "" && (strings.Contains(reason.Error(), secret) || strings.Contains(reason.Error(), url.QueryEscape(secret))) {
			return errors.New(want)
		}
	}
	// The reason's words, not the error: its chain holds the whole URL.
	return errors.New(want + ": " + reason.Error())
}

func migratePostgres(ctx context.Context, db *sql.DB) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(postgresLock), lock.WithLockTimeout(1, 60))
	if err != nil {
		return err
	}
	return migrate(ctx, db, goose.DialectPostgres, postgresWords, goose.WithSessionLocker(locker))
}

func postgresEngine(db *sql.DB) *engine {
	return &engine{
		driver:    "postgres",
		read:      db,
		write:     db,
		text:      func(query string) string { return query },
		hasTag:    func(p string) string { return "jsonb_exists(tags::jsonb, " + p + ")" },
		oneOf:     func(p string) string { return "= ANY(" + p + "::text[])" },
		items:     postgresItems,
		list:      func(l []string) (any, error) { return l, nil },
		insert:    postgresInsert,
		duplicate: postgresDuplicate,
		shrink:    func(context.Context) error { return nil }, // autovacuum does it
		bytes: func(ctx context.Context) (n int64, err error) {
			err = db.QueryRowContext(ctx, `SELECT pg_total_relation_size('eval_runs') + pg_total_relation_size('eval_cases') + pg_total_relation_size('eval_retrieved') + pg_total_relation_size('judge_cache')`).Scan(&n)
			return n, err
		},
		explain: func(err error) error { return err }, // PostgreSQL's own words do
		close:   db.Close,
	}
}

// postgresItems looks up case by case. A new run is taken for a few rows here, too,
// and the server would read all of it and pick out the cases.
func postgresItems(columns string) string {
	return `SELECT ` + columns + ` FROM unnest($2::text[]) AS page (id), LATERAL (SELECT * FROM eval_retrieved WHERE run_id = $1 AND case_id = page.id OFFSET 0) AS r
		ORDER BY case_id, position`
}

// postgresInsert streams the rows with COPY, which takes half the time of INSERT.
func postgresInsert(ctx context.Context, tx *tx, b batch) error {
	return tx.conn.Raw(func(driver any) error {
		conn, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is no connection of pgx", driver)
		}
		_, err := conn.Conn().CopyFrom(ctx, pgx.Identifier{b.table}, b.names(), &rowsOf{batch: b, row: -1})
		return err
	})
}

// rowsOf reads a batch row by row, for COPY.
type rowsOf struct {
	batch
	row    int
	values []any
}

// Next implements pgx.CopyFromSource.
func (r *rowsOf) Next() bool { r.row++; return r.row < r.rows }

// Values implements pgx.CopyFromSource.
func (r *rowsOf) Values() ([]any, error) {
	r.values = r.appendRow(r.values[:0], r.row)
	return r.values, nil
}

// Err implements pgx.CopyFromSource.
func (*rowsOf) Err() error { return nil }

func postgresDuplicate(err error) bool {
	said, ok := errors.AsType[*pgconn.PgError](err)
	return ok && said.Code == uniqueViolation
}
