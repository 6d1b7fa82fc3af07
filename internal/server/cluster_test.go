package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/gate"
	"github.com/assay-dev/assay/internal/gating"
	"github.com/assay-dev/assay/internal/history"
)

// One API server with the CRDs for the tests that need a real one.
var apiServer struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	err    error
}

func startAPIServer() {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		apiServer.err = fmt.Errorf("this test needs a real API server: run `make test`, or set KUBEBUILDER_ASSETS=$(go run ./hack/controlplane) first")
		return
	}
	logf.SetLogger(logr.Discard())
	apiServer.env = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	// Without a network, kube-apiserver finds no address to advertise; nobody uses it.
	apiServer.env.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	apiServer.config, apiServer.err = apiServer.env.Start()
}

func stopAPIServer() error {
	if apiServer.env == nil {
		return nil
	}
	return apiServer.env.Stop()
}

// real is the API with a real API server and a real store behind it.
type real struct {
	client    client.Client
	runs      *ClusterRuns
	store     *history.Store
	namespace string
	url       string
}

func newReal(t *testing.T) *real {
	t.Helper()
	apiServer.once.Do(startAPIServer)
	if apiServer.err != nil {
		t.Fatal(apiServer.err)
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	config := rest.CopyConfig(apiServer.config)
	config.QPS, config.Burst = 200, 400
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	access, err := NewAccess(apiServer.config)
	must(t, err)
	store, err := history.Open(t.Context(), filepath.Join(t.TempDir(), "history.db"), history.Options{})
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, c.Create(t.Context(), ns))
	r := &real{client: c, runs: &ClusterRuns{Client: c, Live: c}, store: store, namespace: ns.Name}
	r.serve(t, access)
	must(t, c.Create(t.Context(), &v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "docs-bot"},
		Spec: v1alpha1.EvalSuiteSpec{
			GoldenSet: v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
			Retriever: v1alpha1.Retriever{URL: "http://docs-bot/search", TopK: 5},
			Endpoints: []v1alpha1.Endpoint{{Name: "canary", RetrieverURL: "http://docs-bot-canary/search"}},
		},
	}))
	return r
}

// serve makes the API the one with this access.
func (r *real) serve(t *testing.T, access Access) {
	t.Helper()
	srv := httptest.NewServer(New(Options{
		History: r.store, Runs: r.runs, Access: access, Gate: &gating.Cluster{Reader: r.client, Clock: clock.RealClock{}},
	}))
	t.Cleanup(srv.Close)
	r.url = srv.URL
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// account makes a ServiceAccount with the rights and gives a token of its own.
func (r *real) account(t *testing.T, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: r.namespace, Name: name}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	must(t, r.client.Create(t.Context(), account))
	if len(rules) > 0 {
		must(t, r.client.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}))
		must(t, r.client.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.namespace, Name: name}},
		}))
	}
	token := &authenticationv1.TokenRequest{}
	must(t, r.client.SubResource("token").Create(t.Context(), account, token))
	return token.Status.Token
}

func allow(verb, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"assay.dev"}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: names}
}

// call gives the status, the headers and the body of an answer.
func (r *real) call(t *testing.T, method, target, header, token, body string) (int, http.Header, []byte) {
	t.Helper()
	target = strings.ReplaceAll(target, "{namespace}", r.namespace)
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+target, strings.NewReader(body))
	must(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set(header, "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	request.Body = io.NopCloser(strings.NewReader(body))
	conforms(t, request, answer, text)
	return answer.StatusCode, answer.Header, text
}

const (
	realSuite   = "/api/v1/eval/rag/{namespace}/docs-bot"
	realHistory = realSuite + "/history"
	realGate    = "/v1/gate/{namespace}/docs-bot"
	realFlagger = "/v1/flagger/{namespace}/docs-bot/gate"
)

// TestANamespacedInstall has an operator that may ask the API server about nobody:
// its callers are let in by their own tokens.
func TestANamespacedInstall(t *testing.T) {
	r := newReal(t)
	config := rest.AnonymousClientConfig(apiServer.config)
	config.BearerToken = r.account(t, "operator")
	access, err := NewAccess(config)
	must(t, err)
	r.serve(t, access)
	stranger := r.account(t, "stranger")
	viewer := r.account(t, "viewer", allow("get", "evalsuites", "docs-bot"))
	runner := r.account(t, "runner", allow("get", "evalsuites"), allow("create", "evalruns"))
	for _, test := range []struct {
		name, method, target, token string
		status                      int
	}{
		{"no token", "GET", realGate, "", 401},
		{"a made-up token", "GET", realGate, "made-up", 401},
		{"a token that was tampered with", "GET", realGate, viewer[:len(viewer)-4] + "AAAA", 401},
		{"a stranger", "GET", realGate, stranger, 403},
		{"a viewer", "GET", realGate, viewer, 200},
		{"a viewer, of another suite", "GET", "/v1/gate/{namespace}/other", viewer, 403},
		{"a viewer, of another namespace", "GET", "/v1/gate/default/docs-bot", viewer, 403},
		{"a viewer starts a run", "POST", realSuite, viewer, 403},
		{"a runner starts a run", "POST", realSuite, runner, 202},
		{"the operator itself", "GET", realGate, config.BearerToken, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, header := range []string{"Authorization", headerToken} {
				if status, _, body := r.call(t, test.method, test.target, header, test.token, ""); status != test.status {
					t.Errorf("by %s the answer is %d, want %d: %s", header, status, test.status, body)
				}
			}
		})
	}
	run := &v1alpha1.EvalRunList{}
	must(t, r.client.List(t.Context(), run, client.InNamespace(r.namespace)))
	if by := run.Items[0].Annotations[v1alpha1.AnnotationTriggeredBy]; by != "system:serviceaccount:"+r.namespace+":runner" {
		t.Errorf("the run was started by %q", by)
	}
}

func TestGatesInACluster(t *testing.T) {
	r := newReal(t)
	viewer := r.account(t, "viewer", allow("get", "evalsuites"))
	for target, reason := range map[string]string{
		realGate:                    gate.ReasonNoObjectives,
		realGate + "?endpoint=prod": gate.ReasonEndpointNotFound,
		realGate + "?endpoint=canary&revision=abc":       gate.ReasonNoObjectives,
		"/v1/gate/{namespace}/absent":                    gate.ReasonSuiteNotFound,
		"/v1/gate/{namespace}/no%2Fname?endpoint=canary": gate.ReasonSuiteNotFound,
	} {
		status, _, body := r.call(t, "GET", target, "Authorization", viewer, "")
		var d gateDocument
		must(t, json.Unmarshal(body, &d))
		if status != 200 || d.Verdict != gate.Inconclusive || d.Reason != reason || d.Message == "" {
			t.Errorf("%s is %d, want reason %s: %s", target, status, reason, body)
		}
	}
	if status, _, body := r.call(t, "POST", realFlagger, "Authorization", viewer, ""); status != 409 {
		t.Errorf("Flagger may go on: %d %s", status, body)
	}

	// A run that passed lets both go on.
	s := &v1alpha1.EvalSuite{}
	must(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "docs-bot"}, s))
	s.Spec.Objectives = []v1alpha1.Objective{{Metric: "mrr", Min: "0.50"}}
	must(t, r.client.Update(t.Context(), s))
	now := time.Now()
	s.Status = v1alpha1.EvalSuiteStatus{
		ObservedGeneration: &s.Generation, EvaluationDigest: "sha256:e", GoldenSet: &v1alpha1.GoldenSetStatus{Digest: "sha256:g"},
		Results: []v1alpha1.Result{{
			Run: "docs-bot-1", Time: metav1.NewMicroTime(now), ExpiresAt: metav1.NewTime(now.Add(time.Hour)), Trigger: "Schedule", Revision: "none",
			EvaluationDigest: "sha256:e", GoldenSetDigest: "sha256:g", Verdict: "Passed", Reason: "ObjectivesMet", Message: "all met", HitRate: "0.9167", Accuracy: "0.8000",
		}},
	}
	must(t, r.client.Status().Update(t.Context(), s))
	status, _, body := r.call(t, "GET", realGate, "Authorization", viewer, "")
	var d gateDocument
	must(t, json.Unmarshal(body, &d))
	if status != 200 || d.Verdict != gate.Pass || d.Run != "docs-bot-1" || d.Metrics["hitRate"] != 0.9167 || d.Metrics["accuracy"] != 0.8 || d.EvaluatedAt == nil {
		t.Errorf("%d %s", status, body)
	}
	if status, _, body := r.call(t, "POST", realFlagger, "Authorization", viewer, "{}"); status != 200 {
		t.Errorf("Flagger may not go on: %d %s", status, body)
	}
}

func TestTheClustersOwnRights(t *testing.T) {
	r := newReal(t)
	stranger := r.account(t, "stranger")
	viewer := r.account(t, "viewer", allow("get", "evalsuites", "docs-bot", "absent"))
	runner := r.account(t, "runner", allow("get", "evalsuites"), allow("create", "evalruns"))
	creator := r.account(t, "creator", allow("create", "evalruns"))
	for _, test := range []struct {
		name, method, target, token string
		status                      int
	}{
		{"no token", "GET", realHistory, "", 401},
		{"a made-up token", "GET", realHistory, "made-up", 401},
		{"a token that was tampered with", "GET", realHistory, viewer[:len(viewer)-4] + "AAAA", 401},
		{"history by a stranger", "GET", realHistory, stranger, 403},
		{"history by a viewer", "GET", realHistory, viewer, 200},
		{"history of a suite that the viewer may not see", "GET", "/api/v1/eval/rag/{namespace}/other/history", viewer, 403},
		{"history of a suite that there is not, by who may look", "GET", "/api/v1/eval/rag/{namespace}/absent/history", viewer, 404},
		{"history of another namespace", "GET", "/api/v1/eval/rag/default/docs-bot/history", viewer, 403},
		{"history of a name that no suite can have, by a stranger", "GET", "/api/v1/eval/rag/{namespace}/no%2Fname/history", stranger, 403},
		{"history of a name that no suite can have, by who may look", "GET", "/api/v1/eval/rag/{namespace}/no%2Fname/history", runner, 404},
		{"start by a stranger", "POST", realSuite, stranger, 403},
		{"start by a viewer", "POST", realSuite, viewer, 403},
		{"start by who may not get the suite", "POST", realSuite, creator, 403},
		{"start of a suite that there is not, by who may not look", "POST", "/api/v1/eval/rag/{namespace}/absent", creator, 403},
		{"start of a suite that there is not, by who may look", "POST", "/api/v1/eval/rag/{namespace}/absent", runner, 404},
		{"start by a runner", "POST", realSuite, runner, 202},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, header := range []string{"Authorization", headerToken} {
				if status, _, body := r.call(t, test.method, test.target, header, test.token, ""); status != test.status {
					t.Errorf("by %s the answer is %d, want %d: %s", header, status, test.status, body)
				}
			}
		})
	}
}

func TestStartInACluster(t *testing.T) {
	r := newReal(t)
	runner := r.account(t, "runner", allow("get", "evalsuites"), allow("create", "evalruns"))
	start := func(body string) (answer started) {
		t.Helper()
		status, _, text := r.call(t, "POST", realSuite, "Authorization", runner, body)
		if status != 202 {
			t.Fatalf("the answer is %d: %s", status, text)
		}
		must(t, json.Unmarshal(text, &answer))
		return answer
	}

	first := start(`{"tags": ["ko"], "topK": 3}`)
	run := &v1alpha1.EvalRun{}
	must(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: first.Name}, run))
	suite, err := r.runs.Suite(t.Context(), r.namespace, "docs-bot")
	must(t, err)
	topK := int32(3)
	want := v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}, Trigger: "API", Tags: []string{"ko"}, TopK: &topK}
	if diff := cmp.Diff(want, run.Spec); diff != "" {
		t.Error(diff)
	}
	if string(run.UID) != first.ID || !strings.HasPrefix(run.Name, "docs-bot-") || run.Labels["assay.dev/suite"] != "docs-bot" || !metav1.IsControlledBy(run, suite) ||
		run.Annotations[v1alpha1.AnnotationTriggeredBy] != "system:serviceaccount:"+r.namespace+":runner" {
		t.Errorf("the run is %+v", run.ObjectMeta)
	}
	if again := start(`{"tags": ["ko"], "topK": 3}`); again.ID == first.ID {
		t.Error("without a revision, the second call started no run of its own")
	}

	canary := start(`{"endpoint": "canary", "revision": "abc", "tags": ["ko", "en"]}`)
	if again := start(`{"endpoint": "canary", "revision": "abc", "tags": ["en", "ko"]}`); again != canary {
		t.Errorf("the same revision is measured twice: %+v, %+v", canary, again)
	}
	for _, other := range []string{`{"endpoint": "canary", "revision": "abd", "tags": ["ko", "en"]}`, `{"endpoint": "canary", "revision": "abc"}`, `{"endpoint": "canary", "revision": "abc", "tags": ["ko", "en"], "topK": 3}`,
		`{"endpoint": "canary", "revision": "abc", "tags": ["ko", "en"], "stages": ["Retrieval"]}`} {
		if again := start(other); again.ID == canary.ID {
			t.Errorf("%s is answered with another run", other)
		}
	}

	// The same stages, too, are one run; and the API server takes them.
	retrieval := start(`{"endpoint": "canary", "revision": "abc", "stages": ["Retrieval"]}`)
	if again := start(`{"endpoint": "canary", "revision": "abc", "stages": ["Retrieval"]}`); again != retrieval {
		t.Errorf("the same stages are measured twice: %+v, %+v", retrieval, again)
	}
	must(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: retrieval.Name}, run))
	if diff := cmp.Diff([]v1alpha1.Stage{"Retrieval"}, run.Spec.Stages); diff != "" {
		t.Error(diff)
	}

	// When that one has ended, what is asked for is another.
	must(t, r.end(canary.Name))
	next := start(`{"endpoint": "canary", "revision": "abc", "tags": ["ko", "en"]}`)
	if next.ID == canary.ID {
		t.Error("a run that has ended was given for one that goes")
	}
	if again := start(`{"endpoint": "canary", "revision": "abc", "tags": ["ko", "en"]}`); again.ID != next.ID {
		t.Error("the same revision is measured twice")
	}
	// So is it where the run that goes began with another suite.
	changed := &v1alpha1.EvalRun{}
	must(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: next.Name}, changed))
	changed.Status.SuiteEvaluationDigest = "sha256:before"
	must(t, r.client.Status().Update(t.Context(), changed))
	if again := start(`{"endpoint": "canary", "revision": "abc", "tags": ["ko", "en"]}`); again.ID == next.ID {
		t.Error("a run of the suite as it was before was given for one of today's")
	}
}

// end writes a verdict, as the operator does.
func (r *real) end(name string) error {
	ctx := context.Background()
	run := &v1alpha1.EvalRun{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, run); err != nil {
		return err
	}
	ended(run)
	return r.client.Status().Update(ctx, run)
}

func TestManyCallsAtOnceStartOneRun(t *testing.T) {
	r := newReal(t)
	suite, err := r.runs.Suite(t.Context(), r.namespace, "docs-bot")
	must(t, err)
	ids := make([]string, 12)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			run, err := r.runs.Start(t.Context(), suite, Ask{Endpoint: "canary", Revision: "abc"})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = string(run.UID)
		})
	}
	all.Wait()
	runs := &v1alpha1.EvalRunList{}
	must(t, r.client.List(t.Context(), runs, client.InNamespace(r.namespace)))
	if len(runs.Items) != 1 {
		t.Errorf("there are %d runs", len(runs.Items))
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the calls were given %v", ids)
		}
	}
}

func TestWaitInAClusterAndReadTheStore(t *testing.T) {
	r := newReal(t)
	runner := r.account(t, "runner", allow("get", "evalsuites"), allow("create", "evalruns"))
	stranger := r.account(t, "stranger")
	finished := make(chan error, 1)
	go func() { finished <- r.runOne() }()
	status, _, body := r.call(t, "POST", realSuite+"?wait=60s", "Authorization", runner, "")
	must(t, <-finished)
	var doc struct {
		Run     struct{ UID string }
		Verdict string
		Next    string
		Cases   []struct {
			ID        string
			Retrieved []struct {
				Rank  int
				ID    string
				Score float64
				Text  string
			}
		}
	}
	must(t, json.Unmarshal(body, &doc))
	if status != 200 || doc.Verdict != "Passed" || len(doc.Cases) != 3 {
		t.Fatalf("the answer is %d: %s", status, body)
	}
	if got := doc.Cases[0].Retrieved[1]; got.Rank != 2 || got.ID != "doc_001" || got.Score != 1 || got.Text != "the text of doc_001" {
		t.Errorf("the second result of the first case is %+v", got)
	}

	run := runPath + doc.Run.UID
	if status, _, _ := r.call(t, "GET", run, "Authorization", stranger, ""); status != 403 {
		t.Errorf("a stranger is answered %d", status)
	}
	_, _, body = r.call(t, "GET", run+"?limit=2", "Authorization", runner, "")
	must(t, json.Unmarshal(body, &doc))
	cursor := doc.Next
	doc.Next, doc.Cases = "", nil
	_, _, body = r.call(t, "GET", run+"?limit=2&after="+cursor, "Authorization", runner, "")
	must(t, json.Unmarshal(body, &doc))
	if len(doc.Cases) != 1 || doc.Cases[0].ID != "q03" || doc.Next != "" {
		t.Errorf("the second page is %s", body)
	}
	_, _, body = r.call(t, "GET", run+"?outcome=RetrieverTimeout&tag=ko", "Authorization", runner, "")
	doc.Cases = nil
	must(t, json.Unmarshal(body, &doc))
	if len(doc.Cases) != 1 || doc.Cases[0].ID != "q02" {
		t.Errorf("the cases with the outcome are %s", body)
	}
	for _, query := range []string{"?after=made-up", "?tag=ko&after=" + cursor} {
		if status, _, body := r.call(t, "GET", run+query, "Authorization", runner, ""); status != 400 {
			t.Errorf("%s is %d: %s", query, status, body)
		}
	}
	status, _, body = r.call(t, "GET", realHistory+"?limit=1", "Authorization", runner, "")
	if status != 200 || !strings.Contains(string(body), doc.Run.UID) {
		t.Errorf("the history is %d: %s", status, body)
	}
	if status, _, body = r.call(t, "GET", realHistory+"?before=made-up", "Authorization", runner, ""); status != 400 {
		t.Errorf("a made-up cursor is %d: %s", status, body)
	}

	// The run is read when its object is gone, and its suite.
	must(t, r.client.DeleteAllOf(t.Context(), &v1alpha1.EvalRun{}, client.InNamespace(r.namespace)))
	must(t, r.client.DeleteAllOf(t.Context(), &v1alpha1.EvalSuite{}, client.InNamespace(r.namespace)))
	for _, target := range []string{run, realHistory} {
		if status, _, body := r.call(t, "GET", target, "Authorization", runner, ""); status != 200 {
			t.Errorf("%s is %d when the objects are gone: %s", target, status, body)
		}
	}
}

// runOne does what the operator does with the one run of the namespace.
func (r *real) runOne() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	runs := &v1alpha1.EvalRunList{}
	for len(runs.Items) == 0 {
		if err := r.client.List(ctx, runs, client.InNamespace(r.namespace)); err != nil {
			return err
		}
	}
	run := &runs.Items[0]
	now := time.Now()
	stored := history.Run{UID: string(run.UID), Namespace: run.Namespace, Suite: "docs-bot", Name: run.Name, Trigger: "API", Full: true, StartTime: now, CompletionTime: &now, Verdict: "Passed", Reason: "ObjectivesMet", Total: 3}
	if err := r.store.PutRun(ctx, stored); err != nil {
		return err
	}
	if err := r.store.PutCases(ctx, stored.UID, storedCases()); err != nil {
		return err
	}
	return r.end(run.Name)
}

func TestSuitesOfNamespacesThatTheOperatorDoesNotWorkIn(t *testing.T) {
	r := newReal(t)
	r.runs.Namespaces = []string{"elsewhere"}
	if _, err := r.runs.Suite(t.Context(), r.namespace, "docs-bot"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
}

func TestARunThatTheAPIServerRefuses(t *testing.T) {
	r := newReal(t)
	suite, err := r.runs.Suite(t.Context(), r.namespace, "docs-bot")
	must(t, err)
	_, err = r.runs.Start(t.Context(), suite, Ask{TopK: 1001})
	if _, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(err.Error(), "topK") {
		t.Errorf("the error is %v", err)
	}
}
