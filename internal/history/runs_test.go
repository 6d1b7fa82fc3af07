package history

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestARunComesBackAsItWasPut(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		r.CompletionTime, r.Verdict, r.HitRate, r.MRR, r.Document = nil, "", nil, nil, nil
		put(t, s, r, aCase(1))
		got, err := s.Run(t.Context(), r.UID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, got); d != "" {
			t.Errorf("at the start (-want +got):\n%s", d)
		}

		r = aRun("docs", 0)
		r.StartTime = r.StartTime.Add(123456 * time.Microsecond).In(time.FixedZone("KST", 9*60*60))
		put(t, s, r)
		got, err = s.Run(t.Context(), r.UID)
		if err != nil {
			t.Fatal(err)
		}
		r.StartTime = r.StartTime.UTC()
		if d := cmp.Diff(r, got); d != "" {
			t.Errorf("at the end (-want +got):\n%s", d)
		}
		if n := len(allCases(t, s, r.UID, CaseQuery{})); n != 1 {
			t.Errorf("the end of the run left %d of 1 cases", n)
		}
	})
}

func TestARunThatIsNotThere(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		for _, uid := range []string{"", "no", "a\x00b", "\xff", strings.Repeat("x", 1<<20), "' OR 1=1 --"} {
			if _, err := s.Run(t.Context(), uid); !errors.Is(err, ErrNotFound) {
				t.Errorf("Run(%.20q): %v", uid, err)
			}
			if _, err := s.Cases(t.Context(), uid, CaseQuery{}); !errors.Is(err, ErrNotFound) {
				t.Errorf("Cases(%.20q): %v", uid, err)
			}
			if err := s.PutCases(t.Context(), uid, cases(0, 1)); !errors.Is(err, ErrNotFound) {
				t.Errorf("PutCases(%.20q): %v", uid, err)
			}
			if got, err := s.Checkpoint(t.Context(), uid); err != nil || len(got) != 0 {
				t.Errorf("Checkpoint(%.20q): %v, %v", uid, got, err)
			}
			if page, err := s.Runs(t.Context(), uid, uid, RunQuery{}); err != nil || len(page.Runs) != 0 || page.Next != "" {
				t.Errorf("Runs(%.20q): %v, %v", uid, page, err)
			}
		}
	})
}

func TestRunsThatCannotBeStored(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		for name, spoil := range map[string]func(*Run){
			"no UID":            func(r *Run) { r.UID = "" },
			"a broken document": func(r *Run) { r.Document = []byte(`{"a":`) },
		} {
			r := aRun("docs", 0)
			spoil(&r)
			if err := s.PutRun(t.Context(), r); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestNumbersAndTextsThatNoDatabaseTakes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		r.HitRate, r.MRR, r.Message, r.Document = ptr(math.NaN()), ptr(math.Inf(1)), "a\x00b\xffc", []byte(`{"nul":"\u0000"}`)
		put(t, s, r)
		got, err := s.Run(t.Context(), r.UID)
		if err != nil {
			t.Fatal(err)
		}
		r.HitRate, r.MRR, r.Message = nil, nil, "a\uFFFDb\uFFFDc"
		if d := cmp.Diff(r, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestAStartThatIsMissingIsNow(t *testing.T) {
	o, _ := told()
	s := open(t, "sqlite::memory:", o)
	r := aRun("docs", 0)
	r.StartTime = time.Time{}
	put(t, s, r)
	if got, err := s.Run(t.Context(), r.UID); err != nil || !got.StartTime.Equal(noon) {
		t.Errorf("started %v, %v", got.StartTime, err)
	}
}

func TestHistoryPages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		var want []string
		for n := range 7 {
			r := aRun("docs", n/2) // two start at the same time: the UID decides, by its bytes
			r.UID = fmt.Sprintf("uid-%c%d", "Aa"[n%2], n/2)
			put(t, s, r)
			want = append(want, r.UID)
			put(t, s, aRun("other", n))
		}
		other := aRun("docs", 9)
		other.Namespace = "others"
		put(t, s, other)
		slices.Reverse(want)

		for _, limit := range []int{1, 2, 3, 6, 7, 8, 0, -1, 1e9} {
			var got []string
			q := RunQuery{Limit: limit}
			for {
				page, err := s.Runs(t.Context(), "team", "docs", q)
				if err != nil {
					t.Fatal(err)
				}
				if limit > 0 && len(page.Runs) > limit {
					t.Errorf("limit %d: %d runs", limit, len(page.Runs))
				}
				got = append(got, uids(page.Runs)...)
				if page.Next == "" {
					break
				}
				q.Before = page.Next
				if len(got) == 3 { // a new run does not shift the pages
					late := aRun("docs", 100)
					put(t, s, late)
				}
			}
			got = slices.DeleteFunc(got, func(uid string) bool { return strings.HasPrefix(uid, "uid-docs") })
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, d)
			}
		}
	})
}

func TestAPageHasABound(t *testing.T) {
	for asked, want := range map[int]int{-1: DefaultLimit, 0: DefaultLimit, 1: 1, MaxLimit: MaxLimit, MaxLimit + 1: MaxLimit, 1e9: MaxLimit} {
		if got := limit(asked); got != want {
			t.Errorf("limit(%d) = %d, want %d", asked, got, want)
		}
	}
}

func TestCursorsThatWereMadeUp(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		for n := range 3 {
			put(t, s, aRun("docs", n), cases(0, 3)...)
			put(t, s, aRun("other", n), cases(0, 3)...)
		}
		uid := aRun("docs", 0).UID
		runs, err := s.Runs(t.Context(), "team", "other", RunQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.Cases(t.Context(), uid, CaseQuery{Limit: 1, Tag: "all"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []string{"x", "AAAA", "AAAAAAA", "1", "-1", "\x00", "' OR 1=1", strings.Repeat("A", 1<<16), uid, runs.Next, page.Next, page.Next + "A", page.Next[1:]} {
			_, err := s.Runs(t.Context(), "team", "docs", RunQuery{Before: c})
			if bad, ok := errors.AsType[*BadCursorError](err); !ok || bad.Cursor != c {
				t.Errorf("Runs before %.20q: %v", c, err)
			}
			_, err = s.Cases(t.Context(), uid, CaseQuery{After: c})
			if _, ok := errors.AsType[*BadCursorError](err); !ok {
				t.Errorf("Cases after %.20q: %v", c, err)
			}
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("AAAA", int64(0), "id")
	f.Add(cursor{order: -5, id: "a\x00b"}.encode("scope"), int64(math.MinInt64), "")
	f.Fuzz(func(t *testing.T, text string, order int64, id string) {
		if c, err := decodeCursor(text, "scope"); err == nil && c.encode("scope") != text {
			t.Errorf("%q was taken for %v, which is written %q", text, c, c.encode("scope"))
		}
		want := cursor{order: order, id: id}
		if got, err := decodeCursor(want.encode("scope"), "scope"); err != nil || got != want {
			t.Errorf("%v came back as %v, %v", want, got, err)
		}
		if _, err := decodeCursor(want.encode("scope"), "other"); err == nil {
			t.Errorf("%v was taken in another list", want)
		}
	})
}
