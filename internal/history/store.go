package history

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Options of a store; the zero value will do.
type Options struct {
	// Logger is told of what people should know, such as a corrupt file.
	Logger logr.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// BusyTimeout is how long SQLite waits for another process's lock; 5 s by default.
	BusyTimeout time.Duration
}

// Store keeps the history. It may be used by several goroutines.
type Store struct {
	*engine
	now        func() time.Time
	movedAside string
}

// Open opens the database that dsn names, makes it where there is none, and
// brings its schema up to date.
//
//	sqlite:///var/lib/assay/history.db, or the bare path
//	sqlite::memory:                        gone with the store
//	postgres://user@host:5432/database     libpq's parameters and PG* variables count
//
// A SQLite file that is corrupt is renamed to <name>.corrupt-<time>, and the
// store begins anew. No error holds a password.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	s := &Store{now: o.Now}
	var err error
	switch scheme, rest := splitDSN(dsn); scheme {
	case "postgres", "postgresql":
		s.engine, err = openPostgres(ctx, dsn)
	case "sqlite":
		if rest == memory {
			s.engine, err = openSQLiteMemory(ctx, o)
			break
		}
		var path string
		if path, err = sqlitePath(rest); err == nil {
			s.engine, s.movedAside, err = openSQLiteFile(ctx, path, o)
		}
	default:
		err = fmt.Errorf("%q is no kind of store: want sqlite:///path/to/history.db or postgres://user@host/database", scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("open the history store: %w", err)
	}
	return s, nil
}

// splitDSN gives the scheme; a bare path is SQLite's.
func splitDSN(dsn string) (scheme, rest string) {
	if scheme, rest, ok := strings.Cut(dsn, "://"); ok {
		return strings.ToLower(scheme), rest
	}
	return "sqlite", strings.TrimPrefix(dsn, "sqlite:")
}

func sqlitePath(rest string) (string, error) {
	switch {
	case rest == "":
		return "", errors.New("no file is named: want sqlite:///path/to/history.db")
	case strings.ContainsRune(rest, 0):
		return "", errors.New("the file's name has a NUL byte")
	case strings.ContainsAny(rest, "?#"):
		return "", fmt.Errorf("sqlite:// takes a path and no parameters, got %q", rest)
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return rest, nil // a bare path with a percent sign
	}
	return path, nil
}

// Driver is "sqlite" or "postgres".
func (s *Store) Driver() string { return s.driver }

// MovedAside is where Open moved a corrupt database file; empty where it did not.
func (s *Store) MovedAside() string { return s.movedAside }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.read.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the history store: %w", s.said(ctx, err))
	}
	return nil
}

// Close ends the store once what is being asked of it is done.
func (s *Store) Close() error { return s.close() }

// Size is how much the store holds.
type Size struct {
	// Bytes on disk, indexes and logs included.
	Bytes                  int64
	Runs, Cases, Retrieved int64
}

// Size says how much the store holds. It counts no rows, so its cost does not
// grow with the cases.
func (s *Store) Size(ctx context.Context) (Size, error) {
	var size Size
	err := s.read.QueryRowContext(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(stored_cases), 0) AS BIGINT), CAST(COALESCE(SUM(stored_retrieved), 0) AS BIGINT) FROM eval_runs`).
		Scan(&size.Runs, &size.Cases, &size.Retrieved)
	if err == nil {
		size.Bytes, err = s.bytes(ctx)
	}
	if err != nil {
		return Size{}, fmt.Errorf("measure the history: %w", s.said(ctx, err))
	}
	return size, nil
}
