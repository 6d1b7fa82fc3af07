package eval_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// recording answers every case with its own id, and remembers whom it answered.
type recording struct {
	mu    sync.Mutex
	asked []string
	fail  map[string]bool
}

func (r *recording) Retrieve(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, c.ID)
	if r.fail[c.ID] {
		return nil, &retriever.Error{Outcome: retriever.HTTPError, Message: "500", Attempts: 1}
	}
	return &retriever.Reply{Results: []retriever.Result{{ID: "noise", Text: "n"}, {ID: c.ID, Text: "the text of " + c.ID}}, CorpusVersion: "v1", Attempts: 1}, nil
}

func resumable(t *testing.T) eval.Plan {
	t.Helper()
	set, err := golden.Read(golden.File{Name: "g.jsonl", Data: []byte(`{"id":"a","question":"a","relevant":"a"}
{"id":"b","question":"b","relevant":"b","tags":["t"]}
{"id":"c","question":"c","relevant":"c"}
{"id":"d","question":"d","answerable":false}`)})
	if err != nil {
		t.Fatal(err)
	}
	return eval.Plan{
		Cases:       set.Cases,
		Score:       score.Spec{TopK: 5, K: []int{1, 5}, PrimaryK: 5, Unit: score.Chunk},
		Objectives:  []score.Objective{{Metric: "hit_rate@5", Min: "0.5"}},
		MinCoverage: 0.5,
		Parallelism: 2,
	}
}

// TestResumedRunsEqualWholeOnes interrupts a run after every number of cases:
// whatever was kept, the rest comes out as if nothing had happened.
func TestResumedRunsEqualWholeOnes(t *testing.T) {
	plan := resumable(t)
	whole := &recording{fail: map[string]bool{"b": true}}
	var kept []eval.CaseResult
	want := eval.Run(t.Context(), plan, eval.Parties{Retriever: whole}, func(c eval.CaseResult) { kept = append(kept, c) })
	for n := range len(kept) + 1 {
		resumed := plan
		resumed.Finished = map[string]eval.Finished{}
		for _, c := range kept[:n] {
			resumed.Finished[c.Case.ID] = c.Keep(want.Metrics)
		}
		if n > 0 {
			resumed.CorpusVersion = "v1"
		}
		rest := &recording{fail: whole.fail}
		got := eval.Run(t.Context(), resumed, eval.Parties{Retriever: rest}, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d cases the result differs (-whole +resumed):\n%s", n, diff)
		}
		for _, id := range rest.asked {
			if _, finished := resumed.Finished[id]; finished {
				t.Errorf("after %d cases, case %s was asked again", n, id)
			}
		}
	}
}

func TestWhatCannotBeTakenOverIsAskedAgain(t *testing.T) {
	plan := resumable(t)
	columns := eval.Run(t.Context(), plan, eval.Parties{Retriever: &recording{}}, nil).Metrics
	good := eval.CaseResult{Case: &plan.Cases[0], Outcome: eval.Scored, Called: true, Rank: 1, Values: make([]float64, len(columns))}
	other := good.Keep(columns)
	other.Digest = "of another question"
	lacking := good.Keep(columns)
	delete(lacking.Metrics, "mrr")
	for name, tc := range map[string]struct {
		finished eval.Finished
		want     int
	}{
		"taken over":             {good.Keep(columns), 2},
		"the case has changed":   {other, 3},
		"a metric is not there":  {lacking, 3},
		"a failure has no value": {eval.Finished{Digest: plan.Cases[0].Digest, Outcome: "RetrieverTimeout", Called: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			plan := plan
			plan.Finished = map[string]eval.Finished{"a": tc.finished}
			r := &recording{}
			eval.Run(t.Context(), plan, eval.Parties{Retriever: r}, nil)
			if len(r.asked) != tc.want {
				t.Errorf("asked %v, want %d cases", r.asked, tc.want)
			}
		})
	}
}

func TestACorpusThatChangedBetweenTwoProcesses(t *testing.T) {
	plan := resumable(t)
	plan.CorpusVersion = "v0"
	if got := eval.Run(t.Context(), plan, eval.Parties{Retriever: &recording{}}, nil); !got.CorpusVersionChanged || got.Decision.Reason != eval.ReasonCorpusChanged {
		t.Errorf("changed is %t, reason %s, want CorpusChanged", got.CorpusVersionChanged, got.Decision.Reason)
	}
}

func TestTextsAreHandedOnWhereTheyAreAskedFor(t *testing.T) {
	plan := resumable(t)
	for _, keep := range []bool{false, true} {
		plan.KeepText = keep
		eval.Run(t.Context(), plan, eval.Parties{Retriever: &recording{}}, func(c eval.CaseResult) {
			for _, r := range c.Retrieved {
				if (r.Text != "") != keep {
					t.Errorf("KeepText %t gave the text %q", keep, r.Text)
				}
			}
		})
	}
}

func TestErrorRateIsOverTheCasesThatEnded(t *testing.T) {
	plan := resumable(t)
	plan.Parallelism = 1
	for asked := range 3 {
		ctx, cancel := context.WithCancelCause(t.Context())
		if asked == 0 {
			cancel(&eval.Stop{Reason: "Canceled"})
		}
		n := 0
		got := eval.Run(ctx, plan, eval.Parties{Retriever: &recording{fail: map[string]bool{"a": true}}}, func(eval.CaseResult) {
			if n++; n == asked {
				cancel(&eval.Stop{Reason: "Canceled"})
			}
		})
		cancel(nil)
		m, ok := got.Summary.Mean("error_rate", "")
		if ok != (got.Done > 0) || ok && (m.Count != got.Done || m.Value != 1/float64(got.Done)) {
			t.Errorf("stopped after %d of %d cases, error_rate is %+v (%t), want one failure of those", got.Done, got.Total, m, ok)
		}
	}
}
