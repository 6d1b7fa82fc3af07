package recorder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
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
		set := cases(1000)
		if loss := record(store, set, &history.Run{UID: "u", Verdict: "Passed", CorpusVersion: "v1"}); loss.Any() {
			t.Errorf("lost: %s", loss.Message())
		}
		if len(store.cases) != 1000 {
			t.Errorf("%d cases are stored, want 1000", len(store.cases))
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
			r.Observe(result(&set[i], big))
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
