package history

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compared is what a comparison gets of a case.
func compared(c Case) CompareCase {
	out := CompareCase{
		ID: c.ID, Digest: c.Digest, Tags: c.Tags, Outcome: c.Outcome, Rank: c.Rank, Called: c.Called,
		LatencySeconds: c.LatencySeconds, AnswerSeconds: c.AnswerSeconds, Metrics: c.Metrics,
	}
	for _, r := range c.Relevant {
		out.Relevant = append(out.Relevant, r.ID)
	}
	for _, r := range c.Retrieved {
		out.Retrieved = append(out.Retrieved, r.ID)
	}
	return out
}

func TestCompareCases(t *testing.T) {
	for name, n := range map[string]int{"none": 0, "one": 1, "a page": comparePage, "a page and one": comparePage + 1, "two pages": 2 * comparePage} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *Store) {
				all := cases(0, n)
				for i := range all {
					all[i].Position = n - i // by id, whatever the order of the golden set
				}
				if n > 1 {
					all[1] = Case{ID: all[1].ID, Outcome: "RetrieverTimeout"}
				}
				r := aRun("docs", 0)
				put(t, s, r, all...)
				put(t, s, aRun("docs", 1), cases(0, 3)...)
				var got []CompareCase
				err := s.CompareCases(t.Context(), r.UID, func(c CompareCase) error {
					got = append(got, c)
					return s.Ping(t.Context()) // a store with one connection has it free
				})
				if err != nil {
					t.Fatal(err)
				}
				var want []CompareCase
				for _, c := range all {
					want = append(want, compared(c))
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestCompareCasesStops(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		put(t, s, aRun("docs", 0), cases(0, 3)...)
		enough, n := errors.New("enough"), 0
		err := s.CompareCases(t.Context(), aRun("docs", 0).UID, func(CompareCase) error { n++; return enough })
		if !errors.Is(err, enough) || n != 1 {
			t.Errorf("%d cases, %v", n, err)
		}
		for _, uid := range []string{"", "no", "\x00", "' OR 1=1 --"} {
			if err := s.CompareCases(t.Context(), uid, func(CompareCase) error { return enough }); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v", uid, err)
			}
		}
	})
}
