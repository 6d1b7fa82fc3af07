package tracing_test

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/tracing"
)

// What a case costs without tracing in the code, with tracing off, in a run that
// the sampler leaves out, and in one that it takes.
func BenchmarkRun(b *testing.B) {
	tracer := func(s sdktrace.Sampler) *tracing.Tracer {
		return tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSampler(s)))
	}
	b.Run("undecorated", func(b *testing.B) {
		plan := planOf(b.N)
		b.ReportAllocs()
		b.ResetTimer()
		eval.Run(b.Context(), *plan, eval.Parties{Retriever: parties(found)}, nil)
	})
	for name, t := range map[string]*tracing.Tracer{"off": nil, "unsampled": tracer(sdktrace.NeverSample()), "sampled": tracer(sdktrace.AlwaysSample())} {
		b.Run(name, func(b *testing.B) {
			plan := planOf(b.N)
			b.ReportAllocs()
			b.ResetTimer()
			run(b.Context(), t, plan, parties(found))
		})
	}
}
