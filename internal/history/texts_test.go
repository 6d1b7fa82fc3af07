package history

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRetrievedTexts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		n := textCases + 2 // more than one question to the database
		all := cases(0, n)
		want, asked := map[string][]string{}, []string{"no-such-case", "' OR 1=1 --", "\x00"}
		for i := range all {
			for k := range all[i].Retrieved { // no two alike, and not in their own order
				all[i].Retrieved[k].Text = fmt.Sprintf("text %d of case %d 글", (k*7)%5, i)
			}
			if i%3 == 0 {
				asked = append(asked, all[i].ID)
				for _, r := range all[i].Retrieved {
					want[all[i].ID] = append(want[all[i].ID], r.Text)
				}
			}
		}
		for i := range n {
			asked = append(asked, fmt.Sprintf("filler-%d", i))
		}
		asked = append(asked, all[1].ID) // content not stored
		for k := range all[1].Retrieved {
			all[1].Retrieved[k].Text = ""
			want[all[1].ID] = append(want[all[1].ID], "")
		}
		r := aRun("docs", 0)
		put(t, s, r, all...)
		put(t, s, aRun("docs", 1), cases(0, 4)...)
		got := map[string][]string{}
		err := s.RetrievedTexts(t.Context(), r.UID, asked, func(id, text string) { got[id] = append(got[id], text) })
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestRetrievedTextsOfNoRun(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		put(t, s, aRun("docs", 0), cases(0, 3)...)
		none := func(id, _ string) { t.Errorf("a text of case %s", id) }
		for _, uid := range []string{"", "no", "\x00", "' OR 1=1 --"} {
			if err := s.RetrievedTexts(t.Context(), uid, ids(cases(0, 3)), none); !errors.Is(err, ErrNotFound) {
				t.Errorf("%q: %v", uid, err)
			}
		}
		if err := s.RetrievedTexts(t.Context(), aRun("docs", 0).UID, nil, none); err != nil {
			t.Error(err)
		}
	})
}
