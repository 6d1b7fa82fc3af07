package history

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/history/historytest"
)

// onBothAt runs a test on every kind of store, whose clock is now.
func onBothAt(t *testing.T, test func(t *testing.T, s *Store, now *time.Time)) {
	t.Helper()
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "history.db") },
		"Postgres": func(t *testing.T) string { return historytest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			test(t, open(t, dsn(t), Options{Now: func() time.Time { return now }}), &now)
		})
	}
}

// keys gives those of some that the cache has. It reads the table, for a Get
// counts as a use.
func keys(t *testing.T, s *Store) []string {
	t.Helper()
	out, err := collectStrings(t, s, `SELECT key FROM judge_cache ORDER BY key`)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheCacheKeepsWhatWasPut(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		cache := s.Cache()
		key := strings.Repeat("a", 64)
		if got, err := cache.Get(t.Context(), key); got != nil || err != nil {
			t.Errorf("before: %q, %v", got, err)
		}
		for _, value := range [][]byte{[]byte(`{"grounded":true,"reason":"근거"}`), {0, 0xff, '\''}, {}, nil, bytes.Repeat([]byte("x"), 1<<20)} {
			if err := cache.Put(t.Context(), key, value); err != nil {
				t.Fatal(err)
			}
			got, err := cache.Get(t.Context(), key)
			if err != nil || got == nil || !bytes.Equal(got, value) {
				t.Errorf("%.20q came back as %.20q, nil %t, %v", value, got, got == nil, err)
			}
		}
		if got, err := cache.Get(t.Context(), strings.ToUpper(key)); got != nil || err != nil {
			t.Errorf("another key: %.20q, %v", got, err)
		}
	})
}

// A key that would be changed could be taken for another's.
func TestKeysThatNoDatabaseTakes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		for _, key := range []string{"", "a\x00", "\xff", strings.Repeat("x", maxKey+1)} {
			if err := s.CachePut(t.Context(), key, []byte("v")); !errors.Is(err, ErrInvalid) {
				t.Errorf("put under %.20q: %v", key, err)
			}
			if got, err := s.CacheGet(t.Context(), key); got != nil || err != nil {
				t.Errorf("get of %.20q: %q, %v", key, got, err)
			}
		}
		if err := s.CachePut(t.Context(), "a\uFFFD", []byte("v")); err != nil {
			t.Error(err)
		}
	})
}

func TestVerdictsThatNobodyUsesArePruned(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		r    Retention
		want []string
	}{
		"by default, after 90 days":    {Retention{}, []string{"k1", "k2", "k3"}},
		"another age":                  {Retention{VerdictMaxAge: 30 * day}, []string{"k2", "k3"}},
		"no limit":                     {Retention{VerdictMaxAge: -1, MaxVerdicts: -1}, []string{"k0", "k1", "k2", "k3"}},
		"the two that were used last":  {Retention{VerdictMaxAge: -1, MaxVerdicts: 2}, []string{"k2", "k3"}},
		"as many as there are":         {Retention{VerdictMaxAge: -1, MaxVerdicts: 4}, []string{"k0", "k1", "k2", "k3"}},
		"both":                         {Retention{MaxVerdicts: 1}, []string{"k2"}},
		"runs are kept, verdicts less": {Retention{MaxRuns: 1, VerdictMaxAge: time.Nanosecond}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			onBothAt(t, func(t *testing.T, s *Store, now *time.Time) {
				put(t, s, aRun("docs", 0))
				for i := range 4 { // 91 days before, 61, 31 and 1
					*now = noon.Add(time.Duration(i) * 30 * day)
					if err := s.CachePut(t.Context(), fmt.Sprintf("k%d", i), []byte("v")); err != nil {
						t.Fatal(err)
					}
				}
				*now = noon.Add(90*day + 12*time.Hour)
				for _, key := range []string{"k2", "k3"} { // the latter is known to have been used today
					if got, err := s.CacheGet(t.Context(), key); err != nil || string(got) != "v" {
						t.Fatalf("%s: %q, %v", key, got, err)
					}
				}
				if _, err := s.Prune(t.Context(), c.r, noon.Add(91*day)); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, keys(t, s)); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				checkSize(t, s, Size{Runs: 1})
			})
		})
	}
}

func TestManyVerdictsArePruned(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		number := `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)`
		execute(t, s.write, number+` INSERT INTO judge_cache (key, value, created_us, used_us) SELECT 'k' || i, '', 0, i FROM n`)
		if n, err := s.pruneCache(t.Context(), Retention{VerdictMaxAge: -1, MaxVerdicts: 3}, noon); n != 2997 || err != nil {
			t.Errorf("%d are pruned, %v", n, err)
		}
		if d := cmp.Diff([]string{"k2997", "k2998", "k2999"}, keys(t, s)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// A use is written down once a day, or a run that costs no call to the judge
// would write as much as one that does.
func TestAUseIsKnownToTheDay(t *testing.T) {
	onBothAt(t, func(t *testing.T, s *Store, now *time.Time) {
		if err := s.CachePut(t.Context(), "k", []byte("v")); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			after time.Duration
			used  time.Time
		}{{23 * time.Hour, noon}, {24 * time.Hour, noon.Add(24 * time.Hour)}, {47 * time.Hour, noon.Add(24 * time.Hour)}} {
			*now = noon.Add(c.after)
			if _, err := s.CacheGet(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			var used int64
			if err := s.read.QueryRowContext(t.Context(), `SELECT used_us FROM judge_cache`).Scan(&used); err != nil {
				t.Fatal(err)
			}
			if got := time.UnixMicro(used).UTC(); !got.Equal(c.used) {
				t.Errorf("used %s after: %s is kept, want %s", c.after, got, c.used)
			}
		}
	})
}

// What was used cannot be written down on a disk that is full; it is good all the same.
func TestAVerdictFromADiskThatCannotBeWritten(t *testing.T) {
	now := noon
	s := open(t, filepath.Join(t.TempDir(), "history.db"), Options{Now: func() time.Time { return now }})
	if err := s.CachePut(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	execute(t, s.write, `PRAGMA query_only = 1`)
	now = noon.Add(48 * time.Hour)
	if got, err := s.CacheGet(t.Context(), "k"); string(got) != "v" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.CachePut(t.Context(), "k", []byte("w")); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("put: %v", err)
	}
}

func TestManyUseTheCache(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 50 {
					key := fmt.Sprintf("k%d", i)
					if err := s.CachePut(t.Context(), key, []byte(key)); err != nil {
						t.Error(err)
					}
					if got, err := s.CacheGet(t.Context(), key); err != nil || string(got) != key {
						t.Errorf("%s: %q, %v", key, got, err)
					}
				}
			})
		}
		wg.Wait()
		if n := rows(t, s, "judge_cache"); n != 50 {
			t.Errorf("%d verdicts, want 50", n)
		}
	})
}
