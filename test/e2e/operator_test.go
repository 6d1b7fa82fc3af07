//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// manifests are a suite and its golden set, as a user would write them.
const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: docs-bot-golden}
data:
  golden.yaml: |
    - {id: q1, question: where is a, relevant: a, tags: [howto]}
    - {id: q2, question: where is b, relevant: b, tags: [howto]}
    - {id: q3, question: where is c, relevant: c}
    - {id: q4, question: where is nothing, relevant: d}
---
apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {name: docs-bot}
spec:
  goldenSet: {configMapRef: {name: docs-bot-golden}}
  retriever: {url: %q, topK: 5, timeoutSeconds: 60}
  objectives:
  - {metric: hit_rate@5, min: "0.70"}
  - {metric: hit_rate@5, tag: howto, min: "0.90"}
  schedule: "0 3 29 2 *" # far away
`

// newNamespace makes a namespace, which goes with the test.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if err := cluster.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Delete(context.Background(), ns) })
	return ns.Name
}

// apply applies the manifests for a retriever.
func apply(t *testing.T, namespace, url string) {
	t.Helper()
	file := writeFile(t, t.TempDir(), "suite.yaml", fmt.Appendf(nil, manifests, url))
	mustKubectl(t, "-n", namespace, "apply", "-f", file)
}

// retrieverStub answers with the last word of the question, and can be held.
type retrieverStub struct {
	*httptest.Server
	calls atomic.Int64
	mu    sync.Mutex
	gate  chan struct{}
	held  string // the question that waits; empty: every one
}

func newRetriever(t *testing.T) *retrieverStub {
	t.Helper()
	s := &retrieverStub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Query string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.calls.Add(1)
		s.mu.Lock()
		gate, held := s.gate, s.held
		s.mu.Unlock()
		if gate != nil && (held == "" || held == body.Query) {
			select {
			case <-gate:
			case <-r.Context().Done():
				return
			}
		}
		words := strings.Fields(body.Query)
		fmt.Fprintf(w, `{"results": [{"id": %q}]}`, words[len(words)-1])
	}))
	t.Cleanup(s.Close)
	return s
}

// hold keeps every answer back until the returned function is called.
func (s *retrieverStub) hold() (release func()) { return s.holdFor("") }

// holdFor keeps back the answers to one question.
func (s *retrieverStub) holdFor(question string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate, s.held = gate, question
	return func() { close(gate) }
}

// scraperToken is the token of an account that may scrape, and read.
func scraperToken(t *testing.T) string {
	t.Helper()
	_, _ = kubectl("create", "serviceaccount", "prometheus")
	_, _ = kubectl("create", "clusterrolebinding", "prometheus", "--clusterrole=assay-metrics-reader", "--serviceaccount=default:prometheus")
	_, _ = kubectl("create", "clusterrolebinding", "prometheus-view", "--clusterrole=view", "--serviceaccount=default:prometheus")
	return strings.TrimSpace(mustKubectl(t, "create", "token", "prometheus"))
}

func TestGaugesOnRealPrometheus(t *testing.T) {
	ns, retriever := newNamespace(t), newRetriever(t)
	operator := startAssay(t)
	apply(t, ns, retriever.URL)
	mustKubectl(t, "-n", ns, "wait", "evs/docs-bot", "--for=condition=Passing", waitReady)

	token := writeFile(t, t.TempDir(), "token", []byte(scraperToken(t)))
	p := startPrometheus(t, operator.metrics, "", token)
	suite := fmt.Sprintf(`namespace=%q,suite="docs-bot"`, ns)
	values := map[string]float64{
		`assay_hit_rate{` + suite + `,k="5",tag=""}`:                                     0.75,
		`assay_hit_rate{` + suite + `,k="5",tag="howto"}`:                                1,
		`assay_precision{` + suite + `,k="1",tag=""}`:                                    0.75,
		`assay_mrr{` + suite + `,k="",tag=""}`:                                           0.75,
		`assay_error_rate{` + suite + `,tag=""}`:                                         0,
		`assay_coverage{` + suite + `,stage="retrieval"}`:                                1,
		`assay_suite_passing{` + suite + `}`:                                             1,
		`assay_objective_met{` + suite + `,metric="hit_rate@5",tag=""}`:                  1,
		`assay_case_count{` + suite + `,tag=""}`:                                         4,
		`assay_case_count{` + suite + `,tag="howto"}`:                                    2,
		`assay_suite_info{` + suite + `,revision="none"}`:                                1,
		`assay_runs_total{` + suite + `,trigger="Spec",verdict="Passed"}`:                1,
		`assay_next_run_timestamp_seconds{` + suite + `} > bool time()`:                  1,
		`assay_last_run_timestamp_seconds{` + suite + `} <= bool time()`:                 1,
		`assay_run_duration_seconds_count >= bool 1`:                                     1,
		`assay_request_duration_seconds_count{stage="retrieval",outcome="OK"} >= bool 4`: 1,
	}
	for expr, value := range values {
		p.waitForValue(t, expr, value)
	}
	all, err := p.query(t.Context(), `{__name__=~"assay_.*"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range all {
		if math.IsNaN(float64(sample.Value)) {
			t.Errorf("%s is NaN", sample.Metric)
		}
	}

	// The gauges come from the API server: a new operator has them at once, and
	// no run was needed. The counters are of the process.
	operator.stop(syscall.SIGKILL)
	p.waitForNone(t, `assay_hit_rate{`+suite+`}`)
	second := startAssay(t)
	p = startPrometheus(t, second.metrics, "", token)
	p.waitForValue(t, `assay_hit_rate{`+suite+`,k="5",tag=""}`, 0.75)
	p.waitForValue(t, `assay_suite_passing{`+suite+`}`, 1)
	if calls := retriever.calls.Load(); calls != 4 {
		t.Errorf("the retriever was asked %d times, want 4: the restart asked again", calls)
	}

	mustKubectl(t, "-n", ns, "delete", "evs/docs-bot")
	p.waitForNone(t, `{__name__=~"assay_.*",`+suite+`}`)
}

func TestMetricsAreForThoseWhoMay(t *testing.T) {
	operator := startAssay(t)
	_, _ = kubectl("create", "serviceaccount", "stranger")
	stranger := strings.TrimSpace(mustKubectl(t, "create", "token", "stranger"))
	for name, tc := range map[string]struct {
		token string
		want  int
	}{
		"no token":         {"", http.StatusUnauthorized},
		"a made-up token":  {"made-up", http.StatusUnauthorized},
		"no right":         {stranger, http.StatusForbidden},
		"a metrics reader": {scraperToken(t), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+operator.metrics+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.token != "" {
				req.Header.Set("Authorization", "Bearer "+tc.token)
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.want {
				t.Errorf("the answer is %s, want %d", resp.Status, tc.want)
			}
		})
	}
}

func TestAnOperatorThatIsKilledGoesOn(t *testing.T) {
	ns, retriever := newNamespace(t), newRetriever(t)
	history := "sqlite://" + filepath.Join(t.TempDir(), "history.db")
	release := retriever.holdFor("where is c")
	first := startAssayOn(t, history)
	apply(t, ns, retriever.URL)
	eventually(t, func(context.Context) error {
		if n := retriever.calls.Load(); n != 4 {
			return fmt.Errorf("%d calls are made, want 4", n)
		}
		return nil
	})
	// The batch that holds the three finished cases is written within a second or so.
	run := strings.TrimSpace(mustKubectl(t, "-n", ns, "get", "evr", "-o", "jsonpath={.items[0].metadata.uid}"))
	eventually(t, func(ctx context.Context) error {
		var document struct{ Cases []struct{ ID string } }
		if err := first.ask(ctx, scraperToken(t), http.MethodGet, "/api/v1/eval/rag/run/"+run, "", http.StatusOK, &document); err != nil {
			return err
		}
		if len(document.Cases) != 3 {
			return fmt.Errorf("%d cases are kept, want 3", len(document.Cases))
		}
		return nil
	})
	first.stop(syscall.SIGKILL)
	release()
	startAssayOn(t, history)
	mustKubectl(t, "-n", ns, "wait", "evs/docs-bot", "--for=condition=Passing", waitReady)
	if runs := strings.Fields(mustKubectl(t, "-n", ns, "get", "evr", "-o", "name")); len(runs) != 1 {
		t.Errorf("runs are %v, want one", runs)
	}
	if attempts := mustKubectl(t, "-n", ns, "get", "evr", "-o", "jsonpath={.items[0].status.attempts}"); attempts != "2" {
		t.Errorf("attempts is %q, want 2: the operator was killed", attempts)
	}
	if n := retriever.calls.Load(); n != 5 {
		t.Errorf("%d calls, want 5: the three finished cases are not asked again", n)
	}
}

// TestAnOperatorThatIsToldToStop does as a kubelet does with a pod.
func TestAnOperatorThatIsToldToStop(t *testing.T) {
	ns, retriever := newNamespace(t), newRetriever(t)
	history := "sqlite://" + filepath.Join(t.TempDir(), "history.db")
	release := retriever.holdFor("where is c")
	first := startAssayOn(t, history)
	apply(t, ns, retriever.URL)
	eventually(t, func(context.Context) error {
		if n := retriever.calls.Load(); n != 4 {
			return fmt.Errorf("%d calls are made, want 4", n)
		}
		return nil
	})
	first.stop(syscall.SIGTERM)
	if code := first.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the operator ended with %s", first.cmd.ProcessState)
	}
	if holder := mustKubectl(t, "-n", "assay-system", "get", "lease", "operator.assay.dev", "-o", "jsonpath={.spec.holderIdentity}"); holder != "" {
		t.Errorf("%s still holds the lease", holder)
	}
	release()
	startAssayOn(t, history)
	mustKubectl(t, "-n", ns, "wait", "evs/docs-bot", "--for=condition=Passing", waitReady)
	if attempts := mustKubectl(t, "-n", ns, "get", "evr", "-o", "jsonpath={.items[0].status.attempts}"); attempts != "1" {
		t.Errorf("attempts is %q, want 1: an orderly stop does not count", attempts)
	}
	if n := retriever.calls.Load(); n != 5 {
		t.Errorf("%d calls, want 5: the three finished cases are not asked again", n)
	}
}

// ask calls the HTTP API and decodes its answer.
func (a *assay) ask(ctx context.Context, token, method, path, body string, want int, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "https://"+a.api+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s: the answer is %s, want %d: %s", method, path, resp.Status, want, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// TestTheAPIStartsAndTellsRuns asks as accounts with the rights of the
// cluster's own roles, which the chart's aggregate to.
func TestTheAPIStartsAndTellsRuns(t *testing.T) {
	ns, retriever := newNamespace(t), newRetriever(t)
	operator := startAssay(t)
	apply(t, ns, retriever.URL)
	mustKubectl(t, "-n", ns, "wait", "evs/docs-bot", "--for=condition=Passing", waitReady)
	tokens := map[string]string{"nobody": ""}
	for _, account := range []string{"stranger", "view", "edit"} {
		mustKubectl(t, "-n", ns, "create", "serviceaccount", account)
		if account != "stranger" {
			mustKubectl(t, "-n", ns, "create", "rolebinding", account, "--clusterrole="+account, "--serviceaccount="+ns+":"+account)
		}
		tokens[account] = strings.TrimSpace(mustKubectl(t, "-n", ns, "create", "token", account))
	}
	suite := "/api/v1/eval/rag/" + ns + "/docs-bot"
	for _, tc := range []struct {
		account, method, path string
		want                  int
	}{
		{"nobody", http.MethodGet, suite + "/history", http.StatusUnauthorized},
		{"stranger", http.MethodGet, suite + "/history", http.StatusForbidden},
		{"stranger", http.MethodGet, "/api/v1/eval/rag/" + ns + "/absent/history", http.StatusForbidden},
		{"view", http.MethodGet, "/api/v1/eval/rag/" + ns + "/absent/history", http.StatusNotFound},
		{"view", http.MethodGet, suite + "/history", http.StatusOK},
		{"view", http.MethodPost, suite, http.StatusForbidden},
		{"edit", http.MethodPost, suite + "?wait=30s", http.StatusOK},
	} {
		eventually(t, func(ctx context.Context) error { // the roles are aggregated by a controller
			return operator.ask(ctx, tokens[tc.account], tc.method, tc.path, "", tc.want, nil)
		})
	}
	var list struct {
		Runs []struct{ ID, Trigger, Verdict string }
	}
	if err := operator.ask(t.Context(), tokens["view"], http.MethodGet, suite+"/history", "", http.StatusOK, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Runs) < 2 || list.Runs[0].Trigger != "API" || list.Runs[0].Verdict != "Passed" || list.Runs[len(list.Runs)-1].Trigger != "Spec" {
		t.Errorf("the history is %+v, want runs of the API before the first", list.Runs)
	}
	var document struct {
		Verdict string
		Cases   []struct {
			ID        string
			Retrieved []struct {
				Rank int
				ID   string
			}
		}
	}
	if err := operator.ask(t.Context(), tokens["view"], http.MethodGet, "/api/v1/eval/rag/run/"+list.Runs[0].ID, "", http.StatusOK, &document); err != nil {
		t.Fatal(err)
	}
	if document.Verdict != "Passed" || len(document.Cases) != 4 || document.Cases[0].ID != "q1" || document.Cases[0].Retrieved[0].ID != "a" {
		t.Errorf("the run is %+v", document)
	}
}

func TestDeletingASuiteCollectsItsRuns(t *testing.T) {
	ns, retriever := newNamespace(t), newRetriever(t)
	startAssay(t)
	apply(t, ns, retriever.URL)
	mustKubectl(t, "-n", ns, "wait", "evs/docs-bot", "--for=condition=Passing", waitReady)
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "by-hand-"},
		Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}},
	}
	if err := cluster.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, "-n", ns, "wait", "evr/"+run.Name, "--for=condition=Passed", waitReady)

	release := retriever.hold()
	defer release()
	mustKubectl(t, "-n", ns, "annotate", "evs/docs-bot", "assay.dev/run-now=again")
	eventually(t, func(context.Context) error {
		if n := retriever.calls.Load(); n != 12 {
			return fmt.Errorf("%d calls, want 12 with the four that are held", n)
		}
		return nil
	})
	mustKubectl(t, "-n", ns, "delete", "evs/docs-bot", waitReady)
	eventually(t, func(ctx context.Context) error {
		list := &v1alpha1.EvalRunList{}
		if err := cluster.List(ctx, list, client.InNamespace(ns)); err != nil {
			return err
		}
		if len(list.Items) != 0 {
			return fmt.Errorf("%d runs are left", len(list.Items))
		}
		return nil
	})
}

// TestTheQuickstartPasses applies what the documentation tells a newcomer to.
func TestTheQuickstartPasses(t *testing.T) {
	ns := newNamespace(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	address := startSampleRAG(t, root)
	startAssay(t)
	samples := filepath.Join(root, "config", "samples", "quickstart")
	mustKubectl(t, "-n", ns, "apply", "-f", filepath.Join(samples, "golden.yaml"))
	suite, err := os.ReadFile(filepath.Join(samples, "suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The port of the documentation may be taken here.
	suite = bytes.ReplaceAll(suite, []byte("127.0.0.1:8090"), []byte(address))
	mustKubectl(t, "-n", ns, "apply", "-f", writeFile(t, t.TempDir(), "suite.yaml", suite))
	mustKubectl(t, "-n", ns, "wait", "evs/quickstart", "--for=condition=Passing", waitReady)
	out := mustKubectl(t, "-n", ns, "get", "evs")
	for _, column := range []string{"PASSING", "HIT-RATE", "MRR", "LAST-RUN", "NEXT", "AGE"} {
		if !strings.Contains(out, column) {
			t.Errorf("kubectl get evs has no column %s:\n%s", column, out)
		}
	}
}

// startSampleRAG serves the project's documentation, and returns where.
func startSampleRAG(t *testing.T, root string) (address string) {
	t.Helper()
	address = freeAddress(t)
	log := &syncBuffer{}
	cmd := exec.Command(os.Getenv(assayBin), "sample-rag", "--root", root, "--dir", "docs", "--file", "README.md", "--exclude", "docs/adr", "--addr", address)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sample-rag said:\n%s", log)
		}
	})
	eventually(t, func(context.Context) error {
		if !strings.Contains(log.String(), "serving") {
			return fmt.Errorf("it does not serve: %s", log)
		}
		return nil
	})
	return address
}
