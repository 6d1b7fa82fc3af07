package judge

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// group asks once for what several callers want at the same time.
type group[T any] struct {
	mu      sync.Mutex
	flights map[string]*flight[T]
}

// flight is one request that at least one caller waits for. It goes on while
// any of them does: a caller that leaves takes nothing from the others.
type flight[T any] struct {
	cancel  context.CancelFunc
	done    chan struct{}
	waiting int // under the group's lock

	result T
	usage  Usage // what it cost; the first to take it has it
	taken  bool  // under the group's lock
	err    error
}

// do gives what ask gives. The cost is one caller's; for the others the result
// came from a cache. When the last caller leaves, ask is told to stop and
// waited for.
func (g *group[T]) do(ctx context.Context, key string, ask func(context.Context) (T, Usage, error)) (T, Usage, error) {
	var none T
	if ctx.Err() != nil {
		return none, Usage{}, interrupted(ctx)
	}
	f := g.join(ctx, key, ask)
	select {
	case <-f.done:
		return f.result, g.take(f), f.err
	case <-ctx.Done():
	}
	if !g.leave(key, f) {
		return none, Usage{}, interrupted(ctx)
	}
	f.cancel()
	<-f.done
	return none, g.take(f), interrupted(ctx)
}

// join finds the flight of a key, or starts one.
func (g *group[T]) join(ctx context.Context, key string, ask func(context.Context) (T, Usage, error)) *flight[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f, ok := g.flights[key]; ok {
		f.waiting++
		return f
	}
	// Values of the context stay, its end does not: others may wait longer.
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight[T]{cancel: cancel, done: make(chan struct{}), waiting: 1}
	if g.flights == nil {
		g.flights = map[string]*flight[T]{}
	}
	g.flights[key] = f
	go func() {
		defer close(f.done)
		defer cancel()
		f.run(own, ask)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.forget(key, f)
	}()
	return f
}

func (f *flight[T]) run(ctx context.Context, ask func(context.Context) (T, Usage, error)) {
	// A bug behind one reply must cost that verdict, not the operator.
	defer func() {
		if p := recover(); p != nil {
			f.err = &Error{Outcome: Failed, Message: fmt.Sprintf("judging panicked: %v", p)}
		}
	}()
	f.result, f.usage, f.err = ask(ctx)
}

// leave says whether the caller was the last; nobody can join then.
func (g *group[T]) leave(key string, f *flight[T]) (last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return false
	}
	g.forget(key, f)
	return true
}

// forget takes a flight out, unless another has its place by now.
func (g *group[T]) forget(key string, f *flight[T]) {
	if g.flights[key] == f {
		delete(g.flights, key)
	}
}

// take gives the cost of a flight that has ended to the first who asks.
func (g *group[T]) take(f *flight[T]) Usage {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !f.taken:
		f.taken = true
		return f.usage
	case f.err == nil:
		return Usage{CacheHits: 1}
	}
	return Usage{}
}

// interrupted is a caller that could not wait: its run ended, or its deadline came.
func interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	outcome := Failed
	if errors.Is(cause, context.DeadlineExceeded) {
		outcome = Timeout
	}
	return &Error{Outcome: outcome, Message: "judging was interrupted: " + cause.Error(), Err: cause}
}
