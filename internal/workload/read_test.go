package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/rollout"
)

// state is what the tables say of one: its reason and its template hash.
func state(s rollout.State) string {
	hash := s.TemplateHash
	if hash == "" {
		hash = "unknown"
	}
	return s.Reason + " " + hash
}

func read(t *testing.T, r Reader, list ...string) *Snapshot {
	t.Helper()
	s, err := r.Read(t.Context(), targets(list...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDeployments(t *testing.T) {
	image := func(v string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Template = template(d.Name, v) }
	}
	uncounted := func(d *appsv1.Deployment) { d.Status.TerminatingReplicas = nil }
	api := deployment("api", "app:1")
	first, second := replicaSet(api, "aa", "app:1", "1"), replicaSet(api, "bb", "app:2", "2")
	unowned := replicaSet(api, "cc", "app:1", "9")
	unowned.OwnerReferences[0].UID = "another"
	twin := replicaSet(api, "dd", "app:1", "10")
	nameless := replicaSet(api, "ee", "app:1", "not a number")
	oldPod := leaving(pod("old", first, app("api")))
	failedPod := leaving(pod("failed", first, app("api")))
	failedPod.Status.Phase = corev1.PodFailed

	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		objects    []client.Object
		want       string
	}{
		"rolled out":                                  {api, []client.Object{first, second}, "RolledOut aa"},
		"another template, just applied":              {deployment("api", "app:2"), []client.Object{first}, "TemplateUnknown unknown"},
		"another template, with counts that lie":      {deployment("api", "app:2", func(d *appsv1.Deployment) { d.Generation = 3 }), []client.Object{first, second}, "NotObserved bb"},
		"taken back to the first":                     {deployment("api", "app:1"), []client.Object{second, first}, "RolledOut aa"},
		"another's ReplicaSet":                        {api, []client.Object{unowned, first}, "RolledOut aa"},
		"two that look the same: the newer":           {api, []client.Object{nameless, twin, first}, "RolledOut dd"},
		"none of its own":                             {api, []client.Object{unowned}, "TemplateUnknown unknown"},
		"paused":                                      {deployment("api", "app:2", func(d *appsv1.Deployment) { d.Spec.Paused = true }), []client.Object{first}, "Paused unknown"},
		"replicas left out are one":                   {deployment("api", "app:1", func(d *appsv1.Deployment) { d.Spec.Replicas = nil }), []client.Object{first}, "Unavailable aa"},
		"scaled to zero":                              {deployment("api", "app:1", func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](0) }), []client.Object{first}, "ScaledToZero aa"},
		"one updated":                                 {deployment("api", "app:1", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), []client.Object{first}, "Updating aa"},
		"one unavailable":                             {deployment("api", "app:1", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }), []client.Object{first}, "Unavailable aa"},
		"one surplus":                                 {deployment("api", "app:1", func(d *appsv1.Deployment) { d.Status.Replicas = 4 }), []client.Object{first}, "Updating aa"},
		"one terminating, as its status counts":       {deployment("api", "app:1", func(d *appsv1.Deployment) { d.Status.TerminatingReplicas = ptr.To[int32](1) }), []client.Object{first}, "Terminating aa"},
		"one terminating, and its status counts none": {deployment("api", "app:1", uncounted), []client.Object{first, oldPod, pod("new", first, app("api"))}, "Terminating aa"},
		"one that has ended is not terminating":       {deployment("api", "app:1", uncounted), []client.Object{first, failedPod, pod("new", first, app("api"))}, "RolledOut aa"},
		"another's pod is terminating":                {deployment("api", "app:1", uncounted), []client.Object{first, leaving(pod("old", unowned, app("api")))}, "RolledOut aa"},
		"beyond its deadline": {deployment("api", "app:1", func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 1
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
		}), []client.Object{first}, "ProgressDeadlineExceeded aa"},
		"it could make no pods": {deployment("api", "app:1", func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 1
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ReplicaSetCreateError"}}
		}), []client.Object{first}, "Updating aa"},
		"it made progress": {deployment("api", "app:1", func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 1
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated"}}
		}), []client.Object{first}, "Updating aa"},
		"a template changed by hand": {deployment("api", "app:1", image("app:3")), []client.Object{first, second}, "TemplateUnknown unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, reader(t, interceptor.Funcs{}, append(test.objects, test.deployment)...), "Deployment", "api")
			if got := state(s.Workloads[0].State); got != test.want {
				t.Errorf("got %q (%s), want %q", got, s.Workloads[0].State.Message, test.want)
			}
			if known := !strings.HasSuffix(test.want, "unknown"); known != (s.Revision != "") {
				t.Errorf("revision %q", s.Revision)
			}
		})
	}
}

func TestStatefulSets(t *testing.T) {
	index := statefulSet("index", "app:1")
	first := controllerRevision(t, index, "index-aa", "aa", 1, template("index", "app:1"))
	second := controllerRevision(t, index, "index-bb", "bb", 2, template("index", "app:2"))
	unowned := controllerRevision(t, index, "index-00", "00", 9, template("index", "app:1"))
	unowned.OwnerReferences[0].UID = "another"
	broken := controllerRevision(t, index, "index-dd", "dd", 8, template("index", "app:1"))
	broken.Data = runtime.RawExtension{Raw: []byte(`{"spec":{"template":[1]}}`)}
	empty := controllerRevision(t, index, "index-ee", "ee", 7, template("index", "app:1"))
	empty.Data = runtime.RawExtension{Raw: []byte(`{}`)}
	updating := func(s *appsv1.StatefulSet) { s.Status.UpdateRevision, s.Status.UpdatedReplicas = "index-bb", 1 }

	for name, test := range map[string]struct {
		set     *appsv1.StatefulSet
		objects []client.Object
		want    string
	}{
		"rolled out":                     {index, []client.Object{first, unowned}, "RolledOut index-aa"},
		"updating":                       {statefulSet("index", "app:2", updating), []client.Object{first, second}, "Updating index-bb"},
		"a partition":                    {statefulSet("index", "app:2", updating, func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](1) }), []client.Object{first, second}, "Partitioned index-bb"},
		"just scaled":                    {statefulSet("index", "app:1", func(s *appsv1.StatefulSet) { s.Generation = 2 }), []client.Object{first}, "NotObserved index-aa"},
		"just applied":                   {statefulSet("index", "app:2", func(s *appsv1.StatefulSet) { s.Generation = 2 }), []client.Object{first}, "NotObserved unknown"},
		"taken back to the first":        {index, []client.Object{second, first}, "RolledOut index-aa"},
		"OnDelete":                       {statefulSet("index", "app:1", func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }), []client.Object{first}, "OnDeleteNotSupported index-aa"},
		"no strategy":                    {statefulSet("index", "app:1", func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{} }), []client.Object{first}, "RolledOut index-aa"},
		"one not ready":                  {statefulSet("index", "app:1", func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }), []client.Object{first}, "Unavailable index-aa"},
		"one of another template":        {statefulSet("index", "app:1", func(s *appsv1.StatefulSet) { s.Status.UpdatedReplicas = 1 }), []client.Object{first}, "Updating index-aa"},
		"replicas left out are one":      {statefulSet("index", "app:1", func(s *appsv1.StatefulSet) { s.Spec.Replicas = nil }), []client.Object{first}, "Unavailable index-aa"},
		"none looks like its template":   {statefulSet("index", "app:3"), []client.Object{first, second}, "RolledOut index-bb"},
		"what cannot be read is skipped": {index, []client.Object{broken, empty, first}, "RolledOut index-aa"},
		"none":                           {index, nil, "TemplateUnknown unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, reader(t, interceptor.Funcs{}, append(test.objects, test.set)...), "StatefulSet", "index")
			if got := state(s.Workloads[0].State); got != test.want {
				t.Errorf("got %q (%s), want %q", got, s.Workloads[0].State.Message, test.want)
			}
		})
	}
}

func TestDaemonSets(t *testing.T) {
	cache := daemonSet("cache", "app:1")
	first := controllerRevision(t, cache, "cache-aa", "aa", 1, template("cache", "app:1"))
	second := controllerRevision(t, cache, "cache-bb", "bb", 2, template("cache", "app:2"))
	for name, test := range map[string]struct {
		set     *appsv1.DaemonSet
		objects []client.Object
		want    string
	}{
		"rolled out":      {cache, []client.Object{first}, "RolledOut aa"},
		"updating":        {daemonSet("cache", "app:2", func(d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 1 }), []client.Object{first, second}, "Updating bb"},
		"just applied":    {daemonSet("cache", "app:2", func(d *appsv1.DaemonSet) { d.Generation = 2 }), []client.Object{first}, "NotObserved unknown"},
		"one unavailable": {daemonSet("cache", "app:1", func(d *appsv1.DaemonSet) { d.Status.NumberAvailable = 1 }), []client.Object{first}, "Unavailable aa"},
		"a node more":     {daemonSet("cache", "app:1", func(d *appsv1.DaemonSet) { d.Status.DesiredNumberScheduled = 3 }), []client.Object{first}, "Unavailable aa"},
		"no node":         {daemonSet("cache", "app:1", func(d *appsv1.DaemonSet) { d.Status = appsv1.DaemonSetStatus{ObservedGeneration: 1} }), []client.Object{first}, "ScaledToZero aa"},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, reader(t, interceptor.Funcs{}, append(test.objects, test.set)...), "DaemonSet", "cache")
			if got := state(s.Workloads[0].State); got != test.want {
				t.Errorf("got %q (%s), want %q", got, s.Workloads[0].State.Message, test.want)
			}
		})
	}
}

func TestArgoRollouts(t *testing.T) {
	ref := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
	web := deployment("web", "app:9")
	for name, test := range map[string]struct {
		fields  map[string]any
		objects []client.Object
		want    string
		images  []string
	}{
		"rolled out": {nil, nil, "RolledOut aa", []string{"app:1"}},
		"as its ReplicaSet has it": {nil, []client.Object{argoReplicaSet(argo(t, "api", nil), "aa", "app:2"), argoReplicaSet(argo(t, "api", nil), "bb", "app:3")},
			"RolledOut aa", []string{"app:2"}},
		"another's ReplicaSet":         {nil, []client.Object{argoReplicaSet(argo(t, "web", nil), "aa", "app:2")}, "RolledOut aa", []string{"app:1"}},
		"a canary":                     {map[string]any{"status.currentPodHash": "bb", "status.phase": "Paused"}, nil, "Updating bb", []string{"app:1"}},
		"not observed":                 {map[string]any{"status.observedGeneration": "6"}, nil, "NotObserved aa", []string{"app:1"}},
		"scaling":                      {map[string]any{"status.phase": "Progressing"}, nil, "Unavailable aa", []string{"app:1"}},
		"scaled to zero":               {map[string]any{"spec.replicas": int64(0)}, nil, "ScaledToZero aa", []string{"app:1"}},
		"replicas left out are one":    {map[string]any{"spec.replicas": nil}, nil, "RolledOut aa", []string{"app:1"}},
		"new":                          {map[string]any{"status.currentPodHash": nil, "status.stableRS": nil}, nil, "TemplateUnknown unknown", []string{"app:1"}},
		"a hash that is no label":      {map[string]any{"status.currentPodHash": "a b", "status.stableRS": "a b"}, nil, "RolledOut a b", []string{"app:1"}},
		"a status that is another's":   {map[string]any{"status.observedGeneration": map[string]any{}}, nil, "TemplateUnknown unknown", nil},
		"a workloadRef":                {map[string]any{"spec.template": nil, "spec.workloadRef": ref, "status.workloadObservedGeneration": "2"}, []client.Object{web, argoReplicaSet(argo(t, "api", nil), "aa", "app:9")}, "RolledOut aa", []string{"app:9"}},
		"a workloadRef, not observed":  {map[string]any{"spec.template": nil, "spec.workloadRef": ref, "status.workloadObservedGeneration": "1"}, []client.Object{web, argoReplicaSet(argo(t, "api", nil), "aa", "app:8")}, "NotObserved aa", []string{"app:8"}},
		"a workloadRef to nothing":     {map[string]any{"spec.template": nil, "spec.workloadRef": ref}, nil, "NotFound unknown", nil},
		"a workloadRef, no ReplicaSet": {map[string]any{"spec.template": nil, "spec.workloadRef": ref, "status.workloadObservedGeneration": "2"}, []client.Object{web}, "TemplateUnknown unknown", nil},
		"a workloadRef to a PodTemplate": {map[string]any{"spec.template": nil, "spec.workloadRef": map[string]any{"apiVersion": "v1", "kind": "PodTemplate", "name": "x"}},
			[]client.Object{argoReplicaSet(argo(t, "api", nil), "aa", "app:7")}, "RolledOut aa", []string{"app:7"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, reader(t, interceptor.Funcs{}, append(test.objects, argo(t, "api", test.fields))...), "Rollout", "api")
			w := s.Workloads[0]
			if got := state(w.State); got != test.want {
				t.Errorf("got %q (%s), want %q", got, w.State.Message, test.want)
			}
			if diff := cmp.Diff(test.images, w.Images); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSnapshot(t *testing.T) {
	api, index := deployment("api", "app:1"), statefulSet("index", "db:1")
	objects := []client.Object{
		api, replicaSet(api, "aa", "app:1", "1"), index, controllerRevision(t, index, "index-aa", "aa", 1, template("index", "db:1")),
	}
	prompt := configMap("prompt", map[string]string{"system.txt": "Be brief."})
	both := []string{"Deployment", "api", "StatefulSet", "index"}

	s := read(t, reader(t, interceptor.Funcs{}, append(objects, prompt)...), both...)
	want := &Snapshot{
		Workloads: []Workload{
			{Kind: "Deployment", Name: "api", Images: []string{"app:1"}, ConfigMaps: []string{"prompt"},
				State: rollout.State{RolledOut: true, OneTemplate: true, TemplateHash: "aa", Reason: "RolledOut"}},
			{Kind: "StatefulSet", Name: "index", Images: []string{"db:1"}, ConfigMaps: []string{"prompt"},
				State: rollout.State{RolledOut: true, OneTemplate: true, TemplateHash: "index-aa", Reason: "RolledOut"}},
		},
		ConfigMaps: map[string]string{"prompt": rollout.ConfigMapDigest(prompt.Data, nil)},
	}
	want.Revision = rollout.Revision(want.Targets(), want.ConfigMaps)
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(Workload{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"aa", "index-aa"}, s.TemplateHashes()); diff != "" {
		t.Errorf("template hashes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"app:1", "db:1"}, s.Images()); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}

	changed := read(t, reader(t, interceptor.Funcs{}, append(objects, configMap("prompt", map[string]string{"system.txt": "Be kind."}))...), both...)
	if changed.Revision == s.Revision || changed.Revision == "" {
		t.Errorf("another prompt, and the revision is %q as before", changed.Revision)
	}
	absent := read(t, reader(t, interceptor.Funcs{}, objects...), both...)
	if digest, named := absent.ConfigMaps["prompt"]; digest != "" || !named || absent.Revision == s.Revision || absent.Revision == "" {
		t.Errorf("without the prompt: digest %q, revision %q", digest, absent.Revision)
	}
	none := read(t, reader(t, interceptor.Funcs{}))
	if none.Revision != "" || none.Targets() != nil || none.TemplateHashes() != nil || none.Images() != nil {
		t.Errorf("without targets: %+v", none)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	noCRD := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if o.GetObjectKind().GroupVersionKind() == ArgoRollout {
			return fmt.Errorf("find the resource: %w", &meta.NoKindMatchError{GroupKind: gvk("Rollout"), SearchedVersions: []string{"v1alpha1"}})
		}
		return c.Get(ctx, key, o, opts...)
	}}
	api := deployment("api", "app:1")
	s := read(t, reader(t, noCRD, api, replicaSet(api, "aa", "app:1", "1")), "Deployment", "api", "Deployment", "gone", "Rollout", "canary")
	var got []string
	for _, w := range s.Workloads {
		got = append(got, fmt.Sprintf("%s %s: %s %s", w.Kind, w.Name, state(w.State), w.State.Message))
	}
	want := []string{
		"Deployment api: RolledOut aa ", "Deployment gone: NotFound unknown it does not exist",
		"Rollout canary: KindNotInstalled unknown the cluster has no Rollout of argoproj.io/v1alpha1: install its CRD",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"aa"}, s.TemplateHashes()); s.Revision != "" || diff != "" {
		t.Errorf("revision %q, template hashes (-want +got):\n%s", s.Revision, diff)
	}
}

func TestAnOutageIsAnError(t *testing.T) {
	outage := errors.New("the server is down")
	api, index, cache := deployment("api", "app:1", func(d *appsv1.Deployment) { d.Status.TerminatingReplicas = nil }), statefulSet("index", "app:1"), daemonSet("cache", "app:1")
	web := deployment("web", "app:1")
	ref := argo(t, "canary", map[string]any{"spec.workloadRef": map[string]any{"kind": "Deployment", "name": "web"}, "status.workloadObservedGeneration": "2"})
	objects := []client.Object{
		api, replicaSet(api, "aa", "app:1", "1"), index, controllerRevision(t, index, "index-aa", "aa", 1, template("index", "app:1")),
		cache, controllerRevision(t, cache, "cache-aa", "aa", 1, template("cache", "app:1")), web, ref, configMap("prompt", nil),
	}
	all := targets("Deployment", "api", "StatefulSet", "index", "DaemonSet", "cache", "Rollout", "canary")
	calls, failAt := 0, -1
	fails := func() error {
		if calls++; calls == failAt {
			return outage
		}
		return nil
	}
	r := reader(t, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := fails(); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := fails(); err != nil {
				return err
			}
			return c.List(ctx, l, opts...)
		},
	}, objects...)
	if _, err := r.Read(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for n := range calls {
		calls, failAt = 0, n+1
		if s, err := r.Read(t.Context(), all); !errors.Is(err, outage) || s != nil {
			t.Errorf("call %d fails: got %+v, %v", n+1, s, err)
		}
	}
	if _, err := r.Read(t.Context(), []v1alpha1.Target{{Kind: "Job", Name: "x"}}); err == nil || !strings.Contains(err.Error(), "name a Deployment") {
		t.Errorf("a Job as a target: %v", err)
	}
	bad := deployment("api", "app:1")
	bad.Spec.Selector.MatchLabels = map[string]string{"a b": "c"}
	if _, err := reader(t, interceptor.Funcs{}, bad).Read(t.Context(), targets("Deployment", "api")); err == nil {
		t.Error("a selector that is none is taken")
	}
}

// While pods restart or a rollout goes, nobody lists them.
func TestPodsAreNotListedWithoutNeed(t *testing.T) {
	for name, d := range map[string]*appsv1.Deployment{
		"restarting":       deployment("api", "app:1", func(d *appsv1.Deployment) { d.Status.AvailableReplicas, d.Status.TerminatingReplicas = 1, nil }),
		"counted for them": deployment("api", "app:1"),
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if _, pods := l.(*corev1.PodList); pods {
					t.Error("pods are listed")
				}
				return c.List(ctx, l, opts...)
			}}, d, replicaSet(d, "aa", "app:1", "1"))
			read(t, r, "Deployment", "api")
		})
	}
}
