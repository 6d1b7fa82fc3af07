// Package judge decides what was made of the evidence: whether an answer is
// correct and grounded, and how relevant each context was. A Model, or the
// word overlap of Lexical, stands behind it.
package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/assay-dev/assay/internal/golden"
)

// Input is one answer that is to be judged, and what it is judged by.
type Input struct {
	Question string
	// History is the earlier turns of the conversation.
	History []golden.Turn
	// Reference is what a right answer says; empty: only grounded is judged.
	Reference string
	// Answerable is false where the right behaviour is to say that there is no
	// answer.
	Answerable bool
	// Contexts that the answer was made of.
	Contexts []string
	Answer   string
}

// Verdict is what the judge says of an answer.
type Verdict struct {
	// Correct is nil where it was not judged: the case has no reference and the
	// answer does not abstain.
	Correct *bool `json:"correct,omitempty"`
	// Grounded says that the contexts support everything the answer asserts.
	Grounded bool `json:"grounded"`
	// Abstained says that the answer declines to answer.
	Abstained bool `json:"abstained"`
	// Reason of the judge, for people.
	Reason string `json:"reason"`
}

// Relevance is how relevant each context is to the question.
type Relevance struct {
	// Scores from 1 to 5, one a context, in their order.
	Scores []int `json:"scores"`
	// Average of the scores, computed here.
	Average   float64 `json:"average"`
	Reasoning string  `json:"reasoning"`
}

// Usage is what judging cost.
type Usage struct {
	// Calls to the model, retries and repairs included.
	Calls int64 `json:"calls"`
	// PromptTokens and CompletionTokens as the provider reported them.
	PromptTokens     int64 `json:"promptTokens"`
	CompletionTokens int64 `json:"completionTokens"`
	// CacheHits are verdicts that cost no call.
	CacheHits int64 `json:"cacheHits"`
}

// Add gives the sum of two usages.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Calls:            u.Calls + o.Calls,
		PromptTokens:     u.PromptTokens + o.PromptTokens,
		CompletionTokens: u.CompletionTokens + o.CompletionTokens,
		CacheHits:        u.CacheHits + o.CacheHits,
	}
}

// Outcome is how judging failed, in the words that users see.
type Outcome string

// The outcomes of judging.
const (
	Malformed      Outcome = "JudgeMalformed"
	Truncated      Outcome = "JudgeTruncated"
	Refused        Outcome = "JudgeRefused"
	ContextTooLong Outcome = "JudgeContextTooLong"
	Timeout        Outcome = "JudgeTimeout"
	Unreachable    Outcome = "JudgeUnreachable"
	HTTPError      Outcome = "JudgeHTTPError"
	RateLimited    Outcome = "JudgeRateLimited"
	Failed         Outcome = "JudgeError"
	// QuotaExceeded is a provider's quota that does not refill within the run.
	QuotaExceeded Outcome = "JudgeQuotaExceeded"
	// BudgetExceeded is the suite's own budget for a run.
	BudgetExceeded Outcome = "JudgeBudgetExceeded"
)

// Error is an answer that got no verdict. It is never a score.
type Error struct {
	Outcome Outcome
	Message string
	// EndsRun is true where no other case of the run would fare better: a daily
	// quota, the run's budget.
	EndsRun bool
	Err     error
}

// Error gives the message, for people.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// Schema is the shape that a reply must have.
type Schema struct {
	// Name of the shape, such as verdict.
	Name string
	// JSON is its JSON Schema, which every provider's structured output takes.
	JSON json.RawMessage
}

// Request is one question to a model.
type Request struct {
	// System and User are the two messages.
	System, User string
	// Plain is added to User where the model is asked for plain text: it names the
	// random token that the verdict must carry.
	Plain  string
	Schema Schema
	// MaxOutputTokens bounds the reply.
	MaxOutputTokens int
}

// Response is what a model replied.
type Response struct {
	Text string
	// Truncated says that the reply was cut at the token limit.
	Truncated bool
	// Refusal is why the model declined, or its provider filtered; empty: it did not.
	Refusal string
	// Plain says that Request.Plain was sent, since the server takes neither a
	// schema nor JSON mode.
	Plain            bool
	PromptTokens     int64
	CompletionTokens int64
	// Calls is how many requests it took, retries included.
	Calls int64
	// Model that answered and FinishReason of its reply, in the provider's words;
	// empty where it names none.
	Model, FinishReason string
}

// Model completes a request. Its error is an *Error; calls that failed are in
// the response all the same, which may come beside an error.
type Model interface {
	Complete(ctx context.Context, r Request) (*Response, error)
}

// Judge grades answers. It is safe for concurrent use. The errors are *Error;
// the usage counts whether or not there is one.
type Judge interface {
	Grade(ctx context.Context, in Input) (Verdict, Usage, error)
	Relevance(ctx context.Context, question string, history []golden.Turn, contexts []string) (Relevance, Usage, error)
}

// Identity is what numbers of two runs must have in common to be compared.
type Identity struct {
	// Provider is OpenAI, Anthropic or Lexical.
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
	URL      string `json:"url,omitempty"`
	// Parameters that change what the model says: temperature, maxOutputTokens,
	// extraBody; as canonical JSON.
	Parameters string `json:"parameters,omitempty"`
	// PromptDigest is the SHA-256 of the system prompt, hexadecimal.
	PromptDigest string `json:"promptDigest,omitempty"`
	// ParserVersion goes up when replies are read otherwise than before.
	ParserVersion int `json:"parserVersion"`
}

// Cache keeps verdicts by key across runs. What is not there gives nil.
type Cache interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
}

// Fingerprint is the SHA-256 of the identity, hexadecimal; empty for none.
func (i *Identity) Fingerprint() string {
	if i == nil {
		return ""
	}
	sum := sha256.Sum256(canonical(i))
	return hex.EncodeToString(sum[:])
}
