package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
)

// What the tests of this package share: one API server with the CRDs.
var (
	config  *rest.Config
	cluster client.Client
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile()), zap.UseDevMode(true)))
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "these tests need a real API server: run `make test`, or set KUBEBUILDER_ASSETS=$(go run ./hack/controlplane) first")
		return 1
	}
	server := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	// Without a network, kube-apiserver finds no address to advertise; nobody uses it.
	server.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	var err error
	if config, err = server.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start the API server with the CRDs:", err)
		return 1
	}
	config.QPS, config.Burst = 200, 400
	defer func() { _ = server.Stop() }()
	if cluster, err = client.New(config, client.Options{Scheme: operator.Scheme()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// logFile takes the operators' logs; ASSAY_TEST_LOG names it.
func logFile() *os.File {
	if name := os.Getenv("ASSAY_TEST_LOG"); name != "" {
		if f, err := os.Create(name); err == nil {
			return f
		}
	}
	f, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	return f
}

// patience is how long the tests wait for what must come about.
const patience = 45 * time.Second

// eventually waits until the check gives nil, and fails with what it said last.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after %s: %v", patience, err)
		}
	}
}

// newNamespace makes a namespace of the test's own.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, cluster.Create(t.Context(), ns))
	return ns.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// running is an operator that runs in this process.
type running struct {
	registry *prometheus.Registry
	stop     func()
}

// startOperator runs an operator for one namespace until the test ends or it
// is stopped, and waits for it to have stopped.
func startOperator(t *testing.T, namespace string, change ...func(*operator.Options)) *running {
	t.Helper()
	op := &running{registry: prometheus.NewRegistry()}
	o := operator.Options{
		MetricsAddress:     "0",
		ProbeAddress:       "0",
		Namespaces:         []string{namespace},
		MaxConcurrentRuns:  8,
		Registry:           op.registry,
		SkipNameValidation: true,
		Recheck:            time.Second,
	}
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- operator.Run(ctx, config, o) }()
	var once sync.Once
	op.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the operator ended with: %v", err)
			}
		})
	}
	t.Cleanup(op.stop)
	return op
}

// stub is a retriever whose behaviour a test can change while it serves.
type stub struct {
	*httptest.Server
	mu     sync.Mutex
	calls  int
	asked  map[string]int
	answer func(w http.ResponseWriter, r *http.Request, question string, topK int)
}

func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{asked: map[string]int{}, answer: perfect}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Query string `json:"query"`
			TopK  int    `json:"top_k"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.calls++
		s.asked[body.Query]++
		answer := s.answer
		s.mu.Unlock()
		answer(w, r, body.Query, body.TopK)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) behave(answer func(w http.ResponseWriter, r *http.Request, question string, topK int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *stub) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func reply(w http.ResponseWriter, ids ...string) {
	type result struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	results := make([]result, len(ids))
	for i, id := range ids {
		results[i] = result{ID: id, Text: "the text of " + id}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
}

// perfect finds what the questions of goldenOf ask for.
func perfect(w http.ResponseWriter, _ *http.Request, question string, _ int) {
	reply(w, strings.TrimPrefix(question, "where is "), "noise")
}

// wrong finds nothing of it but for a1: with no hit at all, the labels would be
// what is wrong.
func wrong(w http.ResponseWriter, _ *http.Request, question string, _ int) {
	if strings.HasSuffix(question, " a1") {
		reply(w, "noise", "a1")
		return
	}
	reply(w, "noise", "more-noise")
}

// broken answers with a server error.
func broken(w http.ResponseWriter, _ *http.Request, _ string, _ int) {
	http.Error(w, "out of order", http.StatusInternalServerError)
}

// goldenOf writes a golden set whose questions ask for the ids.
func goldenOf(ids ...string) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "- id: q-%s\n  question: where is %s\n  relevant: %s\n  tags: [%s]\n", id, id, id, id[:1])
	}
	return b.String()
}

func applyGolden(t *testing.T, namespace, name, content string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	_, err := ctrl.CreateOrUpdate(t.Context(), cluster, cm, func() error {
		cm.Data = map[string]string{"golden.yaml": content}
		return nil
	})
	must(t, err)
}

// newSuite is a suite with one objective, over the golden set "golden".
func newSuite(namespace, url string, change ...func(*v1alpha1.EvalSuite)) *v1alpha1.EvalSuite {
	s := &v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "docs-bot"},
		Spec: v1alpha1.EvalSuiteSpec{
			GoldenSet:  v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
			Retriever:  v1alpha1.Retriever{URL: url, TopK: 5, MaxRetries: ptr.To(int32(0))},
			Objectives: []v1alpha1.Objective{{Metric: "hit_rate@5", Min: "0.90"}},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func get[T client.Object](t *testing.T, o T) T {
	t.Helper()
	must(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

// runsOf lists the runs of a namespace.
func runsOf(t *testing.T, namespace string) []v1alpha1.EvalRun {
	t.Helper()
	list := &v1alpha1.EvalRunList{}
	must(t, cluster.List(t.Context(), list, client.InNamespace(namespace)))
	return list.Items
}

// ended waits until the namespace has that many runs and all have ended.
func ended(t *testing.T, namespace string, count int) []v1alpha1.EvalRun {
	t.Helper()
	var runs []v1alpha1.EvalRun
	eventually(t, func() error {
		runs = runsOf(t, namespace)
		if len(runs) != count {
			return fmt.Errorf("%d runs, want %d: %s", len(runs), count, describe(runs))
		}
		for i := range runs {
			if runs[i].Status.Verdict == "" {
				return fmt.Errorf("run %s has not ended: %s", runs[i].Name, describe(runs))
			}
		}
		return nil
	})
	return runs
}

func describe(runs []v1alpha1.EvalRun) string {
	var b strings.Builder
	for _, r := range runs {
		fmt.Fprintf(&b, "[%s %s %s %s %s %q]", r.Name, r.Spec.Trigger, r.Status.Verdict, r.Status.Reason, r.Status.ProgressText, r.Status.Message)
	}
	return b.String()
}

// condition waits for the suite's condition.
func condition(t *testing.T, s *v1alpha1.EvalSuite, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, func() error {
		get(t, s)
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason || c.ObservedGeneration != s.Generation {
			return fmt.Errorf("condition %s is %+v, want %s %s", kind, c, status, reason)
		}
		found = *c
		return nil
	})
	return found
}

// byTrigger counts runs by what triggered them.
func byTrigger(runs []v1alpha1.EvalRun) map[v1alpha1.Trigger]int {
	counts := map[v1alpha1.Trigger]int{}
	for i := range runs {
		counts[runs[i].Spec.Trigger]++
	}
	return counts
}
