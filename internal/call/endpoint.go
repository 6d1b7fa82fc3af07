package call

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

// Endpoint is one URL that is called over and over. It is safe for concurrent use.
type Endpoint struct {
	access
	method     string
	maxRetries int
	limiter    *rate.Limiter
	observe    func(outcome string, seconds float64)
	// mapped says that replies are read by CEL.
	mapped bool
}

// Request is what a call sends.
type Request struct {
	// Query is added to the URL's own; it may be nil.
	Query url.Values
	// Body is JSON; nil: none.
	Body []byte
}

// Read takes a reply, whose body is valid only until it returns. Its error is a
// *Reported where the service says that it failed, and else says what is wrong
// with the reply, for people.
type Read func(ctx context.Context, header http.Header, body []byte) error

// Stats says what a call took.
type Stats struct {
	// Attempts is how many requests were made, 1 without retries.
	Attempts int
	// Latency of the last attempt, without waiting for the rate limit.
	Latency time.Duration
}

// failure is how one attempt ended that gave nothing.
type failure struct {
	kind    Kind
	message string
	// retry says that another attempt may fare better, after at least some time.
	retry bool
	after time.Duration
}

// Call sends a request, again where that may help, until read takes the reply.
// read's own failures are final. Where ctx ended the call, the error wraps ctx's.
func (e *Endpoint) Call(ctx context.Context, r Request, read Read) (Stats, *Error) {
	var s Stats
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
		s.Attempts++
		var failed *failure
		s.Latency, failed = e.attempt(ctx, r, read)
		if ctx.Err() != nil && failed != nil {
			return s, e.stopped(ctx, s)
		}
		if e.observe != nil {
			outcome := OK
			if failed != nil {
				outcome = string(e.words.outcome(failed.kind))
			}
			e.observe(outcome, s.Latency.Seconds())
		}
		if failed == nil {
			return s, nil
		}
		if !failed.retry || s.Attempts > e.maxRetries {
			return s, e.errorf(failed.kind, s, "%s", failed.message)
		}
		wait := max(waits.NextBackOff(), failed.after)
		if failed.after > maxRetryAfter {
			return s, e.errorf(failed.kind, s, "%s; it asks to wait %s, longer than the %s that a call may wait", failed.message, failed.after, maxRetryAfter)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return s, e.errorf(failed.kind, s, "%s; there is no time left to try again", failed.message)
		}
		if !sleep(ctx, wait) {
			return s, e.stopped(ctx, s)
		}
	}
}

// pace waits for the rate limit.
func (e *Endpoint) pace(ctx context.Context, s Stats) *Error {
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
		late := e.errorf(Timeout, s, "there is no time left to wait for %s.requestsPerSecond", e.words.Root)
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
func (e *Endpoint) attempt(ctx context.Context, r Request, read Read) (time.Duration, *failure) {
	ctx, cancel, watch := newStopwatch(ctx, e.timeout)
	defer cancel()
	request, failed := e.request(ctx, r)
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

func (e *Endpoint) request(ctx context.Context, r Request) (*http.Request, *failure) {
	target := e.url
	if len(r.Query) > 0 {
		with := *e.url
		values := with.Query()
		maps.Copy(values, r.Query)
		with.RawQuery = values.Encode()
		target = &with
	}
	request := (&http.Request{
		Method: e.method,
		URL:    target,
		Host:   target.Host,
		Header: e.header.Clone(),
	}).WithContext(ctx)
	if r.Body != nil {
		if request.Header.Get("Content-Type") == "" {
			request.Header.Set("Content-Type", "application/json")
		}
		request.ContentLength = int64(len(r.Body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
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

// place names the endpoint in messages: method, host and path, never the query.
func (e *Endpoint) place() string {
	return e.method + " " + e.url.Host + e.secrets.Clean(e.url.EscapedPath(), maxDetail, false)
}

func (e *Endpoint) errorf(kind Kind, s Stats, format string, args ...any) *Error {
	message := e.place() + ": " + fmt.Sprintf(format, args...)
	if e.words.Doing != "" {
		message = e.words.Doing + ": " + message
	}
	if s.Attempts > 1 {
		message += fmt.Sprintf(" (%d attempts)", s.Attempts)
	}
	return &Error{Outcome: e.words.outcome(kind), Message: message, Attempts: s.Attempts, Latency: s.Latency}
}

// stopped is a call that the caller's context ended.
func (e *Endpoint) stopped(ctx context.Context, s Stats) *Error {
	why := "the run was stopped before a reply came"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the run's time was up before a reply came"
	}
	stopped := e.errorf(Timeout, s, "%s", why)
	stopped.Err = ctx.Err()
	return stopped
}

// Unasked is the error of a call for which no request could be made.
func (e *Endpoint) Unasked(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return e.stopped(ctx, Stats{})
	}
	return e.errorf(Malformed, Stats{}, "no request was made: %s", e.secrets.Clean(err.Error(), maxDetail, false))
}

// Prepare makes a request by CEL: within the time that an attempt may take, and
// only a few at the same time.
func (e *Endpoint) Prepare(ctx context.Context, encode func(context.Context) (Request, error)) (Request, *Error) {
	if err := mappings.Acquire(ctx, 1); err != nil {
		return Request{}, e.Unasked(ctx, err)
	}
	defer mappings.Release(1)
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	r, err := encode(limited)
	if err == nil {
		return r, nil
	}
	if limited.Err() != nil {
		err = fmt.Errorf("the mappings were not done within %s (%s.timeoutSeconds): simplify them", e.timeout, e.words.Root)
	}
	return Request{}, e.Unasked(ctx, err)
}

// quote shows the beginning of a body.
func (e *Endpoint) quote(body []byte) string {
	cut := len(body) > maxErrorBody
	if cut {
		body = body[:maxErrorBody]
	}
	return e.secrets.Clean(string(bytes.TrimSpace(body)), maxQuoted, cut || len(body) == maxErrorBody)
}

// contentType shows the kind of a body, for people.
func (e *Endpoint) contentType(header http.Header) string {
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if kind == "" {
		return "no content type"
	}
	return "content type " + e.secrets.Clean(kind, 100, false)
}
