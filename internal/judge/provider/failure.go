package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge"
)

const (
	// maxQuoted is how much of a body an error shows, in bytes.
	maxQuoted = 256
	// maxDetail bounds what an error says in somebody else's words, in bytes.
	maxDetail = 1024
)

// failure is an attempt that gave no reply.
type failure struct {
	outcome judge.Outcome
	message string
	endsRun bool
	// retry says that another attempt may fare better, after at least some time.
	retry bool
	after time.Duration
	// fault is what the server said, nil where it said nothing, and meaning what
	// that comes to.
	fault   *Fault
	meaning Meaning
	err     error
}

func (f *failure) judged() *judge.Error {
	return &judge.Error{Outcome: f.outcome, Message: f.message, EndsRun: f.endsRun, Err: f.err}
}

// outcomes are the judge's words for what the transport says.
var outcomes = map[call.Kind]judge.Outcome{
	call.Timeout:     judge.Timeout,
	call.Unreachable: judge.Unreachable,
	call.HTTPError:   judge.HTTPError,
	call.RateLimited: judge.RateLimited,
	call.Malformed:   judge.Malformed,
	call.TooLarge:    judge.Malformed,
	call.Failed:      judge.Failed,
}

// refused is a reply whose status is no success.
func (m *model) refused(response *http.Response, body []byte) *failure {
	code := response.StatusCode
	fault := readFault(body)
	// What is not JSON may still name the reason.
	said := cmp.Or(fault, &Fault{Message: string(body), Text: strings.ToLower(string(body))})
	f := &failure{outcome: judge.HTTPError, fault: said, meaning: m.protocol.Classify(code, said)}
	after := call.RetryAfter(response.Header, time.Now())
	hint := m.explain(f, code, after)
	switch code {
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusOverloaded:
		f.retry = f.meaning == Other || f.meaning == Busy
	}
	if f.retry {
		f.after = after
	}
	if response.Header.Get("X-Should-Retry") == "false" {
		f.retry = false
	}
	f.message = status(code)
	if hint != "" {
		f.message += "; " + hint
	}
	if text := m.quote(body); text != "" {
		f.message += ": " + text
	}
	return f
}

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

// reported is an error behind a status of success.
func (m *model) reported(fault *Fault) *failure {
	f := &failure{outcome: judge.Failed, fault: fault, meaning: m.protocol.Classify(http.StatusOK, fault)}
	hint := m.explain(f, http.StatusOK, 0)
	f.message = "the server reports, with a status of success"
	if hint != "" {
		f.message += "; " + hint
	}
	f.message += ": " + m.clean(fault.Message, maxQuoted)
	return f
}

// explain sets what follows from a failure's meaning, and says what to do.
func (m *model) explain(f *failure, code int, after time.Duration) string {
	switch f.meaning {
	case Quota:
		f.outcome, f.endsRun = judge.QuotaExceeded, true
		return "the provider's quota or credit is used up, so that the run ends: raise it, or run later"
	case TooLong:
		f.outcome = judge.ContextTooLong
		return "the prompt is longer than the model takes: lower answer.contexts, or use a model with a longer context window"
	case Filtered:
		f.outcome = judge.Refused
		return "the provider's filter refused the prompt"
	case Limited:
		if after > maxWait {
			f.outcome, f.endsRun = judge.QuotaExceeded, true
			return fmt.Sprintf("it asks to wait %s, which no run does: it takes the quota for used up and ends", after)
		}
		f.outcome, f.retry = judge.RateLimited, true
		return "lower judge.requestsPerSecond or execution.parallelism"
	case Busy:
		f.retry = true
		return ""
	}
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "check judge.apiKeySecretRef or judge.auth"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "check judge.url and judge.model"
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if f.fault.Says("temperature") {
			return "leave judge.temperature out: the model may take none"
		}
		return "check judge.model, judge.maxOutputTokens and judge.extraBody"
	}
	return ""
}

// late is an attempt whose time was up.
func (m *model) late(what string) *failure {
	return &failure{outcome: judge.Timeout, retry: true, message: fmt.Sprintf("%s %s (judge.timeoutSeconds)", what, m.timeout)}
}

// stopped is a call that the caller's context ended.
func stopped(ctx context.Context) *failure {
	why := "the run was stopped before a reply came"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the run's time was up before a reply came"
	}
	return &failure{outcome: judge.Timeout, message: why, err: ctx.Err()}
}

// final words a failure for people: method, host and path come first.
func (m *model) final(f *failure, attempts int64) *failure {
	f.message = m.place + ": " + f.message
	if attempts > 1 {
		f.message += fmt.Sprintf(" (%d attempts)", attempts)
	}
	return f
}

func status(code int) string {
	if code == statusOverloaded {
		return "529 Overloaded"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// quote shows the beginning of a body.
func (m *model) quote(body []byte) string {
	cut := len(body) >= maxErrorBody
	body = body[:min(len(body), maxErrorBody)]
	return m.secrets.Clean(string(bytes.TrimSpace(body)), maxQuoted, cut)
}

// clean removes secrets from text that came from elsewhere, cuts it to a number
// of bytes, and escapes what is not printable.
func (m *model) clean(text string, limit int) string { return m.secrets.Clean(text, limit, false) }
