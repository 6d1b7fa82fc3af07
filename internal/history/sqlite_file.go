package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// checkTime bounds how long a start waits for the check of the file, which reads
// all of it, some hundred megabytes a second.
const checkTime = 10 * time.Second

// corruptError is a file that is no sound database.
type corruptError struct{ found string }

func (e *corruptError) Error() string { return "the database file is corrupt: " + e.found }

// openSQLiteFile opens a database; one that is corrupt is moved aside first.
func openSQLiteFile(ctx context.Context, path string, o Options) (e *engine, movedAside string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, "", err
	}
	e, err = trySQLiteFile(ctx, path, o)
	corrupt, ok := errors.AsType[*corruptError](err)
	if !ok {
		return e, "", err
	}
	movedAside, err = moveAside(path, o.Now())
	if err != nil {
		return nil, "", fmt.Errorf("%w, and cannot be moved aside: %w", corrupt, err)
	}
	o.Logger.Error(corrupt, "the history file is corrupt: it was moved aside, and a new, empty history begins",
		"file", path, "movedTo", movedAside)
	e, err = trySQLiteFile(ctx, path, o)
	return e, movedAside, err
}

func trySQLiteFile(ctx context.Context, path string, o Options) (*engine, error) {
	empty, err := makeFile(path)
	if err != nil {
		return nil, err
	}
	e, err := connectSQLite(path, o, empty)
	if err != nil {
		return nil, err
	}
	if err = checkFile(ctx, e, checkTime); err == nil {
		err = migrateSQLite(ctx, e)
	}
	if err == nil {
		return e, nil
	}
	switch sqliteCode(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		err = &corruptError{found: err.Error()}
	default:
		err = fmt.Errorf("%s: %w", path, explainSQLite(err))
	}
	if closing := e.close(); closing != nil {
		o.Logger.Info("the history's file did not close", "file", path, "error", closing.Error())
	}
	return nil, err
}

// makeFile makes the file and its folder for the operator alone, and finds
// out whether it may write to it, in plainer words than SQLite's.
func makeFile(path string) (empty bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return false, fmt.Errorf("make the folder: %w: give the operator a volume that it may write to", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, fmt.Errorf("%w: give the operator a file that it may write to, on a volume that is not read-only", err)
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	return info.Size() == 0, nil
}

// checkFile reads the whole file where there is time for it.
func checkFile(ctx context.Context, e *engine, within time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var found string
	err := e.write.QueryRowContext(limited, `PRAGMA quick_check(1)`).Scan(&found)
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return nil
	case err != nil:
		return err
	case found != "ok":
		return &corruptError{found: found}
	}
	return nil
}

// moveAside renames the file, and its log, which may hold what can be rescued.
func moveAside(path string, now time.Time) (string, error) {
	aside := path + ".corrupt-" + now.UTC().Format("20060102T150405Z")
	for n := 2; exists(aside); n++ {
		aside = fmt.Sprintf("%s.corrupt-%s-%d", path, now.UTC().Format("20060102T150405Z"), n)
	}
	to := sqliteFiles(aside)
	for i, from := range sqliteFiles(path) {
		if err := os.Rename(from, to[i]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
