package eval

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/score"
)

// errTimeout is the cause of a run's own limit.
var errTimeout = errors.New("the run's limit was reached")

// Run asks every case of the plan and decides on the verdict. It returns when
// all cases have ended, or when ctx or the plan's timeout has; every goroutine
// that it started has ended by then.
//
// observe, where it is not nil, gets every case that ended, one at a time, in
// the order in which they do, from the goroutine that Run was called on. A run
// waits for it, so it should be quick.
//
// A plan whose metrics cannot be planned gives a result with the verdict Error.
func Run(ctx context.Context, plan Plan, r Retriever, observe func(CaseResult)) *Result {
	scorer, err := score.NewScorer(plan.Score)
	if err != nil {
		return &Result{Total: len(plan.Cases), Decision: score.Decision{
			Verdict: score.Error, Reason: score.ReasonNothingScored, Message: err.Error()}}
	}
	ctx, cancel := limited(ctx, plan)
	defer cancel()

	workers := make([]*worker, max(1, plan.Parallelism))
	for i := range workers {
		workers[i] = &worker{retriever: r, topK: plan.Score.TopK, scorer: scorer.Clone(), keepText: plan.KeepText}
	}
	t := newTally(plan, scorer.Metrics())
	left := t.resume()
	for e := range warmup(ctx, workers, plan) {
		t.calls += int64(e.attempts)
	}
	for e := range inParallel(ctx, workers, len(left), func(i int) *golden.Case { return &plan.Cases[left[i]] }) {
		e.index = left[e.index]
		t.add(e)
		if e.asked && observe != nil {
			observe(e.result)
		}
	}
	return t.result(ctx)
}

// limited puts the plan's limit on a context.
func limited(ctx context.Context, plan Plan) (context.Context, context.CancelFunc) {
	if plan.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, plan.Timeout, errTimeout)
}

// warmup asks cases whose lists are thrown away, over and over where the plan
// has fewer cases than warm-up requests.
func warmup(ctx context.Context, workers []*worker, plan Plan) func(yield func(ended) bool) {
	var cases []*golden.Case
	for i := range plan.Cases {
		if len(cases) == plan.WarmupRequests {
			break
		}
		if plan.Cases[i].Due() {
			cases = append(cases, &plan.Cases[i])
		}
	}
	n := plan.WarmupRequests
	if len(cases) == 0 {
		n = 0
	}
	return inParallel(ctx, workers, n, func(i int) *golden.Case { return cases[i%len(cases)] })
}

// inParallel has the workers ask n cases and yields each as it ends, until all
// have or ctx is done. When it returns, the workers have stopped, also where the
// loop over it was left early.
func inParallel(ctx context.Context, workers []*worker, n int, at func(int) *golden.Case) func(yield func(ended) bool) {
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
					out <- w.ask(ctx, i, at(i))
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

// stopped says why a run ended before its last case.
func stopped(ctx context.Context, plan Plan, done int) (score.Undecided, bool) {
	total := len(plan.Cases)
	if ctx.Err() == nil || done == total {
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
			Message: fmt.Sprintf("the run reached its limit of %s when %s: raise execution.timeoutSeconds or execution.parallelism", plan.Timeout, progress)}, true
	case errors.Is(cause, context.DeadlineExceeded):
		return score.Undecided{Reason: score.ReasonDeadlineExceeded, Message: "the deadline was reached when " + progress}, true
	}
	return score.Undecided{Reason: ReasonCanceled, Message: "the run was canceled when " + progress}, true
}
