package eval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/score"
)

// errTimeout is the cause of a run's own limit.
var errTimeout = errors.New("the run's limit was reached")

// Run asks every case of the plan and decides on the verdict. It returns when
// all cases have ended, or when ctx, the plan's timeout or the judge's budget
// has; every goroutine that it started has ended by then.
//
// observe, where it is not nil, gets every case that ended, one at a time, in
// the order in which they do, from the goroutine that Run was called on. A run
// waits for it, so it should be quick.
//
// A plan that cannot be carried out gives a result with the verdict Error.
func Run(ctx context.Context, plan Plan, parties Parties, observe func(CaseResult)) *Result {
	scorer, err := score.NewScorer(plan.Score)
	if err == nil {
		err = parties.suffice(plan.Score)
	}
	if err != nil {
		return &Result{Total: len(plan.Cases), Decision: score.Decision{
			Verdict: score.Error, Reason: score.ReasonNothingScored, Message: err.Error()}}
	}
	ctx, endRun := context.WithCancelCause(ctx)
	defer endRun(nil)
	if plan.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, plan.Timeout, errTimeout)
		defer cancel()
		ctx = limited
	}

	workers := make([]*worker, max(1, plan.Parallelism))
	for i := range workers {
		workers[i] = newWorker(plan, parties, scorer.Clone(), endRun)
	}
	t := newTally(plan, parties, scorer.Metrics())
	left := t.resume()
	t.calibrate(ctx, endRun)
	for e := range warmup(ctx, workers, plan) {
		t.calls = t.calls.add(e.calls)
	}
	ask := func(ctx context.Context, w *worker, i int) ended { return w.ask(ctx, left[i], &plan.Cases[left[i]]) }
	for e := range inParallel(ctx, workers, len(left), ask) {
		t.add(e)
		if e.asked && observe != nil {
			observe(e.result)
		}
	}
	return t.result(ctx)
}

// suffice says whether there is someone to ask in every stage.
func (p Parties) suffice(spec score.Spec) error {
	switch {
	case spec.Answer && p.Answerer == nil:
		return errors.New("plan the run: answers are asked for, but there is no answer service")
	case spec.Judge && p.Judge == nil:
		return errors.New("plan the run: verdicts are asked for, but there is no judge")
	case p.Retriever == nil && !spec.Answer:
		return errors.New("plan the run: there is no retriever, and no answer service that retrieves by itself is asked")
	}
	return nil
}

// warmup makes calls whose replies are thrown away, over and over where the plan
// has fewer cases than warm-up requests.
func warmup(ctx context.Context, workers []*worker, plan Plan) iter.Seq[ended] {
	var cases []*golden.Case
	for i := range plan.Cases {
		if len(cases) == plan.WarmupRequests {
			break
		}
		if plan.Score.Answer || plan.Cases[i].Due() {
			cases = append(cases, &plan.Cases[i])
		}
	}
	n := plan.WarmupRequests
	if len(cases) == 0 {
		n = 0
	}
	return inParallel(ctx, workers, n, func(ctx context.Context, w *worker, i int) ended { return w.warm(ctx, cases[i%len(cases)]) })
}

// inParallel has the workers do n things and yields each as it ends, until all
// have or ctx is done. When it returns, the workers have stopped, also where the
// loop over it was left early.
func inParallel(ctx context.Context, workers []*worker, n int, do func(ctx context.Context, w *worker, i int) ended) iter.Seq[ended] {
	return func(yield func(ended) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var (
			out  = make(chan ended, len(workers))
			next atomic.Int64
			wg   sync.WaitGroup
		)
		for _, w := range workers[:min(len(workers), n)] {
			wg.Go(func() {
				for ctx.Err() == nil {
					i := int(next.Add(1)) - 1
					if i >= n {
						return
					}
					out <- do(ctx, w, i)
				}
			})
		}
		go func() { wg.Wait(); close(out) }()
		defer func() {
			cancel()
			for range out { // until the last worker has stopped
			}
		}()
		for e := range out {
			if !yield(e) {
				return
			}
		}
	}
}

// stopped says why a run ended before its last case, or with one that nothing
// could follow.
func (t *tally) stopped(ctx context.Context) (score.Undecided, bool) {
	total, done := len(t.plan.Cases), t.done
	if ctx.Err() == nil || done == total && !t.ended {
		return score.Undecided{}, false
	}
	progress := fmt.Sprintf("%d of %d cases were done", done, total)
	cause := context.Cause(ctx)
	var stop *Stop
	switch {
	case errors.As(cause, &stop):
		message := stop.Message
		if message == "" {
			message = "the run was stopped"
		}
		return score.Undecided{Reason: stop.Reason, Message: message + " when " + progress}, true
	case errors.Is(cause, errTimeout):
		return score.Undecided{Reason: score.ReasonDeadlineExceeded,
			Message: fmt.Sprintf("the run reached its limit of %s when %s: raise execution.timeoutSeconds or execution.parallelism", t.plan.Timeout, progress)}, true
	case errors.Is(cause, context.DeadlineExceeded):
		return score.Undecided{Reason: score.ReasonDeadlineExceeded, Message: "the deadline was reached when " + progress}, true
	}
	return score.Undecided{Reason: ReasonCanceled, Message: "the run was canceled when " + progress}, true
}
