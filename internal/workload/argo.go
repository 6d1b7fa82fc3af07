package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/rollout"
)

// ArgoRollout is the kind of Argo's Rollouts.
var ArgoRollout = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}

// argoHashLabel is on the ReplicaSets and the pods of a Rollout.
const argoHashLabel = "rollouts-pod-template-hash"

// argoRollout is what is read of a Rollout.
type argoRollout struct {
	Spec struct {
		Replicas    *int32                  `json:"replicas"`
		Template    *corev1.PodTemplateSpec `json:"template"`
		WorkloadRef *struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"workloadRef"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration         string `json:"observedGeneration"`
		WorkloadObservedGeneration string `json:"workloadObservedGeneration"`
		Phase                      string `json:"phase"`
		Message                    string `json:"message"`
		CurrentPodHash             string `json:"currentPodHash"`
		StableRS                   string `json:"stableRS"`
	} `json:"status"`
}

func (r Reader) argoRollout(ctx context.Context, name string) (Workload, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(ArgoRollout)
	if err := r.get(ctx, name, object); err != nil {
		return Workload{}, err
	}
	ro := &argoRollout{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, ro); err != nil {
		return Workload{State: rollout.Absent(rollout.ReasonTemplateUnknown, fmt.Sprintf("it is not as a Rollout is expected to be: %s", err))}, nil
	}
	facts := rollout.ArgoRollout{
		Generation:                 object.GetGeneration(),
		ObservedGeneration:         ro.Status.ObservedGeneration,
		WorkloadObservedGeneration: ro.Status.WorkloadObservedGeneration,
		Desired:                    ptr.Deref(ro.Spec.Replicas, 1),
		Phase:                      ro.Status.Phase,
		Message:                    ro.Status.Message,
		CurrentHash:                ro.Status.CurrentPodHash,
		StableHash:                 ro.Status.StableRS,
	}
	if ref := ro.Spec.WorkloadRef; ref != nil {
		var err error
		facts.WorkloadGeneration, err = r.generation(ctx, ref.Kind, ref.Name)
		if apierrors.IsNotFound(err) {
			return Workload{State: rollout.Absent(rollout.ReasonNotFound, fmt.Sprintf("the %s %s of its workloadRef does not exist", ref.Kind, ref.Name))}, nil
		}
		if err != nil {
			return Workload{}, fmt.Errorf("get the %s %s of its workloadRef: %w", ref.Kind, ref.Name, err)
		}
	}
	current, err := r.argoReplicaSet(ctx, object, facts.CurrentHash)
	if err != nil {
		return Workload{}, err
	}
	var w Workload
	switch {
	case current != nil:
		w = of(&current.Spec.Template, pods{labels.SelectorFromSet(labels.Set{argoHashLabel: facts.CurrentHash}), map[types.UID]bool{current.UID: true}})
	case ro.Spec.Template != nil:
		w = of(ro.Spec.Template, pods{})
	default:
		// What the template of another object names is not known without its ReplicaSet.
		facts.CurrentHash = ""
	}
	w.State = facts.State()
	return w, nil
}

// generation gives that of the workload that a Rollout takes its template from;
// 0 for a kind that counts none.
func (r Reader) generation(ctx context.Context, kind, name string) (int64, error) {
	if kind != "Deployment" && kind != "ReplicaSet" {
		return 0, nil
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
	err := r.get(ctx, name, m)
	return m.Generation, err
}

// argoReplicaSet finds the ReplicaSet of a Rollout with a hash; nil where there is none.
func (r Reader) argoReplicaSet(ctx context.Context, owner metav1.Object, hash string) (*appsv1.ReplicaSet, error) {
	if hash == "" {
		return nil, nil
	}
	selector, err := labels.ValidatedSelectorFromSet(labels.Set{argoHashLabel: hash})
	if err != nil {
		return nil, nil // such a hash is on no ReplicaSet
	}
	list := &appsv1.ReplicaSetList{}
	if err := r.list(ctx, selector, list); err != nil {
		return nil, fmt.Errorf("list its ReplicaSets: %w", err)
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], owner) {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}
