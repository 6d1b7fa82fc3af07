package secrets

import (
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
	"github.com/assay-dev/assay/internal/tracing"
)

// patience is how long the test waits for what must come about.
const patience = 3 * time.Minute

// The operator runs suites whose services repeat every secret in every way. None
// is to be seen in anything that the operator writes.
func TestNoSecretShows(t *testing.T) {
	ns := newNamespace(t)
	b := newBench(t, ns)
	requireEveryPlace(t, b.suites)
	for _, s := range b.secrets {
		must(t, cluster.Create(t.Context(), s.DeepCopy()))
	}
	must(t, cluster.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "golden"}, Data: map[string]string{"golden.yaml": goldenSet}}))

	spans := newCollector(t)
	database := filepath.Join(t.TempDir(), "history.db")
	registry := prometheus.NewRegistry()
	address := freeAddress(t)
	stop := start(t, operator.Options{
		Namespaces: []string{ns}, Registry: registry, History: "sqlite://" + database, APIAddress: address,
		Tracing: tracing.Options{Endpoint: spans.server.URL, SampleRatio: 1},
	})
	for _, s := range b.suites {
		must(t, cluster.Create(t.Context(), s.DeepCopy()))
	}
	runs := b.settled(t)
	api := callAPI(t, b, "http://"+address, runs)
	files := readFiles(t, database) // while the write-ahead log is there
	stop()
	spans.server.Close()

	b.vault.requireSent(t)
	s := b.vault.search()
	s.in(t, "the log", logs.String())
	s.in(t, "an Event", dump(t, b, &eventsv1.EventList{}, &corev1.EventList{}))
	s.in(t, "a suite or a run", dump(t, b, &v1alpha1.EvalSuiteList{}, &v1alpha1.EvalRunList{}))
	s.in(t, "a metric", scrape(registry))
	s.in(t, "the HTTP API", api)
	s.in(t, "the database's file", files)
	s.in(t, "a row", rows(t, database))
	s.in(t, "a span", spans.received.String())
}

// start runs an operator until it is stopped.
func start(t *testing.T, o operator.Options) (stop func()) {
	t.Helper()
	o.MetricsAddress, o.ProbeAddress, o.MaxConcurrentRuns = "0", "0", 16
	o.SkipNameValidation, o.Recheck = true, time.Second
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- operator.Run(ctx, config, o) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator ended with: %v", err)
		}
		done <- nil
	}
	t.Cleanup(stop)
	return stop
}

// settled waits until every suite has run, or says why it cannot.
func (b *bench) settled(t *testing.T) []v1alpha1.EvalRun {
	t.Helper()
	runs, suites := &v1alpha1.EvalRunList{}, &v1alpha1.EvalSuiteList{}
	eventually(t, func() error {
		must(t, cluster.List(t.Context(), runs, client.InNamespace(b.namespace)))
		must(t, cluster.List(t.Context(), suites, client.InNamespace(b.namespace)))
		ended := map[string]bool{}
		for i := range runs.Items {
			ended[runs.Items[i].Spec.SuiteRef.Name] = runs.Items[i].Status.Verdict != ""
		}
		for i := range suites.Items {
			s := &suites.Items[i]
			stuck := strings.HasPrefix(s.Name, golden+"-") && meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.ConditionReady)
			passing := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionPassing)
			if !stuck && (!ended[s.Name] || passing == nil || passing.Reason == "NotYetEvaluated") {
				return fmt.Errorf("suite %s has neither run nor stalled: %+v", s.Name, s.Status.Conditions)
			}
		}
		if len(suites.Items) != len(b.suites) {
			return fmt.Errorf("%d suites, want %d", len(suites.Items), len(b.suites))
		}
		return nil
	})
	return runs.Items
}

// dump gives objects as YAML, without the URLs that suites themselves name.
func dump(t *testing.T, b *bench, lists ...client.ObjectList) string {
	t.Helper()
	var all strings.Builder
	for _, list := range lists {
		must(t, cluster.List(t.Context(), list, client.InNamespace(b.namespace)))
		if n := meta.LenList(list); n < len(b.suites)/2 {
			t.Errorf("only %d objects in %T", n, list)
		}
		if suites, ok := list.(*v1alpha1.EvalSuiteList); ok {
			for i := range suites.Items {
				suites.Items[i].Spec = v1alpha1.EvalSuiteSpec{}
			}
		}
		text, err := yaml.Marshal(list)
		must(t, err)
		all.Write(text)
	}
	return all.String()
}

func scrape(registry *prometheus.Registry) string {
	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return recorder.Body.String()
}

// callAPI gives what the HTTP API says of everything, and of callers that it does
// not let in, whose tokens are secrets too.
func callAPI(t *testing.T, b *bench, base string, runs []v1alpha1.EvalRun) string {
	t.Helper()
	good, bad := token(t, b.namespace), b.vault.word("a caller of the API")
	b.vault.add("the API's own caller", good[len(good)-60:])
	var all strings.Builder
	ask := func(path, token, body string) {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		must(t, err)
		request.Header.Set("Content-Type", "application/json")
		for _, name := range []string{"Authorization", "X-Assay-Authorization"} {
			request.Header.Set(name, "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(request)
		must(t, err)
		text, err := io.ReadAll(response.Body)
		must(t, err)
		must(t, response.Body.Close())
		if token == good && response.StatusCode >= 400 && body == "" && !strings.Contains(path, "compare") {
			t.Errorf("GET %s: %s: %s", path, response.Status, text)
		}
		fmt.Fprintf(&all, "%s\n%v\n%s\n", response.Status, response.Header, text)
	}
	b.vault.mu.Lock()
	bad.sent = true
	b.vault.mu.Unlock()
	last := ""
	for i := range runs {
		suite := runs[i].Spec.SuiteRef.Name
		ask("/api/v1/eval/rag/run/"+string(runs[i].UID), good, "")
		ask("/api/v1/eval/rag/"+b.namespace+"/"+suite+"/history", good, "")
		if i%8 == 0 || strings.HasSuffix(suite, "-content") || suite == "chain" { // these read all runs
			ask("/v1/gate/"+b.namespace+"/"+suite, good, "")
			ask("/api/v1/eval/rag/compare?base="+last+"&head="+string(runs[i].UID), good, "")
		}
		last = string(runs[i].UID)
	}
	ask("/api/v1/eval/rag/"+b.namespace+"/"+runs[0].Spec.SuiteRef.Name+"/history", bad.value, "")
	ask("/api/v1/eval/rag/"+b.namespace+"/"+runs[0].Spec.SuiteRef.Name, bad.value, `{"endpoint": "x"}`)
	return all.String()
}

// token gives a token of an account that may do all.
func token(t *testing.T, namespace string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}}
	must(t, cluster.Create(t.Context(), account))
	must(t, cluster.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "reader-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "reader"}},
	}))
	request := &authenticationv1.TokenRequest{}
	must(t, cluster.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

// readFiles gives the bytes of a database, its write-ahead log included.
func readFiles(t *testing.T, database string) string {
	t.Helper()
	var all strings.Builder
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(database + end)
		must(t, err)
		if len(data) == 0 {
			t.Errorf("%s%s is empty", database, end)
		}
		all.Write(data)
	}
	return all.String()
}

// rows gives every cell of every table.
func rows(t *testing.T, database string) string {
	t.Helper()
	db, err := sql.Open("sqlite", database)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	var all strings.Builder
	for _, table := range query(t, db, `SELECT name FROM sqlite_master WHERE type = 'table'`) {
		cells := query(t, db, `SELECT * FROM "`+table+`"`)
		if len(cells) == 0 && strings.HasPrefix(table, "eval_") {
			t.Errorf("table %s is empty", table)
		}
		all.WriteString(table + "\n" + strings.Join(cells, "\n"))
	}
	return all.String()
}

// query gives the cells that a statement finds.
func query(t *testing.T, db *sql.DB, statement string) []string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), statement)
	must(t, err)
	defer func() { must(t, found.Close()) }()
	columns, err := found.Columns()
	must(t, err)
	var cells []string
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		must(t, found.Scan(into...))
		for _, v := range values {
			if raw, ok := v.([]byte); ok {
				v = string(raw)
			}
			cells = append(cells, fmt.Sprint(v))
		}
	}
	must(t, found.Err())
	return cells
}

// collector takes spans.
type collector struct {
	server   *httptest.Server
	received lockedBuffer
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		if _, err := io.Copy(&c.received, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(c.server.Close)
	return c
}

// newNamespace makes a namespace of the test's own.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "secrets-"}}
	must(t, cluster.Create(t.Context(), ns))
	return ns.Name
}

// freeAddress gives an address that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close())
	return listener.Addr().String()
}

// eventually waits until the check gives nil, and fails with what it said last.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(200 * time.Millisecond)
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
