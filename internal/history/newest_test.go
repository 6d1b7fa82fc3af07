package history

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRunByName(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		older, newer, other := aRun("docs", 0), aRun("docs", 5), aRun("other", 9)
		newer.Name, other.Name = older.Name, older.Name // the first EvalRun is gone, its name used again
		elsewhere := aRun("docs", 9)
		elsewhere.Namespace, elsewhere.Name = "others", older.Name
		for _, r := range []Run{newer, older, other, elsewhere, aRun("docs", 1)} {
			put(t, s, r)
		}
		got, err := s.RunByName(t.Context(), "team", "docs", older.Name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(newer, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		for _, name := range []string{"", "docs", "docs-7", "DOCS-0", "docs-0\x00", "' OR 1=1 --"} {
			if r, err := s.RunByName(t.Context(), "team", "docs", name); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %q, %v", name, r.UID, err)
			}
		}
		if _, err := s.Prune(t.Context(), Retention{MaxAge: time.Hour, Keep: []string{older.UID}}, noon.Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.RunByName(t.Context(), "team", "docs", older.Name); err != nil || got.UID != older.UID {
			t.Errorf("once the newer one is pruned: %q, %v", got.UID, err)
		}
	})
}

func TestLastPassed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		passed := func(n int, change func(*Run)) Run {
			r := aRun("docs", n)
			r.Endpoint = ""
			change(&r)
			put(t, s, r)
			return r
		}
		want := passed(2, func(*Run) {})
		passed(1, func(*Run) {})
		passed(3, func(r *Run) { r.Verdict = "Failed" })
		passed(4, func(r *Run) { r.Verdict, r.CompletionTime = "", nil })
		passed(5, func(r *Run) { r.Full = false })
		passed(6, func(r *Run) { r.Endpoint = "canary" })
		again := passed(7, func(r *Run) { r.SuiteUID = "made-again" })
		last := passed(2, func(r *Run) { r.UID += "-x" }) // at the same time: the UID decides, as in a history
		for suite, want := range map[string]Run{want.SuiteUID: last, again.SuiteUID: again} {
			got, err := s.LastPassed(t.Context(), suite)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", suite, d)
			}
		}
		for _, suite := range []string{"", "docs", "\x00", "' OR 1=1 --"} {
			if r, err := s.LastPassed(t.Context(), suite); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %q, %v", suite, r.UID, err)
			}
		}
	})
}
