package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/stored"
)

const (
	// maxCompared is how many cases are compared at once, in all comparisons together:
	// they take some 200 MiB. Runs that have more than that have the place to themselves.
	maxCompared = 100_000
	// maxComparisons is how many go on at once, however small they are.
	maxComparisons = 4
	// compareTimeout bounds the wait for a place and the reading of both runs.
	compareTimeout = 30 * time.Second
	defaultChanged = 20
	maxChanged     = 1000
)

// compare answers with the paired difference of two runs.
func (s *server) compare(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "base", "head", "cases")
	if err != nil {
		return err
	}
	var ids [2]string
	for i, name := range []string{"base", "head"} {
		if ids[i], err = runID(values, name); err != nil {
			return err
		}
	}
	changed, err := limit(values, "cases", defaultChanged, maxChanged)
	if err != nil {
		return err
	}
	runs, err := s.toCompare(r, ids)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), compareTimeout)
	defer cancel()
	done, err := s.place(ctx, runs[0].Total+runs[1].Total)
	if err != nil {
		return err
	}
	defer done()
	var sides [2]*compare.Side
	for i, run := range runs {
		if sides[i], err = s.side(ctx, run); err != nil {
			return err
		}
	}
	c := compare.Compare(*sides[0], *sides[1], compare.Options{MaxCases: changed})
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, "application/json", c.Document())
	return nil
}

// runID reads the parameter that names a run.
func runID(values url.Values, name string) (string, error) {
	id := values.Get(name)
	switch {
	case id == "":
		return "", badRequest("%s is missing: give the id of a run, which is the EvalRun's UID; the history of a suite lists those of its runs", name)
	case !isUUID(id):
		return "", badRequest("%s is %.64q, which is no run id: an id is the EvalRun's UID, for example %s; the history of a suite lists those of its runs", name, id, exampleID)
	}
	return strings.ToLower(id), nil
}

// toCompare gives the runs, if the caller may get the suites of both. What is
// amiss with one is said only to those who may see the other as well.
func (s *server) toCompare(r *http.Request, ids [2]string) (runs [2]history.Run, err error) {
	var amiss error
	for i, id := range ids {
		run, err := s.History.Run(r.Context(), id)
		switch {
		case err == nil:
			if err := s.mayGet(r, run.Namespace, run.Suite); err != nil {
				return runs, err
			}
			if runs[i] = run; run.Verdict == "" {
				err = newProblem(http.StatusConflict, "run %s has not ended: compare it when it has", run.Name)
			}
		case errors.Is(err, history.ErrNotFound):
			if err = s.notStored(r, id); isStatus(err, http.StatusForbidden) {
				return runs, err
			}
		default:
			return runs, storeProblem(err, "base")
		}
		if amiss == nil {
			amiss = err
		}
	}
	return runs, amiss
}

// notStored says why a run is not in the history, to those who may get its suite.
func (s *server) notStored(r *http.Request, id string) error {
	run, err := s.Runs.Find(r.Context(), id)
	switch {
	case errors.Is(err, ErrNotFound):
		return noRun(id)
	case err != nil:
		return unavailable(err, "the API server could not be asked for the run: try again later")
	}
	if err := s.mayGet(r, run.Namespace, run.Spec.SuiteRef.Name); err != nil {
		return err
	}
	return newProblem(http.StatusConflict, "run %s is not in the history: it has not begun, or the history could not take it", run.Name)
}

// place waits until so many cases may be compared, and gives what ends it.
func (s *server) place(ctx context.Context, cases int) (done func(), err error) {
	takes := int64(min(max(cases, maxCompared/maxComparisons), maxCompared))
	if err := s.comparing.Acquire(ctx, takes); err != nil {
		return nil, unavailable(nil, "other comparisons are going on: try again later")
	}
	return func() { s.comparing.Release(takes) }, nil
}

func (s *server) side(ctx context.Context, run history.Run) (*compare.Side, error) {
	side, err := stored.Side(ctx, run, s.History)
	switch {
	case err == nil:
		return side, nil
	case errors.Is(err, stored.ErrNothingMeasured):
		return nil, newProblem(http.StatusConflict, "run %s has measured nothing (%s): there is nothing to compare", run.Name, run.Reason)
	case errors.Is(err, stored.ErrUnreadable):
		return nil, err
	case errors.Is(err, context.DeadlineExceeded):
		return nil, unavailable(err, "the runs could not be read in time: try again later")
	}
	return nil, storeProblem(err, "base")
}
