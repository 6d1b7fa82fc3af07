// Package answer asks an answer service over HTTP: a question and contexts in,
// an answer out, and, where the service retrieves by itself, the list it found.
package answer

import (
	"time"

	"github.com/assay-dev/assay/internal/retriever"
)

// Reply is what an answer service made of a question.
type Reply struct {
	Answer string
	// Contexts that the answer was made of: those that the service returned, else
	// those that were sent.
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
