package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/score"
)

const (
	// maxCases is how many cases of a run have spans of their own, spread evenly
	// over the run.
	maxCases = 1000
	// maxFailed is how many more have one, without their calls, because they failed.
	maxFailed = 100
)

// Attributes of Assay's own.
const (
	namespaceKey   = attribute.Key("assay.namespace")
	suiteKey       = attribute.Key("assay.suite")
	runKey         = attribute.Key("assay.run")
	uidKey         = attribute.Key("assay.run.uid")
	triggerKey     = attribute.Key("assay.trigger")
	revisionKey    = attribute.Key("assay.revision")
	endpointKey    = attribute.Key("assay.endpoint")
	casesKey       = attribute.Key("assay.cases")
	doneKey        = attribute.Key("assay.cases.done")
	erroredKey     = attribute.Key("assay.cases.errored")
	strideKey      = attribute.Key("assay.cases.stride")
	verdictKey     = attribute.Key("assay.verdict")
	reasonKey      = attribute.Key("assay.reason")
	interruptedKey = attribute.Key("assay.interrupted")
	caseKey        = attribute.Key("assay.case.id")
	outcomeKey     = attribute.Key("assay.case.outcome")
	rankKey        = attribute.Key("assay.case.rank")
	topKKey        = attribute.Key("assay.top_k")
	resultsKey     = attribute.Key("assay.results")
	contextsKey    = attribute.Key("assay.contexts")
	cachedKey      = attribute.Key("assay.judge.cached")
	serviceKey     = attribute.Key("assay.service")
)

// RunInfo says which run it is.
type RunInfo struct {
	Namespace, Suite, Run, UID, Trigger, Revision, Endpoint string
}

// Run is the trace of one run; nil is none.
type Run struct {
	tracer *Tracer
	span   trace.Span
	// root has the run's span in it.
	root context.Context
	// stride: every so manieth case has a span.
	stride int64
	begun  atomic.Int64
	failed atomic.Int64
}

// Begin starts the trace of a run and has its plan tell of every case. The run is
// to be carried out with the context that it gives. Where a sampler leaves the run
// out, so are its cases and calls. The run's End must follow.
func (t *Tracer) Begin(ctx context.Context, info RunInfo, plan *eval.Plan) (context.Context, *Run) {
	if t == nil {
		return ctx, nil
	}
	stride := max(1, (len(plan.Cases)+maxCases-1)/maxCases)
	attributes := []attribute.KeyValue{
		suiteKey.String(info.Suite), runKey.String(info.Run), uidKey.String(info.UID), triggerKey.String(info.Trigger),
		casesKey.Int(len(plan.Cases)), strideKey.Int(stride),
	}
	for key, value := range map[attribute.Key]string{namespaceKey: info.Namespace, revisionKey: info.Revision, endpointKey: info.Endpoint} {
		if value != "" {
			attributes = append(attributes, clipped(key, value))
		}
	}
	root, span := t.tracer.Start(ctx, "run", trace.WithAttributes(attributes...))
	r := &Run{tracer: t, span: span, root: root, stride: int64(stride)}
	if span.IsRecording() {
		plan.Around = r.around
		if calibrate := plan.Calibrate; calibrate != nil {
			plan.Calibrate = func(ctx context.Context) (eval.Trust, error) { return r.calibrate(ctx, calibrate) }
		}
	}
	return r.unsampled(ctx), r
}

// unsampled gives a context whose calls are part of the trace and have no span: a
// service that follows the caller's decision makes none either.
func (r *Run) unsampled(ctx context.Context) context.Context {
	sc := r.span.SpanContext()
	return trace.ContextWithSpanContext(ctx, sc.WithTraceFlags(sc.TraceFlags().WithSampled(false)))
}

// around has a case make a span: those that are spread over the run with their
// calls, and of the others the first that fail.
func (r *Run) around(ctx context.Context, c *golden.Case) (context.Context, func(eval.CaseResult, bool)) {
	start := time.Now()
	if (r.begun.Add(1)-1)%r.stride != 0 {
		return ctx, func(result eval.CaseResult, asked bool) {
			if asked && result.Outcome != eval.Scored && r.failed.Add(1) <= maxFailed {
				_, span := r.tracer.tracer.Start(r.root, "case", trace.WithTimestamp(start), trace.WithAttributes(clipped(caseKey, c.ID)))
				endCase(span, result, asked)
			}
		}
	}
	ctx, span := r.tracer.tracer.Start(trace.ContextWithSpan(ctx, r.span), "case", trace.WithAttributes(clipped(caseKey, c.ID)))
	return ctx, func(result eval.CaseResult, asked bool) { endCase(span, result, asked) }
}

func endCase(span trace.Span, result eval.CaseResult, asked bool) {
	switch {
	case !asked:
		span.SetAttributes(interruptedKey.Bool(true))
	case result.Outcome != eval.Scored:
		span.SetAttributes(outcomeKey.String(result.Outcome))
		fail(span, result.Outcome)
	default:
		span.SetAttributes(outcomeKey.String(result.Outcome))
		if result.Rank > 0 {
			span.SetAttributes(rankKey.Int(result.Rank))
		}
	}
	span.End()
}

// calibrate is one span, however many labels there are.
func (r *Run) calibrate(ctx context.Context, next func(context.Context) (eval.Trust, error)) (eval.Trust, error) {
	_, span := r.tracer.tracer.Start(trace.ContextWithSpan(ctx, r.span), "calibrate")
	defer span.End()
	trust, err := next(ctx)
	if err != nil {
		fail(span, judgeOutcome(err))
	}
	return trust, err
}

// End ends the trace with what the run came to; nil where it was interrupted and
// another process goes on with it.
func (r *Run) End(result *eval.Result) {
	if r == nil {
		return
	}
	if result == nil {
		r.span.SetAttributes(interruptedKey.Bool(true))
		r.span.End()
		return
	}
	d := result.Decision
	r.span.SetAttributes(verdictKey.String(string(d.Verdict)), doneKey.Int(result.Done), erroredKey.Int(result.Errored))
	if d.Reason != "" {
		r.span.SetAttributes(reasonKey.String(d.Reason))
	}
	if d.Verdict == score.Error {
		fail(r.span, d.Reason)
	}
	r.span.End()
}
