package recorder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// fakeStore is a store that fails as a test says.
type fakeStore struct {
	mu      sync.Mutex
	runs    []history.Run
	cases   map[string]history.Case
	batches []int
	fail    func(cases []history.Case) error // nil cases: PutRun
}

func (f *fakeStore) PutRun(_ context.Context, run history.Run) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(nil); err != nil {
			return err
		}
	}
	f.runs = append(f.runs, run)
	return nil
}

func (f *fakeStore) PutCases(ctx context.Context, _ string, cases []history.Case) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(cases); err != nil {
			if errors.Is(err, errHang) {
				f.mu.Unlock()
				<-ctx.Done()
				f.mu.Lock()
				return ctx.Err()
			}
			return err
		}
	}
	if len(f.runs) == 0 {
		return errors.New("the run's row is not there")
	}
	f.batches = append(f.batches, len(cases))
	for _, c := range cases {
		f.cases[c.ID] = c
	}
	return nil
}

func (f *fakeStore) Checkpoint(context.Context, string) (map[string]history.Case, error) {
	return f.cases, nil
}

func (f *fakeStore) Run(context.Context, string) (history.Run, error) {
	if len(f.runs) == 0 {
		return history.Run{}, history.ErrNotFound
	}
	return f.runs[len(f.runs)-1], nil
}

var (
	errDown = errors.New("the database is down")
	errHang = errors.New("hangs")
)

func cases(n int) []golden.Case {
	list := make([]golden.Case, n)
	for i := range list {
		list[i] = golden.Case{ID: fmt.Sprintf("q%04d", i), Question: "?", Digest: "d", Relevant: []golden.Relevant{{ID: "a", Grade: 1}}, Answerable: true}
	}
	return list
}

var columns = []score.Metric{{Name: "mrr"}}

// result is a scored case with a list of one item with this text.
func result(c *golden.Case, text string) eval.CaseResult {
	return eval.CaseResult{Case: c, Outcome: eval.Scored, Rank: 1, Called: true, Values: []float64{1}, Latency: time.Second,
		CorpusVersion: "v1", Retrieved: []eval.Retrieved{{ID: "a", Relevant: true, Text: text}}}
}

func record(store *fakeStore, set []golden.Case, final *history.Run) Loss {
	r := New(store, history.Run{UID: "u", Name: "run"}, set, columns)
	r.Start()
	for i := range set {
		r.Observe(result(&set[i], "text"))
	}
	return r.Finish(final)
}

func TestEverythingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{cases: map[string]history.Case{}}
		set := cases(2*batchSize + 100)
		if loss := record(store, set, &history.Run{UID: "u", Verdict: "Passed", CorpusVersion: "v1"}); loss.Any() {
			t.Errorf("lost: %s", loss.Message())
		}
		if len(store.cases) != len(set) {
			t.Errorf("%d cases are stored, want %d", len(store.cases), len(set))
		}
		if got := store.runs[len(store.runs)-1]; got.Verdict != "Passed" {
			t.Errorf("the last row is %+v, want the final one", got)
		}
		for _, n := range store.batches {
			if n > batchSize {
				t.Errorf("a batch of %d, want at most %d", n, batchSize)
			}
		}
		want := history.Case{ID: "q0007", Digest: "d", Question: "?", Position: 7, Outcome: "Scored", Rank: 1, Called: true, LatencySeconds: 1,
			Metrics: map[string]float64{"mrr": 1}, Relevant: []history.Relevant{{ID: "a", Grade: 1}},
			Retrieved: []history.Retrieved{{Rank: 1, ID: "a", Relevant: true, Text: "text"}}}
		if diff := cmp.Diff(want, store.cases["q0007"]); diff != "" {
			t.Errorf("the row differs (-want +got):\n%s", diff)
		}
	})
}

func TestCasesAreWrittenWhileTheRunGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{cases: map[string]history.Case{}}
		set := cases(3)
		r := New(store, history.Run{UID: "u"}, set, columns)
		r.Start()
		r.Observe(result(&set[0], ""))
		<-time.After(2 * batchDelay)
		synctest.Wait()
		store.mu.Lock()
		stored, version := len(store.cases), store.runs[len(store.runs)-1].CorpusVersion
		store.mu.Unlock()
		if stored != 1 || version != "v1" {
			t.Errorf("%d cases and corpus %q are stored while the run goes, want 1 and v1", stored, version)
		}
		r.Finish(nil)
	})
}

// Every batch waits for the disk: what comes while one is written waits for others.
func TestSmallBatchesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{cases: map[string]history.Case{}}
		batches := func() []int {
			synctest.Wait()
			store.mu.Lock()
			defer store.mu.Unlock()
			return slices.Clone(store.batches)
		}
		set := cases(2*batchSize + 30)
		r := New(store, history.Run{UID: "u"}, set, columns)
		r.Start()
		<-time.After(batchDelay - time.Millisecond)
		for i := range set {
			r.Observe(result(&set[i], ""))
		}
		full := []int{batchSize, batchSize}
		if got := batches(); !slices.Equal(got, full) {
			t.Errorf("batches of %d are written at once, want %d", got, full)
		}
		<-time.After(batchDelay / 2)
		if got := batches(); !slices.Equal(got, full) {
			t.Errorf("batches of %d are written soon, want %d", got, full)
		}
		<-time.After(batchDelay / 2)
		if got, want := batches(), []int{batchSize, batchSize, 30}; !slices.Equal(got, want) {
			t.Errorf("batches of %d are written in the end, want %d", got, want)
		}
		r.Finish(nil)
	})
}

func TestAStoreThatFailsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := time.Now().Add(10 * time.Second)
		store := &fakeStore{cases: map[string]history.Case{}, fail: func([]history.Case) error {
			if time.Now().Before(up) {
				return errDown
			}
			return nil
		}}
		if loss := record(store, cases(50), &history.Run{UID: "u"}); loss.Any() {
			t.Errorf("lost though the store came back: %s", loss.Message())
		}
		if len(store.cases) != 50 {
			t.Errorf("%d cases are stored, want 50", len(store.cases))
		}
	})
}

func TestAStoreThatIsDown(t *testing.T) {
	for name, fail := range map[string]error{"fails": errDown, "hangs": errHang} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{cases: map[string]history.Case{}, fail: func(c []history.Case) error {
					if c == nil && errors.Is(fail, errHang) {
						return nil
					}
					return fail
				}}
				began := time.Now()
				loss := record(store, cases(50), &history.Run{UID: "u"})
				if loss.Cases != 50 || loss.Err == nil || !strings.Contains(loss.Message(), "50 cases could not be written") {
					t.Errorf("loss is %+v (%s), want 50 cases and why", loss, loss.Message())
				}
				if took := time.Since(began); took > finishWithin+attemptWithin {
					t.Errorf("the run waited %s for the store, want at most %s", took, finishWithin)
				}
			})
		})
	}
}

func TestARowThatNoStoreTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{cases: map[string]history.Case{}, fail: func(batch []history.Case) error {
			for _, c := range batch {
				if c.ID == "q0003" {
					return fmt.Errorf("case q0003 %w", history.ErrInvalid)
				}
			}
			return nil
		}}
		loss := record(store, cases(10), &history.Run{UID: "u"})
		if loss.Cases != 1 || loss.Run || !errors.Is(loss.Err, history.ErrInvalid) {
			t.Errorf("loss is %+v, want the one case", loss)
		}
		if len(store.cases) != 9 {
			t.Errorf("%d cases are stored, want the nine others", len(store.cases))
		}
	})
}

func TestMemoryIsBoundedWhileTheStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		store := &fakeStore{cases: map[string]history.Case{}}
		store.fail = func([]history.Case) error {
			if down {
				return errDown
			}
			return nil
		}
		set := cases(100)
		r := New(store, history.Run{UID: "u"}, set, columns)
		r.Start()
		big := strings.Repeat("x", 1<<20)
		for i := range set {
			c := result(&set[i], "")
			switch i % 3 { // every text counts
			case 0:
				c.Retrieved[0].Text = big
			case 1:
				c.Answer = &eval.AnswerResult{Text: big}
			case 2:
				c.Answer = &eval.AnswerResult{Contexts: []string{big}}
			}
			r.Observe(c)
		}
		store.mu.Lock()
		down = false
		store.mu.Unlock()
		loss := r.Finish(&history.Run{UID: "u"})
		if loss.Cases < 60 || loss.Cases+len(store.cases) != 100 {
			t.Errorf("%d cases lost and %d stored, want 100 in all with no more than 32 MiB held", loss.Cases, len(store.cases))
		}
	})
}

// judged is a case of which every stage succeeded, and what the store gets of it.
func judged(c *golden.Case) (eval.CaseResult, history.Case) {
	yes := true
	verdict, relevance := &judge.Verdict{Correct: &yes, Grounded: true, Reason: "as the reference says"}, &judge.Relevance{Scores: []int{4}, Average: 4}
	usage := judge.Usage{Calls: 2, PromptTokens: 900, CompletionTokens: 40}
	r := result(c, "text")
	r.Values = []float64{1, math.NaN()}
	r.Answer = &eval.AnswerResult{Text: "30 days", Contexts: []string{"text"}, Latency: 2 * time.Second, Attempts: 1}
	r.AnswerLatency, r.Verdict, r.Relevance, r.Usage = 2*time.Second, verdict, relevance, usage
	took := 2.0
	return r, history.Case{ID: c.ID, Digest: "d", Question: "?", Outcome: "Scored", Rank: 1, Called: true, LatencySeconds: 1,
		Metrics: map[string]float64{"mrr": 1}, Relevant: []history.Relevant{{ID: "a", Grade: 1}},
		Retrieved: []history.Retrieved{{Rank: 1, ID: "a", Relevant: true, Text: "text"}},
		Answer:    &history.Answer{Text: "30 days", Contexts: []string{"text"}}, AnswerSeconds: &took,
		Verdict: verdict, Relevance: relevance, Usage: usage}
}

func TestAnswersAndVerdicts(t *testing.T) {
	set := cases(4)
	whole, wholeRow := judged(&set[0])

	// The run keeps no texts, and the judge failed.
	ungraded, ungradedRow := judged(&set[1])
	ungraded.Outcome, ungraded.Answer, ungraded.Verdict, ungraded.Relevance = "JudgeMalformed", &eval.AnswerResult{Latency: 2 * time.Second}, nil, nil
	ungradedRow.Outcome, ungradedRow.Answer, ungradedRow.Verdict, ungradedRow.Relevance = "JudgeMalformed", &history.Answer{}, nil, nil

	unanswered, unansweredRow := judged(&set[2])
	unanswered.Outcome, unanswered.Answer, unanswered.Verdict, unanswered.Relevance, unanswered.Usage = "AnswerTimeout", nil, nil, nil, judge.Usage{}
	unansweredRow.Outcome, unansweredRow.Answer, unansweredRow.Verdict, unansweredRow.Relevance, unansweredRow.Usage = "AnswerTimeout", nil, nil, nil, judge.Usage{}

	unasked, unaskedRow := judged(&set[3])
	unasked.Outcome, unasked.Values, unasked.AnswerLatency = "RetrieverTimeout", nil, 0
	unasked.Answer, unasked.Verdict, unasked.Relevance, unasked.Usage = nil, nil, nil, judge.Usage{}
	unaskedRow.Outcome, unaskedRow.Metrics, unaskedRow.AnswerSeconds = "RetrieverTimeout", nil, nil
	unaskedRow.Answer, unaskedRow.Verdict, unaskedRow.Relevance, unaskedRow.Usage = nil, nil, nil, judge.Usage{}

	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{cases: map[string]history.Case{}}
		r := New(store, history.Run{UID: "u"}, set, []score.Metric{{Name: "mrr"}, {Name: "accuracy"}})
		r.Start()
		for _, c := range []eval.CaseResult{whole, ungraded, unanswered, unasked} {
			r.Observe(c)
		}
		if loss := r.Finish(&history.Run{UID: "u"}); loss.Any() {
			t.Error(loss.Message())
		}
		for i, want := range []history.Case{wholeRow, ungradedRow, unansweredRow, unaskedRow} {
			want.Position = i
			if d := cmp.Diff(want, store.cases[set[i].ID]); d != "" {
				t.Errorf("%s (-want +got):\n%s", want.Outcome, d)
			}
		}

		finished, _, err := New(store, history.Run{UID: "u"}, set, nil).Resume(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answered := &eval.AnswerResult{Latency: 2 * time.Second}
		want := map[string]eval.Finished{
			set[0].ID: {Digest: "d", Outcome: "Scored", Rank: 1, Called: true, Latency: time.Second, Metrics: map[string]float64{"mrr": 1},
				Answer: answered, AnswerLatency: 2 * time.Second, Verdict: whole.Verdict, Relevance: whole.Relevance, Usage: whole.Usage},
			set[1].ID: {Digest: "d", Outcome: "JudgeMalformed", Rank: 1, Called: true, Latency: time.Second, Metrics: map[string]float64{"mrr": 1},
				Answer: answered, AnswerLatency: 2 * time.Second, Usage: whole.Usage},
			set[2].ID: {Digest: "d", Outcome: "AnswerTimeout", Rank: 1, Called: true, Latency: time.Second, Metrics: map[string]float64{"mrr": 1},
				AnswerLatency: 2 * time.Second},
			set[3].ID: {Digest: "d", Outcome: "RetrieverTimeout", Rank: 1, Called: true, Latency: time.Second},
		}
		if d := cmp.Diff(want, finished); d != "" {
			t.Errorf("what a later process takes over (-want +got):\n%s", d)
		}
	})
}

func TestResume(t *testing.T) {
	store := &fakeStore{cases: map[string]history.Case{}}
	set := cases(2)
	fresh := New(store, history.Run{UID: "u"}, set, columns)
	if finished, corpus, err := fresh.Resume(t.Context()); err != nil || len(finished) != 0 || corpus != "" {
		t.Errorf("a run that the store does not know gives %v, %q, %v", finished, corpus, err)
	}
	store.runs = []history.Run{{UID: "u", CorpusVersion: "v1"}}
	store.cases["q0001"] = history.Case{ID: "q0001", Digest: "d", Outcome: "Scored", Rank: 2, Called: true, LatencySeconds: .5, Metrics: map[string]float64{"mrr": .5}}
	finished, corpus, err := fresh.Resume(t.Context())
	want := map[string]eval.Finished{"q0001": {Digest: "d", Outcome: "Scored", Rank: 2, Called: true, Latency: 500 * time.Millisecond, Metrics: map[string]float64{"mrr": .5}}}
	if diff := cmp.Diff(want, finished); diff != "" || corpus != "v1" || err != nil {
		t.Errorf("resume gives corpus %q, error %v, and (-want +got):\n%s", corpus, err, diff)
	}
}
