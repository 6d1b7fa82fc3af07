package status

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/suite"
)

// somebody is asked in every stage. Nobody calls it here.
type somebody struct{}

func (somebody) Retrieve(context.Context, *golden.Case, int) (*retriever.Reply, error) {
	return nil, nil
}

func (somebody) Answer(context.Context, *golden.Case, int, []retriever.Result) (*answer.Reply, error) {
	return nil, nil
}

// judgedRun is a run through all stages.
func judgedRun() *suite.Prepared {
	p := prepared()
	identity := judge.LexicalIdentity()
	p.Judge = &identity
	p.Parties = eval.Parties{Retriever: somebody{}, Answerer: somebody{}, Judge: judge.NewLexical()}
	return p
}

// judgedResult is what came of it.
func judgedResult() *eval.Result {
	r := result()
	r.Summary.Means = append(r.Summary.Means,
		score.Mean{Name: score.Accuracy, Value: 0.8, Count: 2}, score.Mean{Name: score.Accuracy, Tag: "howto", Value: 0.1, Count: 1},
		score.Mean{Name: score.HallucinationRate, Value: 1.0 / 30, Count: 3})
	r.Summary.Answer = map[string]score.Coverage{"": {Scored: 3, Due: 4}}
	r.Summary.Judge = map[string]score.Coverage{"": {Scored: 1, Due: 2}, "howto": {Scored: 1, Due: 1}}
	r.Summary.Evidence = &score.Evidence{HitRight: 5, HitWrong: 4, MissRight: 0, MissWrong: 2}
	r.AnswerCalls = 7
	r.Usage = judge.Usage{Calls: 11, PromptTokens: 1300, CompletionTokens: 170, CacheHits: 19}
	return r
}

func TestFinishedWithAnswersAndJudge(t *testing.T) {
	run := newRun()
	Finished(run, judgedRun(), judgedResult(), noon)
	st := run.Status
	if st.Accuracy != "0.8000" || st.HallucinationRate != "0.0333" {
		t.Errorf("accuracy %s, hallucination rate %s", st.Accuracy, st.HallucinationRate)
	}
	if diff := cmp.Diff(&v1alpha1.Coverage{Retrieval: "0.6667", Answer: "0.7500", Judge: "0.5000"}, st.Coverage); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
	evidence := &v1alpha1.Evidence{HitRight: ptr.To[int32](5), HitWrong: ptr.To[int32](4), MissRight: ptr.To[int32](0), MissWrong: ptr.To[int32](2)}
	if diff := cmp.Diff(evidence, st.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	usage := &v1alpha1.Usage{
		RetrieverCalls: ptr.To[int64](5), AnswerCalls: ptr.To[int64](7),
		JudgeCalls: ptr.To[int64](11), PromptTokens: ptr.To[int64](1300), CompletionTokens: ptr.To[int64](170), CacheHits: ptr.To[int64](19),
	}
	if diff := cmp.Diff(usage, st.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if diff := same(st, stored(t, run).Status); diff != "" {
		t.Errorf("it does not survive the API server: %s", diff)
	}
}

// A stage that the run leaves out has no number, and not one of 0.
func TestStagesThatARunLeavesOut(t *testing.T) {
	for name, test := range map[string]struct {
		parties func(*eval.Parties)
		want    v1alpha1.Usage
	}{
		"no judge":           {func(p *eval.Parties) { p.Judge = nil }, v1alpha1.Usage{RetrieverCalls: ptr.To[int64](5), AnswerCalls: ptr.To[int64](7)}},
		"retrieval alone":    {func(p *eval.Parties) { p.Judge, p.Answerer = nil, nil }, v1alpha1.Usage{RetrieverCalls: ptr.To[int64](5)}},
		"a list of its own":  {func(p *eval.Parties) { p.Judge, p.Retriever = nil, nil }, v1alpha1.Usage{AnswerCalls: ptr.To[int64](7)}},
		"one without a call": {func(p *eval.Parties) { *p = eval.Parties{} }, v1alpha1.Usage{RetrieverCalls: ptr.To[int64](5)}},
	} {
		p := judgedRun()
		test.parties(&p.Parties)
		run := newRun()
		Finished(run, p, judgedResult(), noon)
		if diff := cmp.Diff(&test.want, run.Status.Usage); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", name, diff)
		}
	}
	run := newRun()
	Finished(run, prepared(), result(), noon)
	if st := run.Status; st.Accuracy != "" || st.HallucinationRate != "" || st.Evidence != nil || st.Judge != nil || meta.FindStatusCondition(st.Conditions, "JudgeTrusted") != nil {
		t.Errorf("a run without a judge says %+v", st)
	}
}

func TestJudgeTrusted(t *testing.T) {
	const failed = "the judge could not be calibrated: 429"
	for name, test := range map[string]struct {
		judge  *v1alpha1.JudgeStatus
		failed string
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		"not calibrated":        {nil, "", metav1.ConditionUnknown, "NotCalibrated", "the judge was held against no labelled verdicts: give judge.calibration some"},
		"it could not be":       {nil, failed, metav1.ConditionUnknown, "NotCalibrated", failed},
		"it agrees":             {&v1alpha1.JudgeStatus{Trust: "Trusted", Message: "κ 0.81"}, "", metav1.ConditionTrue, "Agrees", "κ 0.81"},
		"it does not":           {&v1alpha1.JudgeStatus{Trust: "Untrusted", Message: "κ 0.12"}, "κ 0.12", metav1.ConditionFalse, "Disagrees", "κ 0.12"},
		"nobody can tell":       {&v1alpha1.JudgeStatus{Trust: "Unknown", Message: "κ is unknown"}, "", metav1.ConditionUnknown, "TooFewLabels", "κ is unknown"},
		"of an unknown version": {&v1alpha1.JudgeStatus{Trust: "Perhaps", Message: "m"}, "", metav1.ConditionUnknown, "TooFewLabels", "m"},
	} {
		var conditions []metav1.Condition
		setTrust(&conditions, test.judge, test.failed, 3, noon)
		if got := wantCondition(t, conditions, "JudgeTrusted", test.status, test.reason); got != test.says || conditions[0].ObservedGeneration != 3 {
			t.Errorf("%s: it says %q of generation %d", name, got, conditions[0].ObservedGeneration)
		}
	}
}

// configMaps is a namespace with nothing else.
type configMaps map[string]map[string]string

func (c configMaps) ConfigMap(_ context.Context, name string) (*corev1.ConfigMap, error) {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: c[name]}, nil
}

func (configMaps) ConfigMaps(context.Context, labels.Selector) ([]corev1.ConfigMap, error) {
	return nil, nil
}

func (configMaps) Secret(context.Context, string) (*corev1.Secret, error) { return nil, nil }

// A run that held its judge against people says so, and its suite after it.
func TestARunTellsHowFarItsJudgeAgrees(t *testing.T) {
	var lines strings.Builder
	for i := range 10 {
		answer := []string{"The fee is three percent.", "Nobody knows tomorrow's weather."}[i%2]
		fmt.Fprintf(&lines, `{"question": "q%d", "reference_answer": "The fee is three percent.", "contexts": ["The fee is three percent."], "answer": %q, "correct": %t, "grounded": %t}`+"\n", i, answer, i%2 == 0, i%2 == 0)
	}
	s := newSuite()
	s.Spec.GoldenSet.ConfigMapRef = &v1alpha1.GoldenConfigMapReference{Name: "golden"}
	s.Spec.Retriever = v1alpha1.Retriever{URL: "http://127.0.0.1:1/search", TopK: 5}
	s.Spec.Answer = &v1alpha1.Answer{URL: "http://127.0.0.1:1/answer"}
	s.Spec.Judge = &v1alpha1.Judge{Provider: v1alpha1.JudgeLexical, Calibration: &v1alpha1.Calibration{ConfigMapRef: v1alpha1.GoldenConfigMapReference{Name: "labels"}, MinKappa: "0.60"}}
	s.Spec.Scoring = v1alpha1.Scoring{MinCoverage: "0.95", Unit: v1alpha1.UnitChunk, BLEUTokenizer: v1alpha1.BLEUWhitespace}
	p, err := suite.Prepare(t.Context(), s, suite.RunOptions{}, configMaps{
		"golden": {"golden.yaml": "- {id: a, question: q, relevant: x}"}, "labels": {"labels.jsonl": lines.String()},
	}, suite.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	run := ended("a", 0)
	Finished(run, p, eval.Run(t.Context(), p.Plan, p.Parties, nil), noon)
	want := &v1alpha1.JudgeStatus{KappaCorrect: "1.0000", KappaGrounded: "1.0000", Labels: ptr.To[int32](10), Trust: "Trusted", Digest: p.Calibrated().Digest, Message: p.Calibrated().Message}
	if diff := cmp.Diff(want, run.Status.Judge); diff != "" {
		t.Errorf("judge (-want +got):\n%s", diff)
	}
	wantCondition(t, run.Status.Conditions, "JudgeTrusted", metav1.ConditionTrue, "Agrees")

	fold(s, facts(run))
	if diff := cmp.Diff(want, s.Status.Judge); diff != "" {
		t.Errorf("the suite's judge (-want +got):\n%s", diff)
	}
	if got := wantCondition(t, s.Status.Conditions, "JudgeTrusted", metav1.ConditionTrue, "Agrees"); !strings.HasPrefix(got, "run a: the judge agrees with people") {
		t.Errorf("the suite says %q", got)
	}
}

func TestASuiteTakesOverWhatItsRunsSayOfTheJudge(t *testing.T) {
	found := func(trust string, says string) edit {
		return func(run *v1alpha1.EvalRun) {
			run.Status.Judge = &v1alpha1.JudgeStatus{Trust: trust, Message: says, Digest: "d"}
			setTrust(&run.Status.Conditions, run.Status.Judge, "", 1, noon)
		}
	}
	uncalibrated := func(run *v1alpha1.EvalRun) { setTrust(&run.Status.Conditions, nil, "", 1, noon) }
	s := newSuite()
	s.Spec.Judge = &v1alpha1.Judge{Provider: v1alpha1.JudgeLexical, Calibration: &v1alpha1.Calibration{}}
	for _, step := range []struct {
		name    string
		change  func()
		runs    []*v1alpha1.EvalRun
		status  metav1.ConditionStatus
		reason  string
		says    string
		trust   string // of the suite's judge
		nothing bool
	}{
		{"no run yet", nil, nil, metav1.ConditionUnknown, "NotCalibrated", "no run has held the judge", "", false},
		{"one that agrees", nil, []*v1alpha1.EvalRun{ended("a", 2*time.Minute, found("Trusted", "fine"))}, metav1.ConditionTrue, "Agrees", "run a: fine", "Trusted", false},
		{"a newer that does not", nil, []*v1alpha1.EvalRun{ended("b", time.Minute, found("Untrusted", "bad")), ended("a", 2*time.Minute, found("Trusted", "fine"))}, metav1.ConditionFalse, "Disagrees", "run b: bad", "Untrusted", false},
		{"one of retrieval alone", nil, []*v1alpha1.EvalRun{ended("c", 0), ended("b", time.Minute, found("Untrusted", "bad"))}, metav1.ConditionFalse, "Disagrees", "run b: bad", "Untrusted", false},
		{"the runs are gone", nil, nil, metav1.ConditionFalse, "Disagrees", "run b: bad", "Untrusted", false},
		{"no calibration any more", func() { s.Spec.Judge.Calibration = nil }, []*v1alpha1.EvalRun{ended("d", 0, uncalibrated)}, metav1.ConditionUnknown, "NotCalibrated", "run d: ", "", false},
		{"no judge any more", func() { s.Spec.Judge = nil }, nil, "", "", "", "", true},
	} {
		if step.change != nil {
			step.change()
		}
		s.Generation++
		fold(s, facts(step.runs...))
		if got := s.Status.Judge; (got != nil) != (step.trust != "") || got != nil && got.Trust != step.trust {
			t.Errorf("%s: the suite's judge is %+v", step.name, got)
		}
		c := meta.FindStatusCondition(s.Status.Conditions, "JudgeTrusted")
		if step.nothing {
			if c != nil {
				t.Errorf("%s: %+v", step.name, c)
			}
			continue
		}
		if got := wantCondition(t, s.Status.Conditions, "JudgeTrusted", step.status, step.reason); !strings.HasPrefix(got, step.says) || c.ObservedGeneration != s.Generation {
			t.Errorf("%s: it says %q of generation %d", step.name, got, c.ObservedGeneration)
		}
	}
}

func TestHeadlineOfTheJudge(t *testing.T) {
	judged := func(accuracy, hallucination string) edit {
		return func(run *v1alpha1.EvalRun) {
			run.Status.Accuracy, run.Status.HallucinationRate = accuracy, hallucination
			run.Status.Evidence = &v1alpha1.Evidence{HitRight: ptr.To[int32](3)}
			run.Status.Coverage = &v1alpha1.Coverage{Retrieval: "1.0000", Answer: "1.0000", Judge: "0.9000"}
		}
	}
	run := ended("a", time.Minute, judged("0.8000", "0.0333"))
	s := newSuite()
	f := facts(run, ended("b", 0, judged("0.1", "0.9"), ofStages(v1alpha1.StageRetrieval, v1alpha1.StageAnswer)))
	f.Golden.Tokens = 240_000
	fold(s, f)
	st := s.Status
	if st.Accuracy != "0.8000" || st.HallucinationRate != "0.0333" || st.LastRun.Name != "a" {
		t.Errorf("accuracy %s, hallucination rate %s of run %s", st.Accuracy, st.HallucinationRate, st.LastRun.Name)
	}
	if diff := cmp.Diff(run.Status.Evidence, st.LastRun.Evidence); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(run.Status.Coverage, st.LastRun.Coverage); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&v1alpha1.Plan{Calls: ptr.To[int64](14), EstimatedTokens: ptr.To[int64](240_000)}, st.Plan); diff != "" {
		t.Error(diff)
	}
	if len(st.Results) != 1 || st.Results[0].Accuracy != "0.8000" || st.Results[0].HallucinationRate != "0.0333" {
		t.Errorf("results are %+v", st.Results)
	}

	// Where no case has a relevant id, retrieval has no number, and the judge has.
	s = newSuite()
	fold(s, facts(ended("a", 0, numbers("", ""), judged("", "0.0333"))))
	if s.Status.LastRun == nil || s.Status.HitRate != "" || s.Status.HallucinationRate != "0.0333" || s.Status.Plan.EstimatedTokens != nil {
		t.Errorf("judged alone: %+v", s.Status)
	}
}
