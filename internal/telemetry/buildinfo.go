package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/assay-dev/assay/internal/version"
)

// registerBuildInfo exports which build this is, always 1, so that a change in
// another series can be set beside the upgrade that came before it. The date is
// left out: it says no more than the commit.
func registerBuildInfo(auto promauto.Factory, info version.Info) {
	auto.NewGaugeVec(prometheus.GaugeOpts{
		Name: "assay_build_info",
		Help: "Always 1; the labels say which build of Assay this is.",
	}, []string{"version", "commit", "goversion"}).
		WithLabelValues(toLabel(info.Version), toLabel(info.Commit), toLabel(info.Go)).Set(1)
}
