package call

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// What one call may take is bounded elsewhere; many calls at a time, of many
// runs, are bounded here, for the process as a whole. A call that finds no room
// waits for it.
const (
	// smallBody is what any number of calls may read at the same time.
	smallBody = 64 << 10
	// heavyBody is where decoding may take all that the process has for it.
	heavyBody = 1 << 20

	maxLargeBodies = 2 * maxBody
	// maxMappings is how many replies are decoded and mapped at a time. More
	// would take memory and not end sooner, for it is all computing.
	maxMappings = 2
)

var (
	// largeBodies counts bytes, of bodies that are not small.
	largeBodies = semaphore.NewWeighted(maxLargeBodies)
	// mappings counts evaluations of CEL, and decoding of what is not small.
	mappings = semaphore.NewWeighted(maxMappings)
)

// mappingWeight is what decoding a body takes of mappings.
func mappingWeight(size int) int64 {
	if size > heavyBody {
		return maxMappings
	}
	return 1
}

// stopwatch ends an attempt when its time is up. It stands still while the
// attempt waits for memory, for which the service is not to blame.
type stopwatch struct {
	deadline time.Time
	timer    *time.Timer
	waited   time.Duration
}

// newStopwatch gives a context that ends after limit, and its watch.
func newStopwatch(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, *stopwatch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &stopwatch{deadline: time.Now().Add(limit), timer: time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })}
	return ctx, func() { w.timer.Stop(); cancel(nil) }, w
}

// acquire takes n of a semaphore, which is to be released unless ctx ended.
func (w *stopwatch) acquire(ctx context.Context, s *semaphore.Weighted, n int64) error {
	if s.TryAcquire(n) {
		return nil
	}
	start := time.Now()
	running := w.timer.Stop()
	err := s.Acquire(ctx, n)
	waited := time.Since(start)
	w.waited += waited
	w.deadline = w.deadline.Add(waited)
	if running {
		w.timer.Reset(time.Until(w.deadline))
	}
	return err
}

// since gives the time since start, without what was waited for memory.
func (w *stopwatch) since(start time.Time) time.Duration { return time.Since(start) - w.waited }
