//go:build e2e

package e2e

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/telemetry"
)

// TestCollectorOnRealPrometheus scrapes the collector alone, over suites that
// need no cluster: values arrive, survive a restart, and vanish with the suite.
func TestCollectorOnRealPrometheus(t *testing.T) {
	var suites suiteList
	suites.set(scoredSuite("docs-bot"), scoredSuite("other"))
	var operator metricsEndpoint
	operator.start(&suites)
	server := httptest.NewTLSServer(&operator)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca := writeFile(t, dir, "ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	token := writeFile(t, dir, "token", []byte(bearerToken))

	p := startPrometheus(t, server.Listener.Addr().String(), ca, token)

	const (
		hitRate = `assay_hit_rate{namespace="rag",suite="docs-bot",k="5",tag=""}`
		howto   = `assay_hit_rate{namespace="rag",suite="docs-bot",k="5",tag="howto"}`
		mrr     = `assay_mrr{namespace="rag",suite="docs-bot",k="",tag=""}`
		missed  = `assay_objective_met{suite="docs-bot"} == 0`
		passing = `assay_suite_passing{suite="docs-bot"}`
	)
	values := map[string]float64{hitRate: 0.9167, howto: 0, mrr: 0.733, missed: 0, passing: 0}
	for expr, value := range values {
		p.waitForValue(t, expr, value)
	}
	p.waitForNone(t, `assay_ndcg`)

	operator.stop()
	p.waitForNone(t, hitRate)
	operator.start(&suites)
	for expr, value := range values {
		p.waitForValue(t, expr, value)
	}

	suites.set(scoredSuite("other"))
	// Not even one series is left while those of the other suite still come in.
	p.waitForValue(t, `assay_mrr{suite="other"} unless on() {suite="docs-bot"}`, 0.733)
}

// bearerToken is what the endpoint asks for.
const bearerToken = "scrape-me"

// metricsEndpoint stands for the operator's metrics endpoint: it wants a bearer
// token, and knows nothing after a restart but what the suites' status says.
type metricsEndpoint struct {
	handler atomic.Pointer[http.Handler]
}

func (m *metricsEndpoint) start(suites telemetry.Lister) {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(telemetry.NewCollector(suites, func() bool { return true }))
	handler := promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	m.handler.Store(&handler)
}

func (m *metricsEndpoint) stop() { m.handler.Store(nil) }

// ServeHTTP implements [http.Handler].
func (m *metricsEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := m.handler.Load()
	switch {
	case handler == nil:
		http.Error(w, "stopped", http.StatusServiceUnavailable)
	case r.Header.Get("Authorization") != "Bearer "+bearerToken:
		http.Error(w, "no token", http.StatusUnauthorized)
	default:
		(*handler).ServeHTTP(w, r)
	}
}

// suiteList is a lister of suites that come and go.
type suiteList struct {
	suites atomic.Pointer[[]v1alpha1.EvalSuite]
}

func (l *suiteList) set(suites ...v1alpha1.EvalSuite) { l.suites.Store(&suites) }

// Runs implements [telemetry.Lister].
func (*suiteList) Runs(context.Context) ([]v1alpha1.EvalRun, error) { return nil, nil }

// Suites implements [telemetry.Lister].
func (l *suiteList) Suites(context.Context) ([]v1alpha1.EvalSuite, error) {
	return *l.suites.Load(), nil
}

// scoredSuite is a suite after a run that missed its objective on a tag.
func scoredSuite(name string) v1alpha1.EvalSuite {
	return v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "rag", Name: name},
		Status: v1alpha1.EvalSuiteStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionPassing, Status: metav1.ConditionFalse}},
			LastRun: &v1alpha1.LastRun{
				Metrics: []v1alpha1.SuiteMetric{
					{Name: "hit_rate@5", Value: "0.9167"},
					{Name: "hit_rate@5", Tag: new("howto"), Value: "0"},
					{Name: "mrr", Value: "0.7330"},
					{Name: "ndcg@5", Value: "NaN"},
				},
				Objectives: []v1alpha1.ObjectiveResult{
					{Metric: "hit_rate@5", Outcome: v1alpha1.ObjectiveMet},
					{Metric: "hit_rate@5", Tag: "howto", Outcome: v1alpha1.ObjectiveMissed},
				},
			},
		},
	}
}

func writeFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
