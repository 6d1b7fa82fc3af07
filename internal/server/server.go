// Package server is the HTTP API: it starts runs, reads runs and their cases out
// of the history, compares them, and answers gates. It decides nothing of its own.
package server

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/history"
)

// Reader reads the history store.
type Reader interface {
	// Run gives a run by its UID; history.ErrNotFound where there is none.
	Run(ctx context.Context, uid string) (history.Run, error)
	// Cases gives one page of a run's cases; a *history.BadCursorError for a cursor that no page gave.
	Cases(ctx context.Context, uid string, q history.CaseQuery) (history.CasePage, error)
	// Runs gives one page of a suite's runs, newest first; a *history.BadCursorError likewise.
	Runs(ctx context.Context, namespace, suite string, q history.RunQuery) (history.RunPage, error)
	// CompareCases hands what a comparison needs of a run's cases to f.
	CompareCases(ctx context.Context, uid string, f func(history.CompareCase) error) error
}

// RunStarter starts runs and finds those that are objects in the cluster.
type RunStarter interface {
	// Suite gives a suite; ErrNotFound where there is none.
	Suite(ctx context.Context, namespace, name string) (*v1alpha1.EvalSuite, error)
	// Start starts a run of the suite, or finds the active one that was asked for already.
	Start(ctx context.Context, suite *v1alpha1.EvalSuite, ask Ask) (*v1alpha1.EvalRun, error)
	// Find gives a run by its UID; ErrNotFound where there is none.
	Find(ctx context.Context, uid string) (*v1alpha1.EvalRun, error)
}

// Ask is what a caller may say about a run that is to start. What is left out is the suite's own.
type Ask struct {
	// Endpoint names one of the suite's endpoints.
	Endpoint string
	// Revision is what the endpoint serves.
	Revision string
	// Tags keep the cases with at least one of them.
	Tags []string
	// TopK is used instead of the suite's; 0: the suite's own.
	TopK int32
	// Stages are what the run goes through, in their order; none: all that the
	// suite has.
	Stages []v1alpha1.Stage
	// By is the name of the user who asks.
	By string
}

// Options are what the API works with.
type Options struct {
	// History is nil where the operator keeps none: gates are answered all the same,
	// and runs can be started.
	History Reader
	Runs    RunStarter
	Access  Access
	Gate    Gate
	// OpenFlagger opens /v1/flagger, and nothing else, to callers without a token:
	// Flagger sends none.
	OpenFlagger bool
	// Log takes what callers are not told: why the server itself failed.
	Log logr.Logger
}

type server struct {
	Options
	// comparing counts the cases that may be compared at once.
	comparing *semaphore.Weighted
	// holding counts the answers that wait for a run.
	holding *holding
}

// New makes the handler of the whole API.
func New(o Options) http.Handler {
	if o.History == nil {
		o.History = noHistory{}
	}
	s := &server{Options: o, comparing: semaphore.NewWeighted(maxCompared), holding: newHolding(maxHeld, maxHeldUser)}
	mux := http.NewServeMux()
	mux.Handle("/healthz", s.methods(methods{get: s.open(s.health)}))
	mux.Handle("/openapi.json", s.methods(methods{get: s.open(s.openAPI)}))
	mux.Handle("/api/v1/eval/rag/{namespace}/{suite}", s.methods(methods{post: s.authenticated(s.start)}))
	mux.Handle("/api/v1/eval/rag/{namespace}/{suite}/history", s.methods(methods{get: s.authenticated(s.history)}))
	mux.Handle("/api/v1/eval/rag/run/{suite}", http.HandlerFunc(s.runOrStart))
	mux.Handle("/api/v1/eval/rag/compare", s.methods(methods{get: s.authenticated(s.compare)}))
	mux.Handle("/v1/gate/{namespace}/{suite}", s.methods(methods{get: s.authenticated(s.gate)}))
	mux.Handle("/v1/flagger/{namespace}/{suite}/gate", s.methods(methods{post: s.flagger(s.promote)}))
	mux.Handle("/v1/flagger/{namespace}/{suite}/rollback", s.methods(methods{post: s.flagger(s.rollback)}))
	mux.HandleFunc("/", s.unknown)
	return s.recovered(s.bounded(s.exact(mux)))
}

// runOrStart tells apart what has the same path: a run, and a suite in a namespace called run.
func (s *server) runOrStart(w http.ResponseWriter, r *http.Request) {
	which := methods{get: s.authenticated(s.run)}
	if !isUUID(r.PathValue("suite")) {
		r.SetPathValue("namespace", "run")
		which.post = s.authenticated(s.start)
	}
	s.methods(which).ServeHTTP(w, r)
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte("ok\n"))
	return nil
}

func (s *server) unknown(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, notFound("there is nothing at this path; /openapi.json lists what there is"))
}
