package history

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sqlite3 "modernc.org/sqlite/lib"
)

// used makes a database with a run of 100 cases and gives its path.
func used(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sub", "history.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, aRun("docs", 0), cases(0, 100)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileIsOpenedAgain(t *testing.T) {
	path := used(t)
	for _, dsn := range []string{path, "sqlite://" + path, "sqlite:" + path, "SQLite://" + path} {
		s := open(t, dsn, Options{})
		if d := cmp.Diff(cases(0, 100), allCases(t, s, aRun("docs", 0).UID, CaseQuery{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", dsn, d)
		}
		if s.MovedAside() != "" || s.Driver() != "sqlite" {
			t.Errorf("%s: moved aside to %q, driver %q", dsn, s.MovedAside(), s.Driver())
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
}

func TestAFileWithAnOddName(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a b%c&d=é", "100%.db")
	s := open(t, path, Options{})
	put(t, s, aRun("docs", 0))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	escaped := filepath.Join(folder, "e?f.db")
	open(t, "sqlite://"+folder+"/e%3Ff.db", Options{})
	if _, err := os.Stat(escaped); err != nil {
		t.Error(err)
	}
}

// A store that is killed has written what it said it had.
func TestWhatWasPutIsThereWithoutAClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	put(t, open(t, path, Options{}), aRun("docs", 0), cases(0, 10)...)
	copied := filepath.Join(t.TempDir(), "history.db")
	for i, from := range sqliteFiles(path)[:2] {
		copyFile(t, from, sqliteFiles(copied)[i])
	}
	if n := len(allCases(t, open(t, copied, Options{}), aRun("docs", 0).UID, CaseQuery{})); n != 10 {
		t.Errorf("%d of 10 cases are there", n)
	}
}

func TestACorruptFileIsMovedAside(t *testing.T) {
	page := func(n int64, text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			t.Helper()
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteAt([]byte(strings.Repeat(text, 4096/len(text))), n*4096)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, spoil := range map[string]func(t *testing.T, path string){
		"no database": page(0, "what is this?\n"),
		"the schema's page, past the header": func(t *testing.T, path string) {
			head, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			page(0, "\xff")(t, path)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteAt(head[:100], 0)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"a page of a table": page(7, "\xa5"),
		"cut off": func(t *testing.T, path string) {
			if err := os.Truncate(path, 5*4096+17); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := used(t)
			spoil(t, path)
			spoiled, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o, lines := told()
			taken := path + ".corrupt-20260314T120000Z"
			if err := os.WriteFile(taken, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, path, o)
			if want := taken + "-2"; s.MovedAside() != want {
				t.Errorf("moved aside to %q, want %q", s.MovedAside(), want)
			}
			if kept, err := os.ReadFile(s.MovedAside()); err != nil || string(kept) != string(spoiled) {
				t.Errorf("what was moved aside is not what was there: %v", err)
			}
			if len(*lines) != 1 || !strings.Contains((*lines)[0], s.MovedAside()) || !strings.Contains((*lines)[0], `"error"=`) {
				t.Errorf("said %q", *lines)
			}
			put(t, s, aRun("docs", 0), cases(0, 3)...)
			checkSize(t, s, Size{Runs: 1, Cases: 3, Retrieved: 9})
		})
	}
}

// A file may be too large to be read whole at every start.
func TestTheCheckOfAFileHasABound(t *testing.T) {
	s := open(t, used(t), Options{})
	if err := checkFile(t.Context(), s.engine, time.Nanosecond); err != nil {
		t.Errorf("out of time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkFile(ctx, s.engine, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestAnEmptyFileIsANewDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, Options{})
	put(t, s, aRun("docs", 0))
	if s.MovedAside() != "" {
		t.Errorf("moved aside to %q", s.MovedAside())
	}
}

func TestADiskThatCannotBeWritten(t *testing.T) {
	folder := sharedFolder(t)
	path := filepath.Join(folder, "history.db")
	s := open(t, path, Options{})
	put(t, s, aRun("docs", 0))
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a file that is read-only":    path,
		"a folder that is read-only":  filepath.Join(folder, "new.db"),
		"a folder to make in it":      filepath.Join(folder, "sub", "new.db"),
		"a folder":                    folder,
		"a file below a file":         filepath.Join(path, "new.db"),
		"a file system of the kernel": "/proc/assay/history.db",
	} {
		said := openUnprivileged(t, path)
		if !strings.Contains(said, filepath.Dir(path)) || !strings.Contains(said, "give the operator a") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// The file may be written, but its log cannot be made beside it.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(sharedFolder(t), "history.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // that is the case under test
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if said := openUnprivileged(t, path); !strings.Contains(said, path) || !strings.Contains(said, "give the operator a") {
		t.Errorf("%q", said)
	}
}

func TestADiskThatTurnsReadOnly(t *testing.T) {
	s := open(t, used(t), Options{})
	execute(t, s.write, `PRAGMA query_only = 1`)
	err := s.PutCases(t.Context(), aRun("docs", 0).UID, cases(0, 1))
	if sqliteCode(err) != sqlite3.SQLITE_READONLY || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("%v", err)
	}
	execute(t, s.write, `PRAGMA query_only = 0`)
	put(t, s, aRun("docs", 0), cases(0, 1)...)
}

// The operator's image has no /tmp, and its root file system cannot be written.
func TestNoTemporaryFiles(t *testing.T) {
	s := open(t, used(t), Options{})
	for name, db := range map[string]*sql.DB{"writing": s.write, "reading": s.read} {
		var kept int
		if err := db.QueryRowContext(t.Context(), `PRAGMA temp_store`).Scan(&kept); err != nil {
			t.Fatal(err)
		}
		if kept != 2 {
			t.Errorf("%s: temp_store is %d, want 2 (memory)", name, kept)
		}
	}
}

func execute(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestADiskThatIsFull(t *testing.T) {
	s := open(t, used(t), Options{})
	var pages int
	if err := s.write.QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	execute(t, s.write, `PRAGMA max_page_count = 100`)
	r := aRun("docs", 0)
	err := s.PutCases(t.Context(), r.UID, cases(0, 5000))
	if sqliteCode(err) != sqlite3.SQLITE_FULL || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(cases(0, 100), allCases(t, s, r.UID, CaseQuery{Limit: 1000})); d != "" {
		t.Errorf("what was there (-want +got):\n%s", d)
	}
	execute(t, s.write, `PRAGMA max_page_count = 1000000`)
	put(t, s, r, cases(0, 5000)...)
	checkSize(t, s, Size{Runs: 1, Cases: 5000, Retrieved: 15000})
}

func TestADatabaseThatIsLocked(t *testing.T) {
	path := used(t)
	s := open(t, path, Options{BusyTimeout: time.Millisecond})
	other, err := sql.Open("sqlite", sqliteURI(url.URL{Path: path}, Options{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := aRun("docs", 0)
	err = s.PutCases(t.Context(), r.UID, cases(0, 1))
	if sqliteCode(err) != sqlite3.SQLITE_BUSY || !strings.Contains(err.Error(), "locked by another process") {
		t.Errorf("put: %v", err)
	}
	if n := len(allCases(t, s, r.UID, CaseQuery{Limit: 1000})); n != 100 {
		t.Errorf("a reader sees %d of 100 cases", n)
	}

	patient := open(t, path, Options{BusyTimeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- patient.PutCases(ctx, r.UID, cases(0, 1)) }()
	cancel() // a wait for the lock ends with its context
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled put: %v", err)
	}
	go func() { done <- patient.PutCases(t.Context(), r.UID, cases(200, 201)) }()
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("put once the lock is gone: %v", err)
	}
}

func TestPruningGivesSpaceBack(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "history.db"), Options{})
	put(t, s, aRun("docs", 0), cases(0, 5000)...)
	put(t, s, aRun("docs", 1), cases(0, 10)...)
	before, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), Retention{MaxRuns: 1}, noon); err != nil {
		t.Fatal(err)
	}
	execute(t, s.write, `PRAGMA wal_checkpoint(TRUNCATE)`)
	after, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.Bytes > before.Bytes/5 {
		t.Errorf("%d bytes before, %d after", before.Bytes, after.Bytes)
	}
}

func TestDatabasesInMemoryAreApart(t *testing.T) {
	a, b := open(t, "sqlite::memory:", Options{}), open(t, ":memory:", Options{})
	put(t, a, aRun("docs", 0))
	checkSize(t, b, Size{})
	// A connection that is dropped takes nothing with it.
	a.write.SetMaxIdleConns(-1)
	checkSize(t, a, Size{Runs: 1})
}
