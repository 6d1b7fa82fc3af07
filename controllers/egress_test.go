package controllers_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
)

// victim is a server on a loopback address of its own, which must hear of nobody.
func victim(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	must(t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			t.Error("somebody connected to what is refused")
		}
	}}}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// An operator that keeps namespaces apart, as in a cluster with tenants. The one
// exception is where the stub of these tests stands.
func apart(o *operator.Options) {
	o.Egress.InCluster, o.Egress.AllowedNamespaces, o.Egress.AllowedCIDRs = true, nil, []string{"127.0.0.1"}
}

func TestARefusedURLStallsItsSuite(t *testing.T) {
	t.Parallel()
	ns, stub, refused := newNamespace(t), newStub(t), victim(t)
	startOperator(t, ns, apart)
	applyGolden(t, ns, "golden", goldenOf("a1"))
	for name, test := range map[string]struct {
		url, says string
		change    func(*v1alpha1.EvalSuite)
	}{
		"metadata":   {"http://169.254.169.254/latest/meta-data", "spec.retriever.url: the operator's egress policy refuses it: 169.254.169.254 is a link-local address", nil},
		"loopback":   {refused, "127.0.0.2 is a loopback address", nil},
		"mapped":     {strings.Replace(refused, "127.0.0.2", "[::ffff:127.0.0.2]", 1), "is a loopback address", nil},
		"decimal":    {strings.Replace(refused, "127.0.0.2", "2130706434", 1), "is no host name", nil},
		"octal":      {strings.Replace(refused, "127.0.0.2", "0177.0.0.2", 1), "is no host name", nil},
		"api-server": {config.Host, "is the cluster's API server", nil},
		"advertised": {"https://192.0.2.1:" + advertisedPort(t) + "/api", "192.0.2.1 is the cluster's API server", nil},
		"kubernetes": {"https://kubernetes.default.svc/api", "kubernetes.default.svc is the cluster's API server", nil},
		"neighbour":  {"http://docs-bot.other.svc:8080/search", "docs-bot.other.svc is a Service of namespace other, which is not among the allowed namespaces", nil},
		"answer":     {stub.URL, "spec.answer.url: ", func(s *v1alpha1.EvalSuite) { s.Spec.Answer = &v1alpha1.Answer{URL: refused} }},
		"endpoint": {stub.URL, "spec.endpoints[0].retrieverURL: ", func(s *v1alpha1.EvalSuite) {
			s.Spec.Endpoints = []v1alpha1.Endpoint{{Name: "canary", RetrieverURL: refused}}
		}},
		"golden-source": {stub.URL, "spec.goldenSet.http.url: ", overHTTP("golden-source", refused, nil)},
	} {
		s := newSuite(ns, test.url, func(s *v1alpha1.EvalSuite) {
			if test.change != nil {
				test.change(s)
			}
			s.Name = name
		})
		must(t, cluster.Create(t.Context(), s))
		if c := condition(t, s, "Stalled", metav1.ConditionTrue, "EgressDenied"); !strings.Contains(c.Message, test.says) || !strings.Contains(c.Message, "ask who runs the operator") {
			t.Errorf("%s: it says %q, want %q", name, c.Message, test.says)
		}
		if runs := runsOf(t, ns); len(runs) > 0 {
			t.Fatalf("%s: a run was started: %s", name, describe(runs))
		}
	}
	if n := stub.count(); n != 0 {
		t.Errorf("the retriever of a stalled suite was asked %d times", n)
	}

	// A run by hand does not get out either.
	run := newRun(ns, func(r *v1alpha1.EvalRun) { r.Spec.SuiteRef.Name = "loopback" })
	must(t, cluster.Create(t.Context(), run))
	ended(t, ns, 1)
	if st := get(t, run).Status; st.Verdict != v1alpha1.VerdictError || st.Reason != "EgressDenied" || !strings.Contains(st.Message, "127.0.0.2 is a loopback address") {
		t.Errorf("the run ended %s, %s: %s", st.Verdict, st.Reason, st.Message)
	}

	// What is allowed goes on, and a suite that is put right with it.
	fixed := newSuite(ns, "")
	fixed.Name = "metadata"
	update(t, fixed, func(s *v1alpha1.EvalSuite) { s.Spec.Retriever.URL = stub.URL })
	condition(t, fixed, "Passing", metav1.ConditionTrue, "Passed")
}

// advertisedPort is where the API server of these tests says that it listens.
func advertisedPort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(strings.TrimPrefix(config.Host, "https://"), "http://"))
	must(t, err)
	return port
}

// A retriever that sends the operator on to what is refused gains nothing, and the
// run says why.
func TestARefusedRedirectEndsTheRun(t *testing.T) {
	t.Parallel()
	ns, stub, refused := newNamespace(t), newStub(t), victim(t)
	stub.behave(func(w http.ResponseWriter, r *http.Request, _ string, _ int) {
		http.Redirect(w, r, refused+"/search", http.StatusTemporaryRedirect)
	})
	startOperator(t, ns, apart)
	applyGolden(t, ns, "golden", goldenOf("a1", "a2"))
	must(t, cluster.Create(t.Context(), newSuite(ns, stub.URL)))
	run := ended(t, ns, 1)[0]
	if run.Status.Verdict != v1alpha1.VerdictError || !strings.Contains(run.Status.Message, "another host, which is not followed") {
		t.Errorf("the run ended %s", describe([]v1alpha1.EvalRun{run}))
	}
	if n := stub.count(); n != 2 {
		t.Errorf("it was asked %d times, want 2", n)
	}
}
