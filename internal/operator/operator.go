// Package operator wires the controllers, the metrics and the probes into one
// manager and runs it.
package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/controllers"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/egress"
	"github.com/assay-dev/assay/internal/gating"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/server"
	"github.com/assay-dev/assay/internal/telemetry"
	"github.com/assay-dev/assay/internal/tracing"
)

// leaderElectionID names the Lease that one operator of a cluster holds.
const leaderElectionID = "operator.assay.dev"

// workers is how many objects of a kind are looked at at the same time. Runs
// themselves go on elsewhere; a worker only reads and writes.
const workers = 16

// fetches is how many of them may wait for a golden set over http at the same time.
const fetches = workers / 2

// stopWithin bounds an orderly stop: calls of the API end, runs write their last
// checkpoint. What is left of the 30 seconds that a kubelet gives the pod is for the
// lease, which is released in any case, and for the last spans.
const stopWithin = 24 * time.Second

// Options are the operator's flags.
type Options struct {
	// MetricsAddress to serve metrics at; "0" serves none.
	MetricsAddress string
	// MetricsSecure serves metrics over HTTPS, to those alone whom the API server lets get the path /metrics.
	MetricsSecure bool
	// MetricsCertDir holds tls.crt and tls.key; empty: a self-signed certificate.
	MetricsCertDir string
	// ProbeAddress to serve /healthz and /readyz at; "0" serves none.
	ProbeAddress string
	// LeaderElect lets one of several operators work at a time.
	LeaderElect bool
	// LeaderElectNamespace holds the Lease; empty: the operator's own namespace.
	LeaderElectNamespace string
	// Namespaces to work in; empty: all.
	Namespaces []string
	// MaxConcurrentRuns is how many runs go at once.
	MaxConcurrentRuns int
	// History is the DSN of the history store; empty: none is kept.
	History string
	// HistoryRetention is how long, and how many runs a suite, the history keeps.
	HistoryRetention history.Retention
	// APIAddress to serve the HTTP API at; "0" or "" serves none.
	APIAddress string
	// APISecure serves it over HTTPS.
	APISecure bool
	// APICertDir holds tls.crt and tls.key; empty: a self-signed certificate.
	APICertDir string
	// APIAnonymousFlagger answers Flagger's webhooks, and nothing else, without a token.
	APIAnonymousFlagger bool
	// Tracing says where the spans of runs go, if anywhere.
	Tracing tracing.Options
	// Egress says where suites may have the operator connect. The zero value lets
	// them reach the Services of their own namespace and the internet.
	Egress egress.Config
	// Recheck is how soon a stalled suite is looked at again; 0: 30 seconds.
	Recheck time.Duration
	// Clock tells the time; nil: the real one.
	Clock clock.Clock
	// Registry to register the metrics with; nil: the one that the manager serves.
	Registry prometheus.Registerer
	// SkipNameValidation lets several operators run in one process, as tests do.
	SkipNameValidation bool
}

// Scheme knows every kind that the operator reads or writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// Run runs the operator until the context ends. It returns an error where it
// could not start, or lost its lease.
func Run(ctx context.Context, cfg *rest.Config, o Options) error {
	traces, err := setupTracing(ctx, o)
	if err != nil {
		return err
	}
	// Last of all: what goes down before it still has spans to end.
	defer traces.Stop()
	mgr, kept, err := build(ctx, cfg, o, traces.Tracer())
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		err = fmt.Errorf("run the operator: %w", err)
		return errors.Join(err, kept.close())
	}
	return kept.close()
}

// build makes the manager with everything in it, and the history that it writes to.
func build(ctx context.Context, cfg *rest.Config, o Options, tracer *tracing.Tracer) (manager.Manager, *store, error) {
	if o.MaxConcurrentRuns < 1 {
		return nil, nil, fmt.Errorf("--max-concurrent-runs is %d: it must be at least 1", o.MaxConcurrentRuns)
	}
	if err := checkEgress(o.Egress); err != nil {
		return nil, nil, err
	}
	mgr, err := ctrl.NewManager(cfg, managerOptions(o))
	if err != nil {
		return nil, nil, fmt.Errorf("set up the operator: %w", err)
	}
	common := &common{clock: o.Clock, tracer: tracer}
	if common.clock == nil {
		common.clock = clock.RealClock{}
	}
	if common.egress, err = newEgress(ctx, mgr.GetConfig(), o.Egress, mgr.GetLogger().WithName("egress")); err != nil {
		return nil, nil, err
	}
	if o.History != "" {
		if common.history, err = openStore(ctx, o.History, mgr.GetLogger().WithName("history"), common.clock); err != nil {
			return nil, nil, err
		}
	}
	if err := addParts(ctx, mgr, o, common); err != nil {
		return nil, nil, errors.Join(err, common.history.close())
	}
	return mgr, common.history, nil
}

// common is what the parts of the operator share.
type common struct {
	// history is nil where none is kept.
	history *store
	clock   clock.Clock
	tracer  *tracing.Tracer
	egress  func(namespace string) call.Egress
}

// addParts adds the controllers, the HTTP API and the probes.
func addParts(ctx context.Context, mgr manager.Manager, o Options, c *common) error {
	runner, err := addControllers(ctx, mgr, o, c)
	if err != nil {
		return err
	}
	ready := map[string]healthz.Checker{"cache": cacheSynced(mgr.GetCache())}
	api, err := addAPI(mgr, o, c)
	if err != nil {
		return err
	}
	if api != nil {
		ready["api"] = api.listens
	}
	return addProbes(mgr, o.ProbeAddress, &probes{
		alive:   &healthz.Handler{Checks: map[string]healthz.Checker{"runs": answers("what carries out runs", func() { runner.Ready() })}},
		ready:   &healthz.Handler{Checks: ready},
		history: c.history.state,
	})
}

func managerOptions(o Options) ctrl.Options {
	options := ctrl.Options{
		Scheme: Scheme(),
		Metrics: metricsserver.Options{
			BindAddress:   o.MetricsAddress,
			SecureServing: o.MetricsSecure,
			CertDir:       o.MetricsCertDir,
			// HTTP/2 has had denials of service that a scrape endpoint need not be open to.
			TLSOpts:        []func(*tls.Config){func(c *tls.Config) { c.MinVersion, c.NextProtos = tls.VersionTLS12, []string{"http/1.1"} }},
			FilterProvider: open,
		},
		HealthProbeBindAddress:        "0", // addProbes serves them, within bounds
		GracefulShutdownTimeout:       ptr.To(stopWithin),
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       leaseNamespace(o),
		LeaderElectionReleaseOnCancel: true,
		// managedFields are a good part of an object and nobody here reads them.
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Controller: config.Controller{},
	}
	if o.SkipNameValidation {
		options.Controller.SkipNameValidation = &o.SkipNameValidation
	}
	if o.MetricsSecure {
		options.Metrics.FilterProvider = protected
	}
	if len(o.Namespaces) > 0 {
		options.Cache.DefaultNamespaces = map[string]cache.Config{}
		for _, n := range o.Namespaces {
			options.Cache.DefaultNamespaces[n] = cache.Config{}
		}
	}
	return options
}

// leaseNamespace is empty in a cluster, where the manager knows its own.
func leaseNamespace(o Options) string {
	if o.LeaderElectNamespace != "" {
		return o.LeaderElectNamespace
	}
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		return ""
	}
	return "default"
}

// addControllers adds the controllers, and gives what carries out runs.
func addControllers(ctx context.Context, mgr manager.Manager, o Options, c *common) (*controllers.Runner, error) {
	if err := controllers.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	registry := o.Registry
	if registry == nil {
		registry = metrics.Registry
	}
	measured := telemetry.NewMetrics(registry)
	collector := telemetry.NewCollector(cacheLister{mgr.GetClient()}, leading(mgr))
	if err := registry.Register(collector); err != nil {
		return nil, fmt.Errorf("register the collector: %w", err)
	}

	recorder := mgr.GetEventRecorder("assay")
	runner := controllers.NewRunner(c.clock)
	if err := mgr.Add(runner); err != nil {
		return nil, fmt.Errorf("add the runner: %w", err)
	}
	fetching := controllers.NewFetches(fetches)
	suites := &controllers.SuiteReconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: recorder,
		Clock:    c.clock,
		Metrics:  measured,
		Egress:   c.egress,
		Recheck:  o.Recheck,
		Fetches:  fetching,
	}
	if err := suites.SetupWithManager(mgr, workers); err != nil {
		return nil, fmt.Errorf("set up the EvalSuite controller: %w", err)
	}
	runs := &controllers.RunReconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: recorder,
		Clock:    c.clock,
		Runner:   runner,
		Limits:   retriever.NewLimits(),
		Metrics:  measured,
		MaxRuns:  o.MaxConcurrentRuns,
		Tracer:   c.tracer,
		Egress:   c.egress,
		Fetches:  fetching,
	}
	if kept := c.history; kept != nil {
		runs.History, runs.Baselines, runs.Verdicts = kept, kept, kept
	}
	if err := runs.SetupWithManager(mgr, workers); err != nil {
		return nil, fmt.Errorf("set up the EvalRun controller: %w", err)
	}
	if kept := c.history; kept != nil {
		if err := mgr.Add(&keeper{store: kept, suites: mgr.GetClient(), retention: o.HistoryRetention, metrics: measured, log: kept.log, clock: clock.RealClock{}}); err != nil {
			return nil, fmt.Errorf("add the keeper of the history: %w", err)
		}
	}
	return runner, nil
}

// addAPI adds what answers over HTTP, and gives it; nil where there is none. Gates
// are answered from the API server, past the cache; earlier runs out of the history,
// where there is one.
func addAPI(mgr manager.Manager, o Options, c *common) (*api, error) {
	if !serves(o.APIAddress) {
		return nil, nil
	}
	access, err := server.NewAccess(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("set up the HTTP API: %w", err)
	}
	options := server.Options{
		Runs:        &server.ClusterRuns{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespaces: o.Namespaces},
		Access:      access,
		Gate:        &gating.Cluster{Reader: mgr.GetAPIReader(), Clock: c.clock},
		OpenFlagger: o.APIAnonymousFlagger,
		Log:         mgr.GetLogger().WithName("api"),
	}
	if c.history != nil {
		options.History = c.history
	}
	if o.APIAnonymousFlagger {
		options.Log.Info("anybody who reaches the API may ask /v1/flagger, without a token (--api-anonymous-flagger)")
	}
	a := &api{address: o.APIAddress, secure: o.APISecure, certDir: o.APICertDir, handler: server.New(options)}
	if err := mgr.Add(a); err != nil {
		return nil, fmt.Errorf("add the HTTP API: %w", err)
	}
	return a, nil
}

// serves says whether an address is one to listen at.
func serves(address string) bool { return address != "" && address != "0" }

// leading says whether this operator works; without leader election it always does.
func leading(mgr manager.Manager) func() bool {
	return func() bool {
		select {
		case <-mgr.Elected():
			return true
		default:
			return false
		}
	}
}

// cacheLister reads suites and runs from the manager's cache. The collector changes none of them.
type cacheLister struct{ client.Client }

func (l cacheLister) Suites(ctx context.Context) ([]v1alpha1.EvalSuite, error) {
	list := &v1alpha1.EvalSuiteList{}
	if err := l.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EvalSuites: %w", err)
	}
	return list.Items, nil
}

func (l cacheLister) Runs(ctx context.Context) ([]v1alpha1.EvalRun, error) {
	list := &v1alpha1.EvalRunList{}
	if err := l.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EvalRuns: %w", err)
	}
	return list.Items, nil
}
