package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/recorder"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/tracing"
)

// shutdownWithin bounds what is written while the operator goes down.
const shutdownWithin = 5 * time.Second

// progressInterval is how often a run's progress is written, at most.
const progressInterval = time.Second

// errShutdown stops the runs of an operator that goes down. They get no
// verdict: the next operator runs them again.
var errShutdown = errors.New("the operator is shutting down")

// Runner carries out runs in this process. The run controller starts and
// cancels them and writes what the Runner knows of them; the Runner itself
// writes nothing.
type Runner struct {
	clock  clock.Clock
	events chan event.TypedGenericEvent[*v1alpha1.EvalRun]

	// interrupted hears, once, of the runs that an orderly shutdown stopped.
	interrupted func(context.Context, []types.NamespacedName)

	mu       sync.Mutex
	base     context.Context // nil until Start
	runs     map[types.UID]*execution
	delays   map[types.UID]delay
	stopping bool
	wg       sync.WaitGroup
}

// execution is one run in this process.
type execution struct {
	key      types.NamespacedName
	suite    types.NamespacedName
	prepared *suite.Prepared
	cancel   context.CancelCauseFunc
	recorder *recorder.Recorder // nil where there is no history
	progress status.Progress
	told     time.Time
	result   *eval.Result
	ended    time.Time
	lost     recorder.Loss
	// written is true once the verdict is in the API: what is left is to see it there.
	written bool
}

// delay is a run that could not begin when its turn had come.
type delay struct {
	key types.NamespacedName
	// since is when an outage first kept it from beginning; zero: none did.
	since, until time.Time
}

// NewRunner makes a Runner. It must be added to the manager, which starts it.
func NewRunner(c clock.Clock) *Runner {
	return &Runner{
		clock:  c,
		events: make(chan event.TypedGenericEvent[*v1alpha1.EvalRun], 1024),
		runs:   map[types.UID]*execution{},
		delays: map[types.UID]delay{},
	}
}

// Start lets runs begin and waits for them when the manager stops.
func (r *Runner) Start(ctx context.Context) error {
	r.mu.Lock()
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.base = base
	r.mu.Unlock()

	<-ctx.Done()
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	cancel(errShutdown)
	r.wg.Wait()
	if r.interrupted != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWithin)
		defer cancel()
		r.interrupted(ctx, r.unfinished())
	}
	return nil
}

// unfinished are the runs that have no result yet.
func (r *Runner) unfinished() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []types.NamespacedName
	for _, e := range r.runs {
		if e.result == nil {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// NeedLeaderElection keeps runs to the leader.
func (r *Runner) NeedLeaderElection() bool { return true }

// Ready says whether runs can begin.
func (r *Runner) Ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.base != nil && !r.stopping
}

// Begin carries the run out, in the background, and has the recorder, where
// there is one, keep it; baseline loads what it is compared with, and final makes
// the row of a run that has ended. It reports false where the run is going already, its suite has another one going, or the
// operator stops.
func (r *Runner) Begin(run *v1alpha1.EvalRun, p *suite.Prepared, rec *recorder.Recorder, baseline func(context.Context) *eval.Baseline, final func(*eval.Result, time.Time) history.Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base == nil || r.stopping || r.runs[run.UID] != nil {
		return false
	}
	e := &execution{
		key:      types.NamespacedName{Namespace: run.Namespace, Name: run.Name},
		suite:    types.NamespacedName{Namespace: run.Namespace, Name: run.Spec.SuiteRef.Name},
		prepared: p,
		recorder: rec,
		progress: status.Progress{Total: len(p.Plan.Cases), Done: len(p.Plan.Finished)},
		told:     r.clock.Now(),
	}
	for _, f := range p.Plan.Finished {
		if f.Outcome != eval.Scored {
			e.progress.Errored++
		}
	}
	for _, other := range r.runs {
		if other.suite == e.suite && other.result == nil {
			return false
		}
	}
	ctx, cancel := context.WithCancelCause(r.base)
	e.cancel = cancel
	r.runs[run.UID] = e
	delete(r.delays, run.UID)
	uid := run.UID
	r.wg.Go(func() {
		defer cancel(nil)
		defer p.Close()
		if rec != nil {
			rec.Start()
		}
		p.Plan.Baseline = baseline(ctx)
		traced, trace := p.Trace(ctx, tracing.RunInfo{
			Namespace: run.Namespace, Suite: run.Spec.SuiteRef.Name, Run: run.Name, UID: string(uid), Trigger: string(run.Spec.Trigger),
		})
		result := eval.Run(traced, p.Plan, p.Parties, func(c eval.CaseResult) {
			if rec != nil {
				rec.Observe(c)
			}
			r.advance(uid, c)
		})
		ended := r.clock.Now()
		if errors.Is(context.Cause(ctx), errShutdown) {
			trace.End(nil)
			if rec != nil {
				rec.Finish(nil) // the next operator goes on from here
			}
			return
		}
		trace.End(result)
		var lost recorder.Loss
		if rec != nil {
			row := final(result, ended)
			lost = rec.Finish(&row)
		}
		r.mu.Lock()
		e.result, e.ended, e.lost = result, ended, lost
		r.mu.Unlock()
		r.notify(e.key)
	})
	return true
}

func (r *Runner) advance(uid types.UID, c eval.CaseResult) {
	r.mu.Lock()
	e := r.runs[uid]
	if e == nil {
		r.mu.Unlock()
		return
	}
	e.progress.Done++
	if c.Outcome != eval.Scored {
		e.progress.Errored++
	}
	now := r.clock.Now()
	tell := now.Sub(e.told) >= progressInterval
	if tell {
		e.told = now
	}
	r.mu.Unlock()
	if tell {
		select {
		case r.events <- genericEvent(e.key):
		default: // the next second tells it again
		}
	}
}

// notify wakes the run's controller; it gives up only when the operator stops.
func (r *Runner) notify(key types.NamespacedName) {
	r.mu.Lock()
	base := r.base
	r.mu.Unlock()
	if base == nil {
		return
	}
	select {
	case r.events <- genericEvent(key):
	case <-base.Done():
	}
}

func genericEvent(key types.NamespacedName) event.TypedGenericEvent[*v1alpha1.EvalRun] {
	return event.TypedGenericEvent[*v1alpha1.EvalRun]{Object: &v1alpha1.EvalRun{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}
}

// Wake has the run controller look at a run again.
func (r *Runner) Wake(key types.NamespacedName) { r.notify(key) }

// Postpone lets other suites' runs have the turn of one that cannot begin, for a
// while. It returns how long an outage has kept the run from beginning.
func (r *Runner) Postpone(run *v1alpha1.EvalRun, wait time.Duration, outage bool) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	d := r.delays[run.UID]
	if outage && d.since.IsZero() {
		d.since = now
	}
	d.key = types.NamespacedName{Namespace: run.Namespace, Name: run.Name}
	d.until = now.Add(wait)
	r.delays[run.UID] = d
	if d.since.IsZero() {
		return 0
	}
	return now.Sub(d.since)
}

// Postponed says whether the run has left its turn to others for now.
func (r *Runner) Postponed(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock.Now().Before(r.delays[uid].until)
}

// State is what the Runner knows of one run.
type State struct {
	Prepared *suite.Prepared
	Progress status.Progress
	// Result is nil while the run goes.
	Result *eval.Result
	// Ended is when the last case did.
	Ended time.Time
	// Recorded says that there is a history, Lost what of the run is not in it.
	Recorded bool
	Lost     recorder.Loss
}

// State tells of a run; false where the Runner does not have it.
func (r *Runner) State(uid types.UID) (State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.runs[uid]
	if e == nil {
		return State{}, false
	}
	return State{Prepared: e.prepared, Progress: e.progress, Result: e.result, Ended: e.ended, Recorded: e.recorder != nil, Lost: e.lost}, true
}

// Occupied says whether the run takes a place in the operator, and whether its
// verdict is written though the cache may not show it yet.
func (r *Runner) Occupied(uid types.UID) (active, written bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.runs[uid]
	if e == nil {
		return false, false
	}
	return !e.written, e.written
}

// Written notes that the run's verdict is in the API.
func (r *Runner) Written(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.delays, uid)
	if e := r.runs[uid]; e != nil {
		e.written = true
	}
}

// Cancel stops the run with a reason; it ends by itself soon after.
func (r *Runner) Cancel(uid types.UID, stop *eval.Stop) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.runs[uid]; e != nil {
		e.cancel(stop)
	}
}

// Forget drops a run whose verdict is seen in the API, or whose object is
// gone. It reports whether there was one.
func (r *Runner) Forget(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.runs[uid]
	if e == nil {
		return false
	}
	e.cancel(errGone)
	delete(r.runs, uid)
	return true
}

// errGone stops a run that nobody wants the result of.
var errGone = &eval.Stop{Reason: status.ReasonCanceled, Message: "the run was deleted"}

// ForgetOthers drops the runs under this name that are not the object of this
// UID: the object was deleted, and perhaps made anew.
func (r *Runner) ForgetOthers(key types.NamespacedName, keep types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, d := range r.delays {
		if d.key == key && uid != keep {
			delete(r.delays, uid)
		}
	}
	found := false
	for uid, e := range r.runs {
		if e.key == key && uid != keep {
			e.cancel(errGone)
			delete(r.runs, uid)
			found = true
		}
	}
	return found
}
