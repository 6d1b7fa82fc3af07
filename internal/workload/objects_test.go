package workload

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/api/v1alpha1"
)

const namespace = "rag"

// reader reads these objects. An interceptor, where there is one, sees each call.
func reader(t *testing.T, calls interceptor.Funcs, objects ...client.Object) Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(ArgoRollout, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(ArgoRollout.GroupVersion().WithKind("RolloutList"), &unstructured.UnstructuredList{})
	for i, o := range objects {
		objects[i] = o.DeepCopyObject().(client.Object)
	}
	return Reader{API: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(calls).Build(), Namespace: namespace}
}

func metadata(name string, owner client.Object, labels map[string]string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: labels}
	if owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "x/v1", Kind: "Owner", Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true),
		}}
	}
	return m
}

// app is what the pods of a workload are labeled with.
func app(name string) map[string]string { return map[string]string{"app": name} }

func with(labels map[string]string, key, value string) map[string]string {
	m := map[string]string{key: value}
	for k, v := range labels {
		m[k] = v
	}
	return m
}

// template of one image, as an API server would give it.
func template(name, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: app(name)},
		Spec: corev1.PodSpec{
			Containers:    []corev1.Container{{Name: "app", Image: image, ImagePullPolicy: corev1.PullIfNotPresent}},
			RestartPolicy: corev1.RestartPolicyAlways,
			Volumes: []corev1.Volume{{Name: "prompt", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("prompt"), DefaultMode: ptr.To[int32](420)},
			}}},
		},
	}
}

// deployment has rolled out an image on three pods.
func deployment(name, image string, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metadata(name, nil, nil),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: app(name)}, Template: template(name, image),
		},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, TerminatingReplicas: ptr.To[int32](0),
		},
	}
	d.Generation = 2
	for _, c := range change {
		c(d)
	}
	return d
}

// replicaSet of a Deployment, with an image; its revision is what the annotation says.
func replicaSet(d *appsv1.Deployment, hash, image, revision string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metadata(d.Name+"-"+hash, d, with(app(d.Name), appsv1.DefaultDeploymentUniqueLabelKey, hash)),
		Spec:       appsv1.ReplicaSetSpec{Template: template(d.Name, image)},
	}
	rs.Annotations = map[string]string{revisionAnnotation: revision}
	rs.Spec.Template.Labels = with(app(d.Name), appsv1.DefaultDeploymentUniqueLabelKey, hash)
	return rs
}

func pod(name string, owner client.Object, labels map[string]string, imageIDs ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metadata(name, owner, labels),
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, id := range imageIDs {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{ImageID: id})
	}
	return p
}

func unready(p *corev1.Pod) *corev1.Pod {
	p.Status.Conditions[1].Status = corev1.ConditionFalse
	return p
}

func leaving(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.Now()), []string{"test/keeps"}
	return p
}

// controllerRevision keeps a template as the controllers of StatefulSets and
// DaemonSets do.
func controllerRevision(t *testing.T, owner client.Object, name, hash string, revision int64, of corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	t.Helper()
	raw, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	fields["$patch"] = "replace"
	if raw, err = json.Marshal(map[string]any{"spec": map[string]any{"template": fields}}); err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metadata(name, owner, with(of.Labels, appsv1.ControllerRevisionHashLabelKey, hash)),
		Data:       runtime.RawExtension{Raw: raw}, Revision: revision,
	}
}

func statefulSet(name, image string, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{
		ObjectMeta: metadata(name, nil, nil),
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: app(name)}, Template: template(name, image),
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)}},
		},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, CurrentRevision: name + "-aa", UpdateRevision: name + "-aa",
		},
	}
	s.Generation = 1
	for _, c := range change {
		c(s)
	}
	return s
}

func daemonSet(name, image string, change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{
		ObjectMeta: metadata(name, nil, nil),
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: app(name)}, Template: template(name, image)},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 1, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2,
		},
	}
	d.Generation = 1
	for _, c := range change {
		c(d)
	}
	return d
}

// argo is a Rollout in the fields that are read; fields change a part each, by path.
func argo(t *testing.T, name string, fields map[string]any) *unstructured.Unstructured {
	t.Helper()
	spec := template(name, "app:1")
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name, "uid": "uid-" + name, "generation": int64(7)},
		"spec":     map[string]any{"replicas": int64(2), "template": raw},
		"status": map[string]any{
			"observedGeneration": "7", "phase": "Healthy", "currentPodHash": "aa", "stableRS": "aa",
		},
	}}
	u.SetGroupVersionKind(ArgoRollout)
	for path, value := range fields {
		parent, field := u.Object[path[:len("status")]], path[len("status."):]
		if path[:len("spec")] == "spec" {
			parent, field = u.Object["spec"], path[len("spec."):]
		}
		if value == nil {
			delete(parent.(map[string]any), field)
		} else {
			parent.(map[string]any)[field] = value
		}
	}
	return u
}

func argoReplicaSet(ro *unstructured.Unstructured, hash, image string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metadata(ro.GetName()+"-"+hash, ro, with(app(ro.GetName()), argoHashLabel, hash)),
		Spec:       appsv1.ReplicaSetSpec{Template: template(ro.GetName(), image)},
	}
	rs.Spec.Template.Labels = with(app(ro.GetName()), argoHashLabel, hash)
	return rs
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metadata(name, nil, nil), Data: data}
}

func targets(list ...string) []v1alpha1.Target {
	var targets []v1alpha1.Target
	for i := 0; i < len(list); i += 2 {
		t := v1alpha1.Target{APIVersion: "apps/v1", Kind: v1alpha1.TargetKind(list[i]), Name: list[i+1]}
		if t.Kind == v1alpha1.TargetRollout {
			t.APIVersion = "argoproj.io/v1alpha1"
		}
		targets = append(targets, t)
	}
	return targets
}

func gvk(kind string) schema.GroupKind { return schema.GroupKind{Group: ArgoRollout.Group, Kind: kind} }
