package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// answererFunc is an answer service made of a function.
type answererFunc func(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error)

func (f answererFunc) Answer(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
	return f(ctx, c, topK, results)
}

// echo answers with the first text that it was sent, within two seconds.
var echo = answererFunc(func(_ context.Context, _ *golden.Case, _ int, results []retriever.Result) (*answer.Reply, error) {
	reply := &answer.Reply{Latency: 2 * time.Second, Attempts: 1}
	for _, r := range results {
		reply.Contexts = append(reply.Contexts, r.Text)
	}
	if len(reply.Contexts) > 0 {
		reply.Answer = reply.Contexts[0]
	}
	return reply, nil
})

// scripted is a judge made of functions, of which each call costs ten tokens.
type scripted struct {
	verdict   func(ctx context.Context, in judge.Input) (judge.Verdict, error)
	relevance func(contexts []string) (judge.Relevance, error)
}

var callCost = judge.Usage{Calls: 1, PromptTokens: 10}

func (s scripted) Grade(ctx context.Context, in judge.Input) (judge.Verdict, judge.Usage, error) {
	v, err := s.verdict(ctx, in)
	return v, callCost, err
}

func (s scripted) Relevance(_ context.Context, _ string, _ []golden.Turn, contexts []string) (judge.Relevance, judge.Usage, error) {
	r, err := s.relevance(contexts)
	return r, callCost, err
}

// content is a judge that finds everything right, and every context worth a 4.
var content = scripted{
	verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
		return verdict(true, true), nil
	},
	relevance: func([]string) (judge.Relevance, error) { return judge.Relevance{Average: 4}, nil },
}

func verdict(correct, grounded bool) judge.Verdict {
	return judge.Verdict{Correct: &correct, Grounded: grounded, Reason: "because"}
}

// questions makes cases that have a reference answer, and ask by their own id.
func questions(n int) []golden.Case {
	out := cases(n)
	for i := range out {
		out[i].Question = out[i].ID
		out[i].ReferenceAnswer = "text of " + out[i].Relevant[0].ID
	}
	return out
}

// whole is a plan of every stage.
func whole(cases []golden.Case) Plan {
	p := plan(cases)
	p.Score = score.Spec{TopK: 3, K: []int{1, 3}, PrimaryK: 3, Answer: true, Judge: true, Relevance: true}
	return p
}

func everyone() Parties { return Parties{Retriever: perfect, Answerer: echo, Judge: content} }

// measured gives the values of a case that are there, of the metrics named.
func measured(metrics []score.Metric, values []float64, names ...string) map[string]float64 {
	out := map[string]float64{}
	for i, m := range metrics {
		for _, name := range names {
			if m.Name == name && values != nil && !math.IsNaN(values[i]) {
				out[name] = values[i]
			}
		}
	}
	return out
}

func TestEveryStageOfACase(t *testing.T) {
	set := questions(9)
	set[2].ReferenceAnswer = " \n"                          // white space is none
	set[3].Answerable, set[3].ReferenceAnswer = false, ""   // rightly refused
	set[8].Answerable, set[8].Relevant = false, nil         // answered all the same
	set[8].ReferenceAnswer = "there is nothing about it"    // BLEU goes by any reference
	set[7].Tags, set[0].Tags = []string{"t"}, []string{"t"} // one right, one ungraded
	lists := map[string]*retriever.Reply{
		"q00": list("d00"), "q01": list("x"), "q02": list("x", "d02"), "q03": list("d03"), "q05": list("d05"), "q06": list("x", "y", "d06"), "q07": list("d07"), "q08": list("x"),
	}
	parties := Parties{
		Retriever: retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
			if reply, ok := lists[c.ID]; ok {
				return reply, nil
			}
			return nil, &retriever.Error{Outcome: retriever.Timeout, Message: "no list", Attempts: 3, Latency: 10 * time.Second}
		}),
		Answerer: answererFunc(func(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
			switch c.ID {
			case "q03":
				return &answer.Reply{Attempts: 1, Latency: time.Second}, nil
			case "q05":
				return nil, &retriever.Error{Outcome: "AnswerTimeout", Message: "no answer", Attempts: 2, Latency: time.Minute}
			}
			return echo(ctx, c, topK, results)
		}),
		Judge: scripted{
			verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
				switch in.Question {
				case "q01":
					return verdict(false, false), nil
				case "q03":
					v := verdict(true, true)
					v.Abstained = true
					return v, nil
				case "q06":
					return judge.Verdict{}, &judge.Error{Outcome: judge.Malformed, Message: "no JSON"}
				case "q08":
					return verdict(false, true), nil
				}
				return verdict(true, true), nil
			},
			relevance: func(contexts []string) (judge.Relevance, error) {
				if contexts[0] == "text of d07" {
					return judge.Relevance{}, &judge.Error{Outcome: judge.Timeout, Message: "no scores"}
				}
				return judge.Relevance{Average: 4, Reasoning: "so"}, nil
			},
		},
	}
	p := whole(set)
	p.Parallelism = 1
	type row struct {
		Outcome, Message  string
		Rank              int
		Retrieval, Answer time.Duration
		Values            map[string]float64
	}
	got := map[string]row{}
	columns := []string{"hit_rate@3", "bleu", "accuracy", "hallucination_rate", "context_relevance", "abstention_accuracy", "abstention_rate"}
	scorer, err := score.NewScorer(p.Score)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(t.Context(), p, parties, func(c CaseResult) {
		if !c.Called {
			t.Errorf("%s was not asked", c.Case.ID)
		}
		got[c.Case.ID] = row{c.Outcome, c.Message, c.Rank, c.Latency, c.AnswerLatency, measured(scorer.Metrics(), c.Values, columns...)}
	})
	ms, s := 10*time.Millisecond, time.Second
	want := map[string]row{
		"q00": {"Scored", "", 1, ms, 2 * s, map[string]float64{"hit_rate@3": 1, "bleu": 1, "accuracy": 1, "hallucination_rate": 0, "context_relevance": 4, "abstention_rate": 0}},
		"q01": {"Scored", "", 0, ms, 2 * s, map[string]float64{"hit_rate@3": 0, "bleu": math.Sqrt(2. / 3 * 1. / 2), "accuracy": 0, "hallucination_rate": 1, "context_relevance": 4, "abstention_rate": 0}},
		"q02": {"Scored", "", 2, ms, 2 * s, map[string]float64{"hit_rate@3": 1, "hallucination_rate": 0, "context_relevance": 4, "abstention_rate": 0}},
		"q03": {"Scored", "", 0, ms, s, map[string]float64{"hallucination_rate": 0, "abstention_accuracy": 1}},
		"q04": {"RetrieverTimeout", "no list", 0, 10 * s, 0, map[string]float64{}},
		"q05": {"AnswerTimeout", "no answer", 1, ms, time.Minute, map[string]float64{"hit_rate@3": 1}},
		"q06": {"JudgeMalformed", "no JSON", 3, ms, 2 * s, map[string]float64{"hit_rate@3": 1, "bleu": math.Sqrt(2. / 3 * 1. / 2)}},
		"q07": {"JudgeTimeout", "no scores", 1, ms, 2 * s, map[string]float64{"hit_rate@3": 1, "bleu": 1, "accuracy": 1, "hallucination_rate": 0, "abstention_rate": 0}},
		"q08": {"Scored", "", 0, ms, 2 * s, map[string]float64{"bleu": 0, "hallucination_rate": 0, "context_relevance": 4, "abstention_accuracy": 0}},
	}
	approx := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, got, approx); diff != "" {
		t.Error(diff)
	}

	for stage, want := range map[score.Stage][2]score.Coverage{
		score.RetrievalStage: {{Scored: 6, Due: 7}, {Scored: 2, Due: 2}},
		score.AnswerStage:    {{Scored: 7, Due: 9}, {Scored: 2, Due: 2}},
		score.JudgeStage:     {{Scored: 5, Due: 7}, {Scored: 1, Due: 2}},
	} {
		if all, tag := r.Summary.Coverage(stage, ""), r.Summary.Coverage(stage, "t"); all != want[0] || tag != want[1] {
			t.Errorf("%s: coverage %+v, of the tag %+v; want %+v", stage, all, tag, want)
		}
	}
	for name, want := range map[string]float64{
		"accuracy": 2. / 3, "hallucination_rate": 1. / 6, "context_relevance": 4, "abstention_accuracy": 0.5, "abstention_rate": 0,
		"error_rate": 4. / 9, "retrieval_latency_p95_seconds": 10, "answer_latency_p95_seconds": 60,
	} {
		if m, ok := r.Summary.Mean(name, ""); !ok || math.Abs(m.Value-want) > 1e-12 {
			t.Errorf("%s = %v (%t), want %v", name, m.Value, ok, want)
		}
	}
	if diff := cmp.Diff(&score.Evidence{HitRight: 2, MissWrong: 1}, r.Summary.Evidence); diff != "" {
		t.Error(diff)
	}
	if r.RetrieverCalls != 11 || r.AnswerCalls != 9 || r.Usage != (judge.Usage{Calls: 12, PromptTokens: 120}) || r.Errored != 4 {
		t.Errorf("%d calls for lists, %d for answers, %+v, %d errored", r.RetrieverCalls, r.AnswerCalls, r.Usage, r.Errored)
	}
	worst := []WorstCase{{ID: "q01", Rank: 0, Outcome: "Scored"}, {ID: "q06", Rank: 3, Outcome: "JudgeMalformed"}, {ID: "q05", Rank: 1, Outcome: "AnswerTimeout"}, {ID: "q07", Rank: 1, Outcome: "JudgeTimeout"}, {ID: "q04", Rank: 0, Outcome: "RetrieverTimeout"}, {ID: "q08", Rank: 0, Outcome: "Scored"}, {ID: "q02", Rank: 2, Outcome: "Scored"}}
	if diff := cmp.Diff(worst, r.Worst); diff != "" {
		t.Error(diff)
	}
}

func TestWhatEveryPartyIsSent(t *testing.T) {
	set := questions(2)
	set[0].History = []golden.Turn{{Role: "user", Content: "before"}}
	set[1].Answerable = false
	p := whole(set)
	p.Score.TopK, p.Score.K = 2, nil
	p.Parallelism = 1
	var sent []judge.Input
	var graded [][]string
	Run(t.Context(), p, Parties{
		Retriever: retrieverFunc(func(context.Context, *golden.Case, int) (*retriever.Reply, error) { return list("a", "b", "c"), nil }),
		Answerer: answererFunc(func(_ context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
			if topK != 2 || len(results) != 2 || results[1].ID != "b" {
				t.Errorf("the answer service was sent %v, topK %d", results, topK)
			}
			if c.ID == "q01" {
				return &answer.Reply{Answer: "who knows", Contexts: []string{"", " \n"}}, nil
			}
			return &answer.Reply{Answer: "it is", Contexts: []string{"", "its own context"}}, nil
		}),
		Judge: scripted{
			verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
				sent = append(sent, in)
				return verdict(true, true), nil
			},
			relevance: func(contexts []string) (judge.Relevance, error) {
				graded = append(graded, contexts)
				return judge.Relevance{Average: 1}, nil
			},
		},
	}, nil)
	want := []judge.Input{
		{Question: "q00", History: set[0].History, Reference: "text of d00", Answerable: true, Contexts: []string{"", "its own context"}, Answer: "it is"},
		{Question: "q01", Reference: "text of d01", Contexts: []string{"", " \n"}, Answer: "who knows"},
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
	// Every context has its place, an empty one, too; only empty ones are not graded.
	if diff := cmp.Diff([][]string{{"", "its own context"}}, graded); diff != "" {
		t.Error(diff)
	}
}

// What a plan leaves out is not asked, whoever stands by.
func TestStagesThatThePlanLeavesOut(t *testing.T) {
	set := questions(2)
	set[1].Answerable = false
	for name, tt := range map[string]struct {
		spec                     score.Spec
		lists, answers, verdicts int64
	}{
		"retrieval alone":     {score.Spec{TopK: 3}, 1, 0, 0},
		"no judge":            {score.Spec{TopK: 3, Answer: true}, 2, 2, 0},
		"no context is rated": {score.Spec{TopK: 3, Answer: true, Judge: true}, 2, 2, 2},
		"every stage":         {score.Spec{TopK: 3, Answer: true, Judge: true, Relevance: true}, 2, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(set)
			p.Score = tt.spec
			p.Objectives = []score.Objective{{Metric: "mrr", Min: "0.1"}}
			r := Run(t.Context(), p, everyone(), nil)
			if r.RetrieverCalls != tt.lists || r.AnswerCalls != tt.answers || r.Usage.Calls != tt.verdicts || r.Decision.Verdict != score.Passed {
				t.Errorf("%d, %d, %d calls, %+v", r.RetrieverCalls, r.AnswerCalls, r.Usage.Calls, r.Decision)
			}
		})
	}
}

func TestAPlanThatNobodyCanCarryOut(t *testing.T) {
	for says, tt := range map[string]struct {
		spec    score.Spec
		parties Parties
	}{
		"there is no answer service": {score.Spec{TopK: 3, Answer: true}, Parties{Retriever: perfect}},
		"there is no judge":          {score.Spec{TopK: 3, Answer: true, Judge: true}, Parties{Retriever: perfect, Answerer: echo}},
		"there is no retriever":      {score.Spec{TopK: 3}, Parties{Answerer: echo, Judge: content}},
		"a judge and no answer":      {score.Spec{TopK: 3, Judge: true}, everyone()},
	} {
		p := plan(cases(1))
		p.Score = tt.spec
		r := Run(t.Context(), p, tt.parties, func(CaseResult) { t.Error("a case was asked") })
		if r.Decision.Verdict != score.Error || !strings.Contains(r.Decision.Message, says) {
			t.Errorf("%+v, want an error that says %q", r.Decision, says)
		}
	}
}

func TestAJudgeThatIsDown(t *testing.T) {
	down := everyone()
	down.Judge = scripted{verdict: func(context.Context, judge.Input) (judge.Verdict, error) {
		return judge.Verdict{}, &judge.Error{Outcome: judge.Unreachable, Message: "POST judge/v1: connection refused"}
	}}
	accuracy := score.Objective{Metric: "accuracy", Min: "0.5"}
	hit := func(min string) score.Objective { return score.Objective{Metric: "hit_rate@3", Min: min} }
	const why = "accuracy cannot be decided: 0 of 4 cases due got a verdict, coverage 0.0000 is below minCoverage 0.5; 4 cases ended JudgeUnreachable, the first: POST judge/v1: connection refused"
	for name, tt := range map[string]struct {
		objectives []score.Objective
		verdict    score.Verdict
		message    string
	}{
		"retrieval is met":    {[]score.Objective{hit("0.9"), accuracy}, score.Inconclusive, why},
		"retrieval is missed": {[]score.Objective{hit("1.1"), accuracy}, score.Failed, "hit_rate@3 is 1.0000 (4 of 4 cases scored), below min 1.1"},
		"nobody asks it":      {[]score.Objective{hit("0.9")}, score.Passed, "hit_rate@3 is 1.0000 (4 of 4 cases scored), meets min 0.9"},
	} {
		t.Run(name, func(t *testing.T) {
			p := whole(questions(4))
			p.Objectives = tt.objectives
			r := Run(t.Context(), p, down, nil)
			if r.Decision.Verdict != tt.verdict || r.Decision.Message != tt.message {
				t.Errorf("%+v", r.Decision)
			}
			if r.Usage.Calls != 4 {
				t.Errorf("%d calls: a case that got no verdict needs no second one", r.Usage.Calls)
			}
		})
	}
}

func TestAQuotaEndsTheRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parties := everyone()
		begin := time.Now()
		parties.Judge = scripted{
			relevance: content.relevance,
			verdict: func(ctx context.Context, in judge.Input) (judge.Verdict, error) {
				switch in.Question {
				case "q00":
					return verdict(true, true), nil
				case "q02":
					<-time.After(time.Second)
					return judge.Verdict{}, fmt.Errorf("grade: %w", &judge.Error{Outcome: judge.QuotaExceeded, Message: "the quota of today is used up", EndsRun: true})
				}
				select { // the others would take an hour
				case <-ctx.Done():
					return judge.Verdict{}, &judge.Error{Outcome: judge.Failed, Message: "canceled", Err: ctx.Err()}
				case <-time.After(time.Hour):
					return verdict(true, true), nil
				}
			},
		}
		p := whole(questions(10))
		r := Run(t.Context(), p, parties, nil)
		if d := time.Since(begin); d != time.Second {
			t.Errorf("the run went on for %s", d)
		}
		if diff := cmp.Diff(map[string]int{"Scored": 1, "JudgeQuotaExceeded": 1}, r.Outcomes); diff != "" {
			t.Error(diff)
		}
		if r.Decision.Verdict != score.Inconclusive || r.Decision.Reason != "JudgeQuotaExceeded" || r.Decision.Message != "the quota of today is used up when 2 of 10 cases were done" {
			t.Errorf("%+v", r.Decision)
		}
		if r.Usage.Calls != 4 {
			t.Errorf("%d calls: those that were interrupted count", r.Usage.Calls)
		}
		// Of what was never asked, the answer is missing, and a verdict was not due.
		if a, j := r.Summary.Answer[""], r.Summary.Judge[""]; a != (score.Coverage{Scored: 2, Due: 10}) || j != (score.Coverage{Scored: 1, Due: 2}) {
			t.Errorf("coverage of answers %+v, of verdicts %+v", a, j)
		}
	})
}

// The run is open however many cases the quota left behind.
func TestAQuotaThatTheLastCaseReaches(t *testing.T) {
	parties := everyone()
	parties.Judge = scripted{relevance: content.relevance, verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
		if in.Question == "q03" {
			return judge.Verdict{}, &judge.Error{Outcome: judge.BudgetExceeded, Message: "spent", EndsRun: true}
		}
		return verdict(true, true), nil
	}}
	for _, n := range []int{1, 4} {
		p := whole(questions(4)[4-n:])
		p.Parallelism = 1
		r := Run(t.Context(), p, parties, nil)
		if r.Done != n || r.Decision.Verdict != score.Inconclusive || r.Decision.Reason != "JudgeBudgetExceeded" {
			t.Errorf("%d done, %+v", r.Done, r.Decision)
		}
	}
}

func TestPanicsCostOneCase(t *testing.T) {
	boom := func(c string, at string) bool { return c == at }
	parties := Parties{
		Retriever: retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
			if boom(c.ID, "q00") {
				panic("list")
			}
			return perfect(ctx, c, topK)
		}),
		Answerer: answererFunc(func(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
			switch c.ID {
			case "q01":
				panic("answer")
			case "q05":
				return nil, nil
			case "q06":
				return nil, errors.New("no typed error")
			case "q07": // an error in another stage's words
				return nil, &retriever.Error{Outcome: retriever.HTTPError, Message: "500", Attempts: 1}
			}
			return echo(ctx, c, topK, results)
		}),
		Judge: scripted{
			verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
				switch in.Question {
				case "q02":
					panic("verdict")
				case "q08":
					return judge.Verdict{}, errors.New("no typed error")
				}
				return verdict(true, true), nil
			},
			relevance: func(contexts []string) (judge.Relevance, error) {
				if contexts[0] == "text of d03" {
					panic("scores")
				}
				return judge.Relevance{Average: 2}, nil
			},
		},
	}
	type row struct {
		Outcome, Message string
		Values           map[string]float64
	}
	got := map[string]row{}
	p := whole(questions(9))
	scorer, _ := score.NewScorer(p.Score)
	Run(t.Context(), p, parties, func(c CaseResult) {
		got[c.Case.ID] = row{c.Outcome, c.Message, measured(scorer.Metrics(), c.Values, "mrr", "bleu", "accuracy", "context_relevance")}
	})
	const panicked = "handling the reply panicked: "
	nilReply := panicked + "runtime error: invalid memory address or nil pointer dereference"
	listed := map[string]float64{"mrr": 1}
	answered := map[string]float64{"mrr": 1, "bleu": 1}
	want := map[string]row{
		"q00": {"RetrieverError", panicked + "list", map[string]float64{}},
		"q01": {"AnswerError", panicked + "answer", listed},
		"q02": {"JudgeError", panicked + "verdict", answered},
		"q03": {"JudgeError", panicked + "scores", map[string]float64{"mrr": 1, "bleu": 1, "accuracy": 1}},
		"q04": {"Scored", "", map[string]float64{"mrr": 1, "bleu": 1, "accuracy": 1, "context_relevance": 2}},
		"q05": {"AnswerError", nilReply, listed},
		"q06": {"AnswerError", "no typed error", listed},
		"q07": {"AnswerHTTPError", "500", listed},
		"q08": {"JudgeError", "no typed error", answered},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// selfRetrieving finds and answers at once, but for q02.
var selfRetrieving = answererFunc(func(_ context.Context, c *golden.Case, _ int, results []retriever.Result) (*answer.Reply, error) {
	if results != nil {
		return nil, errors.New("there is no list to send")
	}
	if c.ID == "q02" {
		return nil, &retriever.Error{Outcome: "AnswerTimeout", Message: "slow", Attempts: 2, Latency: time.Minute}
	}
	found := list("x", "d"+c.ID[1:])
	return &answer.Reply{Answer: "a", Contexts: []string{"b"}, Results: found.Results, CorpusVersion: "v7", Latency: time.Second, Attempts: 1}, nil
})

func TestAnAnswerServiceThatRetrievesByItself(t *testing.T) {
	set := questions(4)
	set[3].Answerable = false
	p := whole(set)
	p.WarmupRequests = 3
	p.Objectives = []score.Objective{{Metric: "mrr", Min: "0.5"}}
	r := Run(t.Context(), p, Parties{Answerer: selfRetrieving, Judge: content}, func(c CaseResult) {
		if !c.Called || c.Latency != 0 || c.Case.ID != "q02" && (len(c.Retrieved) != 2 || c.Answer == nil) {
			t.Errorf("%+v", c)
		}
	})
	if got := r.Summary.Retrieval[""]; got != (score.Coverage{Scored: 2, Due: 3}) {
		t.Errorf("coverage of retrieval %+v", got)
	}
	if m, ok := r.Summary.Mean("mrr", ""); !ok || m.Value != 0.5 || m.Count != 2 {
		t.Errorf("mrr %+v (%t)", m, ok)
	}
	if m, ok := r.Summary.Mean(score.LatencyP95, ""); ok {
		t.Errorf("nobody retrieved, but it took %+v", m)
	}
	if m, ok := r.Summary.Mean(score.AnswerLatencyP95, ""); !ok || m.Value != 60 || m.Count != 4 {
		t.Errorf("answer latency %+v (%t)", m, ok)
	}
	if r.RetrieverCalls != 0 || r.AnswerCalls != 3+5+1 && r.AnswerCalls != 3+5+2 || r.CorpusVersion != "v7" || r.Decision.Verdict != score.Passed {
		t.Errorf("%+v", r)
	}

	p.MinCoverage = 0.9
	want := "mrr cannot be decided: 2 of 3 cases due got a result, coverage 0.6667 is below minCoverage 0.9; 1 case ended AnswerTimeout: slow"
	if r := Run(t.Context(), p, Parties{Answerer: selfRetrieving, Judge: content}, nil); r.Decision.Message != want {
		t.Errorf("message %q, want %q", r.Decision.Message, want)
	}
}

// Where somebody else retrieves, an answer service has no say in the corpus.
func TestTheCorpusIsTheRetrievers(t *testing.T) {
	parties := everyone()
	parties.Answerer = answererFunc(func(context.Context, *golden.Case, int, []retriever.Result) (*answer.Reply, error) {
		return &answer.Reply{Answer: "a", CorpusVersion: "model-2", Results: list("nonsense").Results}, nil
	})
	r := Run(t.Context(), whole(questions(3)), parties, nil)
	if m, _ := r.Summary.Mean("mrr", ""); r.CorpusVersion != "" || r.CorpusVersionChanged || m.Value != 1 {
		t.Errorf("%+v", r)
	}
}

func TestWarmupAsksTheRetrieverAlone(t *testing.T) {
	p := whole(questions(2))
	p.WarmupRequests = 4
	r := Run(t.Context(), p, everyone(), nil)
	if r.RetrieverCalls != 6 || r.AnswerCalls != 2 || r.Usage.Calls != 4 {
		t.Errorf("%d, %d, %d calls", r.RetrieverCalls, r.AnswerCalls, r.Usage.Calls)
	}
}

// Where answers are asked for, every case is asked, so every one can warm up.
func TestWarmupByCasesThatRetrievalIsNotDueFor(t *testing.T) {
	set := questions(1)
	set[0].Answerable = false
	p := whole(set)
	p.WarmupRequests = 2
	if r := Run(t.Context(), p, everyone(), nil); r.RetrieverCalls != 3 {
		t.Errorf("%d calls", r.RetrieverCalls)
	}
}

// A refused call says nothing of how long an answer takes.
func TestOnlyAnswersAndTimeoutsHaveALatency(t *testing.T) {
	parties := everyone()
	parties.Answerer = answererFunc(func(context.Context, *golden.Case, int, []retriever.Result) (*answer.Reply, error) {
		return nil, &retriever.Error{Outcome: "AnswerUnreachable", Message: "refused", Attempts: 3, Latency: time.Millisecond}
	})
	r := Run(t.Context(), whole(questions(2)), parties, nil)
	if m, ok := r.Summary.Mean(score.AnswerLatencyP95, ""); ok {
		t.Errorf("%+v", m)
	}
	if m, ok := r.Summary.Mean(score.LatencyP95, ""); !ok || m.Count != 2 {
		t.Errorf("the retriever was answered: %+v (%t)", m, ok)
	}
}

func TestWarmupSurvivesAPanic(t *testing.T) {
	var n atomic.Int32
	p := plan(cases(2))
	p.WarmupRequests = 1
	r := runRetrieval(t.Context(), p, retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		if n.Add(1) == 1 {
			panic("cold")
		}
		return perfect(ctx, c, topK)
	}), nil)
	if r.Decision.Verdict != score.Passed {
		t.Errorf("%+v", r.Decision)
	}
}

func TestAnswersAreHandedOnWhereTheyAreAskedFor(t *testing.T) {
	for _, keep := range []bool{false, true} {
		p := whole(questions(1))
		p.KeepText = keep
		Run(t.Context(), p, everyone(), func(c CaseResult) {
			want := &AnswerResult{Latency: 2 * time.Second, Attempts: 1}
			if keep {
				want.Text, want.Contexts = "text of d00", []string{"text of d00"}
			}
			if diff := cmp.Diff(want, c.Answer); diff != "" {
				t.Errorf("KeepText %t:\n%s", keep, diff)
			}
			if c.Verdict == nil || c.Verdict.Reason != "because" || c.Relevance == nil {
				t.Errorf("KeepText %t: %+v, %+v", keep, c.Verdict, c.Relevance)
			}
		})
	}
}

func TestNothingOfAnAnswerIsKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		var bodies []weak.Pointer[byte]
		body := func() string {
			s := strings.Repeat("word ", 1<<16)
			bodies = append(bodies, weak.Make(unsafe.StringData(s)))
			return s
		}
		var kept []CaseResult
		p := whole(questions(1))
		p.KeepText = keep
		r := Run(t.Context(), p, Parties{
			Retriever: perfect,
			Answerer: answererFunc(func(context.Context, *golden.Case, int, []retriever.Result) (*answer.Reply, error) {
				return &answer.Reply{Answer: body()[:4], Contexts: []string{body()[:4]}, Attempts: 1}, nil
			}),
			Judge: scripted{
				verdict: func(context.Context, judge.Input) (judge.Verdict, error) {
					v := verdict(true, true)
					v.Reason = body()[:4]
					return v, nil
				},
				relevance: func([]string) (judge.Relevance, error) {
					return judge.Relevance{Average: 3, Reasoning: body()[:4]}, nil
				},
			},
		}, func(c CaseResult) { kept = append(kept, c) })
		runtime.GC()
		for i, b := range bodies {
			if b.Value() != nil {
				t.Errorf("KeepText %t: body %d of %d is still in memory", keep, i, len(bodies))
			}
		}
		runtime.KeepAlive(kept)
		runtime.KeepAlive(r)
	}
}

func TestAStopInAnyStageLeavesTheCaseUnasked(t *testing.T) {
	for _, at := range []string{"list", "answer", "verdict"} {
		t.Run(at, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			call := func(here string) error {
				if here != at {
					return nil
				}
				cancel(&Stop{Reason: "Replaced", Message: "replaced"})
				return &retriever.Error{Outcome: "AnswerError", Message: "canceled", Attempts: 1}
			}
			p := whole(questions(2))
			p.Parallelism = 1
			r := Run(ctx, p, Parties{
				Retriever: retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
					if err := call("list"); err != nil {
						return nil, err
					}
					return perfect(ctx, c, topK)
				}),
				Answerer: answererFunc(func(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
					if err := call("answer"); err != nil {
						return nil, err
					}
					return echo(ctx, c, topK, results)
				}),
				Judge: scripted{verdict: func(context.Context, judge.Input) (judge.Verdict, error) {
					return judge.Verdict{}, call("verdict")
				}},
			}, func(CaseResult) { t.Error("a case ended") })
			if r.Done != 0 || r.Errored != 0 || r.Decision.Reason != "Replaced" || r.RetrieverCalls != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestCalibration(t *testing.T) {
	accuracy := []score.Objective{{Metric: "accuracy", Min: "0.5"}}
	usage := judge.Usage{Calls: 20}
	for name, tt := range map[string]struct {
		trust     Trust
		err       error
		panics    bool
		verdict   score.Verdict
		reason    string
		untrusted string
	}{
		"trusted":         {trust: Trust{Usage: usage}, verdict: score.Passed, reason: score.ReasonObjectivesMet},
		"not trusted":     {trust: Trust{Untrusted: "kappa is 0.1", Usage: usage}, verdict: score.Inconclusive, reason: score.ReasonJudgeUntrusted, untrusted: "kappa is 0.1"},
		"not to be found": {trust: Trust{Usage: usage}, err: errors.New("no labels"), verdict: score.Inconclusive, reason: score.ReasonJudgeUntrusted, untrusted: "the judge could not be calibrated: no labels"},
		"a panic":         {panics: true, verdict: score.Inconclusive, reason: score.ReasonJudgeUntrusted, untrusted: "the judge could not be calibrated: handling the reply panicked: labels"},
		"the quota is used up": {err: &judge.Error{Outcome: judge.QuotaExceeded, Message: "used up", EndsRun: true}, verdict: score.Inconclusive, reason: "JudgeQuotaExceeded",
			untrusted: "the judge could not be calibrated: used up"},
	} {
		t.Run(name, func(t *testing.T) {
			p := whole(questions(2))
			p.Objectives = accuracy
			var mu sync.Mutex
			asked, calibrated := 0, 0
			parties := everyone()
			parties.Retriever = retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				return perfect(ctx, c, topK)
			})
			p.Calibrate = func(context.Context) (Trust, error) {
				if calibrated++; asked > 0 {
					t.Error("a case was asked before")
				}
				if tt.panics {
					panic("labels")
				}
				return tt.trust, tt.err
			}
			r := Run(t.Context(), p, parties, nil)
			if r.Decision.Verdict != tt.verdict || r.Decision.Reason != tt.reason || r.Trust.Untrusted != tt.untrusted {
				t.Errorf("%+v, %+v", r.Decision, r.Trust)
			}
			if want := int64(2*asked) + tt.trust.Usage.Calls; r.Usage.Calls != want || calibrated != 1 {
				t.Errorf("%d calls, want %d; calibrated %d times", r.Usage.Calls, want, calibrated)
			}
			if ended := tt.reason == "JudgeQuotaExceeded"; ended != (asked == 0) {
				t.Errorf("%d cases were asked", asked)
			}
		})
	}
}

func TestNothingIsCalibratedWithoutAJudge(t *testing.T) {
	p := plan(cases(1))
	p.Calibrate = func(context.Context) (Trust, error) { panic("called") }
	if r := Run(t.Context(), p, everyone(), nil); r.Decision.Verdict != score.Passed || r.Trust != (Trust{}) {
		t.Errorf("%+v", r)
	}
}

// A run that was stopped while it calibrated must not pass on a judge that
// nobody looked at, even where all its cases were asked before.
func TestAStopDuringCalibrationTrustsNobody(t *testing.T) {
	p := whole(questions(2))
	p.Objectives = []score.Objective{{Metric: "accuracy", Min: "0.5"}}
	p.Finished = map[string]Finished{}
	columns := Run(t.Context(), p, everyone(), nil).Metrics
	Run(t.Context(), p, everyone(), func(c CaseResult) { p.Finished[c.Case.ID] = c.Keep(columns) })
	p.Calibrate = func(ctx context.Context) (Trust, error) { return Trust{}, ctx.Err() }
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&Stop{Reason: "Replaced"})
	if r := Run(ctx, p, everyone(), nil); r.Decision.Verdict != score.Inconclusive {
		t.Errorf("%+v", r.Decision)
	}
}

func TestWhatIsTimed(t *testing.T) {
	for outcome, want := range map[string]string{
		Scored: "retrieval answer", "RetrieverTimeout": "retrieval", "RetrieverHTTPError": "", "AnswerTimeout": "retrieval answer",
		"AnswerUnreachable": "retrieval", "JudgeTimeout": "retrieval answer", "JudgeMalformed": "retrieval answer",
	} {
		var got []string
		for _, stage := range []score.Stage{score.RetrievalStage, score.AnswerStage} {
			if Timed(stage, outcome) {
				got = append(got, string(stage))
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: timed is %q, want %q", outcome, s, want)
		}
	}
}

func TestOutcomesNameTheirStage(t *testing.T) {
	for _, tt := range []struct {
		stage        score.Stage
		failed, want string
	}{
		{score.RetrievalStage, "RetrieverTimeout", "RetrieverTimeout"},
		{score.RetrievalStage, "", "RetrieverError"},
		{score.AnswerStage, "AnswerMalformed", "AnswerMalformed"},
		{score.AnswerStage, "RetrieverTooLarge", "AnswerTooLarge"},
		{score.JudgeStage, "JudgeRefused", "JudgeRefused"},
		{score.JudgeStage, "Odd", "JudgeOdd"},
	} {
		got := outcome(tt.stage, tt.failed)
		if got != tt.want || failedIn(got) != tt.stage {
			t.Errorf("outcome(%s, %q) = %q, of stage %q; want %q", tt.stage, tt.failed, got, failedIn(got), tt.want)
		}
	}
	if failedIn(Scored) != "" {
		t.Error("Scored is a failure")
	}
}
