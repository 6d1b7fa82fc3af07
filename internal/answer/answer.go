// Package answer asks an answer service over HTTP: a question and contexts in,
// an answer out, and, where the service retrieves by itself, the list it found.
package answer

import (
	"time"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/retriever"
)

// Outcome is how a call ended, in the words that users see.
type Outcome = call.Outcome

// The outcomes of a call to an answer service.
const (
	Timeout     Outcome = "AnswerTimeout"
	Unreachable Outcome = "AnswerUnreachable"
	HTTPError   Outcome = "AnswerHTTPError"
	RateLimited Outcome = "AnswerRateLimited"
	Malformed   Outcome = "AnswerMalformed"
	TooLarge    Outcome = "AnswerTooLarge"
	Failed      Outcome = "AnswerError"
)

// OK is what Observe hears of an attempt that gave an answer.
const OK = call.OK

// Error is a call that gave no answer.
type Error = call.Error

// Reply is what an answer service made of a question.
type Reply struct {
	// Answer may be empty.
	Answer string
	// Contexts that the answer was made of: those that the service returned, else
	// those that were sent, else the texts of the first Results.
	Contexts []string
	// Results, best first, of a service that retrieves by itself; nil else.
	Results []retriever.Result
	// CorpusVersion as the mapping gave it; empty where there is none.
	CorpusVersion string
	// Latency of the attempt that succeeded.
	Latency time.Duration
	// Attempts is how many requests were made, 1 without retries.
	Attempts int
}
