// Package tracing makes OpenTelemetry spans of runs: one of the run, one of each
// case, one of each call. It decorates the parties that a run asks, so that they
// know nothing of it.
//
// A span names who was asked and how it went. It holds no question, answer,
// retrieved text, reason of a judge, header, query or message of an error, for
// these may be anything.
package tracing

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/assay-dev/assay/internal/version"
)

// scope names the instrumentation in every span.
const scope = "github.com/assay-dev/assay"

// Tracer makes the spans of runs. Nil makes none, and leaves everything that it is
// given to decorate as it is. It is safe for concurrent use.
type Tracer struct {
	tracer     trace.Tracer
	propagator propagation.TraceContext
}

// New gives a tracer whose spans go to a provider.
func New(provider trace.TracerProvider) *Tracer {
	return &Tracer{tracer: provider.Tracer(scope,
		trace.WithInstrumentationVersion(version.Version), trace.WithSchemaURL(semconv.SchemaURL))}
}

// start begins a span below a sampled one; nil where there is none, which is most
// of the time in a long run.
func (t *Tracer) start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	return context.WithValue(ctx, sentKey{}, new(atomic.Int64)), span
}

// sentKey finds the number of requests that the call of a context has sent.
type sentKey struct{}

// sent counts a request, and says how many went before it.
func sent(ctx context.Context) int64 {
	if n, ok := ctx.Value(sentKey{}).(*atomic.Int64); ok {
		return n.Add(1) - 1
	}
	return 0
}

// fail marks a span as failed, with a word that a user knows from the outcomes of
// cases, and no message: it may quote a reply.
func fail(span trace.Span, kind string) {
	if kind == "" {
		kind = "_OTHER"
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	span.SetStatus(codes.Error, "")
}

// clipped bounds a word that somebody else chose.
func clipped(key attribute.Key, value string) attribute.KeyValue {
	const most = 256
	runes := 0
	for i := range value {
		if runes == most {
			return key.String(value[:i] + "…")
		}
		runes++
	}
	return key.String(value)
}
