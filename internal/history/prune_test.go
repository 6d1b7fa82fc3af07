package history

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPrune(t *testing.T) {
	// Five runs of a suite at noon, 13:00 … 16:00, the last one still going.
	for name, c := range map[string]struct {
		r    Retention
		now  time.Time
		want []int // of suite docs, newest first
	}{
		"keep all":                      {Retention{}, noon.AddDate(9, 0, 0), []int{4, 3, 2, 1, 0}},
		"count":                         {Retention{MaxRuns: 2}, noon, []int{4, 3}},
		"count, kept ones":              {Retention{MaxRuns: 2, Keep: []string{"uid-docs-00001", "nobody"}}, noon, []int{4, 3, 1}},
		"age":                           {Retention{MaxAge: 2 * time.Hour}, noon.Add(4 * time.Hour), []int{4, 3, 2}},
		"age, one going for long":       {Retention{MaxAge: 24 * time.Hour}, noon.Add(27*time.Hour + 30*time.Minute), []int{4}},
		"age, one that never ended":     {Retention{MaxAge: time.Hour}, noon.Add(28*time.Hour + time.Microsecond), nil},
		"age, one going for some hours": {Retention{MaxAge: time.Hour}, noon.Add(20 * time.Hour), []int{4}},
		"both":                          {Retention{MaxRuns: 4, MaxAge: 2 * time.Hour}, noon.Add(5 * time.Hour), []int{4, 3}},
		"negative":                      {Retention{MaxRuns: -1, MaxAge: -1}, noon, []int{4, 3, 2, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *Store) {
				for n := range 5 {
					r := aRun("docs", n)
					if n == 4 {
						r.CompletionTime = nil
					}
					put(t, s, r, cases(0, 2)...)
				}
				other := aRun("other", 4)
				other.CompletionTime = nil
				put(t, s, other)
				deleted, err := s.Prune(t.Context(), c.r, c.now)
				if err != nil {
					t.Fatal(err)
				}
				page, err := s.Runs(t.Context(), "team", "docs", RunQuery{})
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for _, n := range c.want {
					want = append(want, aRun("docs", n).UID)
				}
				if d := cmp.Diff(want, uids(page.Runs)); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				runs := int64(6 - deleted)
				checkSize(t, s, Size{Runs: runs, Cases: 2 * int64(len(want)), Retrieved: 6 * int64(len(want))})
			})
		})
	}
}

func TestAPruneThatWasStopped(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		put(t, s, aRun("docs", 0), cases(0, 2*pruneCases+1)...)
		put(t, s, aRun("docs", 1), cases(0, 1)...)
		stopped := 0
		for n := 1; ; n++ {
			ctx, cancel := context.WithCancel(t.Context())
			fading := &fadingContext{Context: ctx, cancel: cancel}
			fading.left.Store(int64(n))
			_, err := s.Prune(fading, Retention{MaxRuns: 1}, noon)
			cancel()
			size, sizeErr := s.Size(t.Context())
			if sizeErr != nil {
				t.Fatal(sizeErr)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if size.Cases > 1 && size.Cases < 2*pruneCases+2 { // in the middle
				stopped++
				if _, err := s.Run(t.Context(), aRun("docs", 0).UID); !errors.Is(err, ErrNotFound) {
					t.Errorf("half a run can be seen: %v", err)
				}
				if err := s.PutCases(t.Context(), aRun("docs", 0).UID, cases(0, 1)); !errors.Is(err, ErrNotFound) {
					t.Errorf("half a run can be written: %v", err)
				}
			}
		}
		if stopped == 0 {
			t.Error("no prune was stopped in the middle")
		}
		page, err := s.Runs(t.Context(), "team", "docs", RunQuery{})
		if err != nil || !slices.Equal(uids(page.Runs), []string{aRun("docs", 1).UID}) {
			t.Errorf("runs %v, %v", uids(page.Runs), err)
		}
		checkSize(t, s, Size{Runs: 1, Cases: 1, Retrieved: 3})
	})
}
