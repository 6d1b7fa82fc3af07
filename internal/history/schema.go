package history

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaTable holds the numbers of the migrations that were made.
const schemaTable = "eval_migrations"

// NewerSchemaError is a database that a newer Assay has used.
type NewerSchemaError struct {
	// Database is the schema's version in the database, Known the highest that this
	// program knows.
	Database, Known int64
}

func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("the history database has schema version %d, this Assay knows versions up to %d: "+
		"a newer Assay has used it; run that version or a later one, or give --history another database", e.Database, e.Known)
}

// migrate brings the database to the newest schema.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, words *strings.Replacer, options ...goose.ProviderOption) error {
	provider, err := newProvider(db, dialect, words, options...)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	current, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current > known {
		return &NewerSchemaError{Database: current, Known: known}
	}
	if err := up(ctx, provider); err != nil {
		return fmt.Errorf("bring the schema from version %d to %d: %w", current, known, err)
	}
	return nil
}

func newProvider(db *sql.DB, dialect goose.Dialect, words *strings.Replacer, options ...goose.ProviderOption) (*goose.Provider, error) {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, schemaFS{folder, words}, append(options,
		goose.WithTableName(schemaTable), goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))...)
}

// up makes the migrations that are missing. Another process may be at it at the
// same time, and SQLite has no lock for all of them: the one that comes second
// fails, looks again, and finds them made.
func up(ctx context.Context, provider *goose.Provider) (err error) {
	for range 3 {
		if _, err = provider.Up(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// schemaFS shows the migrations in the words of an engine.
type schemaFS struct {
	fs.FS
	words *strings.Replacer
}

// Open implements fs.FS.
func (s schemaFS) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	defer f.Close()
	text, err := fs.ReadFile(s.FS, name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return schemaFile{bytes.NewReader([]byte(s.words.Replace(string(text)))), info}, nil
}

type schemaFile struct {
	*bytes.Reader
	info fs.FileInfo
}

// Stat implements fs.File.
func (f schemaFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (schemaFile) Close() error { return nil }
