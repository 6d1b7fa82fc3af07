package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// ErrNotFound is RunStarter's answer where there is no such object.
var ErrNotFound = errors.New("not found")

// RefusedError is RunStarter's answer where the API server takes no such run;
// the message is for the caller.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

// pollInterval is how often a held call looks whether its run is done.
const pollInterval = 250 * time.Millisecond

// started is the answer to a run that goes.
type started struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Location string `json:"location"`
}

// start starts a run of a suite and may hold the answer until it is done.
func (s *server) start(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "wait")
	if err != nil {
		return err
	}
	patience, err := wait(values)
	if err != nil {
		return err
	}
	ask, err := readAsk(w, r)
	if err != nil {
		return err
	}
	suite, err := s.suiteToRun(r, r.PathValue("namespace"), r.PathValue("suite"))
	if err != nil {
		return err
	}
	if err := fits(suite, ask); err != nil {
		return err
	}
	ask.By = callerOf(r).User.Username
	if patience > 0 {
		// Before anything is started: a call that is made again must not start two.
		end, err := s.holding.begin(ask.By)
		if err != nil {
			return err
		}
		defer end()
	}
	run, err := s.Runs.Start(r.Context(), suite, ask)
	if err != nil {
		return startProblem(err, suite)
	}
	location := locationOf(string(run.UID))
	w.Header().Set("Location", location)
	if s.waitFor(r.Context(), run, patience) {
		err := s.runPage(w, r, string(run.UID), caseFilter{limit: defaultCases}, nil)
		if err == nil {
			return nil
		}
		// The run was started all the same, and its caller must know which it is.
		s.Log.Error(err, "the run is done and cannot be read", "run", run.UID)
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusAccepted, "application/json", started{ID: string(run.UID), Name: run.Name, Location: location})
	return nil
}

func locationOf(uid string) string { return "/api/v1/eval/rag/run/" + uid }

// suiteToRun gives the suite to those who may see it and start runs.
func (s *server) suiteToRun(r *http.Request, namespace, name string) (*v1alpha1.EvalSuite, error) {
	if err := s.mayGet(r, namespace, name); err != nil {
		return nil, err
	}
	if err := s.may(r, "create", "evalruns", namespace, ""); err != nil {
		return nil, err
	}
	suite, err := s.Runs.Suite(r.Context(), namespace, name)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, noSuite(namespace, name)
	case err != nil:
		return nil, unavailable(err, "the API server could not be asked for the suite: try again later")
	}
	return suite, nil
}

func noSuite(namespace, name string) *problem {
	return notFound("there is no EvalSuite %q in namespace %q", name, namespace)
}

// fits says why the suite cannot run what is asked for.
func fits(suite *v1alpha1.EvalSuite, ask Ask) error {
	if !suite.DeletionTimestamp.IsZero() {
		return newProblem(http.StatusConflict, "the EvalSuite %q is being deleted", suite.Name)
	}
	stalled := meta.FindStatusCondition(suite.Status.Conditions, v1alpha1.ConditionStalled)
	// What an older generation stalled on may have been put right since.
	if stalled != nil && stalled.Status == "True" && stalled.ObservedGeneration == suite.Generation {
		return newProblem(http.StatusConflict, "the EvalSuite %q is stalled: %s", suite.Name, stalled.Message)
	}
	if slices.Contains(ask.Stages, v1alpha1.StageAnswer) && suite.Spec.Answer == nil {
		return newProblem(http.StatusUnprocessableEntity, "the EvalSuite %q has no answer stage: give it spec.answer, or ask for stages [Retrieval]", suite.Name)
	}
	if slices.Contains(ask.Stages, v1alpha1.StageJudge) && suite.Spec.Judge == nil {
		return newProblem(http.StatusUnprocessableEntity, "the EvalSuite %q has no judge: give it spec.judge, or ask for stages [Retrieval, Answer]", suite.Name)
	}
	return hasEndpoint(suite, ask.Endpoint)
}

func hasEndpoint(suite *v1alpha1.EvalSuite, name string) error {
	if name == "" {
		return nil
	}
	var names []string
	for _, e := range suite.Spec.Endpoints {
		if e.Name == name {
			return nil
		}
		names = append(names, e.Name)
	}
	return newProblem(http.StatusUnprocessableEntity, "the EvalSuite %q has no endpoint %q; it has %s", suite.Name, name, list(names))
}

func startProblem(err error, suite *v1alpha1.EvalSuite) error {
	var refused *RefusedError
	switch {
	case errors.Is(err, ErrNotFound):
		return noSuite(suite.Namespace, suite.Name)
	case errors.As(err, &refused):
		return newProblem(http.StatusUnprocessableEntity, "the API server refuses the run: %s", refused.Message)
	}
	return unavailable(err, "the run could not be started: try again later")
}

// waitFor reports whether the run ended within the time. It stops waiting when
// the server stops or the caller has gone.
func (s *server) waitFor(ctx context.Context, run *v1alpha1.EvalRun, patience time.Duration) bool {
	if patience == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	seen := false
	for {
		now, err := s.Runs.Find(ctx, string(run.UID))
		switch {
		case err == nil && now.Status.Verdict != "":
			return true
		case err == nil:
			seen = true
		case errors.Is(err, ErrNotFound) && seen:
			return s.stored(ctx, string(run.UID)) // it was deleted, ended or not
		}
		// Any other error is an outage that may pass; a new run may not be in the cache yet.
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		case <-stopping(ctx):
			return false
		}
	}
}

// stored reports whether the history has the run with its verdict.
func (s *server) stored(ctx context.Context, uid string) bool {
	run, err := s.History.Run(ctx, uid)
	return err == nil && run.Verdict != ""
}
