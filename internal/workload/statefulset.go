package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/rollout"
)

func (r Reader) statefulSet(ctx context.Context, name string) (Workload, error) {
	s := &appsv1.StatefulSet{}
	if err := r.get(ctx, name, s); err != nil {
		return Workload{}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.Selector)
	if err != nil {
		return Workload{}, fmt.Errorf("read spec.selector: %w", err)
	}
	facts := statefulSetFacts(s)
	current, err := r.currentRevision(ctx, s, s.Status.ObservedGeneration >= s.Generation, selector, &s.Spec.Template)
	if err != nil {
		return Workload{}, err
	}
	if current != nil {
		// Its pods carry the name as controller-revision-hash.
		facts.TemplateHash = current.Name
	}
	w := of(&s.Spec.Template, pods{selector, map[types.UID]bool{s.UID: true}})
	w.State = facts.State()
	return w, nil
}

func statefulSetFacts(s *appsv1.StatefulSet) rollout.StatefulSet {
	facts := rollout.StatefulSet{
		Generation:         s.Generation,
		ObservedGeneration: s.Status.ObservedGeneration,
		Desired:            ptr.Deref(s.Spec.Replicas, 1),
		Replicas:           s.Status.Replicas,
		Updated:            s.Status.UpdatedReplicas,
		Ready:              s.Status.ReadyReplicas,
		CurrentRevision:    s.Status.CurrentRevision,
		UpdateRevision:     s.Status.UpdateRevision,
		OnDelete:           s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
	}
	if u := s.Spec.UpdateStrategy.RollingUpdate; u != nil {
		facts.Partition = ptr.Deref(u.Partition, 0)
	}
	return facts
}
