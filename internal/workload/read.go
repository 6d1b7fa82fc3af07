package workload

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/rollout"
)

// Snapshot is what one look at a suite's targets gives.
type Snapshot struct {
	// Revision is the composite one; empty while a template's hash is not known.
	Revision string
	// Workloads are in the order of the targets.
	Workloads []Workload
	// ConfigMaps are the digests of those that the templates name; empty for one
	// that does not exist.
	ConfigMaps map[string]string
}

// Workload is one target.
type Workload struct {
	Kind  v1alpha1.TargetKind
	Name  string
	State rollout.State
	// Images of the newest pod template, sorted.
	Images []string
	// ConfigMaps that the newest pod template names, sorted.
	ConfigMaps []string

	pods pods
}

// pods says which pods are a workload's.
type pods struct {
	// selector finds them and perhaps others; nil where there are none.
	selector labels.Selector
	// owners are the UIDs of the controllers of those that are its own.
	owners map[types.UID]bool
}

// Reader reads the workloads of one namespace.
type Reader struct {
	// API must not be a cache.
	API       client.Reader
	Namespace string
}

// Read reads the targets. What does not exist is part of the snapshot, an error
// is the API server's.
func (r Reader) Read(ctx context.Context, targets []v1alpha1.Target) (*Snapshot, error) {
	s := &Snapshot{ConfigMaps: map[string]string{}}
	for _, t := range targets {
		w, err := r.workload(ctx, t)
		switch {
		case apierrors.IsNotFound(err):
			w = Workload{State: rollout.Absent(rollout.ReasonNotFound, "it does not exist")}
		case meta.IsNoMatchError(err):
			w = Workload{State: rollout.Absent(rollout.ReasonNotInstalled, fmt.Sprintf("the cluster has no %s of %s: install its CRD", t.Kind, t.APIVersion))}
		case err != nil:
			return nil, fmt.Errorf("read %s %s: %w", t.Kind, t.Name, err)
		}
		w.Kind, w.Name = t.Kind, t.Name
		s.Workloads = append(s.Workloads, w)
		for _, name := range w.ConfigMaps {
			if s.ConfigMaps[name], err = r.configMap(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	s.Revision = rollout.Revision(s.Targets(), s.ConfigMaps)
	return s, nil
}

func (r Reader) workload(ctx context.Context, t v1alpha1.Target) (Workload, error) {
	switch t.Kind {
	case v1alpha1.TargetDeployment:
		return r.deployment(ctx, t.Name)
	case v1alpha1.TargetStatefulSet:
		return r.statefulSet(ctx, t.Name)
	case v1alpha1.TargetDaemonSet:
		return r.daemonSet(ctx, t.Name)
	case v1alpha1.TargetRollout:
		return r.argoRollout(ctx, t.Name)
	}
	return Workload{}, fmt.Errorf("a target of kind %q is not supported: name a Deployment, a StatefulSet, a DaemonSet or a Rollout", t.Kind)
}

func (r Reader) get(ctx context.Context, name string, into client.Object) error {
	return r.API.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, into)
}

func (r Reader) list(ctx context.Context, selector labels.Selector, into client.ObjectList) error {
	return r.API.List(ctx, into, client.InNamespace(r.Namespace), client.MatchingLabelsSelector{Selector: selector})
}

// configMap gives the digest of a ConfigMap; empty where there is none.
func (r Reader) configMap(ctx context.Context, name string) (string, error) {
	cm := &corev1.ConfigMap{}
	err := r.get(ctx, name, cm)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return rollout.ConfigMapDigest(cm.Data, cm.BinaryData), nil
}

// Targets are the workloads as package rollout sees them.
func (s *Snapshot) Targets() []rollout.Target {
	var targets []rollout.Target
	for _, w := range s.Workloads {
		targets = append(targets, rollout.Target{Kind: string(w.Kind), Name: w.Name, State: w.State})
	}
	return targets
}

// TemplateHashes are those of all workloads, as far as they are known, sorted.
func (s *Snapshot) TemplateHashes() []string {
	var hashes []string
	for _, w := range s.Workloads {
		if w.State.TemplateHash != "" {
			hashes = append(hashes, w.State.TemplateHash)
		}
	}
	return sorted(hashes)
}

// Images are those of all workloads' templates, sorted.
func (s *Snapshot) Images() []string {
	var images []string
	for _, w := range s.Workloads {
		images = append(images, w.Images...)
	}
	return sorted(images)
}

// sorted sorts and drops what is there twice.
func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
