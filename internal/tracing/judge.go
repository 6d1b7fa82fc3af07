package tracing

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
)

// Judge gives a judge whose verdicts have spans.
func (t *Tracer) Judge(next judge.Judge) judge.Judge {
	if t == nil {
		return next
	}
	return &tracedJudge{t, next}
}

type tracedJudge struct {
	tracer *Tracer
	next   judge.Judge
}

// Grade has an answer judged, within a span.
func (j *tracedJudge) Grade(ctx context.Context, in judge.Input) (judge.Verdict, judge.Usage, error) {
	ctx, span := j.tracer.start(ctx, "grade")
	if span == nil {
		return j.next.Grade(ctx, in)
	}
	defer span.End()
	verdict, usage, err := j.next.Grade(ctx, in)
	judged(span, usage, err)
	return verdict, usage, err
}

// Relevance has contexts judged, within a span.
func (j *tracedJudge) Relevance(ctx context.Context, question string, history []golden.Turn, contexts []string) (judge.Relevance, judge.Usage, error) {
	ctx, span := j.tracer.start(ctx, "grade contexts", trace.WithAttributes(contextsKey.Int(len(contexts))))
	if span == nil {
		return j.next.Relevance(ctx, question, history, contexts)
	}
	defer span.End()
	relevance, usage, err := j.next.Relevance(ctx, question, history, contexts)
	judged(span, usage, err)
	return relevance, usage, err
}

func judged(span trace.Span, usage judge.Usage, err error) {
	if err != nil {
		fail(span, judgeOutcome(err))
		return
	}
	span.SetAttributes(cachedKey.Bool(usage.CacheHits > 0))
}

func judgeOutcome(err error) string {
	var failed *judge.Error
	if errors.As(err, &failed) {
		return string(failed.Outcome)
	}
	return ""
}

// ModelInfo says which model it is.
type ModelInfo struct {
	// Provider by whose protocol it is asked: OpenAI or Anthropic.
	Provider string
	Model    string
	URL      string
	// Temperature is nil where none is sent.
	Temperature *float64
}

// Model gives a model whose calls have spans, by the conventions for generative
// AI. The requests of a call, where it takes several, have theirs below it.
func (t *Tracer) Model(next judge.Model, info ModelInfo) judge.Model {
	if t == nil {
		return next
	}
	attributes := append(serverOf(info.URL),
		semconv.GenAIOperationNameChat,
		semconv.GenAIProviderNameKey.String(strings.ToLower(info.Provider)),
		semconv.GenAIRequestModel(info.Model),
		semconv.GenAIOutputTypeJSON,
	)
	if info.Temperature != nil {
		attributes = append(attributes, semconv.GenAIRequestTemperature(*info.Temperature))
	}
	return &tracedModel{tracer: t, next: next, name: "chat " + info.Model, attributes: attributes}
}

type tracedModel struct {
	tracer     *Tracer
	next       judge.Model
	name       string
	attributes []attribute.KeyValue
}

// Complete asks the model, within a span.
func (m *tracedModel) Complete(ctx context.Context, r judge.Request) (*judge.Response, error) {
	ctx, span := m.tracer.start(ctx, m.name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(m.attributes...))
	if span == nil {
		return m.next.Complete(ctx, r)
	}
	defer span.End()
	if r.MaxOutputTokens > 0 {
		span.SetAttributes(semconv.GenAIRequestMaxTokens(r.MaxOutputTokens))
	}
	response, err := m.next.Complete(ctx, r)
	if err != nil {
		fail(span, judgeOutcome(err))
	}
	if response == nil {
		return nil, err
	}
	if response.PromptTokens > 0 {
		span.SetAttributes(semconv.GenAIUsageInputTokens(int(response.PromptTokens)))
	}
	if response.CompletionTokens > 0 {
		span.SetAttributes(semconv.GenAIUsageOutputTokens(int(response.CompletionTokens)))
	}
	if response.Model != "" {
		span.SetAttributes(clipped(semconv.GenAIResponseModelKey, response.Model))
	}
	if response.FinishReason != "" {
		span.SetAttributes(semconv.GenAIResponseFinishReasons(clipped("", response.FinishReason).Value.AsString()))
	}
	return response, err
}
