//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestRolloutControllersObeyTheGate runs the real Argo Rollouts and the real Flagger
// on the samples, against the operator, and in the end without it.
func TestRolloutControllersObeyTheGate(t *testing.T) {
	operator := startAssayOn(t, "sqlite://"+filepath.Join(t.TempDir(), "history.db"), "--api-anonymous-flagger")
	target := newRolloutTarget(t)
	startArgoRollouts(t)
	startFlagger(t)
	left := newArgoRelease(t, operator, "consecutiveErrorLimit: 30", "consecutiveErrorLimit: 1")
	leftCanary := newFlaggerRelease(t, operator)
	left.deploy(t, "1.0.0")
	leftCanary.deploy(t, "1.0.0")
	t.Run("with the operator up", func(t *testing.T) {
		t.Run("Argo Rollouts", func(t *testing.T) {
			t.Parallel()
			testArgoRollouts(t, operator)
		})
		t.Run("Flagger", func(t *testing.T) {
			t.Parallel()
			testFlagger(t, operator)
		})
		t.Run("Rollout as a target", func(t *testing.T) {
			t.Parallel()
			testRolloutTarget(t, target)
		})
	})

	left.waitForPhase(t, "Healthy", "")
	leftCanary.waitForPhase(t, "Initialized")
	operator.stop(syscall.SIGKILL)
	left.gate.decide("Pass")
	leftCanary.gate.decide("Pass")
	left.deploy(t, "1.1.0")
	leftCanary.deploy(t, "1.1.0")
	left.waitForPhase(t, "Degraded", "RolloutAborted")
	left.isRolledBack(t, "1.0.0")
	leftCanary.waitForPhase(t, "WaitingPromotion")
	leftCanary.waitForSecondRefusal(t)
	leftCanary.serves(t, "1.0.0")
}

// sampleAPI is where those samples have Assay's API.
const sampleAPI = "https://assay-controller-manager-api.assay-system.svc:8444"

// A gate is what a rollout controller asks. The test decides what comes of it.
type gate interface {
	// address is where it is served, in place of sampleAPI.
	address() string
	// decide sets what the newest revision gets from now on: "Pass", "Fail" or
	// "Pending". What older ones got stays as it is.
	decide(verdict string)
	// asked is how often it was asked for a verdict, to let a rollout pass.
	asked() int
	// shutDown ends it: nobody answers any more.
	shutDown()
}

// newGate is the real one: the operator's API for the suite in a namespace, behind a
// proxy that counts, and in front of a retriever that is as good as the test says.
func newGate(t *testing.T, operator *assay) *realGate {
	t.Helper()
	g := &realGate{retriever: newGatedRetriever(t)}
	to := &url.URL{Scheme: "https", Host: operator.api}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	g.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/gate/") || strings.HasPrefix(r.URL.Path, "/v1/flagger/") && strings.HasSuffix(r.URL.Path, "/gate") {
			g.count.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	g.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(g.server.Close)
	return g
}

type realGate struct {
	server    *httptest.Server
	retriever *gatedRetriever
	count     atomic.Int64
}

func (g *realGate) address() string { return g.server.URL }

func (g *realGate) asked() int { return int(g.count.Load()) }

func (g *realGate) shutDown() { g.server.Close() }

// decide has the retriever find everything, miss one question of two, or keep
// everybody waiting.
func (g *realGate) decide(verdict string) { g.retriever.behave(verdict) }

// gatedRetriever answers the golden set of the samples. What its path ends in is
// whom it stands for: /stable is always good, /canary as the test says.
type gatedRetriever struct {
	*httptest.Server

	mu      sync.Mutex
	verdict string
	changed chan struct{} // closed when the verdict is another
}

func newGatedRetriever(t *testing.T) *gatedRetriever {
	t.Helper()
	s := &gatedRetriever{verdict: "Pending", changed: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.behave("Pass") // nobody waits any more
		s.Close()
	})
	return s
}

func (s *gatedRetriever) behave(verdict string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = verdict
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *gatedRetriever) now() (string, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verdict, s.changed
}

func (s *gatedRetriever) serve(w http.ResponseWriter, r *http.Request) {
	var body struct{ Query string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	verdict := "Pass"
	if strings.HasSuffix(r.URL.Path, "/canary") {
		var changed chan struct{}
		for verdict, changed = s.now(); verdict == "Pending"; verdict, changed = s.now() {
			select {
			case <-changed:
			case <-r.Context().Done():
				return
			}
		}
	}
	id := "docs/keys.md"
	if strings.Contains(body.Query, "ports") {
		id = "docs/network.md"
		if verdict == "Fail" {
			id = "docs/other.md"
		}
	}
	writeJSON(w, map[string]any{"results": []map[string]string{{"id": id}}})
}

func writeJSON(w http.ResponseWriter, body any) {
	_ = json.NewEncoder(w).Encode(body) // the reader may have gone
}

// A release is what a sample of config/samples/gates deploys, in a namespace and
// behind a gate of its own.
type release struct {
	namespace string
	gate      gate
	manifests string
}

// newRelease reads a sample for a new namespace, where pods get ready. What else
// is to be edited in it comes in pairs of old and new.
func newRelease(t *testing.T, operator *assay, sample string, edits ...string) *release {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "gates", sample))
	if err != nil {
		t.Fatal(err)
	}
	r := &release{namespace: newNamespace(t), manifests: string(data)}
	r.gate = newGate(t, operator)
	startKubelet(t, r.namespace)
	retriever := r.gate.(*realGate).retriever.URL
	// A run that is kept waiting is Pending for as long as the test wants.
	for host, path := range map[string]string{"docs-bot-stable": "/stable", "docs-bot-canary": "/canary"} {
		r.replace("url: http://"+host+".rag.svc:8080/search", "url: "+retriever+path+"\n    timeoutSeconds: 600")
		r.replace("retrieverURL: http://"+host+".rag.svc:8080/search", "retrieverURL: "+retriever+path)
	}
	r.replace("settleSeconds: 15", "settleSeconds: 1")
	r.edit(t, sampleAPI, r.gate.address())
	r.replace("namespace: rag}", "namespace: "+r.namespace+"}") // who the token is of
	r.replace("/rag/docs-bot/", "/"+r.namespace+"/docs-bot/")
	for i := 0; i < len(edits); i += 2 {
		r.edit(t, edits[i], edits[i+1])
	}
	return r
}

// edit replaces what must be there.
func (r *release) edit(t *testing.T, old, edited string) {
	t.Helper()
	if !strings.Contains(r.manifests, old) {
		t.Fatalf("the sample has no %q", old)
	}
	r.replace(old, edited)
}

func (r *release) replace(old, edited string) {
	r.manifests = strings.ReplaceAll(r.manifests, old, edited)
}

// image is the sample's at a version.
func image(version string) string { return "ghcr.io/example/docs-bot:" + version }

// deploy applies the sample with a version of the image, as a user does.
func (r *release) deploy(t *testing.T, version string) {
	t.Helper()
	manifests := strings.ReplaceAll(r.manifests, image("1.0.0"), image(version))
	mustKubectl(t, "-n", r.namespace, "apply", "-f", writeFile(t, t.TempDir(), "manifests.yaml", []byte(manifests)))
}

// waitForQuestions waits until the gate was asked so often.
func (r *release) waitForQuestions(t *testing.T, n int) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if asked := r.gate.asked(); asked < n {
			return fmt.Errorf("the gate was asked %d times, want %d", asked, n)
		}
		return nil
	})
}
