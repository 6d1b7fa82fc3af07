package server

import (
	"context"
	"net/http"
	"time"

	"github.com/assay-dev/assay/internal/gate"
)

// headlineTimeout bounds the reading of what an answer goes out without.
const headlineTimeout = 2 * time.Second

// Gate answers gates.
type Gate interface {
	// Ask answers a question about a suite, also about one that does not exist. Its
	// error means that it could not find out.
	Ask(ctx context.Context, namespace, suite string, q gate.Question) (gate.Answer, error)
}

// gateDocument is what a gate is told.
type gateDocument struct {
	Verdict  gate.Verdict `json:"verdict"`
	Revision string       `json:"revision"`
	// Run that gave the verdict, or that is waited for.
	Run     string `json:"run"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// EvaluatedAt is when that run ended; left out where none has.
	EvaluatedAt *time.Time `json:"evaluatedAt,omitempty"`
	// Since is since when a Pending verdict is waited for, where that is known.
	Since *time.Time `json:"since,omitempty"`
	// Metrics are the headline numbers of the run, by name.
	Metrics map[string]float64 `json:"metrics"`
}

// gate answers with a verdict. Whatever it is, the status is 200: to Argo
// Rollouts any other is an error, and a few of them end an analysis.
func (s *server) gate(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "revision", "endpoint")
	if err != nil {
		return err
	}
	answer, err := s.ask(r, gate.Question{Endpoint: values.Get("endpoint"), Revision: values.Get("revision")})
	if err != nil {
		return err
	}
	writeGate(w, answer, s.headline(r, answer))
	return nil
}

// promote lets Flagger go on only where what runs now has passed.
func (s *server) promote(w http.ResponseWriter, r *http.Request) error {
	return s.only(w, r, gate.Pass)
}

// rollback has Flagger roll back only where what runs now has failed.
func (s *server) rollback(w http.ResponseWriter, r *http.Request) error {
	return s.only(w, r, gate.Fail)
}

// only answers 200 to one verdict on what runs now, and 409 to every other. The
// body is not read: the checksum that Flagger sends is that of its own choosing,
// and says nothing of what a run has measured.
func (s *server) only(w http.ResponseWriter, r *http.Request, verdict gate.Verdict) error {
	if _, err := query(r); err != nil {
		return err
	}
	answer, err := s.ask(r, gate.Question{})
	switch {
	case err != nil:
		return err
	case answer.Verdict != verdict:
		return newProblem(http.StatusConflict, "%s (%s): %s", answer.Verdict, answer.Reason, answer.Message)
	}
	writeGate(w, answer, s.headline(r, answer))
	return nil
}

// ask asks the gate about the suite in the path, if the caller may get it.
func (s *server) ask(r *http.Request, q gate.Question) (gate.Answer, error) {
	namespace, suite := r.PathValue("namespace"), r.PathValue("suite")
	if !isOpen(r) {
		if err := s.mayGet(r, namespace, suite); err != nil {
			return gate.Answer{}, err
		}
	}
	if !possible(namespace, suite) {
		return gate.Answer{Verdict: gate.Inconclusive, Reason: gate.ReasonSuiteNotFound, Message: noSuite(namespace, suite).Detail}, nil
	}
	answer, err := s.Gate.Ask(r.Context(), namespace, suite, q)
	if err != nil {
		return gate.Answer{}, unavailable(err, "the API server could not be asked for the suite and what runs now: try again later")
	}
	return answer, nil
}

// headline gives the numbers of the run that the answer rests on. They decide
// nothing, so an answer goes out without them where they cannot be read.
func (s *server) headline(r *http.Request, answer gate.Answer) map[string]float64 {
	numbers := map[string]float64{}
	if answer.Run == "" || answer.EvaluatedAt.IsZero() {
		return numbers
	}
	ctx, cancel := context.WithTimeout(r.Context(), headlineTimeout)
	defer cancel()
	suite, err := s.Runs.Suite(ctx, r.PathValue("namespace"), r.PathValue("suite"))
	if err != nil {
		return numbers
	}
	for _, result := range suite.Status.Results {
		if result.Run != answer.Run {
			continue
		}
		for name, text := range map[string]string{
			"hitRate": result.HitRate, "mrr": result.MRR, "accuracy": result.Accuracy, "hallucinationRate": result.HallucinationRate,
		} {
			if value := number(text); value != nil {
				numbers[name] = *value
			}
		}
	}
	return numbers
}

func writeGate(w http.ResponseWriter, a gate.Answer, metrics map[string]float64) {
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, "application/json", gateDocument{
		Verdict: a.Verdict, Revision: a.Revision, Run: a.Run, Reason: a.Reason, Message: a.Message,
		EvaluatedAt: timeOf(a.EvaluatedAt.UTC()), Since: timeOf(a.Since.UTC()), Metrics: metrics,
	})
}
