package workload

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// currentRevision finds the ControllerRevision of a StatefulSet's or a
// DaemonSet's template as it is. Where none has it, the newest of all is what the
// controller took the template for, if it has observed it; nil where it has not.
func (r Reader) currentRevision(ctx context.Context, owner metav1.Object, observed bool, selector labels.Selector, template *corev1.PodTemplateSpec) (*appsv1.ControllerRevision, error) {
	list := &appsv1.ControllerRevisionList{}
	if err := r.list(ctx, selector, list); err != nil {
		return nil, fmt.Errorf("list its ControllerRevisions: %w", err)
	}
	var current, newest *appsv1.ControllerRevision
	for i := range list.Items {
		c := &list.Items[i]
		if !metav1.IsControlledBy(c, owner) {
			continue
		}
		if newest == nil || c.Revision > newest.Revision {
			newest = c
		}
		if hasTemplate(c, template) && (current == nil || c.Revision > current.Revision) {
			current = c
		}
	}
	if current == nil && observed {
		current = newest
	}
	return current, nil
}

// hasTemplate reports whether a ControllerRevision keeps a template: as a patch
// of the workload that replaces its template.
func hasTemplate(c *appsv1.ControllerRevision, template *corev1.PodTemplateSpec) bool {
	var patch struct {
		Spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(c.Data.Raw, &patch); err != nil || patch.Spec.Template == nil {
		return false
	}
	return equality.Semantic.DeepEqual(patch.Spec.Template, template)
}
