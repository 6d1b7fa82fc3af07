package eval

import (
	"context"
	"fmt"
	"maps"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// flaky are parties that fail in every stage for some case, and remember whom
// they answered.
type flaky struct {
	mu    sync.Mutex
	asked map[string]bool
}

func (f *flaky) parties(retrieves bool) Parties {
	p := Parties{
		Answerer: answererFunc(func(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
			f.saw(c.ID)
			if c.ID == "q01" {
				return nil, &retriever.Error{Outcome: "AnswerTimeout", Message: "slow", Attempts: 1, Latency: time.Minute}
			}
			if results == nil {
				results = list("x", "d"+c.ID[1:]).Results
			}
			reply, err := echo(ctx, c, topK, results)
			reply.Results = results
			return reply, err
		}),
		Judge: scripted{
			verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
				if in.Question == "q02" {
					return judge.Verdict{}, &judge.Error{Outcome: judge.Malformed, Message: "no JSON"}
				}
				return verdict(in.Question != "q04", true), nil
			},
			relevance: func([]string) (judge.Relevance, error) { return judge.Relevance{Average: 2.5}, nil },
		},
	}
	if !retrieves {
		return p
	}
	p.Retriever = retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		f.saw(c.ID)
		if c.ID == "q00" {
			return nil, &retriever.Error{Outcome: retriever.Timeout, Message: "slow", Attempts: 1, Latency: 10 * time.Second}
		}
		return list("x", "d"+c.ID[1:]), nil
	})
	return p
}

func (f *flaky) saw(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked = map[string]bool{}
	}
	f.asked[id] = true
}

// Whatever was kept of a run of every stage, the rest comes out as if nothing
// had happened.
func TestResumedRunsOfEveryStageEqualWholeOnes(t *testing.T) {
	for _, retrieves := range []bool{true, false} {
		t.Run(fmt.Sprintf("retriever %t", retrieves), func(t *testing.T) {
			set := questions(7)
			set[3].Answerable = false
			for i := range set {
				set[i].Digest = "digest of " + set[i].ID
			}
			p := whole(set)
			p.KeepText = true
			p.Objectives = []score.Objective{{Metric: "accuracy", Min: "0.9"}}
			var kept []CaseResult
			want := Run(t.Context(), p, new(flaky).parties(retrieves), func(c CaseResult) { kept = append(kept, c) })
			for n := range len(kept) + 1 {
				resumed := p
				resumed.Finished = map[string]Finished{}
				for _, c := range kept[:n] {
					f := c.Keep(want.Metrics)
					if f.Answer != nil && f.Answer.Contexts != nil {
						t.Errorf("the contexts of %s are in the checkpoint", c.Case.ID)
					}
					for name, v := range f.Metrics {
						if math.IsNaN(v) {
							t.Errorf("%s of %s is in the checkpoint as a number that no store can write", name, c.Case.ID)
						}
					}
					resumed.Finished[c.Case.ID] = f
				}
				rest := new(flaky)
				got := Run(t.Context(), resumed, rest.parties(retrieves), nil)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("after %d cases the result differs (-whole +resumed):\n%s", n, diff)
				}
				for id := range maps.Keys(resumed.Finished) {
					if rest.asked[id] {
						t.Errorf("after %d cases, case %s was asked again", n, id)
					}
				}
			}
		})
	}
}

func TestWhatOfAStageCannotBeTakenOver(t *testing.T) {
	p := whole(questions(1))
	var good CaseResult
	columns := Run(t.Context(), p, everyone(), func(c CaseResult) { good = c }).Metrics
	change := func(do func(*Finished)) Finished {
		f := good.Keep(columns)
		do(&f)
		return f
	}
	failed := func(outcome string) func(*Finished) {
		return func(f *Finished) { f.Outcome, f.Verdict, f.Relevance = outcome, nil, nil }
	}
	for name, tt := range map[string]struct {
		finished Finished
		again    bool
	}{
		"all of it":                         {change(func(*Finished) {}), false},
		"a value that it need not have":     {change(func(f *Finished) { delete(f.Metrics, "context_relevance"); delete(f.Metrics, "bleu") }), false},
		"a retrieval metric is not there":   {change(func(f *Finished) { delete(f.Metrics, "mrr") }), true},
		"no metric is there":                {change(func(f *Finished) { f.Metrics = nil }), true},
		"the answer is not there":           {change(func(f *Finished) { f.Answer = nil }), true},
		"the verdict is not there":          {change(func(f *Finished) { f.Verdict = nil }), true},
		"the judge failed":                  {change(failed("JudgeMalformed")), false},
		"the judge failed without a list":   {change(func(f *Finished) { failed("JudgeMalformed")(f); delete(f.Metrics, "mrr") }), true},
		"the judge failed without answer":   {change(func(f *Finished) { failed("JudgeMalformed")(f); f.Answer = nil }), true},
		"no answer came":                    {change(func(f *Finished) { failed("AnswerTimeout")(f); f.Answer = nil }), false},
		"no answer came, nor is there list": {change(func(f *Finished) { failed("AnswerTimeout")(f); f.Answer, f.Metrics = nil, nil }), true},
		"no list came":                      {change(func(f *Finished) { failed("RetrieverTimeout")(f); f.Answer, f.Metrics = nil, nil }), false},
		"the quota was used up":             {change(failed("JudgeQuotaExceeded")), true},
		"the budget was spent":              {change(failed("JudgeBudgetExceeded")), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := p
			p.Finished = map[string]Finished{"q00": tt.finished}
			again := false
			r := Run(t.Context(), p, everyone(), func(CaseResult) { again = true })
			if again != tt.again || r.Done != 1 {
				t.Errorf("asked again: %t, want %t; %d done", again, tt.again, r.Done)
			}
		})
	}
}

// A store that keeps no latency of its own for the answer has the answer's.
func TestTheAnswersLatencyStandsIn(t *testing.T) {
	p := whole(questions(1))
	var kept Finished
	columns := Run(t.Context(), p, everyone(), nil).Metrics
	Run(t.Context(), p, everyone(), func(c CaseResult) { kept = c.Keep(columns) })
	kept.AnswerLatency = 0
	p.Finished = map[string]Finished{"q00": kept}
	if m, ok := Run(t.Context(), p, everyone(), nil).Summary.Mean(score.AnswerLatencyP95, ""); !ok || m.Value != 2 {
		t.Errorf("%+v (%t)", m, ok)
	}
}
