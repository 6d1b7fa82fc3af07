// Package call asks HTTP services of somebody else's: with credentials, TLS,
// deadlines, retries and rate limits, within bounds of size and memory, and with
// errors that name no secret. What is sent and what a reply means is for the
// packages that use it.
package call

import "time"

// Outcome is how a call ended, in the words that users see: the service's own
// word before a Kind, such as RetrieverTimeout.
type Outcome string

// OK is what Config.Observe hears of an attempt that gave something.
const OK = "OK"

// Kind is how a call failed, whoever was called.
type Kind string

// The kinds of failure.
const (
	Timeout     Kind = "Timeout"
	Unreachable Kind = "Unreachable"
	HTTPError   Kind = "HTTPError"
	RateLimited Kind = "RateLimited"
	Malformed   Kind = "Malformed"
	TooLarge    Kind = "TooLarge"
	Failed      Kind = "Error"
)

// Error is a call that gave nothing. Its message carries method, host, path,
// status and at most 256 bytes of the body, with secrets removed.
type Error struct {
	Outcome  Outcome
	Message  string
	Attempts int
	// Latency of the last attempt; the whole limit where it timed out.
	Latency time.Duration
	Err     error
}

// Error gives the message, for people.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// Reported is a service's own word that it failed, behind a status of 200.
// Whoever reads a reply gives it as the error.
type Reported struct{ Message string }

// Error gives the service's message.
func (r *Reported) Error() string { return r.Message }

// Words are what messages and outcomes call an endpoint by.
type Words struct {
	// Service is who is called, for people: the retriever.
	Service string
	// Outcome begins every outcome: Retriever.
	Outcome string
	// Field is where the endpoint stands in a suite: retriever.embedding.
	Field string
	// Root is the field with timeoutSeconds and requestsPerSecond: retriever.
	Root string
	// Doing begins every message, where the call is only a part of something:
	// embedding the question. It may be empty.
	Doing string
	// Refused says what to check when the service takes no such request.
	Refused string
	// Shorten says how to get a smaller reply.
	Shorten string
}

func (w *Words) outcome(k Kind) Outcome { return Outcome(w.Outcome + string(k)) }
