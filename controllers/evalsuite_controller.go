package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/telemetry"
)

// When to look again at a suite that is not as it should be. Secrets are not
// watched, since that would take the right to read all of them.
const (
	stalledAgain = 30 * time.Second
	outageAgain  = time.Minute
	// credentialsAgain is how soon a Secret that went away is noticed between runs.
	credentialsAgain = 10 * time.Minute
	// conflictAgain lets the cache catch up with what was written last.
	conflictAgain = 200 * time.Millisecond
)

// errStale ends a pass that rests on what is no longer so.
var errStale = errors.New("the cache is behind")

// SuiteReconciler decides when an EvalSuite is run, and keeps its status. It
// is the only writer of that status.
type SuiteReconciler struct {
	client.Client
	// Live reads past the cache.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.Clock
	Metrics  *telemetry.Metrics
	// Egress says where the suites of a namespace may have the operator connect; nil:
	// anywhere.
	Egress func(namespace string) call.Egress
	// Recheck is how soon a stalled suite is looked at again; 0: 30 seconds.
	Recheck time.Duration
	// Fetches bounds the golden sets that are fetched at once.
	Fetches *Fetches

	golden       goldenCache
	rollouts     rolloutWatch
	templateMaps templateMaps
}

// Reconcile looks at one EvalSuite: what is due is created first, then the
// status is written, then Events are told and old runs removed. Broken off
// anywhere, the next pass completes it.
func (r *SuiteReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.EvalSuite{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil {
		if apierrors.IsNotFound(err) {
			r.golden.forget(req.NamespacedName)
			r.templateMaps.put(req.NamespacedName, nil)
			r.Metrics.ForgetSuite(req.Namespace, req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !s.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	again, err := r.reconcile(ctx, s)
	switch {
	case errors.Is(err, errBusy):
		return ctrl.Result{RequeueAfter: fetchAgain}, nil
	case errors.Is(err, errStale), apierrors.IsConflict(err), apierrors.IsNotFound(err): // the last: it was deleted meanwhile
		return ctrl.Result{RequeueAfter: conflictAgain}, nil
	}
	return ctrl.Result{RequeueAfter: again}, err
}

func (r *SuiteReconciler) reconcile(ctx context.Context, s *v1alpha1.EvalSuite) (time.Duration, error) {
	snap, err := r.take(ctx, s)
	if err != nil {
		return 0, err
	}
	decision := schedule.Decide(snap.scheduleFacts())
	if len(decision.Create) > 0 {
		if snap, err = r.takeLive(ctx, snap); err != nil {
			return 0, err
		}
		decision = schedule.Decide(snap.scheduleFacts())
		if err := r.create(ctx, snap, decision.Create); err != nil {
			return 0, err
		}
	}
	for _, c := range decision.Cancel {
		if err := r.cancel(ctx, snap, c.Run, c.Reason); err != nil {
			return 0, err
		}
	}
	if err := r.writeStatus(ctx, snap, decision); err != nil {
		return 0, err
	}
	if err := r.prune(ctx, snap); err != nil {
		return 0, err
	}
	return r.lookAgain(snap, decision), nil
}

// create makes the runs that are due and cancels those that they replace. A
// run that exists under the name is the one meant only where its spec is.
func (r *SuiteReconciler) create(ctx context.Context, snap *snapshot, due []schedule.Create) error {
	for _, c := range due {
		run := newRun(snap.suite, c)
		if err := ctrl.SetControllerReference(snap.suite, run, r.Scheme()); err != nil {
			return fmt.Errorf("own EvalRun %s: %w", run.Name, err)
		}
		err := r.Create(ctx, run)
		switch {
		case apierrors.IsAlreadyExists(err):
			if err := r.checkExisting(ctx, snap.suite, run); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("create EvalRun %s: %w", run.Name, err)
		default:
			r.created(ctx, snap, run, c.Slot)
		}
		for _, name := range c.Replaces {
			if err := r.cancel(ctx, snap, name, status.ReasonReplaced); err != nil {
				return err
			}
		}
	}
	return nil
}

// created tells of a run that was created.
func (r *SuiteReconciler) created(ctx context.Context, snap *snapshot, run *v1alpha1.EvalRun, slot *time.Time) {
	if slot != nil {
		offset := schedule.Offset(string(snap.suite.UID), time.Duration(ptr.Deref(snap.suite.Spec.JitterSeconds, 0))*time.Second)
		r.Metrics.ScheduleDelayed(snap.now.Sub(slot.Add(offset)))
	}
	by := run.Annotations[v1alpha1.AnnotationTriggeredBy]
	tell(r.Recorder, snap.suite, run, normal, "RunCreated", "Create", "%s: %s", run.Name, triggerOf(run.Spec.Trigger, by))
	logf.FromContext(ctx).V(1).Info("run created", keyRun, run.Name, "trigger", run.Spec.Trigger, "triggeredBy", by)
}

// triggerOf says for people what triggered a run.
func triggerOf(trigger v1alpha1.Trigger, by string) string {
	_, revision, changed := strings.Cut(by, "revision ")
	switch {
	case changed && trigger == v1alpha1.TriggerSpec:
		return "the suite is new, or was changed"
	case changed && trigger == v1alpha1.TriggerGoldenSet:
		return "the golden set was changed"
	case changed:
		return fmt.Sprintf("trigger %s, revision %s", trigger, revision)
	}
	return fmt.Sprintf("trigger %s, %s", trigger, by)
}

func newRun(s *v1alpha1.EvalSuite, c schedule.Create) *v1alpha1.EvalRun {
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{
			Name:        c.Name,
			Namespace:   s.Namespace,
			Labels:      map[string]string{labelSuite: s.Name},
			Annotations: map[string]string{v1alpha1.AnnotationTriggeredBy: c.TriggeredBy},
		},
		Spec: v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: s.Name}, Trigger: v1alpha1.Trigger(c.Trigger)},
	}
	if c.RetryOf != "" {
		run.Annotations[v1alpha1.AnnotationRetryOf] = c.RetryOf
	}
	return run
}

// checkExisting tells of a run that somebody else made under a name that is
// the operator's to give: what was due does not run, and that must be said.
func (r *SuiteReconciler) checkExisting(ctx context.Context, s *v1alpha1.EvalSuite, want *v1alpha1.EvalRun) error {
	have := &v1alpha1.EvalRun{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
		return fmt.Errorf("get EvalRun %s, which exists already: %w", want.Name, err)
	}
	if equality.Semantic.DeepEqual(have.Spec, want.Spec) && metav1.IsControlledBy(have, s) {
		return nil
	}
	tell(r.Recorder, s, have, warning, "RunNameTaken", "Create", "a run was due (%s), but another EvalRun has its name %s: delete that one and annotate the suite with %s to run it", want.Annotations[v1alpha1.AnnotationTriggeredBy], want.Name, v1alpha1.AnnotationRunNow)
	return nil
}

// cancel asks the run controller to end a run: it alone writes a run's status.
func (r *SuiteReconciler) cancel(ctx context.Context, snap *snapshot, name, reason string) error {
	for _, run := range snap.runs {
		if run.Name != name || run.Annotations[v1alpha1.AnnotationCancel] != "" {
			continue
		}
		base := run.DeepCopy()
		if run.Annotations == nil {
			run.Annotations = map[string]string{}
		}
		run.Annotations[v1alpha1.AnnotationCancel] = reason
		if err := r.Patch(ctx, run, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cancel EvalRun %s: %w", name, err)
		}
	}
	return nil
}

// writeStatus folds snapshot and decision into the status, writes it if it
// changed, and then tells the Events that go with it.
func (r *SuiteReconciler) writeStatus(ctx context.Context, snap *snapshot, d schedule.Decision) error {
	s := snap.suite
	base := s.DeepCopy()
	facts := status.SuiteFacts{Stall: snap.stall(), Targets: snap.targets, Runs: snap.runs, Now: snap.now, EvaluationDigest: snap.evaluationDigest()}
	if snap.golden.read {
		facts.Golden = &snap.golden.summary
	}
	status.Suite(s, facts)
	status.Scheduled(s, d)
	if !equality.Semantic.DeepEqual(base.Status, s.Status) {
		if err := r.Status().Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("write the status of EvalSuite %s: %w", s.Name, err)
		}
	}
	r.tellChanges(ctx, base, snap)
	for _, e := range d.Events {
		tell(r.Recorder, s, nil, e.Type, e.Reason, "Schedule", "%s", e.Message)
	}
	return nil
}

// tellChanges tells what is new in the status, once.
func (r *SuiteReconciler) tellChanges(ctx context.Context, base *v1alpha1.EvalSuite, snap *snapshot) {
	s := snap.suite
	if r.tellStall(ctx, base, snap) {
		return
	}
	before, after := base.Status.GoldenSet, s.Status.GoldenSet
	if after == nil {
		return
	}
	sameSet := before != nil && before.Digest == after.Digest
	accepted := !sameSet || ptr.Deref(base.Status.ObservedGeneration, 0) != s.Generation || meta.IsStatusConditionTrue(base.Status.Conditions, v1alpha1.ConditionStalled)
	if fine := snap.golden.fine; accepted && len(fine) > 0 {
		tell(r.Recorder, s, nil, warning, suite.ReasonDropTooFine, "Check", "%s", strings.Join(fine, "; "))
	}
	if sameSet {
		return
	}
	tell(r.Recorder, s, nil, normal, "GoldenSetRead", "Read", "cases: %d, tags: %d, digest %s", ptr.Deref(after.Cases, 0), ptr.Deref(after.Tags, 0), after.Digest)
	if w := snap.golden.warnings; len(w) > 0 {
		tell(r.Recorder, s, nil, warning, "GoldenSetWarnings", "Read", "%s", warningsOf(w))
	}
}

// tellStall tells why the suite cannot be run, when that is new, and when it can be
// run again. It reports whether it cannot.
func (r *SuiteReconciler) tellStall(ctx context.Context, base *v1alpha1.EvalSuite, snap *snapshot) bool {
	log := logf.FromContext(ctx)
	ready := meta.FindStatusCondition(base.Status.Conditions, v1alpha1.ConditionReady)
	e := snap.stall()
	if e == nil {
		if ready != nil && ready.Status == metav1.ConditionFalse {
			tell(r.Recorder, snap.suite, nil, normal, status.ReasonSucceeded, "Check", "the suite can be run again: %s is no more", ready.Reason)
			log.Info("suite recovered", "from", ready.Reason)
		}
		return false
	}
	// An outage may word itself anew each time: it has ports in it, and durations.
	if ready != nil && ready.Reason == e.Reason && (ready.Message == e.Message || e.Transient) {
		return true
	}
	message, what := e.Message, "suite stalled"
	if e.Transient {
		message, what = message+"; it is tried again every minute", "suite cannot be checked and is tried again"
	}
	tell(r.Recorder, snap.suite, nil, warning, e.Reason, "Check", "%s", message)
	log.Info(what, "reason", e.Reason, "message", e.Message)
	return true
}

// warningsOf sums up what in a golden set has no effect.
func warningsOf(all []golden.Problem) string {
	if len(all) == 1 {
		return all[0].String()
	}
	return fmt.Sprintf("%d warnings, the first: %s", len(all), all[0])
}

// lookAgain says when the suite is due to be looked at by itself.
func (r *SuiteReconciler) lookAgain(snap *snapshot, d schedule.Decision) time.Duration {
	at := snap.now.Add(credentialsAgain)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	sooner(d.Next)
	if snap.awaitsKind {
		sooner(snap.now.Add(installedAgain))
	}
	sooner(status.NextExpiry(snap.suite, snap.now))
	if e := snap.stall(); e != nil {
		if e.Transient {
			sooner(snap.now.Add(outageAgain))
		} else {
			sooner(snap.now.Add(cmp.Or(r.Recheck, stalledAgain)))
		}
	}
	return max(at.Sub(snap.now), 100*time.Millisecond)
}
