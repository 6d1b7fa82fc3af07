package server

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/assay-dev/assay/internal/history"
)

// lookBack is how many runs before a page are read to tell what changed in its
// oldest ones: enough for a few endpoints and subsets that take turns.
const lookBack = 20

type historyPage struct {
	Namespace string       `json:"namespace"`
	Suite     string       `json:"suite"`
	Runs      []historyRun `json:"runs"`
	// Next is the cursor of the next page, of older runs.
	Next string `json:"next,omitempty"`
}

type historyRun struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	StartTime      *time.Time `json:"startTime,omitempty"`
	CompletionTime *time.Time `json:"completionTime,omitempty"`
	Trigger        string     `json:"trigger"`
	Endpoint       string     `json:"endpoint"`
	Revision       string     `json:"revision"`
	// Full is false where the run asked a subset, another endpoint or another topK,
	// or left stages out.
	Full bool `json:"full"`
	// Change is what differs from the run before of the same endpoint.
	Change            []string `json:"change"`
	HitRate           *float64 `json:"hitRate,omitempty"`
	MRR               *float64 `json:"mrr,omitempty"`
	Accuracy          *float64 `json:"accuracy,omitempty"`
	HallucinationRate *float64 `json:"hallucinationRate,omitempty"`
	Verdict           string   `json:"verdict,omitempty"`
	Reason            string   `json:"reason"`
}

// history answers with a suite's runs, newest first.
func (s *server) history(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "limit", "before")
	if err != nil {
		return err
	}
	count, err := limit(values, "limit", defaultRuns, maxRuns)
	if err != nil {
		return err
	}
	namespace, suite := r.PathValue("namespace"), r.PathValue("suite")
	if err := s.mayGet(r, namespace, suite); err != nil {
		return err
	}
	page, err := s.History.Runs(r.Context(), namespace, suite, history.RunQuery{Limit: count, Before: values.Get("before")})
	if err != nil {
		return storeProblem(err, "before")
	}
	if len(page.Runs) == 0 && !values.Has("before") {
		if err := s.exists(r, namespace, suite); err != nil {
			return err
		}
	}
	var older history.RunPage
	if page.Next != "" {
		if older, err = s.History.Runs(r.Context(), namespace, suite, history.RunQuery{Limit: lookBack, Before: page.Next}); err != nil {
			return storeProblem(err, "before")
		}
		w.Header().Set("Link", nextPage(values, "before", page.Next))
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, "application/json", historyPage{
		Namespace: namespace, Suite: suite, Runs: historyRuns(page.Runs, older.Runs), Next: page.Next,
	})
	return nil
}

// exists gives a 404 for a suite that is neither in the history nor in the cluster.
func (s *server) exists(r *http.Request, namespace, suite string) error {
	_, err := s.Runs.Suite(r.Context(), namespace, suite)
	switch {
	case errors.Is(err, ErrNotFound):
		return noSuite(namespace, suite)
	case err != nil:
		return unavailable(err, "the API server could not be asked for the suite: try again later")
	}
	return nil
}

// historyRuns are the runs of a page, newest first, with what changed; older are
// those behind the page.
func historyRuns(page, older []history.Run) []historyRun {
	runs := make([]historyRun, len(page))
	seen := lastSeen{}
	for _, run := range slices.Backward(older) {
		seen.changes(run)
	}
	for i, run := range slices.Backward(page) {
		runs[i] = historyRun{
			ID: run.UID, Name: run.Name, StartTime: timeOf(run.StartTime), CompletionTime: run.CompletionTime,
			Trigger: run.Trigger, Endpoint: run.Endpoint, Revision: run.Revision, Full: run.Full,
			Change: seen.changes(run), HitRate: run.HitRate, MRR: run.MRR, Accuracy: run.Accuracy, HallucinationRate: run.HallucinationRate,
			Verdict: run.Verdict, Reason: run.Reason,
		}
	}
	return runs
}

// lastSeen is what the runs so far were made with. Digests of different
// endpoints and of subsets always differ and say nothing, so each kind has its own.
type lastSeen map[seenKey]seenValues

type seenKey struct {
	endpoint string
	full     bool
}

type seenValues struct{ goldenSet, spec, revision, corpus string }

// changes says what differs from the run before, and takes the run in. What a
// run does not know, for it ended too soon, is no difference.
func (l lastSeen) changes(run history.Run) []string {
	key := seenKey{run.Endpoint, run.Full}
	last := l[key]
	changed := []string{}
	for _, field := range []struct {
		name string
		last *string
		now  string
	}{
		{"goldenSet", &last.goldenSet, run.GoldenSetDigest},
		{"spec", &last.spec, run.EvaluationDigest},
		{"revision", &last.revision, run.Revision},
		{"corpus", &last.corpus, run.CorpusVersion},
	} {
		if field.now == "" {
			continue
		}
		if *field.last != "" && *field.last != field.now {
			changed = append(changed, field.name)
		}
		*field.last = field.now
	}
	l[key] = last
	return changed
}
