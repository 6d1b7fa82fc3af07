package operator

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/yaml"
)

func probe(t *testing.T, p *probes, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestProbes(t *testing.T) {
	a := &api{}
	var missing *store
	p := &probes{
		alive:   &healthz.Handler{Checks: map[string]healthz.Checker{"runs": answers("it", func() {})}},
		ready:   &healthz.Handler{Checks: map[string]healthz.Checker{"api": a.listens}},
		history: missing.state,
	}
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/healthz":            {200, "ok"},
		"/healthz?verbose":    {200, "[+]runs ok\nhealthz check passed\n"},
		"/readyz":             {500, "[-]api failed: reason withheld\nhealthz check failed\n"},
		"/readyz/api":         {500, "internal server error: the HTTP API does not listen\n"},
		"/readyz?verbose":     {500, "[-]api failed: reason withheld\nhealthz check failed\nhistory: none is kept (--history)\n"},
		"/readyz?exclude=api": {200, "ok"},
		"/readyz/other":       {404, "404 page not found\n"},
		"/":                   {404, "404 page not found\n"},
		"/metrics":            {404, "404 page not found\n"},
	} {
		if code, text := probe(t, p, path); code != want.code || text != want.text {
			t.Errorf("%s is answered %d %q, want %d %q", path, code, text, want.code, want.text)
		}
	}
	a.listening.Store(true)
	if code, text := probe(t, p, "/readyz"); code != 200 {
		t.Errorf("with an API that listens: %d %s", code, text)
	}
}

// Liveness fails where a lock is never given back, and not because of work.
func TestAProcessThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := answers("what carries out runs", func() { <-release })
		begin := time.Now()
		err := stuck(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
		if err == nil || err.Error() != "what carries out runs does not answer" || time.Since(begin) != answerWithin {
			t.Errorf("got %v after %s", err, time.Since(begin))
		}
		close(release)
		if err := stuck(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)); err != nil {
			t.Errorf("when it goes on: %v", err)
		}
	})
}

func TestTheStateOfTheHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder must be
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Now())
	s, err := openStore(t.Context(), "sqlite://"+filepath.Join(dir, "history.db"), logr.Discard(), clock)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.state(t.Context()); got != "not open, the log says why; runs go on without it" {
		t.Errorf("a store that cannot be opened is %q", got)
	}
	s.mu.Lock()
	if got := s.state(t.Context()); got != "being opened" {
		t.Errorf("a store that is being opened is %q", got)
	}
	s.mu.Unlock()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	clock.Step(reopenAfter)
	if _, err := s.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.state(t.Context()); got != "sqlite, open" {
		t.Errorf("an open store is %q", got)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got := s.state(gone); !strings.Contains(got, "it does not answer") {
		t.Errorf("a store that does not answer is %q", got)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// The operator has stopped before the kubelet loses patience.
func TestAStopFitsIntoThePodsGracePeriod(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "manager", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	if pod.TerminationGracePeriodSeconds == nil {
		t.Fatal("the pod has no grace period of its own")
	}
	// Spans are sent in the last five seconds, the lease is released within one.
	const after = 6 * time.Second
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; stopWithin+after > grace {
		t.Errorf("a stop takes up to %s, and the pod has %s", stopWithin+after, grace)
	}
	if got := *managerOptions(Options{}).GracefulShutdownTimeout; got != stopWithin {
		t.Errorf("the manager waits %s", got)
	}
	// The kubelet's patience with one probe.
	for _, probe := range []int32{pod.Containers[0].LivenessProbe.TimeoutSeconds, pod.Containers[0].ReadinessProbe.TimeoutSeconds} {
		if within := time.Duration(max(probe, 1)) * time.Second; answerWithin >= within {
			t.Errorf("a probe is answered within %s, and waited for %s", answerWithin, within)
		}
	}
}
