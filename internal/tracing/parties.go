package tracing

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
)

// Retriever gives a retriever whose calls have spans.
func (t *Tracer) Retriever(next eval.Retriever) eval.Retriever {
	if t == nil {
		return next
	}
	return &tracedRetriever{t, next}
}

type tracedRetriever struct {
	tracer *Tracer
	next   eval.Retriever
}

// Retrieve asks the retriever, within a span.
func (r *tracedRetriever) Retrieve(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
	ctx, span := r.tracer.start(ctx, "retrieve", trace.WithAttributes(topKKey.Int(topK)))
	if span == nil {
		return r.next.Retrieve(ctx, c, topK)
	}
	defer span.End()
	reply, err := r.next.Retrieve(ctx, c, topK)
	if err != nil {
		fail(span, callOutcome(err))
		return nil, err
	}
	span.SetAttributes(resultsKey.Int(len(reply.Results)))
	return reply, nil
}

// Answerer gives an answer service whose calls have spans.
func (t *Tracer) Answerer(next eval.Answerer) eval.Answerer {
	if t == nil {
		return next
	}
	return &tracedAnswerer{t, next}
}

type tracedAnswerer struct {
	tracer *Tracer
	next   eval.Answerer
}

// Answer asks the answer service, within a span.
func (a *tracedAnswerer) Answer(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
	ctx, span := a.tracer.start(ctx, "answer")
	if span == nil {
		return a.next.Answer(ctx, c, topK, results)
	}
	defer span.End()
	reply, err := a.next.Answer(ctx, c, topK, results)
	if err != nil {
		fail(span, callOutcome(err))
		return nil, err
	}
	span.SetAttributes(contextsKey.Int(len(reply.Contexts)))
	return reply, nil
}

// Embedding gives what makes the span of an embedding, by the conventions for
// generative AI; nil for none.
func (t *Tracer) Embedding(at, model string) func(context.Context) (context.Context, func(error)) {
	if t == nil {
		return nil
	}
	attributes := append(serverOf(at),
		semconv.GenAIOperationNameEmbeddings, semconv.GenAIProviderNameOpenAI, semconv.GenAIRequestModel(model))
	return func(ctx context.Context) (context.Context, func(error)) {
		ctx, span := t.start(ctx, "embeddings "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
		if span == nil {
			return ctx, func(error) {}
		}
		return ctx, func(err error) {
			if err != nil {
				fail(span, callOutcome(err))
			}
			span.End()
		}
	}
}

// callOutcome is how a call failed, in the words of the cases' outcomes.
func callOutcome(err error) string {
	var failed *retriever.Error
	if errors.As(err, &failed) {
		return string(failed.Outcome)
	}
	return ""
}

// serverOf gives host and port of a URL.
func serverOf(raw string) []attribute.KeyValue {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	return server(u)
}

func server(u *url.URL) []attribute.KeyValue {
	port := 80
	if u.Scheme == "https" {
		port = 443
	}
	if given, err := strconv.Atoi(u.Port()); err == nil {
		port = given
	}
	return []attribute.KeyValue{semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port)}
}
