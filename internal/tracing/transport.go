package tracing

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/assay-dev/assay/internal/call"
)

// Transport gives what makes a span of every request to a service, by the
// conventions for HTTP clients, and sends the trace's context along; nil for none.
func (t *Tracer) Transport(service string) call.Wrap {
	if t == nil {
		return nil
	}
	return func(next http.RoundTripper, redact func(string) string) http.RoundTripper {
		return &transport{tracer: t, service: service, next: next, redact: redact}
	}
}

type transport struct {
	tracer  *Tracer
	service string
	next    http.RoundTripper
	redact  func(string) string
}

// RoundTrip sends a request. Its span ends with the reply's body.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return t.next.RoundTrip(t.joined(ctx, r))
	}
	ctx, span := t.tracer.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(server(r.URL)...))
	span.SetAttributes(
		serviceKey.String(t.service),
		semconv.HTTPRequestMethodKey.String(r.Method),
		semconv.URLFull(t.address(r)),
	)
	if before := sent(ctx); before > 0 {
		span.SetAttributes(semconv.HTTPRequestResendCount(int(before)))
	}
	response, err := t.next.RoundTrip(t.joined(ctx, r))
	if err != nil {
		fail(span, kindOf(ctx, err))
		span.End()
		return nil, err
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		fail(span, strconv.Itoa(response.StatusCode))
	}
	response.Body = &body{ReadCloser: response.Body, end: sync.OnceFunc(func() { span.End() }), failed: func(err error) { fail(span, kindOf(ctx, err)) }}
	return response, nil
}

// CloseIdleConnections lets go of the connections that are kept open.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// joined gives the request with the header traceparent, unless the suite sends one
// of its own.
func (t *transport) joined(ctx context.Context, r *http.Request) *http.Request {
	if !trace.SpanContextFromContext(ctx).IsValid() || r.Header.Get("Traceparent") != "" {
		return r
	}
	with := r.Clone(ctx)
	t.tracer.propagator.Inject(ctx, propagation.HeaderCarrier(with.Header))
	return with
}

// address is a request's URL as far as the suite has it: without its query, which
// may hold a question or a key, and without a path that somebody redirected to.
func (t *transport) address(r *http.Request) string {
	u := url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}
	if r.Response == nil {
		u.Path, u.RawPath = r.URL.Path, r.URL.RawPath
	}
	return t.redact(u.String())
}

// kindOf is how a request failed, in the words of the cases' outcomes.
func kindOf(ctx context.Context, err error) string {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return string(call.Timeout)
	case cause != nil:
		return "Canceled"
	}
	return string(call.Explain(err, "", "").Kind)
}

// body tells how a reply's body ended.
type body struct {
	io.ReadCloser
	end    func()
	failed func(error)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end()
	case err != nil:
		b.failed(err)
		b.end()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
