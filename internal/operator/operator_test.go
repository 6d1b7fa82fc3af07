package operator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func TestSchemeKnowsWhatIsReadAndWritten(t *testing.T) {
	s := Scheme()
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("EvalSuite"), v1alpha1.GroupVersion.WithKind("EvalRun"),
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	} {
		if !s.Recognizes(kind) {
			t.Errorf("it does not know %s", kind)
		}
	}
}

func TestManagerOptions(t *testing.T) {
	o := managerOptions(Options{
		MetricsAddress: ":8443", MetricsSecure: true, MetricsCertDir: "/certs", ProbeAddress: ":8081",
		LeaderElect: true, LeaderElectNamespace: "assay-system", Namespaces: []string{"rag", "web"},
	})
	if o.Metrics.BindAddress != ":8443" || !o.Metrics.SecureServing || o.Metrics.CertDir != "/certs" || o.Metrics.FilterProvider == nil {
		t.Errorf("metrics are %+v, want them over HTTPS, to known callers", o.Metrics)
	}
	config := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	for _, change := range o.Metrics.TLSOpts {
		change(config)
	}
	if diff := cmp.Diff([]string{"http/1.1"}, config.NextProtos); diff != "" {
		t.Errorf("metrics speak more than HTTP/1.1: %s", diff)
	}
	if config.MinVersion != tls.VersionTLS12 {
		t.Errorf("metrics speak TLS from %x on", config.MinVersion)
	}
	if o.HealthProbeBindAddress != "0" {
		t.Errorf("probes are served at %q as well, by a server with fewer bounds", o.HealthProbeBindAddress)
	}
	if !o.LeaderElection || o.LeaderElectionID != "operator.assay.dev" || o.LeaderElectionNamespace != "assay-system" || !o.LeaderElectionReleaseOnCancel {
		t.Errorf("leader election is %t, %s in %s, released %t", o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace, o.LeaderElectionReleaseOnCancel)
	}
	if diff := cmp.Diff([]string{"rag", "web"}, slices.Sorted(maps.Keys(o.Cache.DefaultNamespaces))); diff != "" {
		t.Error(diff)
	}
	if o.Controller.SkipNameValidation != nil {
		t.Error("names of controllers are not checked")
	}

	o = managerOptions(Options{SkipNameValidation: true})
	if o.Metrics.SecureServing || o.LeaderElection || o.Cache.DefaultNamespaces != nil {
		t.Errorf("nothing was asked for, and there is %+v", o)
	}
	if skip := o.Controller.SkipNameValidation; skip == nil || !*skip {
		t.Error("names of controllers are checked")
	}
}

func TestTheLeaseOfAnOperatorOutsideOfACluster(t *testing.T) {
	if got := leaseNamespace(Options{}); got != "default" && got != "" {
		t.Errorf("got %q", got)
	}
	if got := leaseNamespace(Options{LeaderElectNamespace: "mine"}); got != "mine" {
		t.Errorf("got %q, want mine", got)
	}
}

// discovery is an API server that tells which kinds there are, and nothing else.
func discovery(t *testing.T) *rest.Config {
	t.Helper()
	answers := map[string]any{
		"/api":  metav1.APIVersions{Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: v1alpha1.GroupVersion.Group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: v1alpha1.GroupVersion.String(), Version: v1alpha1.GroupVersion.Version}}}}},
		"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true},
		}},
		"/apis/" + v1alpha1.GroupVersion.String(): metav1.APIResourceList{GroupVersion: v1alpha1.GroupVersion.String(), APIResources: []metav1.APIResource{
			{Name: "evalsuites", Kind: "EvalSuite", Namespaced: true}, {Name: "evalruns", Kind: "EvalRun", Namespaced: true},
		}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func newOperator(t *testing.T, change func(*Options)) (manager.Manager, *prometheus.Registry, error) {
	t.Helper()
	registry := prometheus.NewRegistry()
	o := Options{MetricsAddress: "0", ProbeAddress: "0", MaxConcurrentRuns: 1, Registry: registry, SkipNameValidation: true}
	if change != nil {
		change(&o)
	}
	mgr, _, err := build(t.Context(), discovery(t), o, nil)
	return mgr, registry, err
}

func TestBuild(t *testing.T) {
	mgr, registry, err := newOperator(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if leading(mgr)() {
		t.Error("it works before it was started")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	probe := httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil)
	if err := cacheSynced(mgr.GetCache())(probe); err == nil || !strings.Contains(err.Error(), "not all read yet") {
		t.Errorf("it is ready before it has read anything: %v", err)
	}
	descriptions := make(chan *prometheus.Desc, 1000)
	registry.Describe(descriptions)
	close(descriptions)
	var all []string
	for d := range descriptions {
		all = append(all, d.String())
	}
	for _, name := range []string{"assay_suite_passing", "assay_hit_rate"} {
		if !slices.ContainsFunc(all, func(d string) bool { return strings.Contains(d, `"`+name+`"`) }) {
			t.Errorf("there is no series %s among\n%s", name, strings.Join(all, "\n"))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"no runs":     {func(o *Options) { o.MaxConcurrentRuns = 0 }, "--max-concurrent-runs is 0: it must be at least 1"},
		"an address":  {func(o *Options) { o.ProbeAddress = "nowhere:x" }, "listen for the probes at nowhere:x (--health-probe-bind-address"},
		"a CIDR":      {func(o *Options) { o.Egress.AllowedCIDRs = []string{"10.0.0.0/8", "10.0.0.0/33"} }, `--egress-allowed-cidrs: "10.0.0.0/33" is no CIDR`},
		"a host":      {func(o *Options) { o.Egress.AllowedHosts = []string{"https://a.example"} }, `--egress-allowed-hosts: "https://a.example" is no host`},
		"a denied":    {func(o *Options) { o.Egress.DeniedCIDRs = []string{"a.example"} }, `--egress-denied-cidrs: "a.example" is no CIDR`},
		"a bad host":  {func(o *Options) { o.Egress.DeniedHosts = []string{"a b"} }, `--egress-denied-hosts: "a b" is no host`},
		"a namespace": {func(o *Options) { o.Egress.AllowedNamespaces = []string{"rag", "Rag"} }, `--egress-allowed-namespaces: "Rag" is no namespace`},
		"a domain":    {func(o *Options) { o.Egress.ClusterDomain = "cluster local" }, `--cluster-domain: "cluster local" is no domain`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := newOperator(t, test.change)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

func TestRunSaysWhatItCouldNotDo(t *testing.T) {
	if err := Run(t.Context(), &rest.Config{}, Options{}); err == nil || !strings.Contains(err.Error(), "--max-concurrent-runs") {
		t.Errorf("got %v", err)
	}
}

// Metrics are for those whom the API server lets get them, unless they are for
// everybody; a call is bounded either way.
func TestTheFilterOfTheMetrics(t *testing.T) {
	for secure, want := range map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK} {
		filter, err := managerOptions(Options{MetricsSecure: secure}).Metrics.FilterProvider(&rest.Config{Host: "http://127.0.0.1:1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		handler, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if err != nil {
			t.Fatal(err)
		}
		for method, want := range map[string]int{http.MethodGet: want, http.MethodPost: http.StatusMethodNotAllowed} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/metrics", nil))
			if w.Code != want {
				t.Errorf("secure %t: %s is answered %d, want %d", secure, method, w.Code, want)
			}
		}
	}
}
