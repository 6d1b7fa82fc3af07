package score

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// facts of a run of 12 cases with hit_rate@5 as given, all scored.
func facts(value float64, objectives ...Objective) Facts {
	return Facts{
		Summary: Summary{
			Means: []Mean{
				{Name: "hit_rate@5", Value: value, Count: 12},
				{Name: "error_rate", Value: 0.25, Count: 12},
				{Name: "retrieval_latency_p95_seconds", Value: 1.25, Count: 12},
				{Name: "hit_rate@5", Tag: "howto", Value: 0.5, Count: 4},
			},
			Retrieval: map[string]Coverage{"": {12, 12}, "howto": {4, 4}, "nothing": {0, 0}},
			Cases:     map[string]int{"": 12, "howto": 4, "nothing": 1},
		},
		Objectives:  objectives,
		MinCoverage: 0.95,
		Scored:      12,
		Total:       12,
	}
}

// with changes a copy of the facts.
func with(f Facts, change func(*Facts)) Facts {
	f.Summary.Retrieval, f.Summary.Cases = maps.Clone(f.Summary.Retrieval), maps.Clone(f.Summary.Cases)
	change(&f)
	return f
}

func TestDecide(t *testing.T) {
	hitRate := Objective{Metric: "hit_rate@5", Min: "0.90"}
	met, missed := facts(0.9167, hitRate), facts(0.8333, hitRate)
	covered := func(scored, due int) func(*Facts) {
		return func(f *Facts) { f.Summary.Retrieval[""] = Coverage{scored, due} }
	}
	deadline := Undecided{Reason: ReasonDeadlineExceeded, Message: "the limit of 30m0s was reached"}
	replaced := Undecided{Reason: "Replaced", Message: "a newer slot replaced the run"}
	down := func(f *Facts) {
		f.Scored, f.Failures = 0, map[Stage]string{RetrievalStage: "12 cases ended RetrieverUnreachable, the first: refused"}
		f.Summary.Retrieval[""] = Coverage{0, 12}
		f.Summary.Means = []Mean{{Name: "error_rate", Value: 1, Count: 12}}
	}
	tests := []struct {
		name    string
		facts   Facts
		verdict Verdict
		reason  string
		message string
	}{
		{"met", met, Passed, ReasonObjectivesMet, "hit_rate@5 is 0.9167 (12 of 12 cases scored), meets min 0.90"},
		{"several met", facts(0.9167, hitRate, Objective{Metric: "error_rate", Max: "0.25"}), Passed, ReasonObjectivesMet, "all 2 bounds are met"},
		{"missed", missed, Failed, ReasonObjectivesMissed, "hit_rate@5 is 0.8333 (12 of 12 cases scored), below min 0.90"},
		{"missed on one tag", facts(0.95, hitRate, Objective{Metric: "hit_rate@5", Tag: "howto", Min: "0.85"}), Failed, ReasonObjectivesMissed,
			"hit_rate@5 of tag howto is 0.5000 (4 of 4 cases scored), below min 0.85"},
		{"several missed", facts(0.5, hitRate, Objective{Metric: "error_rate", Max: "0.05"}, Objective{Metric: LatencyP95, Max: "1"}), Failed, ReasonObjectivesMissed,
			"hit_rate@5 is 0.5000 (12 of 12 cases scored), below min 0.90; error_rate is 0.2500 (3 of 12 cases failed), above max 0.05; retrieval_latency_p95_seconds is 1.2500 (over 12 cases), above max 1"},
		{"no objectives", facts(0.9), Inconclusive, ReasonNoObjectives, `the suite has no objectives: add one, for example hit_rate@5 with min "0.90", for a run to pass or fail`},

		{"missed on too few cases", with(missed, covered(11, 12)), Inconclusive, ReasonCoverageTooLow,
			"hit_rate@5 cannot be decided: 11 of 12 cases due got a result, coverage 0.9167 is below minCoverage 0.95"},
		{"met on too few cases", with(met, func(f *Facts) {
			covered(94996, 100000)(f)
			f.Failures = map[Stage]string{RetrievalStage: "5004 cases ended RetrieverTimeout, the first: POST x"}
		}), Inconclusive, ReasonCoverageTooLow,
			"hit_rate@5 cannot be decided: 94996 of 100000 cases due got a result, coverage 0.94996 is below minCoverage 0.95; 5004 cases ended RetrieverTimeout, the first: POST x"},
		{"coverage just enough", with(missed, covered(95, 100)), Failed, ReasonObjectivesMissed, "hit_rate@5 is 0.8333 (12 of 100 cases scored), below min 0.90"},
		{"error rate asks for no coverage", with(facts(1, hitRate, Objective{Metric: "error_rate", Max: "0.05"}), covered(9, 12)), Failed, ReasonObjectivesMissed,
			"error_rate is 0.2500 (3 of 12 cases failed), above max 0.05"},
		{"latency asks for no coverage", with(facts(1, Objective{Metric: LatencyP95, Max: "1"}), covered(9, 12)), Failed, ReasonObjectivesMissed,
			"retrieval_latency_p95_seconds is 1.2500 (over 12 cases), above max 1"},

		{"nothing scored", with(met, down), Error, ReasonNothingScored, "none of 12 cases could be scored; 12 cases ended RetrieverUnreachable, the first: refused"},
		{"nothing scored, an error rate is missed", with(facts(0, Objective{Metric: "error_rate", Max: "0.05"}), down), Error, ReasonNothingScored,
			"none of 12 cases could be scored; 12 cases ended RetrieverUnreachable, the first: refused"},
		{"nothing scored but cases that are not asked", with(met, func(f *Facts) { down(f); f.Scored, f.Total = 2, 14 }), Error, ReasonNothingScored,
			"none of 12 cases could be scored; 12 cases ended RetrieverUnreachable, the first: refused"},
		{"nothing scored until the deadline", with(met, func(f *Facts) { down(f); f.Failures = nil; f.Undecided = []Undecided{deadline} }), Error, ReasonNothingScored,
			"none of 12 cases could be scored; the limit of 30m0s was reached"},
		{"stopped before anything was scored", with(facts(0, Objective{Metric: "error_rate", Max: "0.05"}), func(f *Facts) { down(f); f.Undecided = []Undecided{replaced} }), Inconclusive, "Replaced",
			"a newer slot replaced the run"},

		{"deadline, else met", with(met, func(f *Facts) { f.Undecided = []Undecided{deadline} }), Inconclusive, ReasonDeadlineExceeded, "the limit of 30m0s was reached"},
		{"deadline, missed on adequate coverage", with(missed, func(f *Facts) { f.Undecided = []Undecided{deadline} }), Failed, ReasonObjectivesMissed,
			"hit_rate@5 is 0.8333 (12 of 12 cases scored), below min 0.90"},
		{"deadline, missed on too few", with(missed, func(f *Facts) { covered(6, 12)(f); f.Undecided = []Undecided{deadline} }), Inconclusive, ReasonDeadlineExceeded, "the limit of 30m0s was reached"},
		{"stopped, no objectives", with(facts(1), func(f *Facts) { f.Undecided = []Undecided{replaced} }), Inconclusive, "Replaced", "a newer slot replaced the run"},
		{"two causes", with(met, func(f *Facts) {
			f.Undecided = []Undecided{deadline, {Reason: "CorpusChanged", Message: "the corpus changed"}}
		}), Inconclusive, ReasonDeadlineExceeded,
			"the limit of 30m0s was reached; the corpus changed"},

		{"no case is due", with(facts(0, hitRate), func(f *Facts) { f.Summary.Means = nil; covered(0, 0)(f) }), Inconclusive, ReasonMetricAbsent,
			"hit_rate@5 has no value: no case is answerable and has a relevant id: add relevant ids to cases of the golden set"},
		{"no case of a tag is due", facts(1, Objective{Metric: "hit_rate@5", Tag: "nothing", Min: "0.5"}), Inconclusive, ReasonMetricAbsent,
			"hit_rate@5 of tag nothing has no value: no case is answerable and has a relevant id: add relevant ids to cases of the golden set"},
		{"a tag that no case carries", facts(1, hitRate, Objective{Metric: "hit_rate@5", Tag: "typo", Min: "0.5"}), Inconclusive, ReasonMetricAbsent,
			"hit_rate@5 of tag typo has no value: no case carries the tag typo: add it to cases of the golden set, or change the objective"},
		{"an absent metric beside a missed one", facts(0.1, hitRate, Objective{Metric: "hit_rate@5", Tag: "typo", Min: "0.5"}), Failed, ReasonObjectivesMissed,
			"hit_rate@5 is 0.1000 (12 of 12 cases scored), below min 0.90"},
		{"a metric above topK", facts(1, Objective{Metric: "hit_rate@50", Min: "0.5"}), Inconclusive, ReasonMetricAbsent,
			"hit_rate@50 has no value: the run does not compute it: its cut-off is above the run's topK"},
		{"no call has a latency", with(facts(1, Objective{Metric: LatencyP95, Max: "1"}), func(f *Facts) { f.Summary.Means = nil }), Inconclusive, ReasonMetricAbsent,
			"retrieval_latency_p95_seconds has no value: no call was answered or timed out"},
		{"nothing of a tag scored, no coverage asked", with(facts(1, Objective{Metric: "mrr", Tag: "howto", Min: "0.5"}), func(f *Facts) {
			f.MinCoverage, f.Summary.Retrieval["howto"] = 0, Coverage{0, 1}
		}), Inconclusive, ReasonMetricAbsent, "mrr of tag howto has no value: none of 1 case due got a result"},
		{"no cases at all", Facts{Objectives: []Objective{hitRate}, MinCoverage: 0.95}, Inconclusive, ReasonMetricAbsent, "hit_rate@5 has no value: the run has no cases"},
		{"a bound that is no number", facts(1, Objective{Metric: "hit_rate@5", Min: "high"}), Inconclusive, ReasonInvalidBound,
			`hit_rate@5 cannot be decided: min "high" is no decimal number`},
		{"a bound that is NaN", facts(1, Objective{Metric: "hit_rate@5", Min: "NaN"}), Inconclusive, ReasonInvalidBound,
			`hit_rate@5 cannot be decided: min "NaN" is no decimal number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Decide(tt.facts)
			want := Decision{Verdict: tt.verdict, Reason: tt.reason, Message: tt.message, Objectives: got.Objectives}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryBoundHasAResult(t *testing.T) {
	value, rate := 0.9167, 0.25
	got := Decide(facts(value,
		Objective{Metric: "hit_rate@5", Min: "0.90", Max: "0.91"},
		Objective{Metric: "hit_rate@5", Tag: "typo", Min: "0.5"},
		Objective{Metric: "error_rate", Max: "0.3"},
	)).Objectives
	want := []ObjectiveResult{
		{Metric: "hit_rate@5", Bound: "min 0.90", Value: &value, Outcome: Met, Message: "hit_rate@5 is 0.9167 (12 of 12 cases scored), meets min 0.90"},
		{Metric: "hit_rate@5", Bound: "max 0.91", Value: &value, Outcome: Missed, Message: "hit_rate@5 is 0.9167 (12 of 12 cases scored), above max 0.91"},
		{Metric: "hit_rate@5", Tag: "typo", Bound: "min 0.5", Outcome: OutcomeInconclusive,
			Message: "hit_rate@5 of tag typo has no value: no case carries the tag typo: add it to cases of the golden set, or change the objective"},
		{Metric: "error_rate", Bound: "max 0.3", Value: &rate, Outcome: Met, Message: "error_rate is 0.2500 (3 of 12 cases failed), meets max 0.3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBoundsAreComparedWithATolerance(t *testing.T) {
	sum := 0.1 + 0.2 // a hair above 0.3
	tests := []struct {
		value float64
		o     Objective
		want  ObjectiveOutcome
	}{
		{sum, Objective{Metric: "hit_rate@5", Max: "0.3"}, Met},
		{0.9 - 0.88, Objective{Metric: "hit_rate@5", Max: "0.02"}, Met},
		{0.9 - 1e-10, Objective{Metric: "hit_rate@5", Min: "0.9"}, Met},
		{0.9 - 1e-8, Objective{Metric: "hit_rate@5", Min: "0.9"}, Missed},
		{0.3 + 1e-8, Objective{Metric: "hit_rate@5", Max: "0.3"}, Missed},
	}
	for _, tt := range tests {
		if got := Decide(facts(tt.value, tt.o)).Objectives[0].Outcome; got != tt.want {
			t.Errorf("%v against %+v: %s, want %s", tt.value, tt.o, got, tt.want)
		}
	}
}

func TestMessagesShowTheDifference(t *testing.T) {
	tests := []struct {
		value, bound float64
		want         string
	}{
		{0.9167, 0.9, "0.9167"},
		{11. / 12, 0.9, "0.9167"},
		{0.9, 0.9, "0.9000"},
		{0.89996, 0.9, "0.89996"},
		{0.8999999, 0.9, "0.8999999"},
		{0.9, 0.90001, "0.90000"},
		{0.9 - 1e-10, 0.9, "0.9000"},
		{0.05000001, 0.05, "0.05000001"},
		{2. / 3, 0.6667, "0.66667"},
		{12.5, 1, "12.5000"},
	}
	for _, tt := range tests {
		if got := formatAgainst(tt.value, tt.bound); got != tt.want {
			t.Errorf("%v against %v is written %q, want %q", tt.value, tt.bound, got, tt.want)
		}
	}
	if got := Format(11. / 12); got != "0.9167" {
		t.Errorf("Format = %q", got)
	}
}

func TestManyMessagesAreCutShort(t *testing.T) {
	var many []Objective
	for range 32 {
		many = append(many, Objective{Metric: "hit_rate@5", Min: "0.90"})
	}
	d := Decide(facts(0.5, many...))
	if !strings.HasSuffix(d.Message, "below min 0.90; and 28 more") || len(d.Objectives) != 32 {
		t.Errorf("%d results, message %q", len(d.Objectives), d.Message)
	}
}
