package server

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

// scrapeTimeout bounds one call for metrics, from its body to the end of its
// answer. controller-runtime's server, which Metrics stands in, bounds the headers
// alone.
const scrapeTimeout = 30 * time.Second

// PathAccess is an Access that also knows who may get a path that is no resource
// of the API server's, such as /metrics.
type PathAccess interface {
	Access
	// MayGet reports whether the caller may get the path.
	MayGet(ctx context.Context, caller Caller, path string) (bool, error)
}

// Metrics serves what next does to those whom the API server lets get the path.
// Everybody else is answered 401 or 403, and 503 where the API server could not be
// asked.
func Metrics(access PathAccess, log logr.Logger, next http.Handler) http.Handler {
	s := &server{Options: Options{Access: access, Log: log}}
	get := s.authenticated(func(w http.ResponseWriter, r *http.Request) error {
		caller := callerOf(r)
		allowed, err := access.MayGet(r.Context(), caller, r.URL.Path)
		switch {
		case err != nil:
			return unavailable(err, "the API server could not be asked what you may do: try again later")
		case !allowed:
			return newProblem(http.StatusForbidden, "%q may not get %s: ask for a ClusterRole that lets you, such as assay-metrics-reader", caller.User.Username, r.URL.Path)
		}
		next.ServeHTTP(w, r)
		return nil
	})
	return s.recovered(deadline(scrapeTimeout, s.bounded(s.methods(methods{get: get}))))
}

// OpenMetrics serves what next does to everybody, within the bounds of Metrics.
func OpenMetrics(log logr.Logger, next http.Handler) http.Handler {
	s := &server{Options: Options{Log: log}}
	return s.recovered(deadline(scrapeTimeout, s.bounded(s.methods(methods{get: next}))))
}

// deadline ends the connection of a call whose body does not come, or whose answer
// is not taken, in time.
func deadline(within time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Neither fails on a connection; a recorder of a test has no deadlines.
		control, at := http.NewResponseController(w), time.Now().Add(within)
		_ = control.SetReadDeadline(at)
		_ = control.SetWriteDeadline(at)
		next.ServeHTTP(w, r)
	})
}
