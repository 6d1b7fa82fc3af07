//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gatedSuite is the suite of the samples in config/samples/gates.
const gatedSuite = "docs-bot"

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

// newGate serves the gate of a suite in a namespace.
func newGate(t *testing.T, namespace string) gate {
	t.Helper()
	g := &gateStub{namespace: namespace, verdict: "Pending", started: map[string]bool{}, verdicts: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/eval/rag/{namespace}/{suite}", g.authorized("create", "evalruns", g.start))
	mux.HandleFunc("GET /v1/gate/{namespace}/{suite}", g.authorized("get", "evalsuites", g.answer))
	mux.HandleFunc("POST /v1/flagger/{namespace}/{suite}/gate", g.flagger("Pass"))
	mux.HandleFunc("POST /v1/flagger/{namespace}/{suite}/rollback", g.flagger("Fail"))
	g.server = httptest.NewTLSServer(mux)
	t.Cleanup(g.server.Close)
	return g
}

// gateStub answers as Assay does, for one suite.
type gateStub struct {
	server    *httptest.Server
	namespace string

	mu       sync.Mutex
	verdict  string
	started  map[string]bool   // revisions that a run of the endpoint was started for
	verdicts map[string]string // by revision
	newest   string
	count    int
}

func (g *gateStub) address() string { return g.server.URL }

func (g *gateStub) decide(verdict string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verdict = verdict
}

func (g *gateStub) asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count
}

func (g *gateStub) shutDown() { g.server.Close() }

// of is the verdict on a revision.
func (g *gateStub) of(revision string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.verdicts[revision]; !known {
		g.newest = revision
	}
	if revision == g.newest {
		g.verdicts[revision] = g.verdict
	}
	return g.verdicts[revision]
}

func (g *gateStub) countAsked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
}

// authorized lets through whom the API server knows by the token, and who may.
func (g *gateStub) authorized(verb, resource string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		if err := cluster.Create(r.Context(), review); err != nil || !review.Status.Authenticated {
			http.Error(w, fmt.Sprint("who are you? ", err, review.Status.Error), http.StatusUnauthorized)
			return
		}
		access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   review.Status.User.Username,
			Groups: review.Status.User.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: r.PathValue("namespace"), Verb: verb, Group: "assay.dev", Resource: resource,
			},
		}}
		if err := cluster.Create(r.Context(), access); err != nil || !access.Status.Allowed {
			http.Error(w, fmt.Sprint("you may not ", verb, " ", resource, ": ", err, access.Status.Reason), http.StatusForbidden)
			return
		}
		g.itsSuite(next)(w, r)
	}
}

// itsSuite knows no other suite.
func (g *gateStub) itsSuite(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("namespace") != g.namespace || r.PathValue("suite") != gatedSuite {
			http.NotFound(w, r)
			return
		}
		next(w, r)
	}
}

// start starts a run of the canary, and takes no revision that the canary's
// Service does not lead to.
func (g *gateStub) start(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Endpoint, Revision string }
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	service := &corev1.Service{}
	if err := cluster.Get(r.Context(), client.ObjectKey{Namespace: g.namespace, Name: "docs-bot-canary"}, service); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if serves := service.Spec.Selector["rollouts-pod-template-hash"]; ask.Endpoint != "canary" || ask.Revision != serves {
		http.Error(w, fmt.Sprintf("asked for %+v, and the canary serves %q", ask, serves), http.StatusUnprocessableEntity)
		return
	}
	g.mu.Lock()
	g.started[ask.Revision] = true
	g.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	writeJSON(w, map[string]string{"id": "run-of-" + ask.Revision})
}

// answer gives the verdict on a revision of the canary that a run was started for.
func (g *gateStub) answer(w http.ResponseWriter, r *http.Request) {
	revision, endpoint := r.URL.Query().Get("revision"), r.URL.Query().Get("endpoint")
	g.mu.Lock()
	started := g.started[revision] && endpoint == "canary"
	g.mu.Unlock()
	verdict, run := "Inconclusive", ""
	if started {
		g.countAsked()
		verdict, run = g.of(revision), "run-of-"+revision
	}
	writeJSON(w, map[string]any{
		"verdict": verdict, "revision": revision, "run": run, "reason": "as the test decided",
		"evaluatedAt": time.Now().UTC(), "metrics": []any{},
	})
}

// flagger answers 200 on one verdict on what is live, and else 409.
func (g *gateStub) flagger(passes string) http.HandlerFunc {
	return g.itsSuite(func(w http.ResponseWriter, r *http.Request) {
		revision, err := liveRevision(r.Context(), g.namespace, "docs-bot")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if passes == "Pass" {
			g.countAsked()
		}
		if verdict := g.of(revision); verdict != passes {
			http.Error(w, verdict, http.StatusConflict)
		}
	})
}

// liveRevision is the template hash of a Deployment's newest ReplicaSet.
func liveRevision(ctx context.Context, namespace, deployment string) (string, error) {
	list := &appsv1.ReplicaSetList{}
	if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	current := &appsv1.Deployment{}
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: deployment}, current); err != nil {
		return "", err
	}
	const revision = "deployment.kubernetes.io/revision"
	for _, set := range list.Items {
		if metav1.IsControlledBy(&set, current) && set.Annotations[revision] == current.Annotations[revision] {
			return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey], nil
		}
	}
	return "", errors.New("the Deployment has no ReplicaSet of its revision")
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
func newRelease(t *testing.T, sample string, edits ...string) *release {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "gates", sample))
	if err != nil {
		t.Fatal(err)
	}
	r := &release{namespace: newNamespace(t), manifests: string(data)}
	r.gate = newGate(t, r.namespace)
	startKubelet(t, r.namespace)
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
