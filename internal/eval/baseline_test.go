package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// sideOf carries a plan out and gives it as one side of a comparison.
func sideOf(t *testing.T, p Plan, parties Parties, name string) *compare.Side {
	t.Helper()
	p.Head.Run, p.Head.UID = name, "uid-"+name
	p.Baseline = &Baseline{Base: &compare.Side{}}
	side := Run(t.Context(), p, parties, nil).Comparison.Head
	return &side
}

// tagged makes n cases of the same tag in either half, with digests.
func tagged(n int) []golden.Case {
	set := questions(n)
	for i := range set {
		set[i].Digest = "digest of " + set[i].ID
		set[i].Tags = []string{"first"}
		if i >= n/2 {
			set[i].Tags = []string{"second"}
		}
	}
	return set
}

// losing finds all but some of the cases; for those it gives what another asks for.
func losing(lost ...int) Retriever {
	return retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		var i int
		_, _ = fmt.Sscanf(c.ID, "q%d", &i)
		if slices.Contains(lost, i) {
			return list(fmt.Sprintf("d%02d", (i+1)%40)), nil
		}
		return list(c.Relevant[0].ID), nil
	})
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestDropsAgainstTheBaseline(t *testing.T) {
	const n = 40
	set := tagged(n)
	hit := score.Objective{Metric: "hit_rate@3", MaxDrop: "0.05"}
	confident := compare.Policy{MinConfidence: "0.95"}
	failing := retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		if c.ID < "q05" {
			return nil, &retriever.Error{Outcome: retriever.HTTPError, Message: "500", Attempts: 1}
		}
		return losing(5, 6, 7, 8, 9, 10, 11).Retrieve(ctx, c, topK)
	})
	for name, tc := range map[string]struct {
		before, now Retriever
		objectives  []score.Objective
		policy      compare.Policy
		change      func(*Plan)
		verdict     score.Verdict
		reason      string
		// outcome and message of the first objective's drop; worsening of it.
		outcome   score.ObjectiveOutcome
		message   string
		worsening float64
	}{
		"it stayed": {before: losing(), now: losing(), objectives: []score.Objective{hit},
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: score.Met, message: "hit_rate@3 stayed at 1.0000 (on 40 cases, p 1), meets maxDrop 0.05"},
		"it rose": {before: losing(1, 2), now: losing(), objectives: []score.Objective{hit},
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: score.Met, message: "hit_rate@3 rose from 0.9500 to 1.0000", worsening: -0.05},
		"as far as it may": {before: losing(), now: losing(1, 2), objectives: []score.Objective{hit},
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: score.Met, message: "hit_rate@3 fell from 1.0000 to 0.9500 (on 40 cases, p 0.25), meets maxDrop 0.05", worsening: 0.05},
		"further": {before: losing(), now: losing(1, 2, 3), objectives: []score.Objective{hit},
			verdict: score.Failed, reason: score.ReasonObjectivesMissed, outcome: score.Missed,
			message: "hit_rate@3 fell from 1.0000 to 0.9250 (on 40 cases, p 0.13): 0.0750 worse, more than maxDrop 0.05", worsening: 0.075},
		"further, not proven": {before: losing(), now: losing(1, 2, 3), objectives: []score.Objective{hit}, policy: confident,
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: compare.Unproven,
			message: "but not proven at minConfidence 0.95; a drop of 0.1250 is the smallest that 40 cases could show", worsening: 0.075},
		"further, proven": {before: losing(), now: losing(1, 2, 3, 4, 5), objectives: []score.Objective{hit}, policy: confident,
			verdict: score.Failed, reason: score.ReasonObjectivesMissed, outcome: score.Missed, message: "p 0.031): 0.1250 worse, more than maxDrop 0.05", worsening: 0.125},
		"one of two, and so not proven": {before: losing(), now: losing(1, 2, 3, 4, 5), objectives: []score.Objective{hit, {Metric: "mrr", MaxDrop: "0.05"}}, policy: confident,
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: compare.Unproven, message: "p 0.062 corrected for 2 bounds", worsening: 0.125},
		"one with a drop beside one without": {before: losing(), now: losing(1, 2, 3, 4, 5), objectives: []score.Objective{hit, {Metric: "mrr", Min: "0.5"}}, policy: confident,
			verdict: score.Failed, reason: score.ReasonObjectivesMissed, outcome: score.Missed, message: "p 0.031)", worsening: 0.125},
		"a group that falls under a mean that stands": {before: losing(20, 21, 22), now: losing(1, 2, 3), objectives: []score.Objective{{Metric: "hit_rate@3", Tag: "first", MaxDrop: "0.10"}, hit},
			verdict: score.Failed, reason: score.ReasonObjectivesMissed, outcome: score.Missed,
			message: "hit_rate@3 of tag first fell from 1.0000 to 0.8500 (on 20 cases, p 0.25 corrected for 2 bounds): 0.1500 worse, more than maxDrop 0.10", worsening: 0.15},
		"coverage too low": {before: losing(), now: failing, objectives: []score.Objective{hit}, change: func(p *Plan) { p.MinCoverage = 0.95 },
			verdict: score.Inconclusive, reason: score.ReasonCoverageTooLow, outcome: score.OutcomeInconclusive,
			message: "hit_rate@3 cannot be decided: 35 of 40 cases due got a result, coverage 0.8750 is below minCoverage 0.95", worsening: 0.2},
		"coverage just enough": {before: losing(), now: failing, objectives: []score.Objective{hit}, change: func(p *Plan) { p.MinCoverage = 0.875 },
			verdict: score.Failed, reason: score.ReasonObjectivesMissed, outcome: score.Missed, message: "hit_rate@3 fell from 1.0000 to 0.8000 (on 35 cases", worsening: 0.2},
		"calls that fail": {before: losing(), now: failing, objectives: []score.Objective{{Metric: score.ErrorRate, MaxDrop: "0.10"}}, change: func(p *Plan) { p.MinCoverage = 0.95 },
			verdict: score.Failed, reason: score.ReasonObjectivesMissed, outcome: score.Missed, message: "error_rate rose from 0.0000 to 0.1250 (on 40 cases, p 0.031): 0.1250 worse", worsening: 0.125},
		"no baseline": {now: losing(1, 2, 3), objectives: []score.Objective{hit}, policy: compare.Policy{Missing: "no run has passed"},
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: compare.NoBaseline, message: "hit_rate@3 is not compared, which passes: there is no baseline: no run has passed"},
		"no baseline, and it must not pass": {now: losing(1, 2, 3), objectives: []score.Objective{hit}, policy: compare.Policy{OnNotComparable: compare.LeaveOpen},
			verdict: score.Inconclusive, reason: compare.ReasonNoBaseline, outcome: score.OutcomeInconclusive, message: "hit_rate@3 cannot be compared: there is no baseline"},
		"a lost baseline": {now: losing(1, 2, 3), objectives: []score.Objective{hit}, policy: compare.Policy{Lost: true, Missing: "run r1 is gone"},
			verdict: score.Inconclusive, reason: compare.ReasonBaselineLost, outcome: score.OutcomeInconclusive, message: "hit_rate@3 cannot be decided: the baseline was known and is lost: run r1 is gone"},
		"another golden set": {before: losing(), now: losing(1, 2, 3), objectives: []score.Objective{hit}, change: func(p *Plan) {
			p.Cases = slices.Clone(p.Cases)
			for i := range n/2 + 1 {
				p.Cases[i].Digest = "edited"
			}
		}, verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: compare.NoBaseline, message: "only 19 of 40 cases are the same in before: at least 20 must be"},
		"half of the golden set": {before: losing(), now: losing(21, 22, 23), objectives: []score.Objective{hit}, change: func(p *Plan) {
			p.Cases = slices.Clone(p.Cases)
			for i := range n / 2 {
				p.Cases[i].Digest = "edited"
			}
		}, verdict: score.Failed, reason: score.ReasonObjectivesMissed, outcome: score.Missed, message: "hit_rate@3 fell from 1.0000 to 0.8500 (on 20 cases", worsening: 0.15},
		"another topK": {before: losing(), now: losing(1, 2, 3), objectives: []score.Objective{hit}, change: func(p *Plan) { p.Score.TopK = 4 },
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: compare.NoBaseline, message: "topK was 3 in before and is 4"},
		"another unit": {before: losing(), now: losing(1, 2, 3), objectives: []score.Objective{hit}, change: func(p *Plan) { p.Score.Unit = score.Document },
			verdict: score.Passed, reason: score.ReasonObjectivesMet, outcome: compare.NoBaseline, message: "unit was Chunk and is Document"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(set)
			p.Head.Run, p.Head.GoldenSetDigest = "now", "sha256:g"
			p.Objectives = tc.objectives
			p.Baseline = &Baseline{Policy: tc.policy}
			if tc.before != nil {
				p.Baseline.Base = sideOf(t, plan(set), Parties{Retriever: tc.before}, "before")
			}
			if tc.change != nil {
				tc.change(&p)
			}
			r := runRetrieval(t.Context(), p, tc.now, nil)
			if r.Decision.Verdict != tc.verdict || r.Decision.Reason != tc.reason {
				t.Errorf("%s %s (%s), want %s %s", r.Decision.Verdict, r.Decision.Reason, r.Decision.Message, tc.verdict, tc.reason)
			}
			got := r.Decision.Objectives[0]
			if got.Outcome != tc.outcome || !strings.Contains(got.Message, tc.message) {
				t.Errorf("%s: %q\nwant %s: %q", got.Outcome, got.Message, tc.outcome, tc.message)
			}
			if got.Bound != "maxDrop "+tc.objectives[0].MaxDrop || got.Tag != tc.objectives[0].Tag {
				t.Errorf("%+v", got)
			}
			if tc.worsening != 0 && (got.Value == nil || !cmp.Equal(*got.Value, tc.worsening, cmpopts.EquateApprox(0, 1e-12))) {
				t.Errorf("worse by %v, want %v", got.Value, tc.worsening)
			}
			if (r.Comparison != nil) != (tc.before != nil) || r.ReferenceComparison != nil || r.Stale != nil {
				t.Errorf("comparison %v, reference %v, stale %v", r.Comparison, r.ReferenceComparison, r.Stale)
			}
		})
	}
}

// Of a metric where less is better, a drop is a rise.
func TestADropOfWhatShouldBeLow(t *testing.T) {
	set := tagged(20)
	making := func(up int) Parties {
		p := everyone()
		p.Judge = scripted{relevance: content.relevance, verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
			return verdict(true, in.Question >= fmt.Sprintf("q%02d", up)), nil
		}}
		return p
	}
	p := whole(set)
	p.Head.Judge = "the judge"
	p.Objectives = []score.Objective{{Metric: score.HallucinationRate, MaxDrop: "0.10"}}
	for name, tc := range map[string]struct {
		before, now int
		judge       string
		verdict     score.Verdict
		message     string
	}{
		"it rose":       {0, 5, "the judge", score.Failed, "hallucination_rate rose from 0.0000 to 0.2500 (on 20 cases, p 0.031): 0.2500 worse, more than maxDrop 0.10"},
		"it fell":       {5, 0, "the judge", score.Passed, "hallucination_rate fell from 0.2500 to 0.0000 (on 20 cases, p 1), meets maxDrop 0.10"},
		"another judge": {0, 5, "another", score.Passed, "is not compared, which passes: the judge is another"},
	} {
		t.Run(name, func(t *testing.T) {
			base := sideOf(t, p, making(tc.before), "before")
			p := p
			p.Head.Judge = tc.judge
			p.Baseline = &Baseline{Base: base}
			r := Run(t.Context(), p, making(tc.now), nil)
			if r.Decision.Verdict != tc.verdict || !strings.Contains(r.Decision.Message, tc.message) {
				t.Errorf("%s: %q, want %s: %q", r.Decision.Verdict, r.Decision.Message, tc.verdict, tc.message)
			}
			if _, ok := r.Comparison.Delta("hit_rate@3", ""); !ok {
				t.Error("retrieval is not compared")
			}
		})
	}
}

func TestAJudgeThatIsNotTrustedLeavesItsDropOpen(t *testing.T) {
	p := whole(tagged(20))
	p.Head.Judge = "the judge"
	base := sideOf(t, p, everyone(), "before")
	p.Objectives = []score.Objective{{Metric: score.Accuracy, MaxDrop: "0.10"}}
	p.Baseline = &Baseline{Base: base}
	p.Calibrate = func(context.Context) (Trust, error) { return Trust{Untrusted: "it agrees too rarely"}, nil }
	parties := everyone()
	parties.Judge = scripted{relevance: content.relevance, verdict: func(context.Context, judge.Input) (judge.Verdict, error) { return verdict(false, true), nil }}
	if d := Run(t.Context(), p, parties, nil).Decision; d.Verdict != score.Inconclusive || d.Reason != score.ReasonJudgeUntrusted {
		t.Errorf("%+v", d)
	}
}

// The reference is reported and decides nothing.
func TestDriftFromAReference(t *testing.T) {
	set := tagged(40)
	p := plan(set)
	p.Objectives = []score.Objective{{Metric: "hit_rate@3", MaxDrop: "0.05"}}
	p.Baseline = &Baseline{
		Base:      sideOf(t, plan(set), Parties{Retriever: losing(upTo(9)...)}, "last"),
		Reference: sideOf(t, plan(set), Parties{Retriever: losing()}, "good"),
	}
	r := runRetrieval(t.Context(), p, losing(upTo(10)...), nil)
	if r.Decision.Verdict != score.Passed {
		t.Errorf("%+v", r.Decision)
	}
	for name, tc := range map[string]struct {
		c    *compare.Comparison
		run  string
		want float64
	}{"baseline": {r.Comparison, "last", -0.025}, "reference": {r.ReferenceComparison, "good", -0.25}} {
		d, ok := tc.c.Delta("hit_rate@3", "")
		if !ok || tc.c.Base.Run != tc.run || !cmp.Equal(d.Delta, tc.want, cmpopts.EquateApprox(0, 1e-12)) {
			t.Errorf("%s: %+v against %s", name, d, tc.c.Base.Run)
		}
		if (d.Corrected != nil) != (name == "baseline") {
			t.Errorf("%s: corrected for the bounds is %v", name, d.Corrected)
		}
	}
	p.Baseline.Base = nil
	p.Baseline.Policy.Missing = "none has passed"
	if r := runRetrieval(t.Context(), p, losing(upTo(10)...), nil); r.ReferenceComparison == nil || r.Comparison != nil || r.Decision.Objectives[0].Outcome != compare.NoBaseline {
		t.Errorf("with a reference alone: %+v", r.Decision)
	}
}

func TestWhatTheHeadOfAComparisonIs(t *testing.T) {
	set := tagged(4)
	set[1].Answerable = false
	p := whole(set)
	p.Parallelism = 1
	p.Head = compare.Side{Run: "now", UID: "u", Revision: "r2", GoldenSetDigest: "g", EvaluationDigest: "e", Tokenizer: "Char", Judge: "j"}
	p.Baseline = &Baseline{Base: &compare.Side{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	asked := 0
	parties := everyone()
	parties.Retriever = retrieverFunc(func(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
		if c.ID == "q02" {
			return nil, &retriever.Error{Outcome: retriever.Timeout, Message: "late", Attempts: 1, Latency: 10_000_000_000}
		}
		return list("x", c.Relevant[0].ID, "y", "beyond"), nil
	})
	r := Run(ctx, p, parties, func(CaseResult) {
		if asked++; asked == 3 {
			cancel(&Stop{Reason: "Replaced"})
		}
	})
	want := p.Head
	want.TopK, want.Total = 3, 4
	if diff := cmp.Diff(want, r.Comparison.Head, cmpopts.IgnoreFields(compare.Side{}, "Cases")); diff != "" {
		t.Error(diff)
	}
	texts := []string{TextDigest("text of x"), TextDigest("text of d00"), TextDigest("text of y")}
	first := compare.Case{
		ID: "q00", Digest: "digest of q00", Tags: []string{"first"}, Outcome: Scored, Rank: 2, Retrieved: []string{"x", "d00", "y"}, Relevant: []string{"d00"}, Texts: texts,
	}
	opts := cmpopts.IgnoreFields(compare.Case{}, "Values")
	if diff := cmp.Diff(first, r.Comparison.Head.Cases[0], opts); diff != "" {
		t.Error(diff)
	}
	values := r.Comparison.Head.Cases[0].Values
	for name, want := range map[string]float64{"hit_rate@1": 0, "hit_rate@3": 1, score.MRR: 0.5, score.Accuracy: 1, score.LatencyP95: 0.01, score.AnswerLatencyP95: 2} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %v (%t), want %v", name, got, ok, want)
		}
	}
	if c := r.Comparison.Head.Cases[1]; c.Relevant != nil || len(c.Retrieved) != 3 {
		t.Errorf("a case without an answer in the corpus: %+v, want no relevant ids", c)
	} else if v, ok := c.Values[score.MRR]; ok {
		t.Errorf("what was not measured has the value %v", v)
	}
	timeout := compare.Case{ID: "q02", Digest: "digest of q02", Tags: []string{"second"}, Outcome: "RetrieverTimeout", Relevant: []string{"d02"}, Values: map[string]float64{score.LatencyP95: 10}}
	if diff := cmp.Diff(timeout, r.Comparison.Head.Cases[2]); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Comparison.Head.Cases); n != 3 {
		t.Errorf("%d cases, want those that were asked", n)
	}
}

// What got worse comes first, whatever else is bad.
func TestRegressionsFirst(t *testing.T) {
	set := tagged(40)
	set[30].Digest = "edited"
	base := sideOf(t, plan(tagged(40)), Parties{Retriever: retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		switch c.ID {
		case "q05":
			return list("d39"), nil
		case "q06":
			return list("d39", "d38", c.Relevant[0].ID), nil
		}
		return list(c.Relevant[0].ID), nil
	})}, "before")
	p := plan(set)
	p.Baseline = &Baseline{Base: base}
	r := runRetrieval(t.Context(), p, retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		switch c.ID {
		case "q05", "q07", "q30": // the first was not found before either, the last is another case
			return list("d38"), nil
		case "q06": // better
			return list("d39", c.Relevant[0].ID), nil
		case "q08", "q09":
			return list("d39", c.Relevant[0].ID), nil
		case "q10":
			return nil, &retriever.Error{Outcome: retriever.Timeout, Message: "late", Attempts: 1}
		}
		return list(c.Relevant[0].ID), nil
	}), nil)
	want := []WorstCase{
		{ID: "q07", BaselineRank: 1, Outcome: Scored},
		{ID: "q10", BaselineRank: 1, Outcome: "RetrieverTimeout"},
		{ID: "q08", Rank: 2, BaselineRank: 1, Outcome: Scored},
		{ID: "q09", Rank: 2, BaselineRank: 1, Outcome: Scored},
		{ID: "q05", Outcome: Scored},
		{ID: "q30", Outcome: Scored},
		{ID: "q06", Rank: 2, BaselineRank: 3, Outcome: Scored},
	}
	if diff := cmp.Diff(want, r.Worst); diff != "" {
		t.Error(diff)
	}
	// With more than fit, those that got worse stay.
	r = runRetrieval(t.Context(), p, losing(append(upTo(25), 30)...), nil)
	if len(r.Worst) != maxWorst {
		t.Fatalf("%d cases, want %d", len(r.Worst), maxWorst)
	}
	for _, w := range r.Worst {
		if w.BaselineRank == 0 || w.ID == "q05" {
			t.Errorf("%+v is named before those that got worse", w)
		}
	}
	// Where nothing is compared, the order is that of a run without a baseline.
	p.Baseline.Base.TopK = 7
	r = runRetrieval(t.Context(), p, losing(1), nil)
	if diff := cmp.Diff([]WorstCase{{ID: "q01", Outcome: Scored}}, r.Worst); diff != "" {
		t.Error(diff)
	}
}

// A run that goes on in another process compares as if nothing had happened, with
// lists and texts as they were kept.
func TestResumedRunsCompareLikeWholeOnes(t *testing.T) {
	set := tagged(12)
	for name, now := range map[string]Retriever{"a drop": losing(1, 2, 3), "moved": renaming(func(id string) string { return "kb/" + id })} {
		t.Run(name, func(t *testing.T) {
			p := plan(set)
			p.Objectives = []score.Objective{{Metric: "hit_rate@3", Min: "0.5", MaxDrop: "0.05"}}
			p.Baseline = &Baseline{Base: sideOf(t, plan(set), Parties{Retriever: losing()}, "before")}
			var seen []CaseResult
			want := runRetrieval(t.Context(), p, now, func(c CaseResult) { seen = append(seen, c) })
			for n := range len(seen) + 1 {
				p.Finished = map[string]Finished{}
				for _, c := range seen[:n] {
					p.Finished[c.Case.ID] = c.Keep(want.Metrics)
				}
				got := runRetrieval(t.Context(), p, now, nil)
				if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(compare.Comparison{})); diff != "" {
					t.Errorf("after %d cases (-whole +resumed):\n%s", n, diff)
				}
			}
			if len(want.Comparison.Deltas) == 0 || (want.Stale != nil) != (name == "moved") {
				t.Errorf("%d deltas, stale %v", len(want.Comparison.Deltas), want.Stale)
			}
		})
	}
}

func TestTheCheckAfterTheLastCase(t *testing.T) {
	for name, tc := range map[string]struct {
		retriever Retriever
		undecided []score.Undecided
		verdict   score.Verdict
		reason    string
	}{
		"nothing to say":       {losing(), nil, score.Passed, score.ReasonObjectivesMet},
		"open":                 {losing(), []score.Undecided{{Reason: "Odd", Message: "odd"}}, score.Inconclusive, "Odd"},
		"open, and missed":     {losing(upTo(30)...), []score.Undecided{{Reason: "Odd", Message: "odd"}}, score.Failed, score.ReasonObjectivesMissed},
		"void, and missed":     {losing(upTo(30)...), []score.Undecided{{Reason: "RevisionChanged", Message: "another", Void: true}}, score.Inconclusive, "RevisionChanged"},
		"void, and it dropped": {losing(1, 2, 3), []score.Undecided{{Reason: "RevisionChanged", Message: "another", Void: true}}, score.Inconclusive, "RevisionChanged"},
	} {
		t.Run(name, func(t *testing.T) {
			set := tagged(40)
			p := plan(set)
			p.Objectives = append(p.Objectives, score.Objective{Metric: "hit_rate@3", MaxDrop: "0.05"})
			p.Baseline = &Baseline{Base: sideOf(t, plan(set), Parties{Retriever: losing()}, "before")}
			ended, asked := 0, 0
			p.Check = func(ctx context.Context) []score.Undecided {
				if asked++; ctx.Err() != nil {
					t.Error("the context has ended")
				}
				if ended != 40 {
					t.Errorf("asked after %d cases", ended)
				}
				return tc.undecided
			}
			d := runRetrieval(t.Context(), p, tc.retriever, func(CaseResult) { ended++ }).Decision
			if d.Verdict != tc.verdict || d.Reason != tc.reason || asked != 1 {
				t.Errorf("%s %s, asked %d times", d.Verdict, d.Reason, asked)
			}
		})
	}
	// A run that was stopped is checked, too, with a context that goes on.
	p := plan(tagged(4))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&Stop{Reason: "Superseded", Message: "a newer revision"})
	p.Check = func(ctx context.Context) []score.Undecided {
		if ctx.Err() != nil {
			t.Error("the context of a stopped run has ended")
		}
		return []score.Undecided{{Reason: "RevisionChanged", Message: "another", Void: true}}
	}
	if d := runRetrieval(ctx, p, losing(), nil).Decision; d.Reason != "Superseded" || !strings.HasSuffix(d.Message, "; another") {
		t.Errorf("%+v", d)
	}
}

func TestTextDigest(t *testing.T) {
	const text = "The install\n page."
	want := TextDigest(text)
	if len(want) != 16 || strings.Trim(want, "0123456789abcdef") != "" {
		t.Errorf("%q, want 16 hexadecimal digits", want)
	}
	for _, same := range []string{" The install page.\n", "The\tinstall  page."} {
		if got := TextDigest(same); got != want {
			t.Errorf("%q has the digest %s, want %s", same, got, want)
		}
	}
	for _, other := range []string{"The installpage.", "the install page.", "The install page", "The install page. The install page."} {
		if TextDigest(other) == want {
			t.Errorf("%q has the same digest", other)
		}
	}
	if TextDigest("\u1100\u1161") != TextDigest("\uac00") {
		t.Error("a syllable has another digest when it is written in parts")
	}
	for _, blank := range []string{"", " \n\t", "\u00a0"} {
		if got := TextDigest(blank); got != "" {
			t.Errorf("%q has the digest %q", blank, got)
		}
	}
}
