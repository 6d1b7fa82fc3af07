package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assay-dev/assay/internal/score"
)

// hundred is a base of cases at rank 1, and a head that lost some of them and
// found none.
func hundred(lost int) (base, head Side) {
	cases := many(100, 1)
	now := cases
	for i := range lost {
		now = with(now, ranked(at(i), 0))
	}
	return side("b", cases...), side("h", now...)
}

func TestJudge(t *testing.T) {
	hit := func(maxDrop string) []Relative { return []Relative{{Metric: "hit_rate@5", MaxDrop: maxDrop}} }
	for _, test := range []struct {
		name       string
		lost       int
		relative   []Relative
		confidence string
		want       score.ObjectiveOutcome
		value      float64
		message    string
	}{
		{"nothing lost", 0, hit("0.05"), "", score.Met, 0, "hit_rate@5 stayed at 1.0000 (on 100 cases, p 1), meets maxDrop 0.05"},
		{"nothing allowed, nothing lost", 0, hit("0"), "", score.Met, 0, "meets maxDrop 0"},
		{"just the bound", 5, hit("0.05"), "", score.Met, 0.05, "hit_rate@5 fell from 1.0000 to 0.9500 (on 100 cases, p 0.031), meets maxDrop 0.05"},
		{"one more", 6, hit("0.05"), "", score.Missed, 0.06, "hit_rate@5 fell from 1.0000 to 0.9400 (on 100 cases, p 0.016): 0.0600 worse, more than maxDrop 0.05"},
		{"a hair more", 6, hit("0.05999"), "", score.Missed, 0.06, "0.06000 worse, more than maxDrop 0.05999"},
		{"less than the tolerance more", 6, hit("0.0599999999"), "", score.Met, 0.06, ""},
		{"more, and proven", 6, hit("0.05"), "0.95", score.Missed, 0.06, "more than maxDrop 0.05"},
		{"more, and not proven", 4, hit("0.03"), "0.95", Unproven, 0.04, "0.0400 worse, more than maxDrop 0.03, but not proven at minConfidence 0.95; a drop of 0.0500 is the smallest that 100 cases could show"},
		{"just the confidence", 7, hit("0.03"), "0.9921875", score.Missed, 0.07, "p 0.0078)"},
		{"less confidence", 4, hit("0.03"), "0.9", score.Missed, 0.04, "more than maxDrop 0.03"},
		{"all confidence", 20, hit("0.03"), "1", Unproven, 0.2, "p below 0.0001"},
		{"no confidence", 1, hit("0"), "0", score.Missed, 0.01, ""},
		{"not proven, and few changes", 4, []Relative{{Metric: score.MRR, MaxDrop: "0.03"}}, "0.95", Unproven, 0.04, "; so few changes could show no drop"},
		{"no number", 0, hit("much"), "", score.OutcomeInconclusive, 0, `maxDrop "much" is no decimal number`},
		{"below 0", 0, hit("-0.1"), "", score.OutcomeInconclusive, 0, `maxDrop "-0.1" is no decimal number`},
		{"not finite", 0, hit("Inf"), "", score.OutcomeInconclusive, 0, `maxDrop "Inf" is no decimal number`},
		{"no confidence to speak of", 0, hit("0.1"), "sure", score.OutcomeInconclusive, 0, `minConfidence "sure" is no decimal number from 0 to 1`},
		{"in per cent", 0, hit("0.1"), "95", score.OutcomeInconclusive, 0, `minConfidence "95" is no decimal number from 0 to 1`},
	} {
		t.Run(test.name, func(t *testing.T) {
			base, head := hundred(test.lost)
			got := Judge(test.relative, Compare(base, head, Options{Relative: test.relative}), Policy{MinConfidence: test.confidence})
			if len(got) != 1 {
				t.Fatalf("%d results", len(got))
			}
			r := got[0]
			if r.Outcome != test.want || r.Bound != "maxDrop "+test.relative[0].MaxDrop {
				t.Errorf("%s (%s): %s", r.Outcome, r.Bound, r.Message)
			}
			if !strings.Contains(r.Message, test.message) {
				t.Errorf("message %q, want in it %q", r.Message, test.message)
			}
			if test.want == score.OutcomeInconclusive {
				if r.Reason != score.ReasonInvalidBound {
					t.Errorf("reason %q", r.Reason)
				}
				return
			}
			if r.Value == nil || !near(*r.Value, test.value, 1e-12) || r.Reason != "" {
				t.Errorf("value %v, reason %q", r.Value, r.Reason)
			}
		})
	}
}

func TestJudgeFollowsTheDirection(t *testing.T) {
	var base, head []Case
	for i := range 10 {
		base = append(base, answered(ranked(at(i), 1), true, true))
		head = append(head, answered(ranked(at(i), 1), true, i > 0))
	}
	b, h := side("b", base...), side("h", head...)
	b.Judge, h.Judge = "j", "j"
	relative := []Relative{{Metric: score.HallucinationRate, MaxDrop: "0.05"}}
	r := Judge(relative, Compare(b, h, Options{}), Policy{})[0]
	if want := "hallucination_rate rose from 0.0000 to 0.1000 (on 10 cases, p 0.5): 0.1000 worse, more than maxDrop 0.05"; r.Outcome != score.Missed || r.Message != want || *r.Value != 0.1 {
		t.Errorf("%s %v: %s", r.Outcome, *r.Value, r.Message)
	}
	r = Judge(relative, Compare(h, b, Options{}), Policy{})[0]
	if r.Outcome != score.Met || *r.Value != -0.1 {
		t.Errorf("a fall: %s %v: %s", r.Outcome, *r.Value, r.Message)
	}
}

// Latency has no test, so no confidence is asked of it.
func TestJudgeLatency(t *testing.T) {
	slow, fast := ranked("1", 1), ranked("1", 1)
	slow.Values[score.LatencyP95], fast.Values[score.LatencyP95] = 0.9, 0.4
	c := Compare(side("b", fast), side("h", slow), Options{})
	r := Judge([]Relative{{Metric: score.LatencyP95, MaxDrop: "0.2"}}, c, Policy{MinConfidence: "0.99"})[0]
	if want := "retrieval_latency_p95_seconds rose from 0.4000 to 0.9000 (on 1 case): 0.5000 worse, more than maxDrop 0.2"; r.Outcome != score.Missed || r.Message != want {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
}

// Looked at alone each would be proven; together they are not.
func TestJudgeCorrects(t *testing.T) {
	base, head := hundred(5)
	alone := []Relative{{Metric: "hit_rate@5", MaxDrop: "0.01"}}
	if r := Judge(alone, Compare(base, head, Options{}), Policy{MinConfidence: "0.95"})[0]; r.Outcome != score.Missed {
		t.Errorf("alone: %s", r.Message)
	}
	both := append(slices.Clone(alone), Relative{Metric: score.ErrorRate, MaxDrop: "0.01"}, Relative{Metric: score.LatencyP95, MaxDrop: "0.01"}, Relative{Metric: score.MRR})
	got := Judge(both, Compare(base, head, Options{}), Policy{MinConfidence: "0.95"})
	if len(got) != 3 {
		t.Fatalf("%d results: what has no maxDrop has none", len(got))
	}
	if r := got[0]; r.Outcome != Unproven || !strings.Contains(r.Message, "p 0.062 corrected for 2 bounds") || !strings.HasSuffix(r.Message, "minConfidence 0.95") {
		t.Errorf("together: %s: %s", r.Outcome, r.Message)
	}
}

func TestJudgeWithoutABaseline(t *testing.T) {
	tagged := ranked("1", 1, "t")
	judged := answered(ranked("1", 1), true, true)
	silent := ranked("1", 1)
	other := func(s Side) Side {
		s.Judge = "k"
		return s
	}
	j := func(s Side) Side {
		s.Judge = "j"
		return s
	}
	short := func(metric, tag string) (reason, message string) {
		return score.ReasonCoverageTooLow, fmt.Sprintf("%s: too few", metric)
	}
	for _, test := range []struct {
		name        string
		comparison  *Comparison
		metric, tag string
		policy      Policy
		// want of Ignore and of Inconclusive.
		want, open score.ObjectiveOutcome
		reason     string
		message    string
	}{
		{"no baseline", nil, "mrr", "", Policy{}, NoBaseline, score.OutcomeInconclusive, ReasonNoBaseline, "there is no baseline"},
		{"no baseline, and why", nil, "mrr", "t", Policy{Missing: "no run passed yet"}, NoBaseline, score.OutcomeInconclusive, ReasonNoBaseline, "mrr of tag t is not compared, which passes: there is no baseline: no run passed yet"},
		{"lost", nil, "mrr", "", Policy{Lost: true, Missing: "run b is not in the store"}, score.OutcomeInconclusive, score.OutcomeInconclusive, ReasonBaselineLost, "the baseline was known and is lost: run b is not in the store"},
		{"too few in common", Compare(side("b"), side("h", tagged), Options{}), "mrr", "", Policy{}, NoBaseline, score.OutcomeInconclusive, ReasonNoBaseline, "none of 1 case is the same in b"},
		{"another judge", Compare(j(side("b", judged)), other(side("h", judged)), Options{}), score.Accuracy, "", Policy{}, NoBaseline, score.OutcomeInconclusive, ReasonNoBaseline, "the judge is another"},
		{"a metric that is new", Compare(side("b", silent), j(side("h", judged)), Options{}), score.Accuracy, "", Policy{}, NoBaseline, score.OutcomeInconclusive, ReasonNoBaseline, "the baseline has no value of it"},
		{"a tag that is new", Compare(side("b", tagged), side("h", tagged), Options{}), "mrr", "u", Policy{}, NoBaseline, score.OutcomeInconclusive, ReasonNoBaseline, "no case with a value of it is the same in both runs"},
		{"a metric that is gone", Compare(j(side("b", judged)), j(side("h", silent)), Options{}), score.Accuracy, "", Policy{}, score.OutcomeInconclusive, score.OutcomeInconclusive, score.ReasonMetricAbsent, "the baseline has a value of it in 1 case, and this run in none"},
		{"another judge, and the metric is gone", Compare(j(side("b", judged)), other(side("h", silent)), Options{}), score.Accuracy, "", Policy{}, score.OutcomeInconclusive, score.OutcomeInconclusive, score.ReasonMetricAbsent, "this run in none"},
		{"coverage", Compare(side("b", tagged), side("h", tagged), Options{}), "mrr", "", Policy{Open: short}, score.OutcomeInconclusive, score.OutcomeInconclusive, score.ReasonCoverageTooLow, "mrr: too few"},
		{"lost goes before coverage", nil, "mrr", "", Policy{Lost: true, Open: short}, score.OutcomeInconclusive, score.OutcomeInconclusive, ReasonBaselineLost, "is lost"},
	} {
		t.Run(test.name, func(t *testing.T) {
			relative := []Relative{{Metric: test.metric, Tag: test.tag, MaxDrop: "0.05"}}
			for policy, want := range map[OnNotComparable]score.ObjectiveOutcome{"": test.want, Ignore: test.want, LeaveOpen: test.open} {
				o := test.policy
				o.OnNotComparable = policy
				r := Judge(relative, test.comparison, o)[0]
				reason := test.reason
				if want == NoBaseline {
					reason = ""
				}
				if r.Outcome != want || r.Reason != reason {
					t.Errorf("%s: %s (%s): %s", policy, r.Outcome, r.Reason, r.Message)
				}
				if policy != LeaveOpen && !strings.Contains(r.Message, test.message) {
					t.Errorf("message %q, want in it %q", r.Message, test.message)
				}
			}
		})
	}
}

// What the policy leaves open is reported with its value all the same.
func TestJudgeGivesTheValueOfAnOpenBound(t *testing.T) {
	base, head := hundred(6)
	open := func(string, string) (string, string) { return score.ReasonJudgeUntrusted, "not trusted" }
	r := Judge([]Relative{{Metric: "hit_rate@5", MaxDrop: "0.05"}}, Compare(base, head, Options{}), Policy{Open: open})[0]
	want := Result{score.ObjectiveResult{
		Metric: "hit_rate@5", Bound: "maxDrop 0.05", Value: ptr(0.06), Outcome: score.OutcomeInconclusive, Message: "not trusted",
	}, score.ReasonJudgeUntrusted}
	if diff := cmp.Diff(want, r, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
}

// The numbers that the page on baselines works out.
func TestWorkedExample(t *testing.T) {
	then, now := many(120, 1), many(120, 1)
	for i := range 6 { // not found then; two of them are now
		then[i] = ranked(at(i), 0)
		if i > 1 {
			now[i] = ranked(at(i), 0)
		}
	}
	for i := range 9 {
		now[10+i] = ranked(at(10+i), 0)
	}
	bounds := []Relative{{Metric: "hit_rate@5", MaxDrop: "0.05"}, {Metric: score.MRR, MaxDrop: "0.05"}}
	c := Compare(side("b", then...), side("h", now...), Options{Relative: bounds})
	got, _ := c.Delta("hit_rate@5", "")
	want := Delta{
		Metric: "hit_rate@5", Count: 120, Base: 0.95, Head: 0.8917, Delta: -0.0583, Low: ptr(-0.1083), High: ptr(-0.0083),
		P: ptr(0.0327), Corrected: ptr(0.0654), SmallestDrop: ptr(0.0417),
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.00005)); diff != "" {
		t.Error(diff)
	}
	r := Judge(bounds[:1], c, Policy{MinConfidence: "0.95"})[0]
	if want := "hit_rate@5 fell from 0.9500 to 0.8917 (on 120 cases, p 0.033): 0.0583 worse, more than maxDrop 0.05"; r.Message != want || r.Outcome != score.Missed {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
}

func TestTooFine(t *testing.T) {
	for _, test := range []struct {
		relative Relative
		n        int
		want     string
	}{
		{Relative{"hit_rate@5", "", "0.05"}, 12, "maxDrop 0.05 of hit_rate@5 is less than what one of its 12 cases weighs (0.0833): the first that gets worse is beyond it; add cases, or raise maxDrop"},
		{Relative{"hit_rate@5", "howto", "0"}, 1, "maxDrop 0 of hit_rate@5 of tag howto is less than what one of its 1 case weighs (1.0000): the first that gets worse is beyond it; add cases, or raise maxDrop"},
		{Relative{"hit_rate@5", "", "0.05"}, 20, ""},
		{Relative{"hit_rate@5", "", "0.05"}, 19, "weighs (0.0526)"},
		{Relative{"hit_rate@5", "", "0.05"}, 0, ""},
		{Relative{"error_rate", "", "0.05"}, 3, "error_rate"},
		{Relative{"mrr", "", "0.05"}, 3, ""},
		{Relative{"hit_rate@5", "", ""}, 3, ""},
		{Relative{"hit_rate", "", "0.05"}, 3, ""},
		{Relative{"hit_rate@5", "", "few"}, 3, ""},
	} {
		got := TooFine(test.relative, test.n)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v of %d cases: %q, want %q", test.relative, test.n, got, test.want)
		}
	}
}

func TestFormatP(t *testing.T) {
	for _, test := range []struct {
		p, limit float64
		want     string
	}{
		{0.25, 0.05, "0.25"}, {1, 0, "1"}, {0.03125, 0.05, "0.031"}, {0.0502, 0.05, "0.0502"}, {0.05, 0.05, "0.05"}, {0.00002, 0.05, "below 0.0001"}, {0.0001234, 0, "0.00012"},
	} {
		if got := formatP(test.p, test.limit); got != test.want {
			t.Errorf("p %v against %v is %s, want %s", test.p, test.limit, got, test.want)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, test := range []struct{ v, other, want, wantOther string }{
		{"0.9", "0.8", "0.9000", "0.8000"},
		{"0.89996", "0.9", "0.89996", "0.90000"},
		{"0.9", "0.9", "0.9000", "0.9000"},
		{"0.9", "0.90000000001", "0.9000", "0.9000"},
		{"0.00000001", "0.00000002", "0.00000001", "0.00000002"},
		{"1e-40", "2e-9", "0.000000000", "0.000000002"},
	} {
		var v, other float64
		if _, err := fmt.Sscan(test.v+" "+test.other, &v, &other); err != nil {
			t.Fatal(err)
		}
		if got, gotOther := apart(v, other); got != test.want || gotOther != test.wantOther {
			t.Errorf("%v and %v are %s and %s, want %s and %s", v, other, got, gotOther, test.want, test.wantOther)
		}
	}
}
