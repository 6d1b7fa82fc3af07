package cli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/assay-dev/assay/internal/egress"
	"github.com/assay-dev/assay/internal/operator"
	"github.com/assay-dev/assay/internal/version"
)

// newOperatorCommand is the controller manager.
func newOperatorCommand() *cobra.Command {
	var o operator.Options
	// An error says what it is about; where in the code it was seen helps nobody who
	// runs the operator. --zap-stacktrace-level error shows that too.
	logging := zap.Options{StacktraceLevel: zapcore.PanicLevel}
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
			operator.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
			cfg.UserAgent = "assay/" + version.Version
			ctrl.Log.WithName("operator").Info("starting", "version", version.Version)
			fromEnvironment(cmd.Flags(), &o, os.Getenv)
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// A second signal ends the process at once.
			context.AfterFunc(ctx, stop)
			return operator.Run(ctx, cfg, o)
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
	f.StringVar(&o.History, "history", "", "history store: sqlite:///path/to/history.db or postgres://user@host/database; given empty: none is kept, and the API tells of no earlier run (default $"+envHistory+", which keeps a password out of the arguments, or else sqlite://"+defaultHistory(os.Getenv)+")")
	f.IntVar(&o.HistoryRetention.MaxRuns, "history-max-runs", 1000, "runs of a suite that the history keeps, the newest; 0: no limit")
	f.DurationVar(&o.HistoryRetention.MaxAge, "history-max-age", 0, "how long the history keeps a run, for example 2160h; 0: no limit")
	f.StringVar(&o.APIAddress, "api-bind-address", ":8444", "address that the HTTP API is served at; 0 serves none")
	f.BoolVar(&o.APISecure, "api-secure", true, "serve the HTTP API over HTTPS")
	f.StringVar(&o.APICertDir, "api-cert-dir", "", "folder with tls.crt and tls.key for the HTTP API; empty: a self-signed certificate")
	f.BoolVar(&o.APIAnonymousFlagger, "api-anonymous-flagger", false, "answer Flagger's webhooks, the paths under /v1/flagger and no others, to callers without a token: Flagger sends none")
	f.IntVar(&o.MaxConcurrentRuns, "max-concurrent-runs", 8, "runs that go at once, shared fairly between namespaces")
	addEgressFlags(f, &o.Egress)
	addTracingFlags(f, &o.Tracing)

	goflags := flag.NewFlagSet("operator", flag.ContinueOnError)
	logging.BindFlags(goflags)
	config.RegisterFlags(goflags)
	f.AddGoFlagSet(goflags)
	return cmd
}

// addEgressFlags says where suites may have the operator connect.
func addEgressFlags(f *pflag.FlagSet, o *egress.Config) {
	f.StringSliceVar(&o.AllowedNamespaces, "egress-allowed-namespaces", []string{"*"}, "namespaces whose Services suites of other namespaces may ask; * for all, empty for none: a suite asks those of its own namespace in any case")
	f.StringSliceVar(&o.AllowedCIDRs, "egress-allowed-cidrs", nil, "address ranges, or addresses, that suites may have the operator connect to outside the cluster, and no others; one within a range that is denied in a cluster, such as 127.0.0.1, is an exception to that")
	f.StringSliceVar(&o.AllowedHosts, "egress-allowed-hosts", nil, "names that suites may have the operator connect to outside the cluster, and no others, for example api.openai.com or *.example.com")
	f.StringSliceVar(&o.DeniedCIDRs, "egress-denied-cidrs", nil, "address ranges, or addresses, that suites never have the operator connect to")
	f.StringSliceVar(&o.DeniedHosts, "egress-denied-hosts", nil, "names that suites never have the operator connect to, for example internal.example.com or *.internal.example.com")
	f.StringVar(&o.ClusterDomain, "cluster-domain", "cluster.local", "domain that the names of the cluster's Services end in")
}

// fromEnvironment sets what no flag says.
func fromEnvironment(f *pflag.FlagSet, o *operator.Options, getenv func(string) string) {
	if !f.Changed("history") {
		o.History = cmp.Or(getenv(envHistory), "sqlite://"+defaultHistory(getenv))
	}
	o.Egress.InCluster = inCluster(getenv)
}

// inCluster says whether the operator runs in a pod, where Kubernetes sets this
// variable whatever else the pod has.
func inCluster(getenv func(string) string) bool { return getenv("KUBERNETES_SERVICE_HOST") != "" }

// envHistory names the variable with the history store, for the DSN of a database
// has a password.
const envHistory = "ASSAY_HISTORY"

// defaultHistory is where the history is kept in a cluster, or, for somebody who
// runs the operator by hand, among the user's own files.
func defaultHistory(getenv func(string) string) string {
	const inPod = "/var/lib/assay/history.db"
	if inCluster(getenv) {
		return inPod
	}
	if dir, err := os.UserConfigDir(); err == nil {
		return filepath.Join(dir, "assay", "history.db")
	}
	return inPod
}
