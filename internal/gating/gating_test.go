package gating

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/gate"
	"github.com/assay-dev/assay/internal/suite"
)

const (
	namespace = "rag"
	golden    = "sha256:golden"
)

// noon is when the gates are asked.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }

// cluster answers from these objects. An interceptor, where there is one, sees each call.
func cluster(t *testing.T, calls interceptor.Funcs, objects ...client.Object) *Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(calls).Build()
	return &Cluster{Reader: reader, Clock: testingclock.NewFakePassiveClock(noon)}
}

// newSuite has a canary and one objective, and its newest generation is observed.
func newSuite(change ...func(*v1alpha1.EvalSuite)) *v1alpha1.EvalSuite {
	s := &v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "docs-bot", UID: "uid-suite", Generation: 3, CreationTimestamp: metav1.NewTime(before(24 * time.Hour))},
		Spec: v1alpha1.EvalSuiteSpec{
			Retriever:  v1alpha1.Retriever{URL: "http://docs-bot/search", TopK: 10},
			Endpoints:  []v1alpha1.Endpoint{{Name: "canary", RetrieverURL: "http://docs-bot-canary/search"}},
			Objectives: []v1alpha1.Objective{{Metric: "hit_rate@5", Min: "0.9"}},
			Gate:       v1alpha1.Gate{MaxAgeSeconds: 3600},
		},
	}
	s.Status = v1alpha1.EvalSuiteStatus{
		ObservedGeneration: ptr.To[int64](3),
		EvaluationDigest:   suite.EvaluationDigest(s, "", suite.Digests{}),
		GoldenSet:          &v1alpha1.GoldenSetStatus{Digest: golden},
	}
	// What started a run last is today's key, so that none is due.
	s.Status.LastTriggered = &v1alpha1.TriggeredKey{EvaluationDigest: s.Status.EvaluationDigest, GoldenSetDigest: golden, Revision: suite.NoTargetsRevision}
	for _, c := range change {
		c(s)
	}
	return s
}

// result of the suite's status, half an hour old.
func result(s *v1alpha1.EvalSuite, run string, verdict v1alpha1.Verdict, change ...func(*v1alpha1.Result)) {
	r := v1alpha1.Result{
		Run: run, Time: metav1.NewMicroTime(before(30 * time.Minute)), ExpiresAt: metav1.NewTime(noon.Add(30 * time.Minute)),
		Revision: suite.NoTargetsRevision, EvaluationDigest: s.Status.EvaluationDigest, GoldenSetDigest: golden, Verdict: verdict,
	}
	for _, c := range change {
		c(&r)
	}
	s.Status.Results = append(s.Status.Results, r)
}

func passed(s *v1alpha1.EvalSuite) { result(s, "passed", v1alpha1.VerdictPassed) }

// newRun of the suite was created a minute ago and has not begun.
func newRun(name string, change ...func(*v1alpha1.EvalRun)) *v1alpha1.EvalRun {
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: "uid-run", CreationTimestamp: metav1.NewTime(before(time.Minute)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "assay.dev/v1alpha1", Kind: "EvalSuite", Name: "docs-bot", UID: "uid-suite", Controller: ptr.To(true)}},
		},
		Spec: v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}, Trigger: v1alpha1.TriggerManual},
	}
	for _, c := range change {
		c(run)
	}
	return run
}

// began has a run begin with the suite as it is, at the run's endpoint.
func began(run *v1alpha1.EvalRun) {
	run.Status.StartTime = ptr.To(metav1.NewMicroTime(before(50 * time.Second)))
	run.Status.SuiteEvaluationDigest = suite.EvaluationDigest(newSuite(), run.Spec.Endpoint, suite.Digests{})
	run.Status.GoldenSetDigest = golden
	run.Status.Revision = suite.NoTargetsRevision
	if run.Spec.Revision != "" {
		run.Status.Revision = run.Spec.Revision
	}
}

func ended(verdict v1alpha1.Verdict) func(*v1alpha1.EvalRun) {
	return func(run *v1alpha1.EvalRun) {
		began(run)
		run.Status.Verdict, run.Status.CompletionTime = verdict, ptr.To(metav1.NewMicroTime(before(10*time.Second)))
	}
}

func atCanary(revision string) func(*v1alpha1.EvalRun) {
	return func(run *v1alpha1.EvalRun) { run.Spec.Endpoint, run.Spec.Revision = "canary", revision }
}

func TestAsk(t *testing.T) {
	other := func(run *v1alpha1.EvalRun) { run.Spec.SuiteRef.Name = "another" }
	earlier := func(run *v1alpha1.EvalRun) { run.OwnerReferences[0].UID = "a suite of this name that is gone" }
	byHand := func(run *v1alpha1.EvalRun) { run.OwnerReferences = nil }
	partial := func(run *v1alpha1.EvalRun) { run.Spec.Tags = []string{"howto"} }
	canceled := func(run *v1alpha1.EvalRun) {
		run.Annotations = map[string]string{v1alpha1.AnnotationCancel: "Canceled"}
	}
	leaving := func(o client.Object) {
		o.SetDeletionTimestamp(ptr.To(metav1.NewTime(before(time.Second))))
		o.SetFinalizers([]string{"example.com/keep"})
	}
	canary := gate.Question{Endpoint: "canary", Revision: "6d4cf56db6"}

	for name, test := range map[string]struct {
		suite *v1alpha1.EvalSuite
		runs  []*v1alpha1.EvalRun
		ask   gate.Question
		want  string // verdict, reason, run
	}{
		"no such suite":              {nil, nil, gate.Question{}, "Inconclusive SuiteNotFound "},
		"one that is being deleted":  {newSuite(passed, func(s *v1alpha1.EvalSuite) { leaving(s) }), nil, gate.Question{}, "Inconclusive SuiteNotFound "},
		"a pass":                     {newSuite(passed), nil, gate.Question{}, "Pass Passed passed"},
		"a fail":                     {newSuite(func(s *v1alpha1.EvalSuite) { result(s, "failed", v1alpha1.VerdictFailed) }), nil, gate.Question{}, "Fail ObjectivesMissed failed"},
		"no objectives":              {newSuite(passed, func(s *v1alpha1.EvalSuite) { s.Spec.Objectives = nil }), nil, gate.Question{}, "Inconclusive NoObjectives "},
		"never looked at":            {newSuite(passed, func(s *v1alpha1.EvalSuite) { s.Status.ObservedGeneration = nil }), nil, gate.Question{}, "Pending NotObserved "},
		"edited since":               {newSuite(passed, func(s *v1alpha1.EvalSuite) { s.Generation = 4 }), nil, gate.Question{}, "Pending NotObserved "},
		"a pass of another spec":     {newSuite(passed, func(s *v1alpha1.EvalSuite) { s.Status.EvaluationDigest = "sha256:edited" }), nil, gate.Question{}, "Pending RunDue "},
		"of another golden set":      {newSuite(passed, func(s *v1alpha1.EvalSuite) { s.Status.GoldenSet.Digest = "sha256:edited" }), nil, gate.Question{}, "Pending RunDue "},
		"the golden set is not read": {newSuite(passed, func(s *v1alpha1.EvalSuite) { s.Status.GoldenSet = nil }), nil, gate.Question{}, "Inconclusive GoldenSetNotEvaluated "},
		"a pass that has expired": {newSuite(func(s *v1alpha1.EvalSuite) {
			result(s, "old", v1alpha1.VerdictPassed, func(r *v1alpha1.Result) { r.ExpiresAt = metav1.NewTime(before(time.Second)) })
		}), nil, gate.Question{}, "Inconclusive Expired old"},
		"stalled, and nothing measured": {newSuite(func(s *v1alpha1.EvalSuite) {
			s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Message: "no such ConfigMap"}}
		}), nil, gate.Question{}, "Inconclusive Stalled "},
		"a new suite": {newSuite(func(s *v1alpha1.EvalSuite) { s.Status.LastTriggered = nil }), nil, gate.Question{}, "Pending RunDue "},

		"a run that has ended, not in the status yet":   {newSuite(), []*v1alpha1.EvalRun{newRun("fresh", ended(v1alpha1.VerdictPassed))}, gate.Question{}, "Pass Passed fresh"},
		"one that failed after a pass":                  {newSuite(passed), []*v1alpha1.EvalRun{newRun("fresh", ended(v1alpha1.VerdictFailed))}, gate.Question{}, "Fail ObjectivesMissed fresh"},
		"one that is older than the verdict may be":     {newSuite(func(s *v1alpha1.EvalSuite) { s.Spec.Gate.MaxAgeSeconds = 10 }), []*v1alpha1.EvalRun{newRun("fresh", ended(v1alpha1.VerdictPassed))}, gate.Question{}, "Inconclusive Expired fresh"},
		"one of some cases":                             {newSuite(), []*v1alpha1.EvalRun{newRun("some", partial, ended(v1alpha1.VerdictPassed))}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"one that ended before it measured":             {newSuite(), []*v1alpha1.EvalRun{newRun("early", ended(v1alpha1.VerdictInconclusive), func(r *v1alpha1.EvalRun) { r.Status.GoldenSetDigest = "" })}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"one that ended, nobody knows when":             {newSuite(), []*v1alpha1.EvalRun{newRun("odd", ended(v1alpha1.VerdictPassed), func(r *v1alpha1.EvalRun) { r.Status.CompletionTime = nil })}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"another suite's":                               {newSuite(), []*v1alpha1.EvalRun{newRun("other", other, ended(v1alpha1.VerdictPassed))}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"one of an earlier suite of this name":          {newSuite(), []*v1alpha1.EvalRun{newRun("earlier", earlier, ended(v1alpha1.VerdictPassed))}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"a run that goes":                               {newSuite(), []*v1alpha1.EvalRun{newRun("going", began)}, gate.Question{}, "Pending Running going"},
		"a run that waits":                              {newSuite(), []*v1alpha1.EvalRun{newRun("queued")}, gate.Question{}, "Pending RunQueued queued"},
		"a run that was made by hand a moment ago":      {newSuite(), []*v1alpha1.EvalRun{newRun("queued", byHand)}, gate.Question{}, "Pending RunQueued queued"},
		"a run that is canceled":                        {newSuite(), []*v1alpha1.EvalRun{newRun("canceled", canceled)}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"a run that is being deleted":                   {newSuite(), []*v1alpha1.EvalRun{newRun("leaving", func(r *v1alpha1.EvalRun) { leaving(r) })}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"a run of some cases goes":                      {newSuite(), []*v1alpha1.EvalRun{newRun("some", partial)}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"a pass stands while another run goes":          {newSuite(passed), []*v1alpha1.EvalRun{newRun("going", began)}, gate.Question{}, "Pass Passed passed"},
		"an endpoint that the suite has not":            {newSuite(passed), nil, gate.Question{Endpoint: "preview"}, "Inconclusive EndpointNotFound "},
		"a canary that nobody has tested":               {newSuite(passed), nil, canary, "Inconclusive NotYetEvaluated "},
		"a canary that has passed":                      {newSuite(), []*v1alpha1.EvalRun{newRun("canary", atCanary(canary.Revision), ended(v1alpha1.VerdictPassed))}, canary, "Pass Passed canary"},
		"a canary that goes":                            {newSuite(), []*v1alpha1.EvalRun{newRun("canary", atCanary(canary.Revision), began)}, canary, "Pending Running canary"},
		"a canary that waits":                           {newSuite(), []*v1alpha1.EvalRun{newRun("canary", atCanary(canary.Revision))}, canary, "Pending RunQueued canary"},
		"a canary of another revision":                  {newSuite(), []*v1alpha1.EvalRun{newRun("canary", atCanary("7f8"), ended(v1alpha1.VerdictPassed))}, canary, "Inconclusive RevisionNotEvaluated "},
		"a canary's pass counts for nothing else":       {newSuite(), []*v1alpha1.EvalRun{newRun("canary", atCanary(canary.Revision), ended(v1alpha1.VerdictPassed))}, gate.Question{}, "Inconclusive NotYetEvaluated "},
		"the suite's own pass counts for no canary":     {newSuite(passed), nil, gate.Question{Endpoint: "canary"}, "Inconclusive NotYetEvaluated "},
		"the canary has another address since":          {newSuite(func(s *v1alpha1.EvalSuite) { s.Spec.Endpoints[0].RetrieverURL = "http://elsewhere/search" }), []*v1alpha1.EvalRun{newRun("canary", atCanary(canary.Revision), ended(v1alpha1.VerdictPassed))}, canary, "Inconclusive SpecNotEvaluated "},
		"what the judge is told cannot be read":         {newSuite(judged), []*v1alpha1.EvalRun{newRun("canary", atCanary(canary.Revision), ended(v1alpha1.VerdictPassed))}, canary, "Inconclusive SpecNotEvaluated "},
		"a pass of a revision that is not the live one": {newSuite(passed), nil, gate.Question{Revision: "6d4cf56db6"}, "Inconclusive RevisionNotEvaluated "},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if test.suite != nil {
				objects = append(objects, test.suite)
			}
			for _, run := range test.runs {
				objects = append(objects, run)
			}
			answer, err := cluster(t, interceptor.Funcs{}, objects...).Ask(t.Context(), namespace, "docs-bot", test.ask)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, say(answer)); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, answer.Message)
			}
		})
	}
}

func say(a gate.Answer) string {
	return strings.Join([]string{string(a.Verdict), a.Reason, a.Run}, " ")
}

// judged has a suite's judge take its instructions from a ConfigMap that does not exist.
func judged(s *v1alpha1.EvalSuite) {
	s.Spec.Judge = &v1alpha1.Judge{Provider: v1alpha1.JudgeOpenAI, PromptRef: &v1alpha1.PromptReference{Name: "absent", Key: "prompt"}}
}

// onDeploy gives a suite a target, which it has seen rolled out at a revision.
func onDeploy(revision string, rolledOut time.Time) func(*v1alpha1.EvalSuite) {
	return func(s *v1alpha1.EvalSuite) {
		s.Spec.OnDeploy = &v1alpha1.OnDeploy{
			Targets:       []v1alpha1.Target{{Kind: v1alpha1.TargetDeployment, Name: "api"}},
			SettleSeconds: ptr.To[int32](60),
		}
		s.Status.Revision, s.Status.RolledOutTime = revision, ptr.To(metav1.NewTime(rolledOut))
		s.Status.LastTriggered = nil
	}
}

// rolledOutApp is a Deployment that has rolled out an image, and its ReplicaSet.
func rolledOutApp(image, hash string, change ...func(*appsv1.Deployment)) []client.Object {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "api"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "api", Image: image}}},
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "api", UID: "uid-api", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2, TerminatingReplicas: ptr.To[int32](0)},
	}
	for _, c := range change {
		c(d)
	}
	labeled := *template.DeepCopy()
	labeled.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return []client.Object{d, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "api-" + hash, Labels: labeled.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "api", UID: "uid-api", Controller: ptr.To(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{Template: labeled},
	}}
}

func TestAskWhatIsLive(t *testing.T) {
	// The revision is a hash: the gate itself says what that of the first image is.
	ask := func(t *testing.T, s *v1alpha1.EvalSuite, app []client.Object, q gate.Question) gate.Answer {
		t.Helper()
		answer, err := cluster(t, interceptor.Funcs{}, append(app, s)...).Ask(t.Context(), namespace, "docs-bot", q)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	long := before(time.Hour)
	first := ask(t, newSuite(onDeploy("", long)), rolledOutApp("api:1", "aa"), gate.Question{}).Revision
	if first == "" {
		t.Fatal("no revision is live")
	}
	passedAt := func(revision string) func(*v1alpha1.EvalSuite) {
		return func(s *v1alpha1.EvalSuite) {
			result(s, "passed", v1alpha1.VerdictPassed, func(r *v1alpha1.Result) { r.Revision = revision })
		}
	}
	updating := func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }
	restarting := func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }

	for name, test := range map[string]struct {
		suite *v1alpha1.EvalSuite
		app   []client.Object
		ask   gate.Question
		want  string
		since time.Time
	}{
		"the live revision has passed":                {newSuite(onDeploy(first, long), passedAt(first)), rolledOutApp("api:1", "aa"), gate.Question{}, "Pass Passed passed", time.Time{}},
		"asked by its template hash":                  {newSuite(onDeploy(first, long), passedAt(first)), rolledOutApp("api:1", "aa"), gate.Question{Revision: "aa"}, "Pass Passed passed", time.Time{}},
		"a pod of it restarts":                        {newSuite(onDeploy(first, long), passedAt(first)), rolledOutApp("api:1", "aa", restarting), gate.Question{}, "Pass Passed passed", time.Time{}},
		"another one is live that the status has not": {newSuite(onDeploy(first, long), passedAt(first)), rolledOutApp("api:2", "bb"), gate.Question{}, "Pending Settling ", noon},
		"asked by the hash of the one before":         {newSuite(onDeploy(first, long), passedAt(first)), rolledOutApp("api:2", "bb"), gate.Question{Revision: "aa"}, "Inconclusive RevisionNotEvaluated ", time.Time{}},
		"a rollout goes":                              {newSuite(onDeploy(first, long), passedAt(first)), rolledOutApp("api:2", "bb", updating), gate.Question{}, "Pending RolloutInProgress ", noon},
		"and has gone for long": {newSuite(onDeploy(first, long), passedAt(first), func(s *v1alpha1.EvalSuite) {
			s.Status.RolledOutTime, s.Status.RolloutSince = nil, ptr.To(metav1.NewTime(before(20*time.Minute)))
		}), rolledOutApp("api:1", "aa", updating), gate.Question{}, "Pending RolloutInProgress ", before(20 * time.Minute)},
		"the target does not exist":   {newSuite(onDeploy(first, long), passedAt(first)), nil, gate.Question{}, "Pending RolloutInProgress ", noon},
		"settled, and its run is due": {newSuite(onDeploy(first, long)), rolledOutApp("api:1", "aa"), gate.Question{}, "Pending RunDue ", before(59 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, test.suite, test.app, test.ask)
			if diff := cmp.Diff(test.want, say(answer)); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, answer.Message)
			}
			if !answer.Since.Equal(test.since) {
				t.Errorf("since %s, want %s", answer.Since, test.since)
			}
		})
	}
}

// What cannot be read is no answer, and least of all a pass.
func TestAskWithoutAnAPIServer(t *testing.T) {
	down := errors.New("connection refused")
	app := rolledOutApp("api:1", "aa")
	s := newSuite(passed, onDeploy("r1", before(time.Hour)))
	for name, calls := range map[string]interceptor.Funcs{
		"the suite": {Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.EvalSuite); ok {
				return down
			}
			return c.Get(ctx, key, o, options...)
		}},
		"its target": {Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, ok := o.(*appsv1.Deployment); ok {
				return down
			}
			return c.Get(ctx, key, o, options...)
		}},
		"its runs": {List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*v1alpha1.EvalRunList); ok {
				return down
			}
			return c.List(ctx, list, options...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := cluster(t, calls, append(app, s)...).Ask(t.Context(), namespace, "docs-bot", gate.Question{})
			if !errors.Is(err, down) || !strings.Contains(err.Error(), "docs-bot") || answer != (gate.Answer{}) {
				t.Errorf("answer %v, error %v", answer, err)
			}
		})
	}
}
