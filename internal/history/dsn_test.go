package history

import (
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/history/historytest"
)

func TestStoresThatCannotBeOpened(t *testing.T) {
	for dsn, want := range map[string]string{
		"":                                     "no file is named",
		"sqlite://":                            "no file is named",
		"sqlite:///tmp/a\x00.db":               "NUL",
		"sqlite:///tmp/a.db?mode=ro":           "no parameters",
		"mysql://u:s3cr3t@host/db":             `"mysql" is no kind of store`,
		"postgres://u:s3cr3t@host:99999999/db": "postgres://user:password@host:5432/database",
		"postgres://u:s3cr3t%zz@host/db":       "percent-encoded",
		"postgres://u:s3cr3t@ho st/db":         "percent-encoded",
		"postgres://u:s3cr3t/x@host/db":        "postgres://user:password@host:5432/database",
		"postgres://u@host/db?password=s3cr3t&sslmode=s3cr3t":            "postgres://user:password@host:5432/database",
		"postgres://u:s3cr3t@host/db?sslmode=whatever":                   "sslmode",
		"postgres://u:s3cr3t@/db?host=/nowhere":                          "/nowhere",
		"postgresql://u:s3cr3t@/db?host=/nowhere&connect_timeout=s3cr3t": "postgres://user:password@host:5432/database",
	} {
		s, err := Open(t.Context(), dsn, Options{})
		if err == nil {
			t.Errorf("%q was opened", dsn)
			_ = s.Close()
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

func TestAServerThatRefuses(t *testing.T) {
	good := historytest.Postgres(t)
	bad := strings.Replace(strings.Replace(good, "assay@", "nobody:s3cr3t@", 1), "test_", "none_", 1)
	_, err := Open(t.Context(), bad, Options{})
	if err == nil || !strings.Contains(err.Error(), "nobody") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("%v", err)
	}
}

func TestPing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Ping(t.Context()); err == nil {
			t.Error("a closed store answers")
		}
		if err := s.PutRun(t.Context(), aRun("docs", 0)); err == nil {
			t.Error("a closed store takes a run")
		}
	})
}
