package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	tevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// Indexes of the cache.
const (
	// indexOpen finds the EvalRuns that have no verdict.
	indexOpen = "assay.open"
	// indexRunSuite finds the EvalRuns of a suite by its name.
	indexRunSuite = "assay.suite"
	// indexConfigMap finds the EvalSuites that name a ConfigMap.
	indexConfigMap = "assay.configmap"
	// indexTarget finds the EvalSuites that a workload is a target of.
	indexTarget = "assay.target"
	// indexSelector finds the EvalSuites that pick ConfigMaps by their labels.
	indexSelector = "assay.selector"
)

// SetupIndexes registers the cache's indexes; once a manager.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		field  string
		values client.IndexerFunc
	}{
		{&v1alpha1.EvalRun{}, indexOpen, func(o client.Object) []string {
			if o.(*v1alpha1.EvalRun).Status.Verdict != "" {
				return nil
			}
			return []string{"true"}
		}},
		{&v1alpha1.EvalRun{}, indexRunSuite, func(o client.Object) []string {
			return []string{o.(*v1alpha1.EvalRun).Spec.SuiteRef.Name}
		}},
		{&v1alpha1.EvalSuite{}, indexConfigMap, func(o client.Object) []string {
			return configMapsOf(&o.(*v1alpha1.EvalSuite).Spec)
		}},
		{&v1alpha1.EvalSuite{}, indexTarget, func(o client.Object) []string {
			return targetsOf(&o.(*v1alpha1.EvalSuite).Spec)
		}},
		{&v1alpha1.EvalSuite{}, indexSelector, func(o client.Object) []string {
			if o.(*v1alpha1.EvalSuite).Spec.GoldenSet.ConfigMapSelector == nil {
				return nil
			}
			return []string{"true"}
		}},
	} {
		if err := indexer.IndexField(ctx, index.object, index.field, index.values); err != nil {
			return fmt.Errorf("index %s: %w", index.field, err)
		}
	}
	return nil
}

// configMapsOf names the ConfigMaps that a suite reads by name.
func configMapsOf(spec *v1alpha1.EvalSuiteSpec) []string {
	var names []string
	if ref := spec.GoldenSet.ConfigMapRef; ref != nil {
		names = append(names, ref.Name)
	}
	names = append(names, referencedBy(spec)...)
	tls := []*v1alpha1.TLS{spec.Retriever.TLS}
	if e := spec.Retriever.Embedding; e != nil {
		tls = append(tls, e.TLS)
	}
	if spec.Answer != nil {
		tls = append(tls, spec.Answer.TLS)
	}
	if spec.Judge != nil {
		tls = append(tls, spec.Judge.TLS)
	}
	for _, t := range tls {
		if t != nil && t.CABundleRef != nil && t.CABundleRef.Kind != v1alpha1.CABundleSecret {
			names = append(names, t.CABundleRef.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// referencedBy names the ConfigMaps whose content can change a verdict, beside
// the golden set's.
func referencedBy(spec *v1alpha1.EvalSuiteSpec) []string {
	var names []string
	if j := spec.Judge; j != nil {
		if j.PromptRef != nil {
			names = append(names, j.PromptRef.Name)
		}
		if j.Calibration != nil {
			names = append(names, j.Calibration.ConfigMapRef.Name)
		}
	}
	return names
}

// SetupWithManager registers the suite controller.
func (r *SuiteReconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	build := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.EvalSuite{}, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, runNowChanged))).
		Watches(&v1alpha1.EvalRun{}, handler.EnqueueRequestsFromMapFunc(suiteOfRun), builder.WithPredicates(runMoved)).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.suitesOfConfigMap)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: newRetries(), LogConstructor: logsOf(mgr.GetLogger(), "evalsuite", keySuite)})
	for kind, object := range watchedKinds() {
		build = build.WatchesMetadata(object, handler.EnqueueRequestsFromMapFunc(r.suitesOfTarget(kind)))
	}
	built, err := build.Build(r)
	if err != nil {
		return err
	}
	r.rollouts.controller, r.rollouts.cache, r.rollouts.mapper = built, mgr.GetCache(), mgr.GetRESTMapper()
	return nil
}

// SetupWithManager registers the run controller.
func (r *RunReconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	r.Runner.interrupted = r.giveBack
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.EvalRun{}, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, runOwned, runMoved))).
		Watches(&v1alpha1.EvalSuite{}, handler.EnqueueRequestsFromMapFunc(r.openRunsOf), builder.WithPredicates(comesOrGoes)).
		WatchesRawSource(source.Channel(r.Runner.events, &handler.TypedEnqueueRequestForObject[*v1alpha1.EvalRun]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: newRetries(), LogConstructor: logsOf(mgr.GetLogger(), "evalrun", keyRun)}).
		Complete(r)
}

// newRetries is how soon what has failed is tried again. The library waits up to
// a quarter of an hour, for which a run that ended while the API server was away
// would have no verdict after it has come back, and hold its place.
func newRetries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](10*time.Millisecond, longestRetry)
}

// longestRetry is the longest that newRetries waits.
const longestRetry = 15 * time.Second

// runNowChanged passes a new value of the run-now annotation.
var runNowChanged = predicate.Funcs{
	CreateFunc: func(tevent.CreateEvent) bool { return true },
	UpdateFunc: func(e tevent.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[v1alpha1.AnnotationRunNow] != e.ObjectNew.GetAnnotations()[v1alpha1.AnnotationRunNow]
	},
}

// runMoved passes what a suite cares for in its runs: they come, go, begin, end
// and are cancelled. Progress is none of it.
var runMoved = predicate.Funcs{
	CreateFunc: func(tevent.CreateEvent) bool { return true },
	DeleteFunc: func(tevent.DeleteEvent) bool { return true },
	UpdateFunc: func(e tevent.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.EvalRun)
		after, ok2 := e.ObjectNew.(*v1alpha1.EvalRun)
		return ok && ok2 && (before.Status.Verdict != after.Status.Verdict ||
			!before.Status.StartTime.Equal(after.Status.StartTime) ||
			before.Status.SuiteEvaluationDigest != after.Status.SuiteEvaluationDigest ||
			before.Status.Revision != after.Status.Revision ||
			before.Annotations[v1alpha1.AnnotationCancel] != after.Annotations[v1alpha1.AnnotationCancel])
	},
}

// runOwned passes a run's adoption.
var runOwned = predicate.Funcs{
	UpdateFunc: func(e tevent.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences()) ||
			!equality.Semantic.DeepEqual(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
	},
}

// comesOrGoes passes a suite's creation, its deletion and the beginning of one.
var comesOrGoes = predicate.Funcs{
	UpdateFunc: func(e tevent.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
	GenericFunc: func(tevent.GenericEvent) bool { return false },
}

func suiteOfRun(_ context.Context, o client.Object) []reconcile.Request {
	run, ok := o.(*v1alpha1.EvalRun)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: run.Namespace, Name: run.Spec.SuiteRef.Name}}}
}

// openRunsOf maps a suite to its runs that have not ended.
func (r *RunReconciler) openRunsOf(ctx context.Context, o client.Object) []reconcile.Request {
	list := &v1alpha1.EvalRunList{}
	if err := r.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{indexRunSuite: o.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "cannot list the runs of a suite", keyNamespace, o.GetNamespace(), keySuite, o.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Status.Verdict == "" {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// suitesOfConfigMap maps a ConfigMap to the suites that read it: by its name,
// by its labels, or, where its labels no longer match, because they read it last.
func (r *SuiteReconciler) suitesOfConfigMap(ctx context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	add := func(field, value string, wanted func(*v1alpha1.EvalSuite) bool) {
		list := &v1alpha1.EvalSuiteList{}
		if err := r.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{field: value}, client.UnsafeDisableDeepCopy); err != nil {
			logf.FromContext(ctx).Error(err, "cannot list the suites of a ConfigMap", keyNamespace, o.GetNamespace(), "configMap", o.GetName())
			return
		}
		for i := range list.Items {
			if wanted(&list.Items[i]) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
	}
	requests = append(requests, r.templateMaps.of(o.GetNamespace(), o.GetName())...)
	add(indexConfigMap, o.GetName(), func(*v1alpha1.EvalSuite) bool { return true })
	add(indexSelector, "true", func(s *v1alpha1.EvalSuite) bool {
		selector, err := metav1.LabelSelectorAsSelector(s.Spec.GoldenSet.ConfigMapSelector)
		return err == nil && (selector.Matches(labels.Set(o.GetLabels())) || r.golden.reads(client.ObjectKeyFromObject(s), o.GetUID()))
	})
	return requests
}

func isNil(o runtime.Object) bool {
	switch o := o.(type) {
	case nil:
		return true
	case *v1alpha1.EvalSuite:
		return o == nil
	case *v1alpha1.EvalRun:
		return o == nil
	}
	return false
}

func equalStatus(a, b v1alpha1.EvalRunStatus) bool { return equality.Semantic.DeepEqual(a, b) }
