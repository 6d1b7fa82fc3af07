package score

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var none = math.NaN()

func TestSummarizeByStage(t *testing.T) {
	metrics := []Metric{metricAt(HitRate, 5), metric(MRR), metric(BLEU), metric(Accuracy), metric(ContextRelevance)}
	cases := []CaseScore{
		{Tags: []string{"ko"}, Retrieval: took(0.1), Answer: took(2), Judge: took(0), Values: []float64{1, 0.5, 0.25, 1, 4}},
		// The judge failed: retrieval and BLEU count.
		{Tags: []string{"ko"}, Failed: true, Retrieval: took(0.2), Answer: took(3), Judge: due, Values: []float64{0, 0, 0.75, none, none}},
		// The answer timed out.
		{Failed: true, Retrieval: took(0.3), Answer: StageScore{Due: true, Timed: true, Seconds: 60}, Values: []float64{1, 1, none, none, none}},
		// Unanswerable, without a reference.
		{Retrieval: StageScore{Scored: true, Timed: true, Seconds: 0.4}, Answer: took(4), Judge: took(0), Values: []float64{none, none, none, none, 2}},
		// Nothing measured, and never asked.
		{Failed: true, Retrieval: due, Answer: due},
		{Unasked: true, Retrieval: due, Answer: due},
	}
	s := Summarize(metrics, cases)
	want := []Mean{
		{Name: "hit_rate@5", Value: 2. / 3, Count: 3},
		{Name: "mrr", Value: 0.5, Count: 3},
		{Name: "bleu", Value: 0.5, Count: 2},
		{Name: "accuracy", Value: 1, Count: 1},
		{Name: "context_relevance", Value: 3, Count: 2},
		{Name: "error_rate", Value: 3. / 5, Count: 5},
		{Name: "retrieval_latency_p95_seconds", Value: 0.4, Count: 4},
		{Name: "answer_latency_p95_seconds", Value: 60, Count: 4},
		{Name: "hit_rate@5", Tag: "ko", Value: 0.5, Count: 2},
		{Name: "mrr", Tag: "ko", Value: 0.25, Count: 2},
		{Name: "bleu", Tag: "ko", Value: 0.5, Count: 2},
		{Name: "accuracy", Tag: "ko", Value: 1, Count: 1},
		{Name: "context_relevance", Tag: "ko", Value: 4, Count: 1},
		{Name: "error_rate", Tag: "ko", Value: 0.5, Count: 2},
		{Name: "retrieval_latency_p95_seconds", Tag: "ko", Value: 0.2, Count: 2},
		{Name: "answer_latency_p95_seconds", Tag: "ko", Value: 3, Count: 2},
	}
	if diff := cmp.Diff(want, s.Means, cmpopts.IgnoreFields(Mean{}, "Low", "High"), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	for stage, want := range map[Stage]map[string]Coverage{
		RetrievalStage: {"": {3, 5}, "ko": {2, 2}},
		AnswerStage:    {"": {3, 6}, "ko": {2, 2}},
		JudgeStage:     {"": {2, 3}, "ko": {1, 2}},
	} {
		for tag, coverage := range want {
			if got := s.Coverage(stage, tag); got != coverage {
				t.Errorf("coverage of %s over %q is %+v, want %+v", stage, tag, got, coverage)
			}
		}
	}
	if got := s.Coverage("", ""); got != (Coverage{}) {
		t.Errorf("no stage has the coverage %+v", got)
	}
}

// A column's interval is that of its own values: gaps elsewhere change nothing.
func TestIntervalsOfColumnsWithGaps(t *testing.T) {
	var gapped, alone []CaseScore
	for i := range 40 {
		v := float64(i%7) / 7
		row := []float64{v, none}
		if i%2 == 0 {
			row[1] = v
			alone = append(alone, CaseScore{Values: []float64{v}})
		}
		gapped = append(gapped, CaseScore{Values: row})
	}
	got := Summarize([]Metric{metric(MRR), metric(BLEU)}, gapped)
	want := Summarize([]Metric{metric(BLEU)}, alone)
	g, _ := got.Mean(BLEU, "")
	w, _ := want.Mean(BLEU, "")
	if diff := cmp.Diff(w, g); diff != "" {
		t.Error(diff)
	}
	if g.Low == nil || g.Count != 20 {
		t.Errorf("%+v", g)
	}
}

func TestCountEvidence(t *testing.T) {
	metrics := []Metric{metricAt(HitRate, 1), metricAt(HitRate, 5), metric(Accuracy)}
	row := func(at1, at5, accuracy float64) CaseScore { return CaseScore{Values: []float64{at1, at5, accuracy}} }
	cases := []CaseScore{
		row(1, 1, 1), row(0, 1, 1), row(0, 1, 1), row(0, 1, 0), row(0, 0, 1), row(0, 0, 0), row(0, 0, 0),
		row(1, 1, none), row(none, none, 1), {},
	}
	for k, want := range map[int]*Evidence{
		5: {HitRight: 3, HitWrong: 1, MissRight: 1, MissWrong: 2},
		1: {HitRight: 1, MissRight: 3, MissWrong: 3},
		3: nil,
	} {
		if diff := cmp.Diff(want, CountEvidence(metrics, cases, k)); diff != "" {
			t.Errorf("at %d:\n%s", k, diff)
		}
	}
	if e := CountEvidence(metrics, cases[7:], 5); e != nil {
		t.Errorf("no case has both, but %+v", e)
	}
	if e := CountEvidence(metrics[:2], []CaseScore{{Values: []float64{1, 1}}}, 5); e != nil {
		t.Errorf("without a judge there is %+v", e)
	}
}

// Whatever the stages came to, no number leaves its range.
func TestEveryMeanLiesInItsRange(t *testing.T) {
	spec := Spec{TopK: 10, K: []int{1, 5}, PrimaryK: 5, Betas: []string{"2"}, Answer: true, Judge: true, Relevance: true}
	rapid.Check(t, func(t *rapid.T) {
		s, err := NewScorer(spec)
		if err != nil {
			t.Fatal(err)
		}
		cases := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) CaseScore { return caseOfAnyKind(t, s) }), 0, 40).Draw(t, "cases")
		counts := map[string]int{}
		for _, c := range cases {
			for i, m := range s.Metrics() {
				if c.Values == nil || math.IsNaN(c.Values[i]) {
					continue
				}
				counts[m.Name]++
				inRange(t, m, c.Values[i])
			}
		}
		sum := Summarize(s.Metrics(), cases)
		for _, mean := range sum.Means {
			m, err := ParseMetric(mean.Name)
			if err != nil {
				t.Fatal(err)
			}
			inRange(t, m, mean.Value)
			if mean.Low != nil {
				inRange(t, m, *mean.Low)
				inRange(t, m, *mean.High)
				if *mean.Low > *mean.High {
					t.Errorf("%s: from %v to %v", mean.Name, *mean.Low, *mean.High)
				}
			}
			if !families[m.Family].beside && mean.Tag == "" && mean.Count != counts[mean.Name] {
				t.Errorf("%s is over %d cases, want %d", mean.Name, mean.Count, counts[mean.Name])
			}
		}
		for name, n := range counts {
			if _, ok := sum.Mean(name, ""); !ok {
				t.Errorf("%d cases have %s, but there is no mean", n, name)
			}
		}
		var evidence Evidence
		if e := CountEvidence(s.Metrics(), cases, spec.PrimaryK); e != nil {
			evidence = *e
		}
		if n := evidence.HitRight + evidence.HitWrong + evidence.MissRight + evidence.MissWrong; n > counts[Accuracy] {
			t.Errorf("%d cases in the two-by-two, %d with an accuracy", n, counts[Accuracy])
		}
	})
}

func inRange(t *rapid.T, m Metric, v float64) {
	low, high := m.Range()
	if !(low <= v && v <= high) {
		t.Errorf("%s = %v is not from %v to %v", m.Name, v, low, high)
	}
}

// caseOfAnyKind draws a case that may have ended anywhere.
func caseOfAnyKind(t *rapid.T, s *Scorer) CaseScore {
	c := CaseScore{Tags: rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "tags")}
	if rapid.Bool().Draw(t, "nothing") {
		return c
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab 가나")), 0, 12, -1)
	c.Values = s.NewValues()
	if rapid.Bool().Draw(t, "retrieved") {
		relevant, retrieved := aCase(t)
		s.Score(relevant, retrieved, c.Values)
		c.Retrieval = took(rapid.Float64Range(0, 100).Draw(t, "seconds"))
	}
	if rapid.Bool().Draw(t, "answered") {
		s.ScoreAnswer(text.Draw(t, "reference"), text.Draw(t, "answer"), c.Values)
		c.Answer = took(rapid.Float64Range(0, 100).Draw(t, "seconds"))
	}
	if rapid.Bool().Draw(t, "graded") {
		var correct *bool
		if rapid.Bool().Draw(t, "has a reference") {
			b := rapid.Bool().Draw(t, "correct")
			correct = &b
		}
		s.ScoreVerdict(Graded{Answerable: rapid.Bool().Draw(t, "answerable"), Correct: correct,
			Grounded: rapid.Bool().Draw(t, "grounded"), Abstained: rapid.Bool().Draw(t, "abstained")}, c.Values)
	}
	if rapid.Bool().Draw(t, "contexts") {
		s.ScoreRelevance(rapid.Float64Range(1, 5).Draw(t, "average"), c.Values)
	}
	return c
}

// run of 30 cases with every stage, in which all went well.
func staged(objectives ...Objective) Facts {
	whole := map[string]Coverage{"": {30, 30}, "ko": {10, 10}}
	return Facts{
		Spec: Spec{TopK: 10, Answer: true, Judge: true, Relevance: true},
		Summary: Summary{
			Means: []Mean{
				{Name: "hit_rate@5", Value: 0.9, Count: 30},
				{Name: "bleu", Value: 0.4, Count: 24},
				{Name: "accuracy", Value: 0.8, Count: 25},
				{Name: "hallucination_rate", Value: 0.1, Count: 30},
				{Name: "context_relevance", Value: 3.5, Count: 30},
				{Name: "error_rate", Value: 0, Count: 30},
				{Name: "answer_latency_p95_seconds", Value: 2.5, Count: 30},
				{Name: "accuracy", Tag: "ko", Value: 0.6, Count: 10},
			},
			Retrieval: whole, Answer: whole, Judge: whole,
			Cases: map[string]int{"": 30, "ko": 10},
		},
		Objectives:  objectives,
		MinCoverage: 0.95,
		Scored:      30,
		Total:       30,
	}
}

// covering replaces a stage's coverage of all cases.
func covering(stage Stage, scored, due int) func(*Facts) {
	return func(f *Facts) {
		c := map[string]Coverage{"": {scored, due}, "ko": {10, 10}}
		switch stage {
		case RetrievalStage:
			f.Summary.Retrieval = c
		case AnswerStage:
			f.Summary.Answer = c
		case JudgeStage:
			f.Summary.Judge = c
		}
	}
}

func changed(f Facts, changes ...func(*Facts)) Facts {
	for _, change := range changes {
		change(&f)
	}
	return f
}

func without(names ...string) func(*Facts) {
	return func(f *Facts) {
		var left []Mean
		for _, m := range f.Summary.Means {
			keep := true
			for _, n := range names {
				keep = keep && m.Name != n
			}
			if keep {
				left = append(left, m)
			}
		}
		f.Summary.Means = left
	}
}

func TestDecideByStage(t *testing.T) {
	var (
		hit      = Objective{Metric: "hit_rate@5", Min: "0.85"}
		hitMore  = Objective{Metric: "hit_rate@5", Min: "0.95"}
		accuracy = Objective{Metric: "accuracy", Min: "0.75"}
		bleu     = Objective{Metric: "bleu", Min: "0.3"}
	)
	judgeDown := func(f *Facts) {
		covering(JudgeStage, 0, 30)(f)
		without("accuracy", "hallucination_rate", "context_relevance")(f)
		f.Scored, f.Failures = 0, map[Stage]string{JudgeStage: "30 cases ended JudgeUnreachable, the first: refused"}
	}
	answersDown := func(f *Facts) {
		covering(AnswerStage, 0, 30)(f)
		covering(JudgeStage, 0, 0)(f)
		without("bleu", "accuracy", "hallucination_rate", "context_relevance")(f)
		f.Scored, f.Failures = 0, map[Stage]string{AnswerStage: "30 cases ended AnswerHTTPError, the first: status 500"}
	}
	allDown := func(f *Facts) {
		answersDown(f)
		covering(RetrievalStage, 0, 26)(f)
		f.Failures = map[Stage]string{RetrievalStage: "29 cases ended RetrieverTimeout, the first: slow", AnswerStage: "1 case ended AnswerTimeout: slow"}
	}
	untrusted := func(f *Facts) {
		f.Untrusted = "the judge is not trusted: kappa of correct is 0.20, below minKappa 0.60"
	}
	quota := Undecided{Reason: "JudgeQuotaExceeded", Message: "the daily quota is used up"}
	tests := []struct {
		name    string
		facts   Facts
		verdict Verdict
		reason  string
		message string
	}{
		{"all met", staged(hit, accuracy, bleu, Objective{Metric: "hallucination_rate", Max: "0.1"}, Objective{Metric: "context_relevance", Min: "3"}), Passed, ReasonObjectivesMet, "all 5 bounds are met"},
		{"too many hallucinations", staged(hit, Objective{Metric: "hallucination_rate", Max: "0.05"}), Failed, ReasonObjectivesMissed, "hallucination_rate is 0.1000 (over 30 cases), above max 0.05"},
		{"wrong on one tag", staged(accuracy, Objective{Metric: "accuracy", Tag: "ko", Min: "0.75"}), Failed, ReasonObjectivesMissed, "accuracy of tag ko is 0.6000 (over 10 cases), below min 0.75"},
		{"slow answers", staged(Objective{Metric: "answer_latency_p95_seconds", Max: "2"}), Failed, ReasonObjectivesMissed, "answer_latency_p95_seconds is 2.5000 (over 30 cases), above max 2"},

		{"the judge is down, retrieval is met", changed(staged(hit, accuracy), judgeDown), Inconclusive, ReasonCoverageTooLow,
			"accuracy cannot be decided: 0 of 30 cases due got a verdict, coverage 0.0000 is below minCoverage 0.95; 30 cases ended JudgeUnreachable, the first: refused"},
		{"the judge is down, retrieval is missed", changed(staged(hitMore, accuracy), judgeDown), Failed, ReasonObjectivesMissed, "hit_rate@5 is 0.9000 (30 of 30 cases scored), below min 0.95"},
		{"the judge is down, only retrieval is asked", changed(staged(hit), judgeDown), Passed, ReasonObjectivesMet, "hit_rate@5 is 0.9000 (30 of 30 cases scored), meets min 0.85"},
		{"the judge is down, no coverage asked", changed(staged(accuracy), judgeDown, func(f *Facts) { f.MinCoverage = 0 }), Inconclusive, ReasonMetricAbsent,
			"accuracy has no value: none of 30 cases due got a verdict; 30 cases ended JudgeUnreachable, the first: refused"},
		{"the judge gave too few verdicts", changed(staged(hit, Objective{Metric: "accuracy", Min: "0.9"}), covering(JudgeStage, 28, 30)), Inconclusive, ReasonCoverageTooLow,
			"accuracy cannot be decided: 28 of 30 cases due got a verdict, coverage 0.9333 is below minCoverage 0.95"},
		{"but enough on the tag", changed(staged(Objective{Metric: "accuracy", Tag: "ko", Min: "0.9"}), covering(JudgeStage, 28, 30)), Failed, ReasonObjectivesMissed,
			"accuracy of tag ko is 0.6000 (over 10 cases), below min 0.9"},
		{"answers are down, retrieval is met", changed(staged(hit, bleu, accuracy), answersDown), Inconclusive, ReasonCoverageTooLow,
			"bleu cannot be decided: 0 of 30 cases due got an answer, coverage 0.0000 is below minCoverage 0.95; accuracy cannot be decided: 0 of 30 cases due got an answer, coverage 0.0000 is below minCoverage 0.95; 30 cases ended AnswerHTTPError, the first: status 500"},
		{"answers are down, no coverage asked", changed(staged(accuracy), answersDown, func(f *Facts) { f.MinCoverage = 0 }), Inconclusive, ReasonMetricAbsent,
			"accuracy has no value: no case got an answer that could be judged; 30 cases ended AnswerHTTPError, the first: status 500"},
		{"a judge's metric rests on the answers", changed(staged(hit, accuracy), covering(AnswerStage, 12, 30), covering(JudgeStage, 12, 12)), Inconclusive, ReasonCoverageTooLow,
			"accuracy cannot be decided: 12 of 30 cases due got an answer, coverage 0.4000 is below minCoverage 0.95"},
		{"retrieval is short, the answers are not", changed(staged(hit, accuracy), covering(RetrievalStage, 20, 26)), Inconclusive, ReasonCoverageTooLow,
			"hit_rate@5 cannot be decided: 20 of 26 cases due got a result, coverage 0.7692 is below minCoverage 0.95"},
		{"all is down", changed(staged(hit, accuracy), allDown), Error, ReasonNothingScored,
			"none of 30 cases could be scored; 29 cases ended RetrieverTimeout, the first: slow; 1 case ended AnswerTimeout: slow"},
		{"two stages that fail as one are said once", changed(staged(hit), allDown, func(f *Facts) {
			f.Failures = map[Stage]string{RetrievalStage: "30 cases ended AnswerTimeout", AnswerStage: "30 cases ended AnswerTimeout"}
		}), Error, ReasonNothingScored, "none of 30 cases could be scored; 30 cases ended AnswerTimeout"},

		{"the judge is not trusted", changed(staged(hit, accuracy), untrusted), Inconclusive, ReasonJudgeUntrusted,
			"accuracy cannot be decided: the judge is not trusted: kappa of correct is 0.20, below minKappa 0.60"},
		{"not trusted, and retrieval is missed", changed(staged(hitMore, accuracy), untrusted), Failed, ReasonObjectivesMissed, "hit_rate@5 is 0.9000 (30 of 30 cases scored), below min 0.95"},
		{"not trusted, but not asked either", changed(staged(hit, bleu, Objective{Metric: "answer_latency_p95_seconds", Max: "3"}), untrusted), Passed, ReasonObjectivesMet, "all 3 bounds are met"},
		{"not trusted, would miss", changed(staged(Objective{Metric: "accuracy", Min: "0.9"}), untrusted), Inconclusive, ReasonJudgeUntrusted,
			"accuracy cannot be decided: the judge is not trusted: kappa of correct is 0.20, below minKappa 0.60"},

		{"the quota ended the run", changed(staged(hit, accuracy), covering(AnswerStage, 20, 30), func(f *Facts) { f.Undecided = []Undecided{quota} }), Inconclusive, "JudgeQuotaExceeded", "the daily quota is used up"},
		{"the quota ended the run at once", changed(staged(hit, accuracy), allDown, func(f *Facts) { f.Undecided = []Undecided{quota} }), Inconclusive, "JudgeQuotaExceeded", "the daily quota is used up"},

		{"a run without answers", changed(staged(hit, bleu), func(f *Facts) { f.Spec = Spec{TopK: 10} }, without("bleu"), covering(AnswerStage, 0, 0)), Inconclusive, ReasonMetricAbsent,
			"bleu has no value: no answers are asked for: give the suite an answer service (spec.answer), or the run the stage Answer (spec.stages)"},
		{"a run without a judge", changed(staged(hit, accuracy), func(f *Facts) { f.Spec = Spec{TopK: 10, Answer: true} }, without("accuracy"), covering(JudgeStage, 0, 0)), Inconclusive, ReasonMetricAbsent,
			"accuracy has no value: nobody judges the answers: give the suite a judge (spec.judge), or the run the stage Judge (spec.stages)"},
		{"contexts are not graded", changed(staged(Objective{Metric: "context_relevance", Min: "3"}), func(f *Facts) { f.Spec.Relevance = false }, without("context_relevance")), Inconclusive, ReasonMetricAbsent,
			"context_relevance has no value: the judge does not grade contexts: set spec.judge.contextRelevance to true"},
		{"no contexts", changed(staged(Objective{Metric: "context_relevance", Min: "3"}), without("context_relevance")), Inconclusive, ReasonMetricAbsent,
			"context_relevance has no value: no answer that was judged came with contexts"},
		{"no references", changed(staged(accuracy, bleu), without("accuracy", "bleu")), Inconclusive, ReasonMetricAbsent,
			"accuracy has no value: no case that was judged is answerable and has a reference answer: add reference_answer to cases of the golden set; " +
				"bleu has no value: no case that got an answer has a reference answer: add reference_answer to cases of the golden set"},
		{"nothing unanswerable", staged(Objective{Metric: "abstention_accuracy", Min: "0.9"}), Inconclusive, ReasonMetricAbsent,
			"abstention_accuracy has no value: no case that was judged has answerable: false: add questions that the corpus has no answer to"},
		{"nothing answerable", staged(Objective{Metric: "abstention_rate", Max: "0.1"}), Inconclusive, ReasonMetricAbsent,
			"abstention_rate has no value: no case that was judged is answerable"},
		{"no answer was timed", changed(staged(Objective{Metric: "answer_latency_p95_seconds", Max: "1"}), without("answer_latency_p95_seconds")), Inconclusive, ReasonMetricAbsent,
			"answer_latency_p95_seconds has no value: no call to the answer service was answered or timed out"},
		{"no case has ended", changed(staged(Objective{Metric: "error_rate", Max: "0.1"}), without("error_rate")), Inconclusive, ReasonMetricAbsent,
			"error_rate has no value: no case has ended"},
		{"a tag that no case carries", staged(Objective{Metric: "accuracy", Tag: "typo", Min: "0.1"}), Inconclusive, ReasonMetricAbsent,
			"accuracy of tag typo has no value: no case carries the tag typo: add it to cases of the golden set, or change the objective"},
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

// A judge that is not trusted hides no number.
func TestUntrustedValuesAreGivenAllTheSame(t *testing.T) {
	f := staged(Objective{Metric: "accuracy", Min: "0.9"})
	f.Untrusted = "no"
	r := Decide(f).Objectives[0]
	if r.Outcome != OutcomeInconclusive || r.Value == nil || *r.Value != 0.8 {
		t.Errorf("%+v", r)
	}
}
