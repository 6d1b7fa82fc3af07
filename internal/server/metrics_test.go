package server

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	metricsPath = "/metrics"
	theMetrics  = "assay_build_info 1\n"
)

// metricsFor are metrics as the operator serves them.
func metricsFor(access PathAccess) http.Handler {
	return Metrics(access, logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, theMetrics) }))
}

// scrape asks for the metrics; header is empty or a value of Authorization.
func scrape(t *testing.T, h http.Handler, method, header string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, metricsPath, nil)
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestMetricsInACluster asks a real API server, as an operator that may ask it about
// others and as one that may not.
func TestMetricsInACluster(t *testing.T) {
	r := newReal(t)
	stranger, scraper := r.account(t, "stranger"), r.account(t, "scraper")
	meta := metav1.ObjectMeta{Name: "scrapes-" + r.namespace}
	must(t, r.client.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: meta,
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{metricsPath}, Verbs: []string{"get"}}},
	}))
	must(t, r.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.namespace, Name: "scraper"}},
	}))
	namespaced := rest.AnonymousClientConfig(apiServer.config)
	namespaced.BearerToken = r.account(t, "operator")
	for name, config := range map[string]*rest.Config{"may review": apiServer.config, "may not": namespaced} {
		access, err := NewAccess(config)
		must(t, err)
		h := metricsFor(access)
		for caller, test := range map[string]struct {
			method, header string
			status         int
			says           string
		}{
			"no token":          {"GET", "", 401, "needs a token"},
			"another scheme":    {"GET", "Basic dTpw", 401, "needs a token"},
			"a made-up token":   {"GET", "Bearer made-up", 401, "does not accept the token"},
			"one tampered with": {"GET", "Bearer " + scraper[:len(scraper)-4] + "AAAA", 401, "does not accept the token"},
			"a stranger":        {"GET", "Bearer " + stranger, 403, "may not get /metrics"},
			"a scraper":         {"GET", "Bearer " + scraper, 200, ""},
			"a scraper, HEAD":   {"HEAD", "Bearer " + scraper, 200, ""},
			"a scraper, POST":   {"POST", "Bearer " + scraper, 405, "takes GET"},
		} {
			got := scrape(t, h, test.method, test.header)
			if got.Code == http.StatusOK && test.status == http.StatusOK {
				if got.Body.String() != theMetrics {
					t.Errorf("%s, %s: the metrics are %q", name, caller, got.Body)
				}
				continue
			}
			if strings.Contains(got.Body.String(), "build_info") {
				t.Errorf("%s, %s: it is told the metrics", name, caller)
			}
			refused(t, got, test.status, metricsPath, test.says)
		}
	}
}

func TestMetricsInAnOutage(t *testing.T) {
	v := newReviewer(t)
	h := metricsFor(v.access(t))
	if got := scrape(t, h, "GET", "Bearer good-reader"); got.Code != 200 {
		t.Fatalf("before, the answer is %d: %s", got.Code, got.Body)
	}
	v.fails.Store(true)
	refused(t, scrape(t, h, "GET", "Bearer good-other"), 503, metricsPath, "could not be asked whose token this is")

	known := newReviewer(t)
	access := known.access(t)
	if _, err := access.Authenticate(t.Context(), "good-reader"); err != nil {
		t.Fatal(err)
	}
	known.Close() // with the token still remembered
	got := scrape(t, metricsFor(access), "GET", "Bearer good-reader")
	refused(t, got, 503, metricsPath, "could not be asked what you may do")
	if got.Header().Get("Retry-After") == "" {
		t.Error("it does not say when to try again")
	}
}

// TestACallForMetricsIsBounded serves Metrics as controller-runtime does, whose
// server bounds headers alone.
func TestACallForMetricsIsBounded(t *testing.T) {
	const head = "GET /metrics HTTP/1.1\r\nHost: assay\r\nAuthorization: Bearer good-reader\r\n"
	body := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
	large := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }
	for name, test := range map[string]struct {
		text    string
		handler http.HandlerFunc
	}{
		"a body that does not come":   {head + "Content-Length: 10\r\n\r\n", body},
		"an answer that nobody reads": {head + "\r\n", large},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				srv := &http.Server{Handler: deadline(scrapeTimeout, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					test.handler(w, r)
					close(ended)
				}))}
				listener, done := newPipes(), make(chan error, 1)
				go func() { done <- srv.Serve(listener) }()
				client, served := net.Pipe()
				listener.accept <- served
				begin := time.Now()
				if _, err := io.WriteString(client, test.text); err != nil {
					t.Fatal(err)
				}
				<-ended
				if took := time.Since(begin); took != scrapeTimeout {
					t.Errorf("it was served for %s", took)
				}
				_ = client.Close()
				_ = srv.Close()
				if err := <-done; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}
