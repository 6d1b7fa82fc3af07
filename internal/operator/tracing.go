package operator

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/assay-dev/assay/internal/tracing"
)

// setupTracing makes what sends the spans of runs; nil where tracing is off.
func setupTracing(ctx context.Context, o Options) (*tracing.Traces, error) {
	log := ctrl.Log.WithName("tracing")
	o.Tracing.Log = func(message string, err error) {
		// No error of the operator's: runs go on.
		if err != nil {
			log.Info(message, "error", err.Error())
			return
		}
		log.Info(message)
	}
	traces, err := tracing.Setup(ctx, o.Tracing)
	if err == nil && traces != nil {
		log.Info("runs are traced", "sampleRatio", o.Tracing.SampleRatio)
	}
	return traces, err
}
