package call

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const twoResults = `{"results":[{"id":"a"},{"id":"b"}]}`

// client asks an endpoint for a list, as a retriever is asked.
type client struct{ *Endpoint }

type answer struct {
	Stats
	results int
}

// newClient gives a client for a retriever. With Mapped, its requests are made as
// those of mappings are.
func newClient(t testing.TB, url string, change ...func(*Config)) *client {
	t.Helper()
	cfg := Config{HTTPConfig: HTTPConfig{
		URL: url,
		Words: Words{
			Service: "the retriever", Outcome: "Retriever", Field: "retriever", Root: "retriever",
			Refused: "check what is sent", Shorten: "ask for fewer results",
		},
	}}
	for _, c := range change {
		c(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &client{e}
}

func serve(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newClient(t, server.URL+"/search", change...)
}

func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func timeout(d time.Duration) func(*Config) { return func(c *Config) { c.Timeout = d } }
func retries(n int) func(*Config)           { return func(c *Config) { c.MaxRetries = n } }

func (c *client) ask(ctx context.Context) (*answer, error) {
	a := &answer{}
	r := Request{Body: []byte(`{"query":"how?"}`)}
	if c.mapped {
		var failed *Error
		if r, failed = c.Prepare(ctx, func(context.Context) (Request, error) { return r, nil }); failed != nil {
			return nil, failed
		}
	}
	stats, failed := c.Call(ctx, r, func(_ context.Context, _ http.Header, body []byte) error {
		var list struct{ Results []any }
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		a.results = len(list.Results)
		return nil
	})
	if failed != nil {
		return nil, failed
	}
	a.Stats = stats
	return a, nil
}

// fail makes a call that must fail, and gives its error.
func fail(t *testing.T, c *client) *Error {
	t.Helper()
	_, err := c.ask(t.Context())
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

func expect(t *testing.T, e *Error, kind Kind, attempts int, parts ...string) {
	t.Helper()
	if e.Outcome != "Retriever"+Outcome(kind) || e.Attempts != attempts {
		t.Errorf("got %s after %d attempts, want %s after %d: %s", e.Outcome, e.Attempts, kind, attempts, e.Message)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("got  %s\nwant %s", e.Message, part)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
