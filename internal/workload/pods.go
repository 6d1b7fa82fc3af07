package workload

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podsPerPage is how many pods one call to the API server lists.
const podsPerPage = 500

// ImageIDs gives the images that a workload's ready pods run, each with its
// digest, sorted: where a template names a tag, only they say what that was.
func (r Reader) ImageIDs(ctx context.Context, w Workload) ([]string, error) {
	var ids []string
	err := r.eachPod(ctx, w.pods, func(p *corev1.Pod) {
		if !ready(p) {
			return
		}
		for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
			for _, s := range statuses {
				if s.ImageID != "" {
					ids = append(ids, withoutScheme(s.ImageID))
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read what %s %s runs: %w", w.Kind, w.Name, err)
	}
	return sorted(ids), nil
}

// withoutScheme drops what a container runtime may put before an image, as in
// docker-pullable://registry.example/app@sha256:….
func withoutScheme(id string) string {
	if _, rest, found := strings.Cut(id, "://"); found {
		return rest
	}
	return id
}

func ready(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// terminating counts the pods that are shutting down.
func (r Reader) terminating(ctx context.Context, which pods) (int32, error) {
	var n int32
	err := r.eachPod(ctx, which, func(p *corev1.Pod) {
		if p.DeletionTimestamp != nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded {
			n++
		}
	})
	return n, err
}

// eachPod visits a workload's pods, page by page.
func (r Reader) eachPod(ctx context.Context, which pods, visit func(*corev1.Pod)) error {
	if which.selector == nil {
		return nil
	}
	options := &client.ListOptions{Namespace: r.Namespace, LabelSelector: which.selector, Limit: podsPerPage}
	for {
		list := &corev1.PodList{}
		if err := r.API.List(ctx, list, options); err != nil {
			return fmt.Errorf("list its pods: %w", err)
		}
		for i := range list.Items {
			if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && which.owners[owner.UID] {
				visit(&list.Items[i])
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}
