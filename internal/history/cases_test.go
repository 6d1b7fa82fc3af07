package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
)

func TestCasesComeBackAsTheyWerePut(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		want := cases(0, 2*chunkCases+200) // three chunks, and more rows than a statement inserts
		want[7] = Case{ID: "bare", Position: 7, Outcome: "RetrieverTimeout", Message: "no answer within 2s"}
		r := aRun("docs", 0)
		put(t, s, r, want...)
		if d := cmp.Diff(want, allCases(t, s, r.UID, CaseQuery{Limit: 500})); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestCasesPages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		all := cases(0, 10)
		for i := range all { // as they end, not as they stand in the golden set; two at one place
			all[i].Position = 5 - i/2
		}
		all[3].Outcome = "RetrieverTimeout"
		all[5].ID, all[6].ID, all[7].ID = "Case-upper", "case-lower", "Case-lower"
		put(t, s, r, all...)
		put(t, s, aRun("docs", 1), cases(20, 30)...)
		want := slices.SortedFunc(slices.Values(all), func(a, b Case) int {
			return slices.Compare([]string{fmt.Sprint(a.Position), a.ID}, []string{fmt.Sprint(b.Position), b.ID})
		})

		for name, c := range map[string]struct {
			q    CaseQuery
			take func(Case) bool
		}{
			"all":             {CaseQuery{}, func(Case) bool { return true }},
			"tag":             {CaseQuery{Tag: "mod-1"}, func(c Case) bool { return slices.Contains(c.Tags, "mod-1") }},
			"outcome":         {CaseQuery{Outcome: "RetrieverTimeout"}, func(c Case) bool { return c.Outcome == "RetrieverTimeout" }},
			"tag and outcome": {CaseQuery{Tag: "mod-1", Outcome: "Scored"}, func(c Case) bool { return slices.Contains(c.Tags, "mod-1") && c.Outcome == "Scored" }},
			"part of a tag":   {CaseQuery{Tag: "mod"}, func(Case) bool { return false }},
			"tag in capitals": {CaseQuery{Tag: "ALL"}, func(Case) bool { return false }},
			"quotes":          {CaseQuery{Tag: `a","b`, Outcome: `'`}, func(Case) bool { return false }},
			"NUL":             {CaseQuery{Tag: "\x00", Outcome: "\x00"}, func(Case) bool { return false }},
		} {
			for _, limit := range []int{1, 2, 3, 10, 0} {
				c.q.Limit = limit
				var wanted []string
				for _, w := range want {
					if c.take(w) {
						wanted = append(wanted, w.ID)
					}
				}
				got := allCases(t, s, r.UID, c.q)
				if d := cmp.Diff(wanted, ids(got)); d != "" {
					t.Errorf("%s, limit %d (-want +got):\n%s", name, limit, d)
				}
				for _, g := range got {
					if len(g.Retrieved) != 3 {
						t.Errorf("%s, limit %d: %s has %d items", name, limit, g.ID, len(g.Retrieved))
					}
				}
			}
		}
	})
}

func TestALongPageIsCut(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		long := cases(0, 5)
		for i := range long {
			long[i].Retrieved = []Retrieved{{Rank: 1, ID: "doc", Text: strings.Repeat("문", pageBytes/12+1)}} // a quarter of a page
		}
		long[1].Retrieved[0].Text, long[1].Answer.Contexts = "", []string{long[1].Retrieved[0].Text}
		long[2].Retrieved[0].Text, long[2].Answer.Text = "", long[2].Retrieved[0].Text
		long[3].Retrieved[0].Text, long[3].ReferenceAnswer = "", long[3].Retrieved[0].Text
		long[4].Retrieved[0].Text = strings.Repeat("x", pageBytes+1)
		put(t, s, r, long...)
		first, err := s.Cases(t.Context(), r.UID, CaseQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(first.Cases); n != 3 || first.Next == "" {
			t.Errorf("the first page has %d cases, next %q", n, first.Next)
		}
		if d := cmp.Diff(long, allCases(t, s, r.UID, CaseQuery{})); d != "" {
			t.Error("the pages do not add up to what was put")
		}
	})
}

func TestPuttingCasesAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		put(t, s, r, cases(0, 5)...)
		again := aCase(3)
		again.Outcome, again.Retrieved = "RetrieverError", again.Retrieved[:1]
		twice := aCase(6)
		twice.Message = "the first time"
		for range 2 {
			if err := s.PutCases(t.Context(), r.UID, []Case{again, aCase(5), twice, aCase(6)}); err != nil {
				t.Fatal(err)
			}
		}
		want := cases(0, 7)
		want[3] = again
		if d := cmp.Diff(want, allCases(t, s, r.UID, CaseQuery{})); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		checkSize(t, s, Size{Runs: 1, Cases: 7, Retrieved: 19})
		if err := s.PutCases(t.Context(), r.UID, nil); err != nil {
			t.Errorf("no cases: %v", err)
		}
	})
}

// checkSize compares with what is wanted and with what is there.
func checkSize(t *testing.T, s *Store, want Size) {
	t.Helper()
	got, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes <= 0 {
		t.Errorf("the store has %d bytes", got.Bytes)
	}
	got.Bytes = 0
	if got != want {
		t.Errorf("size is %+v, want %+v", got, want)
	}
	there := Size{Runs: rows(t, s, "eval_runs"), Cases: rows(t, s, "eval_cases"), Retrieved: rows(t, s, "eval_retrieved")}
	if got != there {
		t.Errorf("size is %+v, the tables have %+v", got, there)
	}
}

func TestCheckpoint(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		put(t, s, r, cases(0, 700)...)
		put(t, s, aRun("docs", 1), cases(1000, 1001)...)
		want := map[string]Case{}
		for _, c := range cases(0, 700) {
			c.Question, c.Tags, c.Relevant, c.Retrieved, c.Answer = "", nil, nil, nil, &Answer{}
			c.History, c.ReferenceAnswer, c.Unanswerable = nil, "", false
			want[c.ID] = c
		}
		failed := Case{ID: "failed", Digest: "sha256:c", Outcome: "AnswerTimeout", Called: true, LatencySeconds: 0.1, AnswerSeconds: ptr(60.0)}
		put(t, s, r, failed)
		want["failed"] = failed
		got, err := s.Checkpoint(t.Context(), r.UID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestCasesWithWhatNoDatabaseTakes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		c := aCase(0)
		c.Question, c.Message, c.Tags = "a\x00b\xff", "\x00", []string{"t\x00"}
		c.History, c.ReferenceAnswer = []golden.Turn{{Role: "\x00", Content: "\xff"}}, "r\x00"
		c.Metrics = map[string]float64{"nan": math.NaN(), "inf": math.Inf(-1), "ok": math.MaxFloat64, "n\x00": 5e-324}
		c.LatencySeconds = math.NaN()
		c.Relevant = []Relevant{{ID: "r\x00", Grade: math.Inf(1)}}
		c.Answer, c.AnswerSeconds = &Answer{Text: "a\x00\xff", Contexts: []string{"\x00"}}, ptr(math.Inf(1))
		c.Verdict, c.Relevance = &judge.Verdict{Reason: "\xff"}, &judge.Relevance{Scores: []int{-1}, Average: math.NaN(), Reasoning: "\x00"}
		c.Retrieved = []Retrieved{{Rank: 1, ID: "\xff", Score: ptr(math.NaN()), Text: "x\x00y"}, {Rank: 2, ID: "", Score: ptr(math.SmallestNonzeroFloat64), Text: `{"nul":"\u0000"}`}}
		put(t, s, r, c)
		c.Question, c.Message, c.Tags = "a\uFFFDb\uFFFD", "\uFFFD", []string{"t\uFFFD"}
		c.History, c.ReferenceAnswer = []golden.Turn{{Role: "\uFFFD", Content: "\uFFFD"}}, "r\uFFFD"
		c.Metrics = map[string]float64{"ok": math.MaxFloat64, "n\uFFFD": 5e-324}
		c.LatencySeconds = 0
		c.Relevant = []Relevant{{ID: "r\uFFFD"}}
		c.Answer, c.AnswerSeconds = &Answer{Text: "a\uFFFD\uFFFD", Contexts: []string{"\uFFFD"}}, nil
		c.Verdict, c.Relevance = &judge.Verdict{Reason: "\uFFFD"}, &judge.Relevance{Scores: []int{-1}, Reasoning: "\uFFFD"}
		c.Retrieved[0] = Retrieved{Rank: 1, ID: "\uFFFD", Text: "x\uFFFDy"}
		for _, q := range []CaseQuery{{}, {Tag: "t\x00"}} {
			if d := cmp.Diff([]Case{c}, allCases(t, s, r.UID, q)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		}
	})
}

func TestCaseIDs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		put(t, s, r)
		noise := make([]byte, 0, maxKey) // what no index can compress
		for i := range maxKey {
			noise = append(noise, byte('!'+(i*i*7919+i/3)%90))
		}
		for name, c := range map[string]struct {
			id string
			ok bool
		}{"empty": {"", false}, "longest": {string(noise), true}, "too long": {string(noise) + "x", false}, "Korean": {"질문-1", true}} {
			x := aCase(0)
			x.ID = c.id
			err := s.PutCases(t.Context(), r.UID, []Case{aCase(9), x})
			if c.ok && err != nil || !c.ok && !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// The texts are gone; what was made of them stays.
func TestCasesWithoutContent(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		bare, silent, unasked := aCase(0), aCase(1), aCase(2)
		bare.Answer, bare.Retrieved[0].Text, bare.Retrieved[1].Text = &Answer{}, "", ""
		silent.Answer = &Answer{Contexts: []string{""}}
		silent.Verdict, silent.Relevance, silent.Usage = &judge.Verdict{Grounded: true, Abstained: true}, nil, judge.Usage{}
		unasked.Answer, unasked.AnswerSeconds, unasked.Verdict, unasked.Relevance, unasked.Usage = nil, nil, nil, nil, judge.Usage{}
		put(t, s, r, bare, silent, unasked)
		if d := cmp.Diff([]Case{bare, silent, unasked}, allCases(t, s, r.UID, CaseQuery{})); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestHugeText(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		c := aCase(0)
		c.Retrieved[0].Text = strings.Repeat("긴 글 ", 1<<20) // 8 MiB
		put(t, s, r, c, aCase(1))
		got := allCases(t, s, r.UID, CaseQuery{})
		if len(got) != 2 || got[0].Retrieved[0].Text != c.Retrieved[0].Text || got[1].Retrieved[0].Text != "first" {
			t.Error("the text did not come back as it was put")
		}
	})
}

// fadingContext is canceled when it is asked the n-th time whether it is.
type fadingContext struct {
	context.Context
	left   atomic.Int64
	cancel context.CancelFunc
}

func (c *fadingContext) Done() <-chan struct{} {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Done()
}

func TestABatchIsWrittenAltogetherOrNotAtAll(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		r := aRun("docs", 0)
		put(t, s, r, cases(0, 3)...)
		canceled := 0
		for n := 1; n < 200; n += 3 {
			ctx, cancel := context.WithCancel(t.Context())
			fading := &fadingContext{Context: ctx, cancel: cancel}
			fading.left.Store(int64(n))
			err := s.PutCases(fading, r.UID, cases(0, chunkCases+100))
			cancel()
			size, sizeErr := s.Size(t.Context())
			if sizeErr != nil {
				t.Fatal(sizeErr)
			}
			switch {
			case err == nil:
				if canceled == 0 {
					t.Error("no batch was canceled")
				}
				checkSize(t, s, Size{Runs: 1, Cases: chunkCases + 100, Retrieved: 3 * (chunkCases + 100)})
				return
			case !errors.Is(err, context.Canceled):
				t.Errorf("canceled at %d: %v", n, err)
			case size.Cases == chunkCases+100: // canceled while it was committed: nobody can know
			case size.Cases != 3:
				t.Fatalf("canceled at %d: %d cases are there, want 3", n, size.Cases)
			}
			canceled++
		}
		if canceled < 3 {
			t.Errorf("%d batches were canceled", canceled)
		}
	})
}

func TestManyWriters(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		var wg sync.WaitGroup
		for run := range 4 {
			r := aRun("docs", run)
			put(t, s, r)
			for worker := range 4 {
				wg.Go(func() {
					for i := range 5 {
						// Half of a batch is another worker's, too.
						from := worker*50 + i*20
						if err := s.PutCases(t.Context(), r.UID, cases(from, from+40)); err != nil {
							t.Error(err)
						}
						if _, err := s.Cases(t.Context(), r.UID, CaseQuery{}); err != nil {
							t.Error(err)
						}
						if err := s.PutRun(t.Context(), r); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		for run := range 4 {
			if d := cmp.Diff(cases(0, 270), allCases(t, s, aRun("docs", run).UID, CaseQuery{Limit: 1000})); d != "" {
				t.Errorf("run %d (-want +got):\n%s", run, d)
			}
		}
		checkSize(t, s, Size{Runs: 4, Cases: 4 * 270, Retrieved: 4 * 270 * 3})
	})
}
