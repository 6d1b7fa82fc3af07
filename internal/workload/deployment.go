package workload

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/rollout"
)

const (
	// revisionAnnotation numbers the ReplicaSets of a Deployment.
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// deadlineExceeded is the reason of the condition Progressing of a Deployment
	// whose controller has waited for too long.
	deadlineExceeded = "ProgressDeadlineExceeded"
)

func (r Reader) deployment(ctx context.Context, name string) (Workload, error) {
	d := &appsv1.Deployment{}
	if err := r.get(ctx, name, d); err != nil {
		return Workload{}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return Workload{}, fmt.Errorf("read spec.selector: %w", err)
	}
	list := &appsv1.ReplicaSetList{}
	if err := r.list(ctx, selector, list); err != nil {
		return Workload{}, fmt.Errorf("list its ReplicaSets: %w", err)
	}
	owners := map[types.UID]bool{}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], d) {
			owners[list.Items[i].UID] = true
		}
	}
	w := of(&d.Spec.Template, pods{selector, owners})
	facts := deploymentFacts(d)
	if current := currentReplicaSet(d, list.Items); current != nil {
		facts.TemplateHash = current.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	w.State = facts.State()
	// Older API servers do not count the pods that are shutting down.
	if w.State.RolledOut && d.Status.TerminatingReplicas == nil {
		if facts.Terminating, err = r.terminating(ctx, w.pods); err != nil {
			return Workload{}, err
		}
		w.State = facts.State()
	}
	return w, nil
}

func deploymentFacts(d *appsv1.Deployment) rollout.Deployment {
	facts := rollout.Deployment{
		Generation:         d.Generation,
		ObservedGeneration: d.Status.ObservedGeneration,
		Desired:            ptr.Deref(d.Spec.Replicas, 1),
		Replicas:           d.Status.Replicas,
		Updated:            d.Status.UpdatedReplicas,
		Available:          d.Status.AvailableReplicas,
		Terminating:        ptr.Deref(d.Status.TerminatingReplicas, 0),
		Paused:             d.Spec.Paused,
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == deadlineExceeded {
			facts.Stuck = cmp.Or(c.Message, "progressDeadlineSeconds have passed")
		}
	}
	return facts
}

// currentReplicaSet finds the ReplicaSet of the Deployment's template as it is,
// whether the Deployment's controller has said so yet or not; nil where there is
// none. Of two, which only a server with a newer schema could tell apart, the
// newer revision counts.
func currentReplicaSet(d *appsv1.Deployment, all []appsv1.ReplicaSet) *appsv1.ReplicaSet {
	var current *appsv1.ReplicaSet
	for i := range all {
		rs := &all[i]
		if !metav1.IsControlledBy(rs, d) || !equalBut(appsv1.DefaultDeploymentUniqueLabelKey, &rs.Spec.Template, &d.Spec.Template) {
			continue
		}
		if current == nil || revisionOf(rs) > revisionOf(current) {
			current = rs
		}
	}
	return current
}

func revisionOf(rs *appsv1.ReplicaSet) int64 {
	n, err := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
