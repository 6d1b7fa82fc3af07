package gates_test

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func namespace(t *testing.T, name string) {
	t.Helper()
	err := cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func deployment(name, image string) *appsv1.Deployment {
	labels := map[string]string{"app": "docs-bot"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "rag-production", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "bot", Image: image}}},
			},
		},
	}
}

// stagingSuite makes the suite that the policy reads, with one result.
func stagingSuite(t *testing.T, edit func(*v1alpha1.EvalSuite, *v1alpha1.Result)) *v1alpha1.EvalSuite {
	t.Helper()
	s := &v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Name: "docs-bot", Namespace: "rag-staging"},
		Spec: v1alpha1.EvalSuiteSpec{
			GoldenSet: v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
			Retriever: v1alpha1.Retriever{URL: "http://docs-bot.rag-staging.svc/search"},
		},
	}
	if err := cluster.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Delete(context.WithoutCancel(t.Context()), s) })
	r := v1alpha1.Result{
		Run: "docs-bot-1", Time: metav1.NowMicro(), Trigger: v1alpha1.TriggerDeploy, Revision: "r1", Verdict: v1alpha1.VerdictPassed,
		EvaluationDigest: "sha256:e", GoldenSetDigest: "sha256:g", Images: []string{"bot:v2", "init:v2"},
		ExpiresAt: metav1.NewTime(time.Now().Add(time.Hour)),
	}
	s.Status.EvaluationDigest = "sha256:e"
	s.Status.GoldenSet = &v1alpha1.GoldenSetStatus{Digest: "sha256:g"}
	s.Status.ObservedGeneration = ptr.To(int64(1))
	if edit != nil {
		edit(s, &r)
	}
	if r.Run != "" {
		s.Status.Results = []v1alpha1.Result{r}
	}
	if err := cluster.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// enforced waits until the policy is: the API server takes it up in the background.
func enforced(t *testing.T, refused func() error, says string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		err := refused()
		return err != nil && strings.Contains(err.Error(), says), nil
	})
	if err != nil {
		t.Fatalf("the policy is not enforced: %v", refused())
	}
}

func TestOnlyPassedImagesGetToProduction(t *testing.T) {
	for _, name := range []string{"rag-staging", "rag-production", "rag-other"} {
		namespace(t, name)
	}
	running := deployment("running", "bot:v1") // from before the policy
	if err := cluster.Create(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	apply(t, "admission-policy.yaml")
	dry := func(d *appsv1.Deployment) error {
		return cluster.Create(t.Context(), d.DeepCopy(), client.DryRunAll)
	}
	enforced(t, func() error { return dry(deployment("probe", "bot:v9")) }, "assay-passed-images")

	update := func(edit func(*appsv1.Deployment)) error {
		d := &appsv1.Deployment{}
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(running), d); err != nil {
			t.Fatal(err)
		}
		edit(d)
		return cluster.Update(t.Context(), d, client.DryRunAll)
	}
	image := func(name string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
	}
	tests := []struct {
		name    string
		suite   func(*v1alpha1.EvalSuite, *v1alpha1.Result)
		attempt func() error
		allowed bool
	}{
		{"a passed image, created", nil, func() error { return dry(deployment("new", "bot:v2")) }, true},
		{"a passed image, updated to", nil, func() error { return update(image("bot:v2")) }, true},
		{"another image", nil, func() error { return dry(deployment("new", "bot:v3")) }, false},
		{"another image, updated to", nil, func() error { return update(image("bot:v3")) }, false},
		{"another init container", nil, func() error {
			return update(func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:v3"}}
			})
		}, false},
		{"an init container that passed", nil, func() error {
			return update(func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:v2"}}
			})
		}, true},
		{"scaling what runs already", nil, func() error { return update(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(3)) }) }, true},
		{"another namespace", nil, func() error {
			d := deployment("new", "bot:v3")
			d.Namespace = "rag-other"
			return dry(d)
		}, true},
		{"a failed verdict", func(_ *v1alpha1.EvalSuite, r *v1alpha1.Result) { r.Verdict = v1alpha1.VerdictFailed }, func() error { return update(image("bot:v2")) }, false},
		{"an undecided verdict", func(_ *v1alpha1.EvalSuite, r *v1alpha1.Result) { r.Verdict = v1alpha1.VerdictInconclusive }, func() error { return update(image("bot:v2")) }, false},
		{"an expired verdict, updated to", func(_ *v1alpha1.EvalSuite, r *v1alpha1.Result) {
			r.ExpiresAt = metav1.NewTime(time.Now().Add(-time.Minute))
		}, func() error { return update(image("bot:v2")) }, false},
		{"an expired verdict, created", func(_ *v1alpha1.EvalSuite, r *v1alpha1.Result) {
			r.ExpiresAt = metav1.NewTime(time.Now().Add(-time.Minute))
		}, func() error { return dry(deployment("new", "bot:v2")) }, false},
		{"a canary's verdict", func(_ *v1alpha1.EvalSuite, r *v1alpha1.Result) { r.Endpoint = "canary" }, func() error { return update(image("bot:v2")) }, false},
		{"a verdict of an earlier spec", func(s *v1alpha1.EvalSuite, _ *v1alpha1.Result) { s.Status.EvaluationDigest = "sha256:other" }, func() error { return update(image("bot:v2")) }, false},
		{"a verdict of an earlier golden set", func(s *v1alpha1.EvalSuite, _ *v1alpha1.Result) { s.Status.GoldenSet.Digest = "sha256:other" }, func() error { return update(image("bot:v2")) }, false},
		{"no verdict", func(_ *v1alpha1.EvalSuite, r *v1alpha1.Result) { r.Run = "" }, func() error { return update(image("bot:v2")) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stagingSuite(t, tt.suite)
			// The API server reads the suite from a cache of its own.
			err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
				return (tt.attempt() == nil) == tt.allowed, nil
			})
			if err != nil {
				t.Errorf("allowed %t, want %t: %v", !tt.allowed, tt.allowed, tt.attempt())
			}
			if err := cluster.Delete(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("no suite", func(t *testing.T) {
		enforced(t, func() error { return update(image("bot:v2")) }, "assay-passed-images")
	})
}

func TestTriggersOfTheOperatorAreItsOwn(t *testing.T) {
	namespace(t, "rag-triggers")
	apply(t, "trigger-policy.yaml")
	run := func(trigger v1alpha1.Trigger) *v1alpha1.EvalRun {
		return &v1alpha1.EvalRun{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "run-", Namespace: "rag-triggers"},
			Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}, Trigger: trigger},
		}
	}
	enforced(t, func() error { return cluster.Create(t.Context(), run(v1alpha1.TriggerDeploy)) }, "is the operator's own")
	for _, trigger := range []v1alpha1.Trigger{v1alpha1.TriggerSchedule, v1alpha1.TriggerGoldenSet, v1alpha1.TriggerSpec, v1alpha1.TriggerAPI} {
		if err := cluster.Create(t.Context(), run(trigger)); err == nil || !strings.Contains(err.Error(), "leave spec.trigger out") {
			t.Errorf("trigger %s by hand: %v", trigger, err)
		}
	}
	for _, trigger := range []v1alpha1.Trigger{v1alpha1.TriggerManual, ""} {
		if err := cluster.Create(t.Context(), run(trigger)); err != nil {
			t.Errorf("trigger %q by hand: %v", trigger, err)
		}
	}

	role := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "gates-operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "assay-system", Name: "assay-controller-manager"}},
	}
	if err := cluster.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:assay-system:assay-controller-manager", Groups: []string{"system:serviceaccounts"}}
	operator, err := client.New(as, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.Create(t.Context(), run(v1alpha1.TriggerDeploy)); err != nil {
		t.Errorf("the operator itself: %v", err)
	}
}
