package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/assay-dev/assay/internal/history"
)

// problem is an error answer as RFC 9457 has it.
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`

	// cause is for the log, never for the caller.
	cause error
}

func (p *problem) Error() string { return p.Detail }

func (p *problem) Unwrap() error { return p.cause }

func newProblem(status int, format string, args ...any) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *problem {
	return newProblem(http.StatusBadRequest, format, args...)
}

func notFound(format string, args ...any) *problem {
	return newProblem(http.StatusNotFound, format, args...)
}

// unavailable is an outage behind the server.
func unavailable(cause error, detail string) *problem {
	p := newProblem(http.StatusServiceUnavailable, "%s", detail)
	p.cause = cause
	return p
}

// storeProblem is what an error of the history store is to a caller; parameter
// is the one that a cursor came in.
func storeProblem(err error, parameter string) error {
	var cursor *history.BadCursorError
	if errors.As(err, &cursor) {
		return badRequest("%s is no cursor that this API gave: take it from next of the page before, or leave it out", parameter)
	}
	switch {
	case errors.Is(err, history.ErrNotFound):
		return notFound("the history has just dropped the run")
	case errors.Is(err, errNoHistory):
		return notFound(whyNoHistory)
	}
	return unavailable(err, "the history store cannot be read just now: try again later")
}

// isStatus says whether an error is a problem with the status.
func isStatus(err error, status int) bool {
	p, ok := errors.AsType[*problem](err)
	return ok && p.Status == status
}

// fail answers with an error.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	if !errors.As(err, &p) {
		p = newProblem(http.StatusInternalServerError, "the server failed; its log says why")
		p.cause = err
	}
	if p.cause != nil && !errors.Is(r.Context().Err(), context.Canceled) {
		s.Log.Error(p.cause, "call failed", "method", r.Method, "path", r.URL.Path, "status", p.Status)
	}
	answer := *p
	answer.Instance = r.URL.EscapedPath()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", challenge(p))
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", "5")
	}
	writeJSON(w, p.Status, "application/problem+json", answer)
}
