package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/internal/rollout"
)

func (r Reader) daemonSet(ctx context.Context, name string) (Workload, error) {
	d := &appsv1.DaemonSet{}
	if err := r.get(ctx, name, d); err != nil {
		return Workload{}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return Workload{}, fmt.Errorf("read spec.selector: %w", err)
	}
	facts := rollout.DaemonSet{
		Generation:         d.Generation,
		ObservedGeneration: d.Status.ObservedGeneration,
		Desired:            d.Status.DesiredNumberScheduled,
		Current:            d.Status.CurrentNumberScheduled,
		Updated:            d.Status.UpdatedNumberScheduled,
		Available:          d.Status.NumberAvailable,
	}
	current, err := r.currentRevision(ctx, d, d.Status.ObservedGeneration >= d.Generation, selector, &d.Spec.Template)
	if err != nil {
		return Workload{}, err
	}
	if current != nil {
		facts.TemplateHash = current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	}
	w := of(&d.Spec.Template, pods{selector, map[types.UID]bool{d.UID: true}})
	w.State = facts.State()
	return w, nil
}
