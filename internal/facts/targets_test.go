package facts

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/api/v1alpha1"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(noon.Add(-d))) }

const (
	namespace = "rag"
	digest    = "example.com/api:1@sha256:abc"
)

// app is a Deployment of one ready pod, with its ReplicaSet.
func app(available int32) []client.Object {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "api"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "api", Image: "example.com/api:1"}}},
	}
	labeled := *template.DeepCopy()
	labeled.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "aa"
	owned := func(kind, name string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: ptr.To(true)}}
	}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "api-aa", UID: "uid-set", Labels: labeled.Labels, OwnerReferences: owned("Deployment", "api", "uid-api")},
		Spec:       appsv1.ReplicaSetSpec{Template: labeled},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "api-aa-1", Labels: labeled.Labels, OwnerReferences: owned("ReplicaSet", "api-aa", "uid-set")},
		Status: corev1.PodStatus{
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "api", ImageID: digest}},
		},
	}
	return []client.Object{set, pod, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "api", UID: "uid-api", Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: available, TerminatingReplicas: ptr.To[int32](0)},
	}}
}

func reader(t *testing.T, calls interceptor.Funcs, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(calls).Build()
}

func onDeploy(change ...func(*v1alpha1.EvalSuite)) *v1alpha1.EvalSuite {
	s := &v1alpha1.EvalSuite{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "docs-bot"}}
	s.Spec.OnDeploy = &v1alpha1.OnDeploy{Targets: []v1alpha1.Target{{APIVersion: "apps/v1", Kind: v1alpha1.TargetDeployment, Name: "api"}}}
	for _, c := range change {
		c(s)
	}
	return s
}

// counting counts the lists of pods.
func counting(lists *int) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, ok := list.(*corev1.PodList); ok {
			*lists++
		}
		return c.List(ctx, list, options...)
	}}
}

func TestTargets(t *testing.T) {
	if targets, err := Targets(t.Context(), reader(t, interceptor.Funcs{}), &v1alpha1.EvalSuite{}, noon); targets != nil || err != nil {
		t.Errorf("without targets: %v, %v", targets, err)
	}

	lists := 0
	targets, err := Targets(t.Context(), reader(t, counting(&lists), app(1)...), onDeploy(), noon)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"Deployment/api": {digest}}, targets.ImageIDs); diff != "" || lists != 1 {
		t.Errorf("image digests, from %d lists of pods (-want +got):\n%s", lists, diff)
	}
	if p := targets.Progress; p.Revision == "" || p.RolledOutAt == nil || !p.RolledOutAt.Equal(noon) || p.Since != nil {
		t.Errorf("progress of what has rolled out: %+v", p)
	}

	lists = 0
	targets, err = Targets(t.Context(), reader(t, counting(&lists), app(0)...), onDeploy(), noon)
	if err != nil {
		t.Fatal(err)
	}
	if targets.ImageIDs != nil || lists != 0 {
		t.Errorf("while a rollout goes: digests %v from %d lists of pods, want none", targets.ImageIDs, lists)
	}
	if p := targets.Progress; p.RolledOutAt != nil || p.Since == nil || p.Message == "" {
		t.Errorf("progress of what has not rolled out: %+v", p)
	}
}

// What the status says goes on, so that restarts are no rollout and a rollout has
// gone since it began.
func TestRolloutGoesOnFromTheStatus(t *testing.T) {
	seen, err := Rollout(t.Context(), reader(t, interceptor.Funcs{}, app(1)...), onDeploy(), noon)
	if err != nil {
		t.Fatal(err)
	}
	at := func(revision string, rolledOut, since *metav1.Time) func(*v1alpha1.EvalSuite) {
		return func(s *v1alpha1.EvalSuite) {
			s.Status.Revision, s.Status.RolledOutTime, s.Status.RolloutSince = revision, rolledOut, since
		}
	}
	for name, test := range map[string]struct {
		available        int32
		suite            *v1alpha1.EvalSuite
		rolledOut, since *metav1.Time
	}{
		"rolled out for an hour":                  {1, onDeploy(at(seen.Progress.Revision, before(time.Hour), nil)), before(time.Hour), nil},
		"restarting after an hour":                {0, onDeploy(at(seen.Progress.Revision, before(time.Hour), nil)), before(time.Hour), nil},
		"restarting while it settles, by default": {0, onDeploy(at(seen.Progress.Revision, before(14*time.Second), nil)), nil, before(0)},
		"restarting, just settled by default":     {0, onDeploy(at(seen.Progress.Revision, before(15*time.Second), nil)), before(15 * time.Second), nil},
		"restarting, with nothing to settle": {0, onDeploy(at(seen.Progress.Revision, before(0), nil), func(s *v1alpha1.EvalSuite) {
			s.Spec.OnDeploy.SettleSeconds = ptr.To[int32](0)
		}), before(0), nil},
		"another revision":         {1, onDeploy(at("another", before(time.Hour), nil)), before(0), nil},
		"going for an hour":        {0, onDeploy(at(seen.Progress.Revision, nil, before(time.Hour))), nil, before(time.Hour)},
		"done after an hour of it": {1, onDeploy(at(seen.Progress.Revision, nil, before(time.Hour))), before(0), nil},
	} {
		t.Run(name, func(t *testing.T) {
			targets, err := Rollout(t.Context(), reader(t, interceptor.Funcs{}, app(test.available)...), test.suite, noon)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]*time.Time{timeOf(test.rolledOut), timeOf(test.since)}, []*time.Time{targets.Progress.RolledOutAt, targets.Progress.Since}); diff != "" {
				t.Errorf("rolled out at, going since (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTargetsThatCannotBeRead(t *testing.T) {
	down := errors.New("connection refused")
	workloads := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return down
	}}
	pods := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, ok := list.(*corev1.PodList); ok {
			return down
		}
		return c.List(ctx, list, options...)
	}}
	for name, calls := range map[string]interceptor.Funcs{"workloads": workloads, "pods": pods} {
		if targets, err := Targets(t.Context(), reader(t, calls, app(1)...), onDeploy(), noon); targets != nil || !errors.Is(err, down) {
			t.Errorf("%s: %v, %v", name, targets, err)
		}
	}
}
