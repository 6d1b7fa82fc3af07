package score

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// drop is how a bound on a drop of hit_rate@5 came out.
func drop(outcome ObjectiveOutcome, reason, message string) RelativeResult {
	value := 0.0833
	return RelativeResult{Reason: reason, ObjectiveResult: ObjectiveResult{Metric: "hit_rate@5", Bound: "maxDrop 0.05", Value: &value, Outcome: outcome, Message: message}}
}

func TestDecideOnDrops(t *testing.T) {
	const unproven, noBaseline = ObjectiveOutcome("Unproven"), ObjectiveOutcome("NoBaseline")
	maxDrop := Objective{Metric: "hit_rate@5", MaxDrop: "0.05"}
	both := Objective{Metric: "hit_rate@5", Min: "0.80", MaxDrop: "0.05"}
	relative := func(f Facts, r ...RelativeResult) Facts {
		f.Relative = r
		return f
	}
	tests := []struct {
		name    string
		facts   Facts
		verdict Verdict
		reason  string
		message string
	}{
		{"met", relative(facts(0.9, maxDrop), drop(Met, "", "it stayed")), Passed, ReasonObjectivesMet, "it stayed"},
		{"missed", relative(facts(0.9, maxDrop), drop(Missed, "", "it fell")), Failed, ReasonObjectivesMissed, "it fell"},
		{"missed, though min is met", relative(facts(0.9, both), drop(Missed, "", "it fell")), Failed, ReasonObjectivesMissed, "it fell"},
		{"met, though min is missed", relative(facts(0.7, both), drop(Met, "", "it stayed")), Failed, ReasonObjectivesMissed,
			"hit_rate@5 is 0.7000 (12 of 12 cases scored), below min 0.80"},
		{"not proven", relative(facts(0.9, maxDrop), drop(unproven, "", "it fell, not proven")), Passed, ReasonObjectivesMet, "it fell, not proven"},
		{"no baseline", relative(facts(0.9, maxDrop), drop(noBaseline, "", "not compared")), Passed, ReasonObjectivesMet, "not compared"},
		{"no baseline beside what is met", relative(facts(0.9, both), drop(noBaseline, "", "not compared")), Passed, ReasonObjectivesMet, "all 2 bounds are met"},
		{"open", relative(facts(0.9, maxDrop), drop(OutcomeInconclusive, "BaselineLost", "the baseline is lost")), Inconclusive, "BaselineLost", "the baseline is lost"},
		{"open, and min is missed", relative(facts(0.7, both), drop(OutcomeInconclusive, "BaselineLost", "lost")), Failed, ReasonObjectivesMissed,
			"hit_rate@5 is 0.7000 (12 of 12 cases scored), below min 0.80"},
		{"compared with nothing at all", facts(0.9, maxDrop), Inconclusive, ReasonNotCompared, "hit_rate@5 cannot be decided: the run was compared with no other"},
		{"each objective has its own", relative(facts(0.9, maxDrop, Objective{Metric: "hit_rate@5", Tag: "howto", MaxDrop: "0.05"}),
			drop(Met, "", "it stayed"), drop(Missed, "", "howto fell")), Failed, ReasonObjectivesMissed, "howto fell"},
		{"only objectives with a maxDrop have one", relative(facts(0.9, Objective{Metric: "error_rate", Max: "0.3"}, maxDrop), drop(Missed, "", "it fell")),
			Failed, ReasonObjectivesMissed, "it fell"},
		{"one too few", relative(facts(0.9, maxDrop, Objective{Metric: "mrr", Tag: "howto", MaxDrop: "0.1"}), drop(Met, "", "it stayed")),
			Inconclusive, ReasonNotCompared, "mrr of tag howto cannot be decided: the run was compared with no other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Decide(tt.facts)
			want := Decision{Verdict: tt.verdict, Reason: tt.reason, Message: tt.message, Objectives: got.Objectives}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			bounds := 0
			for _, o := range tt.facts.Objectives {
				for _, bound := range []string{o.Min, o.Max, o.MaxDrop} {
					if bound != "" {
						bounds++
					}
				}
			}
			if len(got.Objectives) != bounds {
				t.Errorf("%d results for %d bounds", len(got.Objectives), bounds)
			}
		})
	}
}

// The bounds of one objective stand together, the drop last.
func TestDropsAreInTheirOrder(t *testing.T) {
	f := facts(0.9167, Objective{Metric: "hit_rate@5", Min: "0.90", MaxDrop: "0.05"}, Objective{Metric: "error_rate", Max: "0.3"}, Objective{Metric: "error_rate", MaxDrop: "0.1"})
	f.Relative = []RelativeResult{drop(Met, "", "first"), {ObjectiveResult: ObjectiveResult{Metric: "error_rate", Bound: "maxDrop 0.1", Outcome: Met, Message: "second"}}}
	var got []string
	for _, o := range Decide(f).Objectives {
		got = append(got, o.Metric+" "+o.Bound)
	}
	if diff := cmp.Diff([]string{"hit_rate@5 min 0.90", "hit_rate@5 maxDrop 0.05", "error_rate max 0.3", "error_rate maxDrop 0.1"}, got); diff != "" {
		t.Error(diff)
	}
	if got := Decide(f).Objectives[1]; got != f.Relative[0].ObjectiveResult {
		t.Errorf("%+v, want it as it was decided: %+v", got, f.Relative[0].ObjectiveResult)
	}
}

func TestStaleLabelsExcuseRetrievalAlone(t *testing.T) {
	const summary = "0 of 40 ids are known: label the cases anew"
	const detail = summary + "; case q1 wants a, nearest retrieved is b (nearest name)"
	hitRate, onTag := Objective{Metric: "hit_rate@5", Min: "0.90"}, Objective{Metric: "hit_rate@5", Tag: "howto", Min: "0.60"}
	stale := func(f Facts) Facts {
		f.Stale, f.StaleDetail = summary, detail
		return f
	}
	judged := func(value float64) Facts {
		f := stale(facts(0, hitRate, Objective{Metric: Accuracy, Min: "0.80"}))
		f.Spec = Spec{Answer: true, Judge: true}
		f.Summary.Means = append(f.Summary.Means, Mean{Name: Accuracy, Value: value, Count: 12})
		f.Summary.Answer, f.Summary.Judge = map[string]Coverage{"": {12, 12}}, map[string]Coverage{"": {12, 12}}
		return f
	}
	tests := []struct {
		name    string
		facts   Facts
		verdict Verdict
		reason  string
		message string
	}{
		{"missed", stale(facts(0, hitRate)), Inconclusive, ReasonLabelsStale, detail},
		{"missed in a tag", stale(facts(1, hitRate, onTag)), Inconclusive, ReasonLabelsStale, detail},
		{"a drop is missed", func() Facts {
			f := stale(facts(0.9, Objective{Metric: "hit_rate@5", MaxDrop: "0.05"}))
			f.Relative = []RelativeResult{drop(Missed, "", "it fell")}
			return f
		}(), Inconclusive, ReasonLabelsStale, detail},
		{"met all the same", stale(facts(0.95, hitRate)), Passed, ReasonObjectivesMet, "hit_rate@5 is 0.9500 (12 of 12 cases scored), meets min 0.90"},
		{"missed, on too few cases", func() Facts {
			f := stale(facts(0, hitRate))
			f.Summary.Retrieval[""] = Coverage{6, 12}
			return f
		}(), Inconclusive, ReasonCoverageTooLow, "hit_rate@5 cannot be decided: 6 of 12 cases due got a result, coverage 0.5000 is below minCoverage 0.95"},
		{"beside another that is open", func() Facts {
			f := stale(facts(0, Objective{Metric: "hit_rate@5", Tag: "typo", Min: "0.5"}, hitRate))
			return f
		}(), Inconclusive, ReasonLabelsStale, detail},
		{"failed calls are failed calls", stale(facts(0, hitRate, Objective{Metric: ErrorRate, Max: "0.05"})), Failed, ReasonObjectivesMissed,
			"error_rate is 0.2500 (3 of 12 cases failed), above max 0.05"},
		{"slow calls are slow calls", stale(facts(0, hitRate, Objective{Metric: LatencyP95, Max: "1"})), Failed, ReasonObjectivesMissed,
			"retrieval_latency_p95_seconds is 1.2500 (over 12 cases), above max 1"},
		{"wrong answers are wrong answers", judged(0.5), Failed, ReasonObjectivesMissed, "accuracy is 0.5000 (over 12 cases), below min 0.80"},
		{"right answers", judged(0.9), Inconclusive, ReasonLabelsStale, detail},
		{"the labels fit", facts(0, hitRate), Failed, ReasonObjectivesMissed, "hit_rate@5 is 0.0000 (12 of 12 cases scored), below min 0.90"},
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
	o := Decide(tests[0].facts).Objectives[0]
	if want := "hit_rate@5 is 0.0000 (12 of 12 cases scored), below min 0.90; it cannot be decided: " + summary; o.Outcome != OutcomeInconclusive || o.Message != want || o.Value == nil {
		t.Errorf("%+v, want %q with its value", o, want)
	}
}

// What was measured of no one thing decides nothing: neither a failure nor a pass.
func TestVoidGoesBeforeFailed(t *testing.T) {
	hitRate := Objective{Metric: "hit_rate@5", Min: "0.90"}
	void := Undecided{Reason: "RevisionChanged", Message: "a rollout came into the run", Void: true}
	open := Undecided{Reason: "CorpusChanged", Message: "the corpus changed"}
	nothing := facts(0, hitRate)
	nothing.Scored, nothing.Summary.Means, nothing.Summary.Retrieval = 0, nil, map[string]Coverage{"": {0, 12}}
	tests := []struct {
		name      string
		facts     Facts
		undecided []Undecided
		verdict   Verdict
		reason    string
		message   string
	}{
		{"missed", facts(0.5, hitRate), []Undecided{void}, Inconclusive, "RevisionChanged", "a rollout came into the run"},
		{"met", facts(0.95, hitRate), []Undecided{void}, Inconclusive, "RevisionChanged", "a rollout came into the run"},
		{"no objectives", facts(0.95), []Undecided{void}, Inconclusive, "RevisionChanged", "a rollout came into the run"},
		{"nothing scored", nothing, []Undecided{void}, Inconclusive, "RevisionChanged", "a rollout came into the run"},
		{"behind another cause", facts(0.5, hitRate), []Undecided{open, void}, Inconclusive, "CorpusChanged", "the corpus changed; a rollout came into the run"},
		{"not void, missed", facts(0.5, hitRate), []Undecided{open}, Failed, ReasonObjectivesMissed, "hit_rate@5 is 0.5000 (12 of 12 cases scored), below min 0.90"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.facts.Undecided = tt.undecided
			got := Decide(tt.facts)
			want := Decision{Verdict: tt.verdict, Reason: tt.reason, Message: tt.message, Objectives: got.Objectives}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	short := func(f *Facts) { f.Summary.Retrieval[""] = Coverage{11, 12} }
	untrusted := func(f *Facts) {
		f.Spec = Spec{Answer: true, Judge: true}
		f.Untrusted = "the judge agrees with people too rarely"
	}
	tests := []struct {
		name            string
		change          func(*Facts)
		metric, tag     string
		reason, message string
	}{
		{"nothing", func(*Facts) {}, "hit_rate@5", "", "", ""},
		{"coverage", short, "hit_rate@5", "", ReasonCoverageTooLow, "hit_rate@5 cannot be decided: 11 of 12 cases due got a result, coverage 0.9167 is below minCoverage 0.95"},
		{"coverage of a tag is its own", short, "hit_rate@5", "howto", "", ""},
		{"failures ask for no coverage", short, ErrorRate, "", "", ""},
		{"latency asks for no coverage", short, LatencyP95, "", "", ""},
		{"the judge", untrusted, Accuracy, "howto", ReasonJudgeUntrusted, "accuracy of tag howto cannot be decided: the judge agrees with people too rarely"},
		{"the judge says nothing of retrieval", untrusted, "hit_rate@5", "", "", ""},
		{"not computed", func(*Facts) {}, Accuracy, "", ReasonMetricAbsent, ""},
		{"labels that no longer fit leave the drop to be measured", func(f *Facts) { f.Stale = "stale" }, "hit_rate@5", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := with(facts(0.5), tt.change)
			reason, message := f.Open(tt.metric, tt.tag)
			if reason != tt.reason || tt.message != "" && message != tt.message || (message == "") != (reason == "") {
				t.Errorf("%s: %q, want %s: %q", reason, message, tt.reason, tt.message)
			}
		})
	}
}
