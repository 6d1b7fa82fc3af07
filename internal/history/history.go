// Package history is the store: every run, every case and every retrieved item,
// in SQLite or in PostgreSQL. Both have one schema and answer alike.
package history

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
)

var (
	// ErrNotFound is a run that the store does not have.
	ErrNotFound = errors.New("no such run in the history")
	// ErrInvalid is a row that no store takes; to try again helps nothing.
	ErrInvalid = errors.New("cannot be stored")
)

// Run is one run. Times are kept to the microsecond, in UTC.
type Run struct {
	// UID of the EvalRun, the key.
	UID       string
	Namespace string
	Suite     string
	SuiteUID  string
	// Name of the EvalRun.
	Name     string
	Trigger  string
	Endpoint string
	// Revision of the target.
	Revision         string
	GoldenSetDigest  string
	EvaluationDigest string
	CorpusVersion    string
	// Full is false for a run over part of the cases or stages.
	Full bool
	// StartTime orders a suite's runs; where it is zero, PutRun puts the present time.
	StartTime time.Time
	// CompletionTime is nil while the run goes.
	CompletionTime           *time.Time
	Verdict, Reason, Message string
	// Total is how many cases the run has, stored or not.
	Total int
	// HitRate, MRR, Accuracy and HallucinationRate over all cases; nil where they
	// were not measured.
	HitRate, MRR, Accuracy, HallucinationRate *float64
	// Document is the run document without its cases: metrics, objectives,
	// coverage, outcomes, settings. It is kept byte for byte.
	Document json.RawMessage
}

// Case is how one case of a run came out.
type Case struct {
	// ID is the key within the run.
	ID string
	// Digest of the case in the golden set.
	Digest   string
	Question string
	// History is the earlier turns of the conversation.
	History []golden.Turn
	// ReferenceAnswer is what a right answer says; empty where there is none.
	ReferenceAnswer string
	// Unanswerable says that the corpus has no answer.
	Unanswerable bool
	// Position orders a run's cases: theirs in the golden set.
	Position int
	Tags     []string
	Outcome  string
	Message  string
	// Rank of the first relevant result; 0 where there is none.
	Rank int
	// Called is false where no call was made; LatencySeconds is then 0.
	Called         bool
	LatencySeconds float64
	Relevant       []Relevant
	// Metrics by name. Values that are no number are not stored.
	Metrics map[string]float64
	// Retrieved is the list in the order that was scored.
	Retrieved []Retrieved
	// Answer is nil where the answer stage did not run, or failed.
	Answer *Answer
	// AnswerSeconds is how long the answer service took, also where it failed; nil
	// where it was not asked.
	AnswerSeconds *float64
	// Verdict and Relevance are nil where the judge gave none. Numbers in them that
	// are none are kept as 0.
	Verdict   *judge.Verdict
	Relevance *judge.Relevance
	// Usage of the judge for the case.
	Usage judge.Usage
}

// Answer is what the answer service said.
type Answer struct {
	// Text and Contexts are empty where content is not stored. Contexts are those
	// that were judged.
	Text     string
	Contexts []string
}

// Relevant is an id that a case's golden set wants, and how much.
type Relevant struct {
	ID    string  `json:"id"`
	Grade float64 `json:"grade"`
}

// Retrieved is one item of a case's list.
type Retrieved struct {
	Rank int
	ID   string
	// Score as the retriever gave it; nil where it gave none, or no number.
	Score    *float64
	Relevant bool
	// Text is empty where content is not stored.
	Text string
}
