package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/suite"
)

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown
)

func TestPassing(t *testing.T) {
	type given struct {
		suite  func(*v1alpha1.EvalSuite)
		runs   []*v1alpha1.EvalRun
		golden string
		rev    string
		later  time.Duration
	}
	inconclusive := verdict(v1alpha1.VerdictInconclusive, "CoverageTooLow", "coverage is 0.75, and 0.95 is asked for")
	broken := verdict(v1alpha1.VerdictError, "NothingScored", "none of 3 cases could be scored")
	for name, test := range map[string]struct {
		given  given
		status metav1.ConditionStatus
		reason string
		says   []string
	}{
		"a pass":               {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isTrue, "Passed", []string{"run a: hit_rate@5 is 0.9167 (min 0.90)"}},
		"a miss names it":      {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, failing)}}, isFalse, "ObjectivesMissed", []string{"run a: ", "hit_rate@5", "0.5000", "0.90"}},
		"the newest counts":    {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, failing), ended("b", 2*time.Minute)}}, isFalse, "ObjectivesMissed", []string{"run a"}},
		"undecided":            {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, inconclusive), ended("b", 2*time.Minute)}}, isUnknown, "Inconclusive", []string{"run a: CoverageTooLow: coverage is 0.75"}},
		"nothing scored":       {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, broken), ended("b", 2*time.Minute)}}, isUnknown, "RunError", []string{"run a: NothingScored: none of 3 cases"}},
		"no run":               {given{}, isUnknown, "NotYetEvaluated", []string{"no run", "has ended yet"}},
		"a run that goes":      {given{runs: []*v1alpha1.EvalRun{ended("a", 0, verdict("", "", ""))}}, isUnknown, "NotYetEvaluated", nil},
		"never begun":          {given{runs: []*v1alpha1.EvalRun{ended("a", 0, ofGolden(""), verdict(v1alpha1.VerdictError, "SecretNotFound", "no"))}}, isUnknown, "NotYetEvaluated", nil},
		"no time of its end":   {given{runs: []*v1alpha1.EvalRun{ended("a", 0, func(r *v1alpha1.EvalRun) { r.Status.CompletionTime = nil })}}, isUnknown, "NotYetEvaluated", nil},
		"a canary alone":       {given{runs: []*v1alpha1.EvalRun{ended("a", 0, endpoint("canary"))}}, isUnknown, "NotYetEvaluated", nil},
		"a canary as well":     {given{runs: []*v1alpha1.EvalRun{ended("a", 0, endpoint("canary"), failing), ended("b", time.Minute)}}, isTrue, "Passed", []string{"run b"}},
		"some tags":            {given{runs: []*v1alpha1.EvalRun{ended("a", 0, ofTags("howto"), failing), ended("b", time.Minute)}}, isTrue, "Passed", []string{"run b"}},
		"another topK":         {given{runs: []*v1alpha1.EvalRun{ended("a", 0, ofTopK(3), failing), ended("b", time.Minute)}}, isTrue, "Passed", []string{"run b"}},
		"some stages":          {given{runs: []*v1alpha1.EvalRun{ended("a", 0, ofStages(v1alpha1.StageRetrieval), failing), ended("b", time.Minute)}}, isTrue, "Passed", []string{"run b"}},
		"topK 0 is none":       {given{runs: []*v1alpha1.EvalRun{ended("a", 0, ofTopK(0), failing), ended("b", time.Minute)}}, isFalse, "ObjectivesMissed", []string{"run a"}},
		"another spec":         {given{suite: func(s *v1alpha1.EvalSuite) { s.Spec.Objectives[0].Min = "0.95" }, runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isUnknown, "SpecNotEvaluated", []string{"the suite as it is now", "the newest, a, was of an earlier spec"}},
		"another schedule":     {given{suite: func(s *v1alpha1.EvalSuite) { s.Spec.Schedule = "0 * * * *" }, runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isTrue, "Passed", nil},
		"another golden set":   {given{golden: "sha256:other", runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isUnknown, "GoldenSetNotEvaluated", []string{"the golden set as it is now", "a, was of an earlier one"}},
		"another revision":     {given{rev: "r2", runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isUnknown, "RevisionNotEvaluated", []string{"r2", "a, was of revision r1"}},
		"spec before set":      {given{suite: func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.TopK = 5 }, golden: "sha256:other", rev: "r2", runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isUnknown, "SpecNotEvaluated", nil},
		"set before revision":  {given{golden: "sha256:other", rev: "r2", runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isUnknown, "GoldenSetNotEvaluated", nil},
		"back to an old spec":  {given{runs: []*v1alpha1.EvalRun{ended("b", time.Minute, evaluation("e2"), failing), ended("a", 2*time.Minute)}}, isTrue, "Passed", []string{"run a"}},
		"just before it ends":  {given{later: time.Hour - time.Second, runs: []*v1alpha1.EvalRun{ended("a", 0)}}, isTrue, "Passed", nil},
		"expired":              {given{later: time.Hour, runs: []*v1alpha1.EvalRun{ended("a", 0)}}, isUnknown, "Expired", []string{"run a (Passed) ended at 2026-03-01T12:00:00Z", "held until 2026-03-01T13:00:00Z", "assay.dev/run-now", "spec.gate.maxAgeSeconds"}},
		"at the very instant":  {given{later: time.Hour - 123456*time.Microsecond, runs: []*v1alpha1.EvalRun{ended("a", 0)}}, isUnknown, "Expired", nil},
		"a miss expires too":   {given{later: time.Hour, runs: []*v1alpha1.EvalRun{ended("a", 0, failing)}}, isUnknown, "Expired", []string{"run a (Failed)"}},
		"a longer age":         {given{later: time.Hour, suite: func(s *v1alpha1.EvalSuite) { s.Spec.Gate.MaxAgeSeconds = 7200 }, runs: []*v1alpha1.EvalRun{ended("a", 0)}}, isTrue, "Passed", nil},
		"no objectives":        {given{suite: func(s *v1alpha1.EvalSuite) { s.Spec.Objectives = nil }, runs: []*v1alpha1.EvalRun{ended("a", 0)}}, isUnknown, "NoObjectives", []string{"add spec.objectives"}},
		"today's index":        {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, corpus("v2")), ended("b", 2*time.Minute, corpus("v1"), failing)}}, isTrue, "Passed", []string{"run a"}},
		"an error tells none":  {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, broken), ended("b", 2*time.Minute, corpus("v1"))}}, isUnknown, "RunError", nil},
		"an old spec's index":  {given{runs: []*v1alpha1.EvalRun{ended("b", time.Minute, evaluation("e2"), corpus("v2")), ended("a", 2*time.Minute, corpus("v1"))}}, isUnknown, "SpecNotEvaluated", []string{"since the index changed", "the newest, b"}},
		"a canary's index":     {given{runs: []*v1alpha1.EvalRun{ended("c", 0, endpoint("canary"), corpus("v2")), ended("a", time.Minute, corpus("v1"))}}, isTrue, "Passed", []string{"run a"}},
		"a replaced run":       {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, verdict(v1alpha1.VerdictInconclusive, "Replaced", "a newer slot")), ended("b", 2*time.Minute)}}, isUnknown, "Inconclusive", []string{"run a: Replaced: "}},
		"the queue was full":   {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, ofGolden(""), verdict(v1alpha1.VerdictInconclusive, "QueueFull", "ten wait")), ended("b", 2*time.Minute)}}, isTrue, "Passed", []string{"run b"}},
		"two in one instant":   {given{runs: []*v1alpha1.EvalRun{ended("a", 0), ended("b", 0, failing)}}, isFalse, "ObjectivesMissed", []string{"run b"}},
		"in the other order":   {given{runs: []*v1alpha1.EvalRun{ended("b", 0, failing), ended("a", 0)}}, isFalse, "ObjectivesMissed", []string{"run b"}},
		"a clock ahead of us":  {given{runs: []*v1alpha1.EvalRun{ended("a", -time.Hour)}}, isTrue, "Passed", nil},
		"a stalled suite's":    {given{golden: "-", runs: []*v1alpha1.EvalRun{ended("a", time.Minute)}}, isTrue, "Passed", nil},
		"deadline, and a miss": {given{runs: []*v1alpha1.EvalRun{ended("a", time.Minute, verdict(v1alpha1.VerdictInconclusive, "DeadlineExceeded", "the run reached its limit"))}}, isUnknown, "Inconclusive", []string{"DeadlineExceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			if test.given.suite != nil {
				test.given.suite(s)
			}
			f := facts(test.given.runs...)
			f.Now = noon.Add(test.given.later)
			switch test.given.golden {
			case "":
			case "-": // it was read once, and cannot be read now
				s.Status.GoldenSet = &v1alpha1.GoldenSetStatus{Digest: goldenDigest}
				f.Golden, f.Stall = nil, &suite.Error{Reason: suite.ReasonGoldenSetNotFound, Message: "gone"}
			default:
				f.Golden.Digest = test.given.golden
			}
			if test.given.rev != "" {
				f.Targets = serving(test.given.rev)
			}
			fold(s, f)
			rest := wantCondition(t, s.Status.Conditions, "Passing", test.status, test.reason)
			for _, text := range test.says {
				_, after, found := strings.Cut(rest, text)
				if !found {
					t.Fatalf("%q is not in %q", text, rest)
				}
				rest = after
			}
		})
	}
}

// A verdict outlives its run's object, and an edit does not bring a stale one back.
func TestResultsOutliveTheirRuns(t *testing.T) {
	s := newSuite()
	fold(s, facts(ended("a", time.Minute)))
	s = stored(t, s)
	want := s.DeepCopy()
	fold(s, facts())
	if diff := same(want.Status, s.Status); diff != "" {
		t.Errorf("the run is gone: %s", diff)
	}

	s.Generation, s.Spec.Objectives[0].Min = 2, "0.5"
	fold(s, facts())
	wantCondition(t, s.Status.Conditions, "Passing", isUnknown, "SpecNotEvaluated")
	if s.Status.HitRate != "0.9167" || s.Status.LastRun.Name != "a" || len(s.Status.Results) != 1 || *s.Status.ObservedGeneration != 2 {
		t.Errorf("what was measured is lost: %+v", s.Status)
	}
	s.Generation, s.Spec.Objectives[0].Min = 3, "0.90"
	fold(s, facts())
	wantCondition(t, s.Status.Conditions, "Passing", isTrue, "Passed")

	s.Spec.Gate.MaxAgeSeconds = 60
	f := facts()
	f.Now = noon.Add(time.Second)
	fold(s, f)
	wantCondition(t, s.Status.Conditions, "Passing", isUnknown, "Expired")
}

func TestResults(t *testing.T) {
	minute := time.Minute
	for name, test := range map[string]struct {
		runs []*v1alpha1.EvalRun
		want []string
	}{
		"newest first":           {[]*v1alpha1.EvalRun{ended("a", 2*minute, revision("r0")), ended("b", minute)}, []string{"b", "a"}},
		"one a key":              {[]*v1alpha1.EvalRun{ended("a", 3*minute), ended("b", minute, failing), ended("c", 2*minute)}, []string{"b"}},
		"every part of the key":  {[]*v1alpha1.EvalRun{ended("a", minute), ended("b", 2*minute, evaluation("e2")), ended("c", 3*minute, ofGolden("g2")), ended("d", 4*minute, revision("r2")), ended("e", 5*minute, endpoint("canary")), ended("f", 6*minute, corpus("v2"))}, []string{"a", "b", "c", "d", "e", "f"}},
		"an endpoint's revision": {[]*v1alpha1.EvalRun{ended("a", minute, endpoint("canary"), revision("v1")), ended("b", 2*minute, endpoint("canary"), revision("v2")), ended("c", 3*minute, endpoint("canary"), revision("v1"))}, []string{"a", "b"}},
		"no subset":              {[]*v1alpha1.EvalRun{ended("a", minute, ofTags("howto")), ended("b", minute, ofTopK(3)), ended("c", minute, endpoint("canary"), ofTags("howto"))}, nil},
		"nothing unfinished":     {[]*v1alpha1.EvalRun{ended("a", minute, verdict("", "", ""))}, nil},
		"nothing unmeasured":     {[]*v1alpha1.EvalRun{ended("a", minute, ofGolden(""))}, nil},
		"in one instant by name": {[]*v1alpha1.EvalRun{ended("b", 0), ended("c", 0, revision("r2")), ended("a", 0)}, []string{"c", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			fold(s, facts(test.runs...))
			if diff := cmp.Diff(test.want, names(s.Status.Results)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAResultHoldsWhatGatesRead(t *testing.T) {
	s := newSuite()
	fold(s, facts(ended("a", 0, endpoint("canary"), revision("v2"), corpus("c1"), verdict(v1alpha1.VerdictFailed, "ObjectivesMissed", strings.Repeat("x", 2000)))))
	want := []v1alpha1.Result{{
		Run: "a", Time: metav1.NewMicroTime(noon), Trigger: "Spec", Endpoint: "canary", Revision: "v2", GoldenSetDigest: goldenDigest,
		EvaluationDigest: s.Status.EvaluationDigest, CorpusVersion: "c1", Verdict: "Failed", Reason: "ObjectivesMissed", Message: strings.Repeat("x", 1021) + "…",
		ExpiresAt: metav1.NewTime(noon.Truncate(time.Second).Add(time.Hour)), HitRate: "0.9167", MRR: "0.7330",
	}}
	if diff := cmp.Diff(want, s.Status.Results); diff != "" {
		t.Error(diff)
	}
	s.Spec.Gate.MaxAgeSeconds = 60
	fold(s, facts())
	if got := s.Status.Results[0].ExpiresAt.Time; !got.Equal(noon.Truncate(time.Second).Add(time.Minute)) {
		t.Errorf("a shorter age, and it expires at %s", got)
	}
}

func TestTheNewestTenResults(t *testing.T) {
	var runs []*v1alpha1.EvalRun
	var want []string
	for i := range 12 {
		name := fmt.Sprintf("run%02d", i)
		runs = append(runs, ended(name, time.Duration(i)*time.Minute, evaluation(name)))
		if i < 10 {
			want = append(want, name)
		}
	}
	s := newSuite()
	fold(s, facts(runs...))
	if diff := cmp.Diff(want, names(s.Status.Results)); diff != "" {
		t.Error(diff)
	}
}

// Ten runs of a canary must not make Passing forget what the suite's own URL
// was measured with.
func TestCanariesDoNotPushOutTheSuitesOwn(t *testing.T) {
	own := []*v1alpha1.EvalRun{ended("today", 3*time.Hour/4), ended("other", time.Hour/2, evaluation("e2"), failing)}
	s := newSuite()
	fold(s, facts(own...))
	for i := range 15 {
		name := fmt.Sprintf("canary%02d", i)
		fold(s, facts(ended(name, time.Duration(15-i)*time.Minute, endpoint("canary"), revision(name), failing)))
		s = stored(t, s)
	}
	want := []string{"canary14", "canary13", "canary12", "canary11", "canary10", "canary09", "canary08", "canary07", "other", "today"}
	if diff := cmp.Diff(want, names(s.Status.Results)); diff != "" {
		t.Error(diff)
	}
	wantCondition(t, s.Status.Conditions, "Passing", isTrue, "Passed")
	if got := NextExpiry(s, noon); !got.Equal(noon.Truncate(time.Second).Add(time.Hour / 4)) {
		t.Errorf("Passing changes at %s, want when the run today expires", got)
	}
}

func TestNextExpiry(t *testing.T) {
	s := newSuite()
	if got := NextExpiry(s, noon); !got.IsZero() {
		t.Errorf("no result, and something expires at %s", got)
	}
	fold(s, facts(ended("a", 0), ended("b", time.Hour/2, revision("r2")), ended("c", 2*time.Hour, revision("r3"))))
	whole := noon.Truncate(time.Second)
	for now, want := range map[time.Time]time.Time{
		noon:                      whole.Add(time.Hour / 2),
		whole.Add(time.Hour / 2):  whole.Add(time.Hour),
		whole.Add(time.Hour):      {},
		whole.Add(-2 * time.Hour): whole.Add(-time.Hour),
	} {
		if got := NextExpiry(s, now); !got.Equal(want) {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

func TestHeadline(t *testing.T) {
	minute := time.Minute
	const ok, bad = "0.1000", "0.9999"
	good := numbers(ok, ok)
	wrong := numbers(bad, bad)
	for name, test := range map[string]struct {
		runs []*v1alpha1.EvalRun
		want string // name of the last run
	}{
		"the newest":            {[]*v1alpha1.EvalRun{ended("a", 2*minute, wrong), ended("b", minute, good)}, "b"},
		"a miss too":            {[]*v1alpha1.EvalRun{ended("a", 2*minute, wrong), ended("b", minute, good, failing)}, "b"},
		"an undecided one too":  {[]*v1alpha1.EvalRun{ended("a", minute, good, verdict(v1alpha1.VerdictInconclusive, "CoverageTooLow", ""))}, "a"},
		"at its own limit too":  {[]*v1alpha1.EvalRun{ended("a", minute, good, verdict(v1alpha1.VerdictInconclusive, "DeadlineExceeded", ""))}, "a"},
		"of an earlier spec":    {[]*v1alpha1.EvalRun{ended("a", minute, good, evaluation("e0"))}, "a"},
		"no endpoint":           {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, endpoint("canary"))}, "a"},
		"no tags":               {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, ofTags("x"))}, "a"},
		"no other topK":         {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, ofTopK(3))}, "a"},
		"no other stages":       {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, ofStages(v1alpha1.StageRetrieval))}, "a"},
		"no superseded run":     {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, verdict(v1alpha1.VerdictInconclusive, "Superseded", ""))}, "a"},
		"of no one revision":    {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, verdict(v1alpha1.VerdictInconclusive, "RevisionChanged", ""))}, "a"},
		"no error":              {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, verdict(v1alpha1.VerdictError, "NothingScored", ""))}, "a"},
		"nothing unscored":      {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, numbers("", ""))}, "a"},
		"no canceled run":       {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, verdict(v1alpha1.VerdictInconclusive, "Canceled", ""))}, "a"},
		"no replaced run":       {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, verdict(v1alpha1.VerdictInconclusive, "Replaced", ""))}, "a"},
		"nor by another word":   {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, verdict(v1alpha1.VerdictInconclusive, "TooSlow", ""), func(r *v1alpha1.EvalRun) { r.Annotations = map[string]string{v1alpha1.AnnotationCancel: "TooSlow"} })}, "a"},
		"canceled too late":     {[]*v1alpha1.EvalRun{ended("a", 2*minute, wrong), ended("b", minute, good, func(r *v1alpha1.EvalRun) { r.Annotations = map[string]string{v1alpha1.AnnotationCancel: "TooSlow"} })}, "b"},
		"no broken-off run":     {[]*v1alpha1.EvalRun{ended("a", 2*minute, good), ended("b", minute, wrong, verdict(v1alpha1.VerdictInconclusive, "SuiteChanged", ""))}, "a"},
		"two in one instant":    {[]*v1alpha1.EvalRun{ended("a", 0, wrong), ended("b", 0, good)}, "b"},
		"in the other order":    {[]*v1alpha1.EvalRun{ended("b", 0, good), ended("a", 0, wrong)}, "b"},
		"nothing without a run": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			fold(s, facts(test.runs...))
			st := s.Status
			if test.want == "" {
				if st.LastRun != nil || st.HitRate != "" || st.MRR != "" {
					t.Errorf("got %+v", st)
				}
				return
			}
			if st.LastRun == nil || st.LastRun.Name != test.want || st.HitRate != ok || st.MRR != ok {
				t.Errorf("last run %+v with %s and %s, want %s", st.LastRun, st.HitRate, st.MRR, test.want)
			}
		})
	}
}

func TestLastRun(t *testing.T) {
	s := newSuite()
	run := ended("a", 0)
	fold(s, facts(run))
	want := &v1alpha1.LastRun{
		Name: "a", UID: "uid-a", Trigger: "Spec", Revision: "r1", GoldenSetDigest: goldenDigest, Verdict: "Passed",
		StartTime: run.Status.StartTime, CompletionTime: run.Status.CompletionTime, Coverage: run.Status.Coverage,
		Metrics: []v1alpha1.SuiteMetric{{Name: "mrr", Tag: ptr.To(""), Value: "0.7330", Count: ptr.To[int32](12)}}, Objectives: run.Status.Objectives,
	}
	if diff := cmp.Diff(want, s.Status.LastRun); diff != "" {
		t.Error(diff)
	}
	// An older run that is seen later changes nothing.
	fold(s, facts(ended("0", time.Minute, numbers("0.1", "0.1"))))
	if s.Status.LastRun.Name != "a" || s.Status.HitRate != "0.9167" {
		t.Errorf("an older run became the last one: %+v", s.Status.LastRun)
	}
}

func TestLastPassTime(t *testing.T) {
	whole := noon.Truncate(time.Second)
	s := newSuite()
	pass := func(want time.Time, runs ...*v1alpha1.EvalRun) {
		t.Helper()
		fold(s, facts(runs...))
		switch got := s.Status.LastPassTime; {
		case want.IsZero() && got != nil:
			t.Errorf("got %s, want none", got)
		case !want.IsZero() && (got == nil || !got.Time.Equal(want)):
			t.Errorf("got %s, want %s", got, want)
		}
	}
	pass(time.Time{})
	pass(time.Time{}, ended("a", 0, failing), ended("b", 0, endpoint("canary")), ended("c", 0, ofTags("x")), ended("d", 0, ofTopK(3)))
	pass(whole.Add(-time.Hour), ended("e", time.Hour))
	pass(whole.Add(-time.Hour), ended("f", 2*time.Hour), ended("a", 0, failing))
	pass(whole, ended("e", time.Hour), ended("g", 0))
	pass(whole)
}

func TestReadiness(t *testing.T) {
	mistake := &suite.Error{Reason: suite.ReasonSecretNotFound, Message: "the Secret is missing"}
	outage := &suite.Error{Reason: suite.ReasonGoldenSetUnreadable, Message: "the server is down", Transient: true, Err: errors.New("503")}
	type condition struct {
		status metav1.ConditionStatus
		reason string
	}
	for name, test := range map[string]struct {
		stall                       *suite.Error
		ready, reconciling, stalled condition
		says                        string
	}{
		"fine":    {nil, condition{isTrue, "Succeeded"}, condition{isFalse, "Succeeded"}, condition{isFalse, "Succeeded"}, "the suite is accepted; cases: 12, calls a run: 14"},
		"mistake": {mistake, condition{isFalse, "SecretNotFound"}, condition{isFalse, "Succeeded"}, condition{isTrue, "SecretNotFound"}, "the Secret is missing"},
		"outage":  {outage, condition{isFalse, "GoldenSetUnreadable"}, condition{isTrue, "Retrying"}, condition{isFalse, "Succeeded"}, "the server is down"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			s.Generation = 7
			s.Status.Conditions = []metav1.Condition{{Type: "OfAnOlderVersion"}}
			f := facts()
			f.Stall = test.stall
			fold(s, f)
			for kind, want := range map[string]condition{"Ready": test.ready, "Reconciling": test.reconciling, "Stalled": test.stalled} {
				message := wantCondition(t, s.Status.Conditions, kind, want.status, want.reason)
				if (kind == "Ready" || want.status == isTrue) && message != test.says {
					t.Errorf("%s says %q, want %q", kind, message, test.says)
				}
				if message == "" {
					t.Errorf("%s says nothing", kind)
				}
			}
			var kinds []string
			for _, c := range s.Status.Conditions {
				kinds = append(kinds, c.Type)
				if c.ObservedGeneration != 7 {
					t.Errorf("%s is of generation %d", c.Type, c.ObservedGeneration)
				}
			}
			slices.Sort(kinds)
			if diff := cmp.Diff([]string{"BaselineComparable", "Passing", "Ready", "Reconciling", "Stalled"}, kinds); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheGoldenSetAsItWasReadLast(t *testing.T) {
	s := newSuite()
	fold(s, facts())
	want := s.Status.DeepCopy()
	if *want.GoldenSet.Cases != 12 || *want.GoldenSet.Tags != 4 || want.GoldenSet.Digest != goldenDigest || *want.Plan.Calls != 14 {
		t.Errorf("%+v, %+v", want.GoldenSet, want.Plan)
	}
	f := facts()
	f.Golden, f.Stall = nil, &suite.Error{Reason: suite.ReasonGoldenSetInvalid, Message: "bad"}
	fold(s, f)
	if diff := cmp.Diff(want.GoldenSet, s.Status.GoldenSet); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Plan, s.Status.Plan); diff != "" {
		t.Error(diff)
	}
}

// The operator looks again whenever something happens and writes only what has
// changed: the same facts must always come to the same status, in whatever
// order the cache lists the runs, or two passes would take turns for ever.
func TestTheSameFactsAreTheSameStatus(t *testing.T) {
	oneOf := func(t *rapid.T, label string, values ...string) string {
		return rapid.SampledFrom(values).Draw(t, label)
	}
	rapid.Check(t, func(t *rapid.T) {
		var runs []*v1alpha1.EvalRun
		for i := range rapid.IntRange(0, 25).Draw(t, "runs") {
			run := ended(fmt.Sprintf("run%02d", i), time.Duration(rapid.IntRange(0, 3).Draw(t, "minutes"))*time.Minute,
				evaluation(oneOf(t, "evaluation", suite.EvaluationDigest(newSuite(), "", suite.Digests{}), "e2")), ofGolden(oneOf(t, "golden", goldenDigest, "g2", "")),
				revision(oneOf(t, "revision", "r1", "r2", "r3")), corpus(oneOf(t, "corpus", "", "v1", "v2")), endpoint(oneOf(t, "endpoint", "", "", "canary")),
				numbers(fmt.Sprintf("0.%02d", i), oneOf(t, "mrr", "", "0.5")),
				verdict(v1alpha1.Verdict(oneOf(t, "verdict", "Passed", "Failed", "Inconclusive", "Error", "")), oneOf(t, "reason", "A", "Canceled"), "m"))
			runs = append(runs, run)
		}
		first := newSuite()
		fold(first, facts(runs...))

		shuffled := newSuite()
		fold(shuffled, facts(rapid.Permutation(runs).Draw(t, "order")...))
		if diff := same(first.Status, shuffled.Status); diff != "" {
			t.Fatalf("in another order: %s", diff)
		}
		again := stored(t, first)
		want := again.DeepCopy()
		f := facts(rapid.Permutation(runs).Draw(t, "order")...)
		f.Now = noon.Add(time.Minute)
		fold(again, f)
		if diff := same(want.Status, again.Status); diff != "" {
			t.Fatalf("a second pass, a minute later: %s", diff)
		}
		f.Runs = nil
		fold(again, f)
		if diff := same(want.Status, again.Status); diff != "" {
			t.Fatalf("a pass after the runs are gone: %s", diff)
		}
		if n := len(first.Status.Results); n > 10 {
			t.Fatalf("%d results", n)
		}
	})
}
