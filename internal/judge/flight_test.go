package judge

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slow is a model that takes a minute.
func slow(text string) *scripted {
	return &scripted{reply: func(ctx context.Context, _ int, _ Request) (*Response, error) {
		select {
		case <-time.After(time.Minute):
			return &Response{Text: text, Calls: 1, PromptTokens: 100}, nil
		case <-ctx.Done():
			return &Response{Calls: 1}, &Error{Outcome: Failed, Message: "interrupted", Err: ctx.Err()}
		}
	}}
}

func TestEqualRequestsAreAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := slow(good)
		j := New(model, Options{})
		var mu sync.Mutex
		var total Usage
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				v, usage, err := j.Grade(t.Context(), korean)
				if err != nil || !*v.Correct {
					t.Errorf("%+v, %v", v, err)
				}
				mu.Lock()
				defer mu.Unlock()
				total = total.Add(usage)
			})
		}
		other := korean
		other.Answer = "other"
		wg.Go(func() {
			if _, _, err := j.Grade(t.Context(), other); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if model.calls() != 2 {
			t.Errorf("%d calls for two questions", model.calls())
		}
		if diff := cmp.Diff(Usage{Calls: 1, PromptTokens: 100, CacheHits: 9}, total); diff != "" {
			t.Error(diff)
		}
		// What has landed is asked again: without a cache, nothing is kept.
		if _, usage, _ := j.Grade(t.Context(), korean); usage.Calls != 1 {
			t.Errorf("usage %+v", usage)
		}
	})
}

func TestFailureIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := slow("no verdict")
		j := New(model, Options{})
		var mu sync.Mutex
		var total Usage
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, usage, err := j.Grade(t.Context(), korean)
				if outcomeOf(err) != Malformed {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				total = total.Add(usage)
			})
		}
		wg.Wait()
		if want := (Usage{Calls: 2, PromptTokens: 200}); total != want {
			t.Errorf("usage %+v", total)
		}
	})
}

func TestCallerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := slow(good)
		j := New(model, Options{})
		var left, stayed Usage
		var wg sync.WaitGroup
		wg.Go(func() {
			// It came first, so that the request is of its making.
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, usage, err := j.Grade(ctx, korean)
			left = usage
			if outcomeOf(err) != Timeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("left with %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			v, usage, err := j.Grade(t.Context(), korean)
			stayed = usage
			if err != nil || v.Correct == nil {
				t.Errorf("who stays gets %+v, %v", v, err)
			}
		})
		wg.Wait()
		if left != (Usage{}) || stayed != (Usage{Calls: 1, PromptTokens: 100}) || model.calls() != 1 {
			t.Errorf("usage %+v and %+v of %d calls", left, stayed, model.calls())
		}
	})
}

func TestLastCallerStopsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := slow(good)
		j := New(model, Options{})
		cause := errors.New("replaced")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan struct{})
		begin := time.Now()
		go func() {
			defer close(done)
			_, usage, err := j.Grade(ctx, korean)
			if !errors.Is(err, cause) || outcomeOf(err) != Failed || usage.Calls != 1 {
				t.Errorf("%v, usage %+v", err, usage)
			}
		}()
		synctest.Wait()
		cancel(cause)
		<-done
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("it was waited for %s", waited)
		}
		// Whoever comes next is not handed what was stopped.
		if _, _, err := j.Grade(t.Context(), korean); err != nil || model.calls() != 2 {
			t.Errorf("%v after %d calls", err, model.calls())
		}
	})
}

// A request that was told to stop takes a while to. It is nobody's to join.
func TestStoppingRequestIsNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &scripted{reply: func(ctx context.Context, n int, _ Request) (*Response, error) {
			if n > 1 {
				return &Response{Text: good, Calls: 1}, nil
			}
			<-ctx.Done()
			<-time.After(time.Minute)
			return nil, &Error{Outcome: Failed, Message: "interrupted", Err: ctx.Err()}
		}}
		j := New(model, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, _, err := j.Grade(ctx, korean); err == nil {
				t.Error("who left has a verdict")
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if _, usage, err := j.Grade(t.Context(), korean); err != nil || usage.Calls != 1 {
			t.Errorf("who comes next gets %v, %+v", err, usage)
		}
		<-done
	})
}

func TestEndedContextAsksNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	model := saying(good)
	_, _, err := New(model, Options{}).Grade(ctx, korean)
	if !errors.Is(err, context.Canceled) || model.calls() != 0 {
		t.Errorf("%v after %d calls", err, model.calls())
	}
	if _, _, err := New(model, Options{}).Relevance(ctx, "q", nil, []string{"c"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
