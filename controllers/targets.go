package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/facts"
	"github.com/assay-dev/assay/internal/status"
)

// rolloutKind is Argo's Rollout.
var rolloutKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}

// installedAgain is how soon a kind that is not installed is looked for again.
const installedAgain = 30 * time.Second

// targetsOf are the keys of a suite's targets in the index.
func targetsOf(spec *v1alpha1.EvalSuiteSpec) []string {
	if spec.OnDeploy == nil {
		return nil
	}
	var keys []string
	for _, t := range spec.OnDeploy.Targets {
		keys = append(keys, status.TargetKey(t.Kind, t.Name))
	}
	return keys
}

// suitesOfTarget maps a workload to the suites that it is a target of.
func (r *SuiteReconciler) suitesOfTarget(kind v1alpha1.TargetKind) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &v1alpha1.EvalSuiteList{}
		err := r.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{indexTarget: status.TargetKey(kind, o.GetName())}, client.UnsafeDisableDeepCopy)
		if err != nil {
			logf.FromContext(ctx).Error(err, "cannot list the suites of a workload", keyNamespace, o.GetNamespace(), "kind", kind, "name", o.GetName())
			return nil
		}
		requests := make([]reconcile.Request, len(list.Items))
		for i := range list.Items {
			requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
		}
		return requests
	}
}

// watchedKinds are the workloads that every cluster has.
func watchedKinds() map[v1alpha1.TargetKind]client.Object {
	return map[v1alpha1.TargetKind]client.Object{
		v1alpha1.TargetDeployment:  &appsv1.Deployment{},
		v1alpha1.TargetStatefulSet: &appsv1.StatefulSet{},
		v1alpha1.TargetDaemonSet:   &appsv1.DaemonSet{},
	}
}

// rolloutWatch begins to watch Argo's Rollouts once their kind is installed: a
// watch of a kind that is not ends the process.
type rolloutWatch struct {
	mu         sync.Mutex
	begun      bool
	controller controller.Controller
	cache      cache.Cache
	mapper     meta.RESTMapper
}

// ensure begins the watch where the suite needs it and it can be had. It says
// whether to look again by itself, since nothing will tell.
func (r *SuiteReconciler) ensureRolloutWatch(ctx context.Context, s *v1alpha1.EvalSuite) (again bool) {
	if s.Spec.OnDeploy == nil || !slices.ContainsFunc(s.Spec.OnDeploy.Targets, func(t v1alpha1.Target) bool { return t.Kind == v1alpha1.TargetRollout }) {
		return false
	}
	w := &r.rollouts
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun || w.controller == nil {
		return false
	}
	if _, err := w.mapper.RESTMapping(rolloutKind.GroupKind(), rolloutKind.Version); err != nil {
		return true
	}
	rollouts := &metav1.PartialObjectMetadata{}
	rollouts.SetGroupVersionKind(rolloutKind)
	err := w.controller.Watch(source.Kind[client.Object](w.cache, rollouts, handler.EnqueueRequestsFromMapFunc(r.suitesOfTarget(v1alpha1.TargetRollout))))
	if err != nil {
		logf.FromContext(ctx).Error(err, "cannot watch Argo Rollouts; it is tried again")
		return true
	}
	w.begun = true
	return false
}

// templateMaps remembers which ConfigMaps the suites' targets named last.
type templateMaps struct {
	mu      sync.Mutex
	bySuite map[types.NamespacedName]map[string]string
}

// put takes over what a look at the targets gave. It says whether there are names
// that were not known: of a change to those before now, nobody was told.
func (m *templateMaps) put(suite types.NamespacedName, names map[string]string) (more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bySuite == nil {
		m.bySuite = map[types.NamespacedName]map[string]string{}
	}
	for name := range names {
		if _, known := m.bySuite[suite][name]; !known {
			more = true
		}
	}
	if len(names) == 0 {
		delete(m.bySuite, suite)
		return false
	}
	m.bySuite[suite] = names
	return more
}

// of are the suites of a namespace whose targets name the ConfigMap.
func (m *templateMaps) of(namespace, name string) []reconcile.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	var requests []reconcile.Request
	for suite, names := range m.bySuite {
		if _, ok := names[name]; ok && suite.Namespace == namespace {
			requests = append(requests, reconcile.Request{NamespacedName: suite})
		}
	}
	return requests
}

// takeTargets looks at a suite's targets, from now on with an ear for the ConfigMaps
// that they name.
func (r *SuiteReconciler) takeTargets(ctx context.Context, s *v1alpha1.EvalSuite, now time.Time) (*status.Targets, error) {
	for {
		targets, err := facts.Targets(ctx, r.Live, s, now)
		if err != nil {
			return nil, err
		}
		var names map[string]string
		if targets != nil {
			names = targets.Seen.ConfigMaps
		}
		if !r.templateMaps.put(client.ObjectKeyFromObject(s), names) {
			return targets, nil
		}
	}
}

// revisionNow is the revision that the suite's targets run, settled; empty while
// a rollout goes.
func revisionNow(ctx context.Context, reader client.Reader, s *v1alpha1.EvalSuite, now time.Time) (*status.Targets, string, error) {
	t, err := facts.Targets(ctx, reader, s, now)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("read the targets of EvalSuite %s: %w", s.Name, err)
	case t == nil || t.Progress.RolledOutAt == nil:
		return t, "", nil
	}
	return t, t.Progress.Revision, nil
}
