package retriever

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"
)

const (
	// maxBody bounds a reply, after decompression: what is larger is TooLarge,
	// an outcome of its own beside Malformed.
	maxBody = 8 << 20
	// maxErrorBody bounds what is read of a reply that is no success.
	maxErrorBody = 64 << 10

	firstBackoff = 250 * time.Millisecond
	mostBackoff  = 10 * time.Second
)

// endpoint is one URL that is called over and over: the retriever, or the
// embeddings that make its vectors.
type endpoint struct {
	// field is where the endpoint stands in a suite: retriever, or retriever.embedding.
	field      string
	url        *url.URL
	method     string
	header     http.Header
	tokens     *tokens
	timeout    time.Duration
	maxRetries int
	limiter    *rate.Limiter
	observe    func(outcome string, seconds float64)
	secrets    *redactor
	http       *http.Client
	// mapped says that replies are read by CEL.
	mapped bool
}

// stats says what a call took.
type stats struct {
	attempts int
	// latency of the last attempt.
	latency time.Duration
}

// failure is how one attempt ended that gave nothing.
type failure struct {
	outcome Outcome
	message string
	// retry says that another attempt may fare better, after at least some time.
	retry bool
	after time.Duration
}

// call sends a request, again where that may help, until read takes the reply.
// read's own failures are final.
func (e *endpoint) call(ctx context.Context, query url.Values, body []byte, read func(context.Context, http.Header, []byte) error) (stats, *Error) {
	var s stats
	waits := backoff.ExponentialBackOff{
		InitialInterval:     firstBackoff,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         mostBackoff,
	}
	for {
		if err := e.pace(ctx, s); err != nil {
			return s, err
		}
		s.attempts++
		var failed *failure
		s.latency, failed = e.attempt(ctx, query, body, read)
		if ctx.Err() != nil && failed != nil {
			return s, e.stopped(ctx, s)
		}
		if e.observe != nil {
			outcome := OK
			if failed != nil {
				outcome = string(failed.outcome)
			}
			e.observe(outcome, s.latency.Seconds())
		}
		if failed == nil {
			return s, nil
		}
		if !failed.retry || s.attempts > e.maxRetries {
			return s, e.errorf(failed.outcome, s, "%s", failed.message)
		}
		wait := max(waits.NextBackOff(), failed.after)
		if failed.after > maxRetryAfter {
			return s, e.errorf(failed.outcome, s, "%s; it asks to wait %s, longer than the %s that a call may wait", failed.message, failed.after, maxRetryAfter)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return s, e.errorf(failed.outcome, s, "%s; there is no time left to try again", failed.message)
		}
		if !sleep(ctx, wait) {
			return s, e.stopped(ctx, s)
		}
	}
}

// pace waits for the rate limit.
func (e *endpoint) pace(ctx context.Context, s stats) *Error {
	if ctx.Err() != nil {
		return e.stopped(ctx, s)
	}
	if e.limiter == nil {
		return nil
	}
	if err := e.limiter.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return e.stopped(ctx, s)
		}
		// The limiter sees beforehand that the deadline comes first.
		late := e.errorf(Timeout, s, "there is no time left to wait for %s.requestsPerSecond", e.field)
		late.Err = context.DeadlineExceeded
		return late
	}
	return nil
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

// attempt makes one request and reads its reply. The latency ends with the last
// byte of the reply; an attempt that timed out took the whole limit.
func (e *endpoint) attempt(ctx context.Context, query url.Values, body []byte, read func(context.Context, http.Header, []byte) error) (time.Duration, *failure) {
	ctx, cancel, watch := newStopwatch(ctx, e.timeout)
	defer cancel()
	request, failed := e.request(ctx, query, body)
	if failed != nil {
		return 0, failed
	}
	start := time.Now()
	response, err := e.http.Do(request)
	if err != nil {
		return e.broken(ctx, time.Since(start), err, "no reply came within")
	}
	defer func() { _ = response.Body.Close() }()

	if response.StatusCode < 200 || response.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		return time.Since(start), e.badStatus(response, text)
	}
	if response.ContentLength > maxBody {
		return time.Since(start), e.tooLarge()
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer release(buffer)
	held, err := readBody(ctx, buffer, response, watch)
	defer largeBodies.Release(held)
	latency := watch.since(start)
	switch {
	case err != nil:
		return e.broken(ctx, latency, err, "the reply did not end within")
	case buffer.Len() > maxBody:
		return latency, e.tooLarge()
	}
	if e.mapped || buffer.Len() > smallBody {
		weight := mappingWeight(buffer.Len())
		if err := watch.acquire(ctx, mappings, weight); err != nil {
			return e.broken(ctx, latency, err, "the reply was not read within")
		}
		defer mappings.Release(weight)
	}
	if err := read(ctx, response.Header, buffer.Bytes()); err != nil {
		return latency, e.unreadable(ctx, response.Header, buffer.Bytes(), err)
	}
	return latency, nil
}

// readBody reads a body up to one byte more than the most that is taken. What it
// holds of largeBodies is the caller's to release, whether it fails or not.
func readBody(ctx context.Context, to *bytes.Buffer, response *http.Response, watch *stopwatch) (held int64, err error) {
	if _, err = to.ReadFrom(io.LimitReader(response.Body, smallBody)); err != nil || to.Len() < smallBody {
		return 0, err
	}
	size := int64(maxBody)
	if response.ContentLength >= 0 {
		size = response.ContentLength
	}
	if err := watch.acquire(ctx, largeBodies, size); err != nil {
		return 0, err
	}
	_, err = to.ReadFrom(io.LimitReader(response.Body, maxBody+1-smallBody))
	// How long it is was not always known beforehand.
	surplus := max(size-int64(to.Len()), 0)
	largeBodies.Release(surplus)
	return size - surplus, err
}

// buffers hold bodies while they are read; nothing of a reply points into them.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(b *bytes.Buffer) {
	// A rare large body is not kept.
	if b.Cap() <= 4*smallBody {
		b.Reset()
		buffers.Put(b)
	}
}

func (e *endpoint) request(ctx context.Context, query url.Values, body []byte) (*http.Request, *failure) {
	target := e.url
	if len(query) > 0 {
		with := *e.url
		values := with.Query()
		maps.Copy(values, query)
		with.RawQuery = values.Encode()
		target = &with
	}
	request := (&http.Request{
		Method: e.method,
		URL:    target,
		Host:   target.Host,
		Header: e.header.Clone(),
	}).WithContext(ctx)
	if body != nil {
		if request.Header.Get("Content-Type") == "" {
			request.Header.Set("Content-Type", "application/json")
		}
		request.ContentLength = int64(len(body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		request.Body, _ = request.GetBody()
	}
	if e.tokens != nil {
		authorization, failed := e.tokens.authorization(ctx)
		if failed != nil {
			return nil, failed
		}
		request.Header.Set("Authorization", authorization)
	}
	return request, nil
}

func (e *endpoint) close() {
	e.http.CloseIdleConnections()
	if e.tokens != nil {
		e.tokens.http.CloseIdleConnections()
	}
}

// place names the endpoint in messages: method, host and path, never the query.
func (e *endpoint) place() string {
	return e.method + " " + e.url.Host + e.secrets.clean(e.url.EscapedPath(), maxDetail, false)
}

func (e *endpoint) errorf(outcome Outcome, s stats, format string, args ...any) *Error {
	message := e.place() + ": " + fmt.Sprintf(format, args...)
	if e.field != "retriever" {
		message = "embedding the question: " + message
	}
	if s.attempts > 1 {
		message += fmt.Sprintf(" (%d attempts)", s.attempts)
	}
	return &Error{Outcome: outcome, Message: message, Attempts: s.attempts, Latency: s.latency}
}

// stopped is a call that the caller's context ended.
func (e *endpoint) stopped(ctx context.Context, s stats) *Error {
	why := "the run was stopped before a reply came"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the run's time was up before a reply came"
	}
	stopped := e.errorf(Timeout, s, "%s", why)
	stopped.Err = ctx.Err()
	return stopped
}

// failedMapping is a request that could not be made of a question.
func (e *endpoint) failedMapping(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return e.stopped(ctx, stats{})
	}
	return e.errorf(Malformed, stats{}, "no request was made: %s", e.secrets.clean(err.Error(), maxDetail, false))
}

// quote shows the beginning of a body.
func (e *endpoint) quote(body []byte) string {
	cut := len(body) > maxErrorBody
	if cut {
		body = body[:maxErrorBody]
	}
	return e.secrets.clean(string(bytes.TrimSpace(body)), maxQuoted, cut || len(body) == maxErrorBody)
}

// contentType shows the kind of a body, for people.
func (e *endpoint) contentType(header http.Header) string {
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if kind == "" {
		return "no content type"
	}
	return "content type " + e.secrets.clean(kind, 100, false)
}
