package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// headerToken takes the token where the API server's service proxy stands in
// between, which strips Authorization.
const headerToken = "X-Assay-Authorization"

// Caller is who calls.
type Caller struct {
	// User is the caller as the API server knows it.
	User authenticationv1.UserInfo
	// token is the caller's own: where the operator may not ask about others, the
	// API server is asked with it.
	token string
}

// ErrUnauthenticated is Access's answer to a token that nobody has.
var ErrUnauthenticated = errors.New("the API server does not know the token")

// Access knows callers and what they may do. Errors other than
// ErrUnauthenticated mean that it could not find out.
type Access interface {
	// Authenticate gives the caller whose token it is.
	Authenticate(ctx context.Context, token string) (Caller, error)
	// May reports whether the caller may do the verb to a resource of the group
	// assay.dev; the name is empty where there is none yet.
	May(ctx context.Context, caller Caller, verb, resource, namespace, name string) (bool, error)
}

// callerKey is under what a request's context has its caller.
type callerKey struct{}

func callerOf(r *http.Request) Caller {
	caller, _ := r.Context().Value(callerKey{}).(Caller)
	return caller
}

// authenticated serves a call to callers whom the API server knows.
func (s *server) authenticated(h handler) http.Handler {
	return s.open(func(w http.ResponseWriter, r *http.Request) error {
		// A cache in between must not give one caller's answer to another.
		w.Header().Set("Vary", "Authorization, "+headerToken)
		token, err := tokenOf(r.Header)
		if err != nil {
			return err
		}
		caller, err := s.Access.Authenticate(r.Context(), token)
		switch {
		case errors.Is(err, ErrUnauthenticated):
			return errBadToken
		case err != nil:
			return unavailable(err, "the API server could not be asked whose token this is: try again later")
		}
		return h(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

// openKey is under what a request's context says that anybody may make it.
type openKey struct{}

func isOpen(r *http.Request) bool {
	open, _ := r.Context().Value(openKey{}).(bool)
	return open
}

// flagger serves Flagger's calls, to callers without a token only where that was
// asked for.
func (s *server) flagger(h handler) http.Handler {
	known := s.authenticated(h)
	if !s.OpenFlagger {
		return known
	}
	anybody := s.open(func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r.WithContext(context.WithValue(r.Context(), openKey{}, true)))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Values(headerToken))+len(r.Header.Values("Authorization")) > 0 {
			known.ServeHTTP(w, r)
			return
		}
		anybody.ServeHTTP(w, r)
	})
}

var (
	errNoToken  = newProblem(http.StatusUnauthorized, "this call needs a token of the cluster: send it as Authorization: Bearer TOKEN, or as %s: Bearer TOKEN through the API server's service proxy", headerToken)
	errBadToken = newProblem(http.StatusUnauthorized, "the API server does not accept the token: it may have expired; kubectl create token makes another")
)

// challenge is the WWW-Authenticate header, as RFC 6750 has it: without an error where there was no token.
func challenge(p *problem) string {
	if p.Detail == errNoToken.Detail {
		return `Bearer realm="assay"`
	}
	return `Bearer realm="assay", error="invalid_token"`
}

// tokenOf reads the bearer token; that of X-Assay-Authorization comes first.
func tokenOf(h http.Header) (string, error) {
	for _, name := range []string{headerToken, "Authorization"} {
		values := h.Values(name)
		if len(values) == 0 {
			continue
		}
		scheme, token, found := strings.Cut(values[0], " ")
		token = strings.TrimSpace(token)
		if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t") {
			return "", errNoToken
		}
		return token, nil
	}
	return "", errNoToken
}

// mayGet gives a 403 unless the user may get the suite, whether or not it exists.
func (s *server) mayGet(r *http.Request, namespace, suite string) error {
	return s.may(r, "get", "evalsuites", namespace, suite)
}

func (s *server) may(r *http.Request, verb, resource, namespace, name string) error {
	caller := callerOf(r)
	user := caller.User
	allowed, err := s.Access.May(r.Context(), caller, verb, resource, namespace, name)
	switch {
	case err != nil:
		return unavailable(err, "the API server could not be asked what you may do: try again later")
	case allowed:
		return nil
	case name == "":
		return newProblem(http.StatusForbidden, "%q may not %s %s.assay.dev in namespace %q: ask for a Role that lets you", user.Username, verb, resource, namespace)
	}
	return newProblem(http.StatusForbidden, "%q may not %s the %s.assay.dev %q in namespace %q: ask for a Role that lets you", user.Username, verb, resource, name, namespace)
}
