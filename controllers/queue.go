package controllers

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
)

// turn is what the queue says of one waiting run.
type turn int

const (
	turnWait turn = iota
	turnStart
	turnFull
)

// turnOf asks the queue about one run.
func (r *RunReconciler) turnOf(ctx context.Context, run *v1alpha1.EvalRun) (turn, error) {
	facts, keys, err := r.queue(ctx)
	if err != nil {
		return turnWait, err
	}
	d := schedule.Admit(facts)
	for _, uid := range d.Full {
		// One that was looked at before this one came does not know that it is one too many.
		if uid != string(run.UID) {
			r.Runner.Wake(keys[uid])
		}
	}
	switch uid := string(run.UID); {
	case slices.Contains(d.Full, uid):
		return turnFull, nil
	case slices.Contains(d.Start, uid):
		return turnStart, nil
	}
	return turnWait, nil
}

// wakeWaiting has the runs whose turn has come looked at, after a place fell vacant.
func (r *RunReconciler) wakeWaiting(ctx context.Context) {
	facts, keys, err := r.queue(ctx)
	if err != nil {
		// The runs come up again with the cache's next resync.
		logf.FromContext(ctx).Error(err, "cannot tell which run is next")
		return
	}
	for _, uid := range schedule.Admit(facts).Start {
		r.Runner.Wake(keys[uid])
	}
}

// queue gathers every adopted run that has not ended. Whether one is active is
// known to the Runner alone: one that a former process began waits like any other.
func (r *RunReconciler) queue(ctx context.Context) (schedule.QueueFacts, map[string]types.NamespacedName, error) {
	list := &v1alpha1.EvalRunList{}
	if err := r.List(ctx, list, client.MatchingFields{indexOpen: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		return schedule.QueueFacts{}, nil, fmt.Errorf("list open EvalRuns: %w", err)
	}
	// A suite whose next run cannot begin yet keeps no place from the others.
	held := map[types.NamespacedName]bool{}
	for i := range list.Items {
		if run := &list.Items[i]; r.Runner.Postponed(run.UID) {
			held[suiteKey(run)] = true
		}
	}
	facts := schedule.QueueFacts{Limit: r.MaxRuns}
	keys := map[string]types.NamespacedName{}
	for i := range list.Items {
		run := &list.Items[i]
		active, written := r.Runner.Occupied(run.UID)
		if written || !active && (metav1.GetControllerOf(run) == nil || held[suiteKey(run)]) {
			continue
		}
		uid := string(run.UID)
		keys[uid] = client.ObjectKeyFromObject(run)
		facts.Runs = append(facts.Runs, schedule.QueuedRun{
			Namespace: run.Namespace,
			Suite:     run.Spec.SuiteRef.Name,
			Name:      run.Name,
			UID:       uid,
			CreatedAt: run.CreationTimestamp.Time,
			Active:    active,
		})
	}
	return facts, keys, nil
}

// suiteKey names the suite of a run.
func suiteKey(run *v1alpha1.EvalRun) types.NamespacedName {
	return types.NamespacedName{Namespace: run.Namespace, Name: run.Spec.SuiteRef.Name}
}
