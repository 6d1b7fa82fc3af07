package controllers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/recorder"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/telemetry"
	"github.com/assay-dev/assay/internal/tracing"
)

// labelSuite on an EvalRun names its suite, so that its runs can be listed.
const labelSuite = "assay.dev/suite"

// maxAttempts is how often a run is begun before it is given up.
const maxAttempts = 3

const (
	// outageGrace is how long a run waits for an outage to end before it has begun.
	outageGrace = 5 * time.Minute
	// tryAgain is how soon it is tried again meanwhile.
	tryAgain = 5 * time.Second
)

// RunReconciler carries EvalRuns out. It is the only writer of their status.
type RunReconciler struct {
	client.Client
	// Live reads past the cache.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.Clock
	Runner   *Runner
	Limits   *retriever.Limits
	Metrics  *telemetry.Metrics
	// Fetches bounds the golden sets that are fetched at once.
	Fetches *Fetches
	// Tracer makes spans of runs; nil: nothing does.
	Tracer *tracing.Tracer
	// Egress says where the suites of a namespace may have the operator connect; nil:
	// anywhere.
	Egress func(namespace string) call.Egress
	// MaxRuns is how many runs go at once in this operator.
	MaxRuns int
	// History keeps every run; nil where there is none.
	History recorder.Store
	// Baselines finds what runs are compared with; nil where there is no history.
	Baselines Baselines
	// Verdicts keeps what judges said across runs; nil where nothing does.
	Verdicts judge.Cache
}

// Reconcile brings one EvalRun a step further: it is adopted, waits its turn,
// begins, tells its progress and ends with a verdict that stays.
func (r *RunReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.step(ctx, req)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // it was deleted meanwhile
		return ctrl.Result{RequeueAfter: conflictAgain}, nil
	}
	return result, err
}

func (r *RunReconciler) step(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.EvalRun{}
	if err := r.Get(ctx, req.NamespacedName, run); err != nil {
		if apierrors.IsNotFound(err) && r.Runner.ForgetOthers(req.NamespacedName, "") {
			r.wakeWaiting(ctx)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.Runner.ForgetOthers(req.NamespacedName, run.UID) {
		r.wakeWaiting(ctx)
	}
	if run.Status.Verdict != "" || !run.DeletionTimestamp.IsZero() {
		if r.Runner.Forget(run.UID) || run.Status.Verdict != "" {
			r.wakeWaiting(ctx)
		}
		return ctrl.Result{}, nil
	}

	ctx = logf.IntoContext(ctx, logf.FromContext(ctx).WithValues(keySuite, run.Spec.SuiteRef.Name))
	s, gone, err := r.suiteOf(ctx, run)
	if err != nil {
		return ctrl.Result{}, err
	}
	stop := r.stopOf(run, gone)
	state, active := r.Runner.State(run.UID)
	switch {
	case active && state.Result != nil:
		return ctrl.Result{}, r.finish(ctx, run, s, state)
	case active && stop != nil:
		r.Runner.Cancel(run.UID, stop)
		return ctrl.Result{}, nil
	case active:
		return ctrl.Result{}, r.progress(ctx, run, state.Progress)
	case stop != nil:
		return ctrl.Result{}, r.end(ctx, run, s, v1alpha1.VerdictInconclusive, stop.Reason, stop.Message)
	case s == nil:
		return ctrl.Result{}, r.wait(ctx, run, status.ReasonSuiteNotFound,
			fmt.Sprintf("there is no EvalSuite %q in namespace %q: create it, the run then begins; or delete this run", run.Spec.SuiteRef.Name, run.Namespace))
	}
	if adopted, err := r.adopt(ctx, run, s); adopted || err != nil {
		return ctrl.Result{}, err // the change comes back as an event
	}
	return r.admit(ctx, run, s)
}

// suiteOf finds the run's suite. gone is true where the run belongs to a suite
// that is deleted, whether or not another one has its name now.
func (r *RunReconciler) suiteOf(ctx context.Context, run *v1alpha1.EvalRun) (s *v1alpha1.EvalSuite, gone bool, err error) {
	owner := metav1.GetControllerOf(run)
	s = &v1alpha1.EvalSuite{}
	err = r.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: run.Spec.SuiteRef.Name}, s)
	if apierrors.IsNotFound(err) {
		return nil, owner != nil, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("get EvalSuite %s: %w", run.Spec.SuiteRef.Name, err)
	}
	if !s.DeletionTimestamp.IsZero() || owner != nil && owner.UID != s.UID {
		return nil, true, nil
	}
	return s, false, nil
}

var reasonPattern = regexp.MustCompile(`^[A-Z][A-Za-z]{0,63}$`)

// stopOf says why the run must not go on, if so.
func (r *RunReconciler) stopOf(run *v1alpha1.EvalRun, suiteGone bool) *eval.Stop {
	if suiteGone {
		return &eval.Stop{Reason: status.ReasonSuiteDeleted, Message: fmt.Sprintf("the EvalSuite %q was deleted", run.Spec.SuiteRef.Name)}
	}
	reason, ok := run.Annotations[v1alpha1.AnnotationCancel]
	if !ok {
		return nil
	}
	if reason == schedule.ReasonSuperseded {
		return &eval.Stop{Reason: reason, Message: "a newer revision followed the one that this run measures"}
	}
	if reason == status.ReasonReplaced {
		return &eval.Stop{Reason: reason, Message: "a newer slot of the schedule replaced this run (spec.concurrencyPolicy is Replace)"}
	}
	if !reasonPattern.MatchString(reason) {
		reason = status.ReasonCanceled
	}
	return &eval.Stop{Reason: reason, Message: "the run was cancelled by the annotation " + v1alpha1.AnnotationCancel}
}

// adopt makes the suite the run's owner, so that the run goes when it goes.
func (r *RunReconciler) adopt(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) (bool, error) {
	if metav1.IsControlledBy(run, s) && run.Labels[labelSuite] == s.Name {
		return false, nil
	}
	base := run.DeepCopy()
	if err := controllerutil.SetControllerReference(s, run, r.Scheme()); err != nil {
		return false, fmt.Errorf("adopt EvalRun %s: %w", run.Name, err)
	}
	if run.Labels == nil {
		run.Labels = map[string]string{}
	}
	run.Labels[labelSuite] = s.Name
	if err := r.Patch(ctx, run, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("adopt EvalRun %s: %w", run.Name, err)
	}
	return true, nil
}

// admit begins the run when its turn has come.
func (r *RunReconciler) admit(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) (ctrl.Result, error) {
	if !r.Runner.Ready() {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	turn, err := r.turnOf(ctx, run)
	if err != nil {
		return ctrl.Result{}, err
	}
	switch turn {
	case turnFull:
		return ctrl.Result{}, r.end(ctx, run, s, v1alpha1.VerdictInconclusive, status.ReasonQueueFull,
			fmt.Sprintf("ten runs of the suite %q wait already: delete some, or wait until they have ended, and create this run again", s.Name))
	case turnWait:
		return ctrl.Result{}, r.wait(ctx, run, status.ReasonQueued, "the run waits for its turn: one run of a suite goes at a time, and the operator bounds how many go at once")
	}
	return r.begin(ctx, run, s)
}

// begin prepares the run, claims it in the API and hands it to the Runner.
func (r *RunReconciler) begin(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) (ctrl.Result, error) {
	log := logf.FromContext(ctx)
	end, err := r.Fetches.begin(s)
	if err != nil {
		r.Runner.Postpone(run, fetchAgain, false)
		return ctrl.Result{RequeueAfter: fetchAgain}, nil
	}
	defer end()
	p, err := suite.Prepare(ctx, s, suite.OptionsOf(&run.Spec), suite.InCluster(r.Live, s.Namespace), suite.Deps{Limits: r.Limits, Observe: r.Metrics.ObserveRequest, Verdicts: r.Verdicts, Tracer: r.Tracer, Egress: egressOf(r.Egress, s.Namespace)})
	if err != nil {
		e, ok := suite.AsError(err)
		if !ok {
			return ctrl.Result{}, fmt.Errorf("prepare EvalRun %s: %w", run.Name, err)
		}
		if waited := r.postponed(run, e); waited < outageGrace {
			level := 0
			if waited > 0 {
				level = 1 // it was said already
			}
			log.V(level).Info("the run cannot begin yet and is tried again", "reason", e.Reason, "message", e.Message)
			r.wakeWaiting(ctx) // others may go meanwhile
			return ctrl.Result{RequeueAfter: tryAgain}, r.wait(ctx, run, status.ReasonQueued, "the run cannot begin yet and is tried again: "+e.Message)
		}
		base := run.DeepCopy()
		run.Status.SuiteEvaluationDigest = suite.DigestOf(ctx, s, run.Spec.Endpoint, suite.InCluster(r.Live, s.Namespace))
		status.Verdict(run, v1alpha1.VerdictError, e.Reason, "the run could not begin: "+e.Message, r.Clock.Now())
		return ctrl.Result{}, r.close(ctx, run, base, s)
	}
	if changed := changedSince(run, p); changed != "" {
		p.Close()
		return ctrl.Result{}, r.end(ctx, run, s, v1alpha1.VerdictInconclusive, status.ReasonSuiteChanged,
			changed+" changed while the operator was down, and this run could not go on with what it began with")
	}
	if attempts := ptr.Deref(run.Status.Attempts, 0); attempts >= maxAttempts {
		p.Close()
		return ctrl.Result{}, r.end(ctx, run, s, v1alpha1.VerdictError, status.ReasonTooManyTries,
			fmt.Sprintf("the operator ended %d times while this run went, and it may be the run that ends it: see the operator's log of that time, and its memory limit", attempts))
	}
	if err := r.serve(ctx, run, s, p); err != nil {
		p.Close()
		return ctrl.Result{}, err
	}
	if began := run.Status; began.StartTime != nil && began.Revision != p.Revision && run.Spec.Endpoint == "" {
		p.Close()
		return ctrl.Result{}, r.end(ctx, run, s, v1alpha1.VerdictInconclusive, schedule.ReasonRevisionChanged,
			fmt.Sprintf("what runs changed from revision %s to %s while the operator was down, and this run could not go on with what it began with", named(began.Revision), named(p.Revision)))
	}
	p.Plan.Head.Run, p.Plan.Head.UID = run.Name, string(run.UID)
	rec := r.record(ctx, run, s, p)
	base := run.DeepCopy()
	restarted := run.Status.StartTime != nil
	started := r.Clock.Now()
	if restarted {
		started = run.Status.StartTime.Time
	}
	status.Started(run, p, len(p.Plan.Finished), started)
	if err := r.patchStatus(ctx, run, base); err != nil {
		p.Close()
		return ctrl.Result{}, err
	}
	final := func(result *eval.Result, ended time.Time) history.Run { return endedRow(run, s, p, result, ended) }
	baseline := func(ctx context.Context) *eval.Baseline {
		return baselineOf(logf.IntoContext(ctx, log), s, r.Baselines)
	}
	if !r.Runner.Begin(run, p, rec, baseline, final) {
		// Another run of the suite was a moment faster; that one's end wakes this one.
		p.Close()
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if !restarted {
		tell(r.Recorder, run, s, normal, "RunStarted", "Start", "cases: %d, of the golden set %s", len(p.Plan.Cases), p.GoldenSetDigest)
	}
	log.Info("run started", "trigger", run.Spec.Trigger, "revision", p.Revision, "cases", len(p.Plan.Cases), "restarted", restarted)
	return ctrl.Result{}, nil
}

// postponed gives how long an outage has kept the run from beginning; forever,
// where it is none that could end by itself.
func (r *RunReconciler) postponed(run *v1alpha1.EvalRun, e *suite.Error) time.Duration {
	if !e.Transient {
		return outageGrace
	}
	return r.Runner.Postpone(run, tryAgain, true)
}

// changedSince says what a run that an earlier process began was begun with
// and is no more.
func changedSince(run *v1alpha1.EvalRun, p *suite.Prepared) string {
	st := &run.Status
	switch {
	case st.StartTime == nil:
		return ""
	case st.SuiteEvaluationDigest != p.EvaluationDigest:
		return "the suite"
	case st.GoldenSetDigest != p.GoldenSetDigest:
		return "the golden set"
	}
	return ""
}

// wait writes why the run has not begun.
func (r *RunReconciler) wait(ctx context.Context, run *v1alpha1.EvalRun, reason, message string) error {
	base := run.DeepCopy()
	status.Waiting(run, reason, message, r.Clock.Now())
	return r.patchStatus(ctx, run, base)
}

func (r *RunReconciler) progress(ctx context.Context, run *v1alpha1.EvalRun, p status.Progress) error {
	base := run.DeepCopy()
	status.Advanced(run, p, r.Clock.Now())
	return r.patchStatus(ctx, run, base)
}

// finish writes what the Runner measured.
func (r *RunReconciler) finish(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite, state State) error {
	base := run.DeepCopy()
	status.Finished(run, state.Prepared, state.Result, state.Ended)
	if s != nil {
		r.Metrics.Judged(run.Namespace, s.Name, state.Result.Usage)
	}
	if state.Recorded {
		lost := ""
		if state.Lost.Any() {
			lost = state.Lost.Message()
			if s != nil {
				r.Metrics.HistoryLost(run.Namespace, s.Name, state.Lost.Cases)
			}
		}
		status.Stored(run, lost, r.Clock.Now())
	}
	return r.close(ctx, run, base, s)
}

// end writes a verdict that no metric led to.
func (r *RunReconciler) end(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite, verdict v1alpha1.Verdict, reason, message string) error {
	base := run.DeepCopy()
	status.Verdict(run, verdict, reason, message, r.Clock.Now())
	if r.History != nil {
		lost := ""
		if err := r.History.PutRun(ctx, unmeasuredRow(run, s)); err != nil {
			lost = "the run could not be written: " + err.Error()
		}
		status.Stored(run, lost, r.Clock.Now())
	}
	return r.close(ctx, run, base, s)
}

// close writes the verdict, once: the patch holds only for the version of the
// run that was read, and the API server lets no verdict be changed.
func (r *RunReconciler) close(ctx context.Context, run, base *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) error {
	if err := r.patchStatus(ctx, run, base); err != nil {
		return err
	}
	r.Runner.Written(run.UID)
	st := &run.Status
	kind := normal
	if st.Verdict != v1alpha1.VerdictPassed {
		kind = warning
	}
	tell(r.Recorder, run, s, kind, "Run"+string(st.Verdict), "Finish", "%s: %s", st.Reason, st.Message)
	if s != nil { // a deleted suite keeps no series and gets no Events
		took, queued := time.Duration(-1), time.Duration(-1)
		if st.StartTime != nil {
			took = st.CompletionTime.Sub(st.StartTime.Time)
			queued = st.StartTime.Sub(run.CreationTimestamp.Time)
		}
		r.Metrics.RunFinished(run.Namespace, s.Name, string(run.Spec.Trigger), string(st.Verdict), took, queued)
		tell(r.Recorder, s, run, kind, "Run"+string(st.Verdict), "Finish", "%s: %s: %s", run.Name, st.Reason, st.Message)
	}
	logf.FromContext(ctx).Info("run ended", "verdict", st.Verdict, "reason", st.Reason, "message", st.Message,
		"hitRate", st.HitRate, "mrr", st.MRR, "accuracy", st.Accuracy, "hallucinationRate", st.HallucinationRate)
	r.tellLost(ctx, run, s)
	return nil
}

// tellLost tells of what of a run did not get into the history.
func (r *RunReconciler) tellLost(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) {
	c := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionHistoryStored)
	if c == nil || c.Status != metav1.ConditionFalse {
		return
	}
	logf.FromContext(ctx).Error(errors.New(c.Message), "the run is not whole in the history")
	const why = "its verdict counts all the same, but the run can be neither read nor compared with as a whole; whoever runs the operator should look at its history store"
	tell(r.Recorder, run, s, warning, c.Reason, "Record", "%s; %s", c.Message, why)
	if s != nil {
		tell(r.Recorder, s, run, warning, c.Reason, "Record", "%s: %s; %s", run.Name, c.Message, why)
	}
}

// patchStatus writes what changed in the status, if anything did.
func (r *RunReconciler) patchStatus(ctx context.Context, run, base *v1alpha1.EvalRun) error {
	if equalStatus(run.Status, base.Status) {
		return nil
	}
	err := r.Status().Patch(ctx, run, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("write the status of EvalRun %s: %w", run.Name, err)
	}
	return nil
}
