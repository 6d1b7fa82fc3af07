package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/assay-dev/assay/internal/operator"
	"github.com/assay-dev/assay/internal/version"
)

// newOperatorCommand is the controller manager.
func newOperatorCommand() *cobra.Command {
	var o operator.Options
	logging := zap.Options{}
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the operator against a cluster",
		Long: `Run the operator: it watches EvalSuites and EvalRuns, runs what is due and
exports the scores. The cluster is that of --kubeconfig, of $KUBECONFIG, or the
one that the operator runs in.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Before there is a logger: where no cluster is found, the error below says
			// so, and the library would log a stack trace beside it.
			cfg, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find the cluster: %w; set KUBECONFIG or give --kubeconfig", err)
			}
			ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
			cfg.UserAgent = "assay/" + version.Version
			ctrl.Log.WithName("operator").Info("starting", "version", version.Version)
			return operator.Run(cmd.Context(), cfg, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "address that metrics are served at; 0 serves none")
	f.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve metrics over HTTPS, to callers alone whom the API server lets get /metrics")
	f.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "", "folder with tls.crt and tls.key for the metrics; empty: a self-signed certificate")
	f.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "address that /healthz and /readyz are served at; 0 serves none")
	f.BoolVar(&o.LeaderElect, "leader-elect", true, "let one of several operators work at a time")
	f.StringVar(&o.LeaderElectNamespace, "leader-elect-namespace", "", "namespace of the Lease; empty: the operator's own, or default outside of a cluster")
	f.StringSliceVar(&o.Namespaces, "namespaces", nil, "namespaces to work in; empty: all")
	f.StringVar(&o.History, "history", "sqlite://"+defaultHistory(), "history store: sqlite:///path/to/history.db or postgres://user@host/database; empty: none is kept, and the API tells of no earlier run")
	f.IntVar(&o.HistoryRetention.MaxRuns, "history-max-runs", 1000, "runs of a suite that the history keeps, the newest; 0: no limit")
	f.DurationVar(&o.HistoryRetention.MaxAge, "history-max-age", 0, "how long the history keeps a run, for example 2160h; 0: no limit")
	f.StringVar(&o.APIAddress, "api-bind-address", ":8444", "address that the HTTP API is served at; 0 serves none")
	f.BoolVar(&o.APISecure, "api-secure", true, "serve the HTTP API over HTTPS")
	f.StringVar(&o.APICertDir, "api-cert-dir", "", "folder with tls.crt and tls.key for the HTTP API; empty: a self-signed certificate")
	f.BoolVar(&o.APIAnonymousFlagger, "api-anonymous-flagger", false, "answer Flagger's webhooks, the paths under /v1/flagger and no others, to callers without a token: Flagger sends none")
	f.IntVar(&o.MaxConcurrentRuns, "max-concurrent-runs", 8, "runs that go at once, shared fairly between namespaces")

	goflags := flag.NewFlagSet("operator", flag.ContinueOnError)
	logging.BindFlags(goflags)
	config.RegisterFlags(goflags)
	f.AddGoFlagSet(goflags)
	return cmd
}

// defaultHistory is where the history is kept in a cluster, or, for somebody who
// runs the operator by hand, among the user's own files.
func defaultHistory() string {
	const inCluster = "/var/lib/assay/history.db"
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return inCluster
	}
	if dir, err := os.UserConfigDir(); err == nil {
		return filepath.Join(dir, "assay", "history.db")
	}
	return inCluster
}
