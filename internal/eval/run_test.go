package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// retrieverFunc is a retriever made of a function.
type retrieverFunc func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error)

func (f retrieverFunc) Retrieve(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
	return f(ctx, c, topK)
}

// list is a reply of one attempt.
func list(ids ...string) *retriever.Reply {
	r := &retriever.Reply{Attempts: 1, Latency: 10 * time.Millisecond}
	for _, id := range ids {
		r.Results = append(r.Results, retriever.Result{ID: id, Text: "text of " + id})
	}
	return r
}

// perfect finds what is relevant, at once.
var perfect = retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
	return list(c.Relevant[0].ID), nil
})

// after answers as r does, later, unless ctx ends first.
func after(d func(c *golden.Case) time.Duration, r Retriever) Retriever {
	return retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		select {
		case <-ctx.Done():
			return nil, &retriever.Error{Outcome: retriever.Failed, Message: "canceled", Attempts: 1, Err: ctx.Err()}
		case <-time.After(d(c)):
			return r.Retrieve(ctx, c, topK)
		}
	})
}

func seconds(n int) func(*golden.Case) time.Duration {
	return func(*golden.Case) time.Duration { return time.Duration(n) * time.Second }
}

// cases makes n cases with one relevant id each: q00 asks for d00.
func cases(n int) []golden.Case {
	out := make([]golden.Case, n)
	for i := range out {
		out[i] = golden.Case{ID: fmt.Sprintf("q%02d", i), Answerable: true, Relevant: []golden.Relevant{{ID: fmt.Sprintf("d%02d", i), Grade: 1}}}
	}
	return out
}

func plan(cases []golden.Case) Plan {
	return Plan{
		Cases:       cases,
		Score:       score.Spec{TopK: 3, K: []int{1, 3}},
		Objectives:  []score.Objective{{Metric: "hit_rate@3", Min: "0.50"}},
		MinCoverage: 0.5,
		Parallelism: 2,
	}
}

// runRetrieval is a run of retrieval alone.
func runRetrieval(ctx context.Context, p Plan, r Retriever, observe func(CaseResult)) *Result {
	return Run(ctx, p, Parties{Retriever: r}, observe)
}

func TestRunScoresEveryCase(t *testing.T) {
	set := cases(7)
	set[1].Tags = []string{"ko"}
	set[5].Answerable = false
	set[6].Relevant = nil
	one := 1.5
	replies := map[string]*retriever.Reply{
		"q00": list("d00", "x"),
		"q01": list("x", "d01", "y", "z"),
		"q02": list("x", "y", "d02"),
		"q03": list("x", "y", "z", "d03"),
	}
	replies["q00"].Results[0].Score = &one
	replies["q01"].Attempts = 3
	asked := map[string]int{}
	p := plan(set)
	p.Parallelism = 1
	var seen []CaseResult
	r := runRetrieval(t.Context(), p, retrieverFunc(func(_ context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		asked[c.ID] = topK
		if reply, ok := replies[c.ID]; ok {
			return reply, nil
		}
		return nil, &retriever.Error{Outcome: retriever.Timeout, Message: "POST /search: no reply within 10s", Attempts: 3, Latency: 10 * time.Second}
	}), func(c CaseResult) { seen = append(seen, c) })

	if diff := cmp.Diff(map[string]int{"q00": 3, "q01": 3, "q02": 3, "q03": 3, "q04": 3}, asked); diff != "" {
		t.Errorf("asked, with topK:\n%s", diff)
	}
	type row struct {
		id, outcome, message string
		rank, values         int
		called               bool
		latency              time.Duration
		retrieved            string
	}
	var rows []row
	for _, c := range seen {
		var list []string
		for _, r := range c.Retrieved {
			s := r.ID
			if r.Score != nil {
				s += fmt.Sprint("=", *r.Score)
			}
			if r.Relevant {
				s += "!"
			}
			list = append(list, s)
		}
		rows = append(rows, row{c.Case.ID, c.Outcome, c.Message, c.Rank, len(c.Values), c.Called, c.Latency, strings.Join(list, " ")})
	}
	n, ms := len(r.Metrics), 10*time.Millisecond
	want := []row{
		{"q00", "Scored", "", 1, n, true, ms, "d00=1.5! x"},
		{"q01", "Scored", "", 2, n, true, ms, "x d01! y"},
		{"q02", "Scored", "", 3, n, true, ms, "x y d02!"},
		{"q03", "Scored", "", 0, n, true, ms, "x y z"},
		{"q04", "RetrieverTimeout", "POST /search: no reply within 10s", 0, 0, true, 10 * time.Second, ""},
		{"q05", "Scored", "", 0, 0, false, 0, ""},
		{"q06", "Scored", "", 0, 0, false, 0, ""},
	}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}

	if diff := cmp.Diff(map[string]int{"Scored": 6, "RetrieverTimeout": 1}, r.Outcomes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]WorstCase{{ID: "q03", Rank: 0, Outcome: "Scored"}, {ID: "q04", Rank: 0, Outcome: "RetrieverTimeout"}, {ID: "q02", Rank: 3, Outcome: "Scored"}, {ID: "q01", Rank: 2, Outcome: "Scored"}}, r.Worst); diff != "" {
		t.Error(diff)
	}
	if got := [...]int{r.Total, r.Done, r.Errored, int(r.RetrieverCalls)}; got != [...]int{7, 7, 1, 9} {
		t.Errorf("total, done, errored, calls = %v", got)
	}
	for name, want := range map[string]float64{"hit_rate@3": 0.75, "mrr": (1 + 1./2 + 1./3) / 4, "error_rate": 1. / 7, "retrieval_latency_p95_seconds": 10} {
		if m, ok := r.Summary.Mean(name, ""); !ok || m.Value != want {
			t.Errorf("%s = %v (%t), want %v", name, m.Value, ok, want)
		}
	}
	if m, ok := r.Summary.Mean("mrr", "ko"); !ok || m.Value != 0.5 || m.Count != 1 {
		t.Errorf("mrr of tag ko: %+v (%t)", m, ok)
	}
	if c := r.Summary.Retrieval[""]; c != (score.Coverage{Scored: 4, Due: 5}) {
		t.Errorf("coverage %+v", c)
	}
	if r.Decision.Verdict != score.Passed || r.Decision.Message != "hit_rate@3 is 0.7500 (4 of 5 cases scored), meets min 0.50" {
		t.Errorf("%+v", r.Decision)
	}
}

func TestDocumentsAreNamedByTheirOwnID(t *testing.T) {
	p := plan(cases(1))
	p.Score.Unit = score.Document
	reply := list("c1", "c2", "c3")
	reply.Results[0].Document, reply.Results[1].Document, reply.Results[2].Document = "other", "other", "d00"
	var got []Retrieved
	runRetrieval(t.Context(), p, retrieverFunc(func(context.Context, *golden.Case, int) (*retriever.Reply, error) { return reply, nil }),
		func(c CaseResult) { got = c.Retrieved })
	if diff := cmp.Diff([]Retrieved{{ID: "other", TextDigest: TextDigest("text of c1")}, {ID: "d00", Relevant: true, TextDigest: TextDigest("text of c3")}}, got); diff != "" {
		t.Error(diff)
	}
}

// What comes out does not depend on the order in which the cases end.
func TestTheResultDoesNotDependOnTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := cases(60)
		r := retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
			switch c.ID[2] {
			case '3':
				return nil, &retriever.Error{Outcome: retriever.HTTPError, Message: "status 500 for " + c.ID, Attempts: 1}
			case '4', '5':
				return list("x", "y", c.Relevant[0].ID), nil
			case '6':
				return list("x"), nil
			}
			return list("x", c.Relevant[0].ID), nil
		})
		results := map[int]*Result{}
		for _, parallelism := range []int{1, 7} {
			p := plan(set)
			p.Parallelism = parallelism
			p.MinCoverage = 0.95
			results[parallelism] = runRetrieval(t.Context(), p, after(func(c *golden.Case) time.Duration {
				return time.Duration((int(c.ID[1])*31+int(c.ID[2])*17)%13) * time.Second
			}, r), nil)
		}
		if diff := cmp.Diff(results[1], results[7]); diff != "" {
			t.Error(diff)
		}
		want := "hit_rate@3 cannot be decided: 54 of 60 cases due got a result, coverage 0.9000 is below minCoverage 0.95; 6 cases ended RetrieverHTTPError, the first: status 500 for q03"
		if got := results[7].Decision.Message; got != want {
			t.Errorf("message %q, want %q", got, want)
		}
	})
}

func TestAtMostParallelismCasesAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inFlight, most atomic.Int32
		p := plan(cases(10))
		p.Parallelism = 4
		begin := time.Now()
		observing := false
		r := runRetrieval(t.Context(), p, retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			return after(seconds(1), perfect).Retrieve(ctx, c, topK)
		}), func(CaseResult) {
			if observing {
				t.Error("observe was called while it was running")
			}
			observing = true
			synctest.Wait()
			observing = false
		})
		if most.Load() != 4 || time.Since(begin) != 3*time.Second {
			t.Errorf("%d at once, ten cases of a second each took %s", most.Load(), time.Since(begin))
		}
		if r.Done != 10 || r.Decision.Verdict != score.Passed {
			t.Errorf("%d done, %s", r.Done, r.Decision.Verdict)
		}
	})
}

func TestTheRunHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(cases(10))
		p.Timeout = 35 * time.Second
		begin, observed := time.Now(), 0
		r := runRetrieval(t.Context(), p, after(seconds(10), perfect), func(CaseResult) { observed++ })
		if time.Since(begin) != p.Timeout {
			t.Errorf("the run took %s", time.Since(begin))
		}
		// The two in flight are not errors, and those never asked have no outcome.
		if diff := cmp.Diff(map[string]int{"Scored": 6}, r.Outcomes); diff != "" {
			t.Error(diff)
		}
		if r.Done != 6 || observed != 6 || r.Errored != 0 || r.RetrieverCalls != 8 || r.Summary.Retrieval[""] != (score.Coverage{Scored: 6, Due: 10}) {
			t.Errorf("%+v, observed %d", r, observed)
		}
		want := score.Decision{Verdict: score.Inconclusive, Reason: "DeadlineExceeded",
			Message:    "the run reached its limit of 35s when 6 of 10 cases were done: raise execution.timeoutSeconds or execution.parallelism",
			Objectives: r.Decision.Objectives}
		if diff := cmp.Diff(want, r.Decision); diff != "" {
			t.Error(diff)
		}
	})
}

func TestALimitThatNothingKeepsIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(cases(3))
		p.Timeout = 5 * time.Second
		r := runRetrieval(t.Context(), p, after(seconds(10), perfect), nil)
		if r.Decision.Verdict != score.Error || r.Decision.Reason != score.ReasonNothingScored || !strings.Contains(r.Decision.Message, "limit of 5s when 0 of 3 cases were done") {
			t.Errorf("%+v", r.Decision)
		}
	})
}

func TestARunCanBeStopped(t *testing.T) {
	tests := map[string]struct {
		cause   error
		reason  string
		message string
	}{
		"with a reason":     {&Stop{Reason: "Replaced", Message: "the slot of 12:00 replaced the run"}, "Replaced", "the slot of 12:00 replaced the run when 2 of 10 cases were done"},
		"wrapped":           {fmt.Errorf("queue: %w", &Stop{Reason: "Replaced"}), "Replaced", "the run was stopped when 2 of 10 cases were done"},
		"without a reason":  {nil, "Canceled", "the run was canceled when 2 of 10 cases were done"},
		"by someone's time": {context.DeadlineExceeded, "DeadlineExceeded", "the deadline was reached when 2 of 10 cases were done"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(15*time.Second, func() { cancel(tt.cause) })
				r := runRetrieval(ctx, plan(cases(10)), after(seconds(10), perfect), nil)
				if r.Decision.Verdict != score.Inconclusive || r.Decision.Reason != tt.reason || r.Decision.Message != tt.message {
					t.Errorf("%+v", r.Decision)
				}
				if r.Done != 2 || r.Errored != 0 {
					t.Errorf("%d done, %d errored", r.Done, r.Errored)
				}
			})
		})
	}
}

func TestStoppedBeforeTheFirstCaseIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&Stop{Reason: "Replaced", Message: "replaced"})
	r := runRetrieval(ctx, plan(cases(3)), perfect, nil)
	if r.Decision.Verdict != score.Inconclusive || r.Decision.Reason != "Replaced" || r.RetrieverCalls != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAStopBehindTheLastCaseChangesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := runRetrieval(ctx, plan(cases(1)), perfect, func(CaseResult) { cancel(&Stop{Reason: "Replaced"}) })
	if r.Decision.Verdict != score.Passed {
		t.Errorf("%+v", r.Decision)
	}
}

func TestARetrieverThatIsDownIsAnError(t *testing.T) {
	set := cases(5)
	set[4].Answerable = false
	r := runRetrieval(t.Context(), plan(set), retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		return nil, &retriever.Error{Outcome: retriever.Unreachable, Message: "POST bot:80/search: connection refused", Attempts: 3, Latency: time.Millisecond}
	}), nil)
	want := score.Decision{Verdict: score.Error, Reason: score.ReasonNothingScored,
		Message:    "none of 4 cases could be scored; 4 cases ended RetrieverUnreachable, the first: POST bot:80/search: connection refused",
		Objectives: r.Decision.Objectives}
	if diff := cmp.Diff(want, r.Decision); diff != "" {
		t.Error(diff)
	}
	if r.RetrieverCalls != 12 || r.Errored != 4 {
		t.Errorf("%d calls, %d errored", r.RetrieverCalls, r.Errored)
	}
	if m, ok := r.Summary.Mean(score.LatencyP95, ""); ok {
		t.Errorf("a refused call has a latency: %+v", m)
	}
}

func TestOddFailuresCostOneCase(t *testing.T) {
	r := runRetrieval(t.Context(), plan(cases(4)), retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		switch c.ID {
		case "q00":
			panic("nil map")
		case "q01":
			return nil, errors.New("no typed error")
		case "q02":
			return nil, nil
		}
		return perfect(ctx, c, topK)
	}), func(c CaseResult) {
		want := map[string]string{"q00": "handling the reply panicked: nil map", "q01": "no typed error", "q02": "handling the reply panicked: runtime error: invalid memory address or nil pointer dereference"}[c.Case.ID]
		if c.Message != want {
			t.Errorf("%s: message %q, want %q", c.Case.ID, c.Message, want)
		}
	})
	if diff := cmp.Diff(map[string]int{"RetrieverError": 3, "Scored": 1}, r.Outcomes); diff != "" {
		t.Error(diff)
	}
}

func TestWarmup(t *testing.T) {
	set := cases(3)
	set[0].Answerable = false
	var calls, observed atomic.Int32
	p := plan(set)
	p.WarmupRequests = 5
	r := runRetrieval(t.Context(), p, retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		if calls.Add(1) <= 5 {
			return nil, &retriever.Error{Outcome: retriever.Unreachable, Message: "cold", Attempts: 1}
		}
		return perfect(ctx, c, topK)
	}), func(CaseResult) { observed.Add(1) })
	if calls.Load() != 7 || r.RetrieverCalls != 7 || observed.Load() != 3 || r.Errored != 0 || r.Decision.Verdict != score.Passed {
		t.Errorf("%d calls, %d observed, %+v", calls.Load(), observed.Load(), r)
	}
}

func TestWarmupOfNothing(t *testing.T) {
	set := cases(1)
	set[0].Answerable = false
	p := plan(set)
	p.WarmupRequests = 5
	if r := runRetrieval(t.Context(), p, perfect, nil); r.RetrieverCalls != 0 || r.Decision.Reason != score.ReasonMetricAbsent {
		t.Errorf("%+v", r)
	}
}

func TestACorpusThatChanges(t *testing.T) {
	versions := func(v ...string) *Result {
		p := plan(cases(len(v)))
		p.Parallelism = 1
		return runRetrieval(t.Context(), p, retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
			reply := list(c.Relevant[0].ID)
			reply.CorpusVersion = v[int(c.ID[2]-'0')]
			return reply, nil
		}), nil)
	}
	if r := versions("v1", "", "v1"); r.CorpusVersion != "v1" || r.CorpusVersionChanged || r.Decision.Verdict != score.Passed {
		t.Errorf("%+v", r)
	}
	r := versions("v1", "v2", "")
	if r.CorpusVersion != "v2" || !r.CorpusVersionChanged || r.Decision.Verdict != score.Inconclusive || r.Decision.Reason != ReasonCorpusChanged {
		t.Errorf("%+v", r)
	}
	if r := versions("v1", "v2", "v1"); r.CorpusVersion != "v1" || !r.CorpusVersionChanged {
		t.Errorf("%+v", r)
	}
}

func TestWorstCasesAreTwentyAtMost(t *testing.T) {
	r := runRetrieval(t.Context(), plan(cases(50)), retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		if c.ID < "q40" {
			return list("x", c.Relevant[0].ID), nil
		}
		return list("x"), nil
	}), nil)
	if len(r.Worst) != 20 || r.Worst[0].ID != "q40" || r.Worst[9].ID != "q49" || r.Worst[10] != (WorstCase{ID: "q00", Rank: 2, Outcome: Scored}) {
		t.Errorf("%+v", r.Worst)
	}
}

func TestAPlanThatCannotBeScored(t *testing.T) {
	p := plan(cases(1))
	p.Score.TopK = 0
	r := runRetrieval(t.Context(), p, perfect, nil)
	if r.Decision.Verdict != score.Error || !strings.Contains(r.Decision.Message, "topK is 0") {
		t.Errorf("%+v", r.Decision)
	}
}

// The workers end also where observe does not come back; synctest fails where a
// goroutine is left behind.
func TestWorkersEndWhenObservePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		runRetrieval(t.Context(), plan(cases(20)), after(seconds(1), perfect), func(CaseResult) {
			<-time.After(time.Minute) // every worker now waits for someone to take its case
			panic("observer")
		})
	})
}

// An id may be a part of the whole body; the case must not keep it alive.
func TestNothingOfAReplyIsKeptButItsIds(t *testing.T) {
	var body weak.Pointer[byte]
	var kept []CaseResult
	r := runRetrieval(t.Context(), plan(cases(1)), retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		whole := strings.Repeat("d00 ", 1<<18)
		body = weak.Make(unsafe.StringData(whole))
		reply := list(whole[:3])
		reply.Results[0].Text = whole
		reply.CorpusVersion = whole[4:7]
		return reply, nil
	}), func(c CaseResult) { kept = append(kept, c) })
	runtime.GC()
	if body.Value() != nil {
		t.Error("the body is still in memory")
	}
	if r.CorpusVersion != "d00" || kept[0].Retrieved[0].ID != "d00" {
		t.Errorf("%+v", kept)
	}
}
