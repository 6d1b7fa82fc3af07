// Package retriever asks a retriever over HTTP and maps its replies, by CEL
// expressions, to ranked lists.
package retriever

import (
	"time"

	"github.com/assay-dev/assay/internal/call"
)

// Outcome is how a call ended, in the words that users see.
type Outcome = call.Outcome

// The outcomes of a call to a retriever.
const (
	Timeout     Outcome = "RetrieverTimeout"
	Unreachable Outcome = "RetrieverUnreachable"
	HTTPError   Outcome = "RetrieverHTTPError"
	RateLimited Outcome = "RetrieverRateLimited"
	Malformed   Outcome = "RetrieverMalformed"
	TooLarge    Outcome = "RetrieverTooLarge"
	Failed      Outcome = "RetrieverError"
)

// OK is what Observe hears of an attempt that gave a list.
const OK = call.OK

// Result is one item of a ranked list.
type Result struct {
	// ID is never empty. A number in the reply is its decimal text.
	ID string
	// Document that the item is a chunk of; empty where the mapping gives none.
	Document string
	// Text of the item; empty where the mapping gives none.
	Text string
	// Score as the retriever gave it, never used for sorting; nil where there is none.
	Score *float64
	// Metadata as the mapping gave it; nil where there is none.
	Metadata map[string]any
}

// Reply is what came back for one question.
type Reply struct {
	// Results, best first, in the retriever's own order, not cut.
	Results []Result
	// CorpusVersion is what identifies the index; empty where there is no mapping.
	CorpusVersion string
	// Latency of the attempt that succeeded, without waiting for the rate limit.
	Latency time.Duration
	// Attempts is how many requests were made, 1 without retries.
	Attempts int
}

// Error is a call that gave no list.
type Error = call.Error
