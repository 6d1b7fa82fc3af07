package operator

import (
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/assay-dev/assay/internal/server"
)

// protected lets those through to the metrics whom the API server lets get them.
func protected(config *rest.Config, _ *http.Client) (metricsserver.Filter, error) {
	access, err := server.NewAccess(config)
	if err != nil {
		return nil, err
	}
	return func(log logr.Logger, metrics http.Handler) (http.Handler, error) {
		return server.Metrics(access, log, metrics), nil
	}, nil
}

// open lets everybody through, within the same bounds.
func open(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(log logr.Logger, metrics http.Handler) (http.Handler, error) {
		return server.OpenMetrics(log, metrics), nil
	}, nil
}
