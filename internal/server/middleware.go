package server

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
)

// maxBody is how large a request's body may be, in bytes.
const maxBody = 64 << 10

// handler answers a call, or gives the error to answer with before it wrote anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// methods are the handlers of one path.
type methods struct{ get, post http.Handler }

func (m methods) allowed() []string {
	var names []string
	if m.get != nil {
		names = append(names, http.MethodGet, http.MethodHead)
	}
	if m.post != nil {
		names = append(names, http.MethodPost)
	}
	return names
}

// methods answers 405 to what a path cannot do, in the form of every other error.
func (s *server) methods(m methods) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed := m.allowed()
		switch {
		case !slices.Contains(allowed, r.Method):
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.fail(w, r, newProblem(http.StatusMethodNotAllowed, "this path takes %s", strings.Join(allowed, ", ")))
		case r.Method == http.MethodPost:
			m.post.ServeHTTP(w, r)
		default:
			m.get.ServeHTTP(w, r)
		}
	})
}

// open serves a call to everybody.
func (s *server) open(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// recovered answers 500 where a handler panics. The stack goes to the log alone.
func (s *server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			what := recover()
			if what == nil {
				return
			}
			if err, ok := what.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(what)
			}
			s.Log.Info("panic", "what", fmt.Sprint(what), "stack", string(debug.Stack()))
			s.fail(w, r, fmt.Errorf("panic: %v", what))
		}()
		next.ServeHTTP(w, r)
	})
}

// bounded refuses a body that is too large before anything else is done, and
// one that turns out to be when it is read.
func (s *server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxBody {
			s.fail(w, r, tooLarge(w))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// tooLarge also closes the connection: nobody is going to read the rest.
func tooLarge(w http.ResponseWriter) *problem {
	w.Header().Set("Connection", "close")
	return newProblem(http.StatusRequestEntityTooLarge, "the body is larger than %d KiB", maxBody>>10)
}

// exact keeps http.ServeMux from redirecting a path with empty or dotted parts: there is nothing at it.
func (s *server) exact(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; p == "" || path.Clean(p) != p {
			s.unknown(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
