// Package providertest plays a provider's server, from replies as real servers
// send them, over a socket or without one.
package providertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Step is one reply of the server.
type Step struct {
	// Status of the reply; 0: 200.
	Status int
	Header map[string]string
	Body   string
	// Takes is how long the reply takes to come.
	Takes time.Duration
	// Serve replies in place of the above.
	Serve http.HandlerFunc
}

// Request is what the server was sent.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
	At                  time.Time
}

// Server replies with its steps in turn, the last one over and over. It is safe
// for concurrent use.
type Server struct {
	tb    testing.TB
	steps []Step

	mu       sync.Mutex
	requests []Request
}

// New gives a server that plays steps.
func New(tb testing.TB, steps ...Step) *Server {
	tb.Helper()
	if len(steps) == 0 {
		tb.Fatal("the server has nothing to reply")
	}
	return &Server{tb: tb, steps: steps}
}

// Start listens on loopback, and gives the server's URL.
func (s *Server) Start() string {
	s.tb.Helper()
	server := httptest.NewServer(s)
	s.tb.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP takes a request and plays a step.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.tb.Errorf("read the request: %v", err)
	}
	s.mu.Lock()
	step := s.steps[min(len(s.requests), len(s.steps)-1)]
	s.requests = append(s.requests, Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body, At: time.Now(),
	})
	s.mu.Unlock()

	if step.Takes > 0 {
		select {
		case <-time.After(step.Takes):
		case <-r.Context().Done():
			return
		}
	}
	if step.Serve != nil {
		step.Serve(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range step.Header {
		w.Header().Set(name, value)
	}
	if step.Status != 0 {
		w.WriteHeader(step.Status)
	}
	_, _ = io.WriteString(w, step.Body)
}

// RoundTrip plays a step without a socket, so that time may stand still.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	response := recorder.Result()
	response.Request = r
	return response, nil
}

// Client gives an HTTP client that reaches this server alone.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s} }

// Requests gives what the server was sent.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Bodies gives the bodies that the server was sent, decoded.
func (s *Server) Bodies() []map[string]any {
	s.tb.Helper()
	var all []map[string]any
	for _, r := range s.Requests() {
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			s.tb.Fatalf("the request is not JSON: %v\n%s", err, r.Body)
		}
		all = append(all, body)
	}
	return all
}

// Read gives a file of testdata.
func Read(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
