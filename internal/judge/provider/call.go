package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge"
)

const (
	firstBackoff = 500 * time.Millisecond
	mostBackoff  = 20 * time.Second
	// maxWait is how long a provider may ask to be left alone for. The limits that
	// refill do so within a minute.
	maxWait = 2 * time.Minute
)

// call sends a request in one form, again where that may help, and says how many
// attempts it took. A reply beside a failure is what it cost. Where ctx ended the call, the failure wraps ctx's error.
func (m *model) call(ctx context.Context, r *judge.Request, form Form) (reply *judge.Response, attempts int64, failed *failure) {
	waits := backoff.ExponentialBackOff{
		InitialInterval:     firstBackoff,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         mostBackoff,
	}
	for {
		if failed := m.pace(ctx); failed != nil {
			return nil, attempts, m.final(failed, attempts)
		}
		a := &attempt{model: m}
		start := time.Now()
		reply, failed = m.try(ctx, a, r, form)
		if a.sent {
			attempts++
		}
		if failed != nil && ctx.Err() != nil {
			return nil, attempts, m.final(stopped(ctx), attempts)
		}
		if a.sent {
			m.watch(failed, time.Since(start))
		}
		if failed == nil {
			return reply, attempts, nil
		}
		if !failed.retry || attempts > int64(m.maxRetries) || m.without(form, failed) != form {
			return reply, attempts, m.final(failed, attempts)
		}
		wait := max(waits.NextBackOff(), failed.after)
		if failed.after > maxWait {
			failed.message += fmt.Sprintf("; it asks to wait %s, longer than the %s that a call may wait", failed.after, maxWait)
			return nil, attempts, m.final(failed, attempts)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			failed.message += "; there is no time left to try again"
			return nil, attempts, m.final(failed, attempts)
		}
		if !sleep(ctx, wait) {
			return nil, attempts, m.final(stopped(ctx), attempts)
		}
	}
}

// try makes one attempt, within its time.
func (m *model) try(ctx context.Context, a *attempt, r *judge.Request, form Form) (*judge.Response, *failure) {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	reply, err := m.protocol.Send(limited, a, r, form)
	var decline *Decline
	switch {
	case a.failure != nil:
		return nil, a.failure
	case err == nil:
		return reply, nil
	case limited.Err() != nil:
		return nil, m.late("no reply came within")
	case errors.As(err, &decline):
		return reply, &failure{outcome: decline.Outcome, message: m.clean(decline.Message, maxQuoted)}
	case !a.sent:
		return nil, &failure{outcome: judge.Failed, message: "no request was made: " + m.clean(err.Error(), maxDetail)}
	}
	return nil, a.unreadable(err.Error())
}

// pace waits for the rate limit.
func (m *model) pace(ctx context.Context) *failure {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if m.limiter == nil {
		return nil
	}
	if err := m.limiter.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		// The limiter sees beforehand that the deadline comes first.
		return &failure{outcome: judge.Timeout, message: "there is no time left to wait for judge.requestsPerSecond", err: context.DeadlineExceeded}
	}
	return nil
}

func (m *model) watch(failed *failure, took time.Duration) {
	if m.observe == nil {
		return
	}
	outcome := call.OK
	if failed != nil {
		outcome = string(failed.outcome)
	}
	m.observe(outcome, took.Seconds())
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
