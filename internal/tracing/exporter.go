package tracing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/assay-dev/assay/internal/call"
)

// exporter hands spans to a collector. One that is down is told of once, until it
// is back: a span that is lost harms nobody, and a log full of it does.
type exporter struct {
	sdktrace.SpanExporter
	log     func(message string, err error)
	secrets *call.Redactor
	// ended counts the spans that were to be sent, sent those that were.
	ended, sent atomic.Int64

	mu      sync.Mutex
	failing bool
}

// ExportSpans sends a batch. It reports no error, for the SDK would log each.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil:
		e.sent.Add(int64(len(spans)))
		if e.failing {
			e.tell("traces are sent again", nil)
		}
	case !e.failing:
		e.tell("traces cannot be sent and are dropped until the collector takes them; runs are not affected", err)
	}
	e.failing = err != nil
	return nil
}

// stopped tells of the spans that were never sent.
func (e *exporter) stopped(err error) {
	if lost := e.ended.Load() - e.sent.Load(); lost > 0 {
		e.tell(fmt.Sprintf("%d of %d spans were dropped", lost, e.ended.Load()), err)
	}
}

// tell logs an error without what was in the headers.
func (e *exporter) tell(message string, err error) {
	if e.log == nil {
		return
	}
	if err != nil {
		err = errors.New(e.secrets.Clean(err.Error(), 512, false))
	}
	e.log(message, err)
}

// counting counts the spans on their way to the queue, which drops what it has no
// room for.
type counting struct {
	sdktrace.SpanProcessor
	to *exporter
}

// OnEnd hands a span on.
func (c *counting) OnEnd(s sdktrace.ReadOnlySpan) {
	c.to.ended.Add(1)
	c.SpanProcessor.OnEnd(s)
}
