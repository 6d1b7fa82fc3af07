package cli

import (
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/internal/tracing"
)

// addTracingFlags says where the spans of runs go.
func addTracingFlags(f *pflag.FlagSet, o *tracing.Options) {
	f.StringVar(&o.Endpoint, "tracing-endpoint", "", "collector that takes OpenTelemetry traces of runs, OTLP over HTTP, for example http://otel-collector:4318; empty: that of $OTEL_EXPORTER_OTLP_ENDPOINT, and without it none are made")
	f.Float64Var(&o.SampleRatio, "tracing-sample-ratio", 1, "share of the runs that are traced, from 0 to 1")
}

// traceWarning is one line about traces that are not sent.
func traceWarning(message string, err error) string {
	if err == nil {
		return message
	}
	return message + ": " + err.Error()
}
