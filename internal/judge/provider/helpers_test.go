package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider/providertest"
)

const ok = `{"text":"{}"}`

// echo is the least protocol that there may be: {"text": …} is the reply.
type echo struct{}

func (echo) Send(ctx context.Context, client HTTPClient, r *judge.Request, _ Form) (*judge.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://judge/ask", strings.NewReader(`"`+r.User+`"`))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var reply struct{ Text string }
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return nil, err
	}
	if reply.Text == "decline" {
		return &judge.Response{PromptTokens: 7}, &Decline{Outcome: judge.ContextTooLong, Message: "no room"}
	}
	return &judge.Response{Text: reply.Text, PromptTokens: 3, CompletionTokens: 2}, nil
}

func (echo) Classify(status int, f *Fault) Meaning { return Common(status, f) }

func (echo) Without(form Form, f *Fault) Form {
	if f.Says("no schema") {
		form.Format = Loose
	}
	return form
}

// play gives a model whose server plays steps without a socket.
func play(t *testing.T, change func(*Config), steps ...providertest.Step) (judge.Model, *providertest.Server) {
	t.Helper()
	server := providertest.New(t, steps...)
	cfg := Config{URL: "http://judge", Model: "m", HTTPClient: server.Client()}
	if change != nil {
		change(&cfg)
	}
	m, err := New(cfg, Endpoint{Base: cfg.URL, Path: "ask", Forms: &Memory{}}, echo{})
	if err != nil {
		t.Fatal(err)
	}
	return m, server
}

func retries(n int) func(*Config) { return func(c *Config) { c.MaxRetries = n } }

// fail makes a call that must fail.
func fail(ctx context.Context, t *testing.T, m judge.Model) (*judge.Error, *judge.Response) {
	t.Helper()
	response, err := m.Complete(ctx, judge.Request{User: "q"})
	var e *judge.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *judge.Error", err)
	}
	if response == nil {
		t.Fatal("a failed call says nothing of what it cost")
	}
	return e, response
}

// waits are the times between the requests that a server was sent.
func waits(s *providertest.Server) []time.Duration {
	var all []time.Duration
	requests := s.Requests()
	for i := 1; i < len(requests); i++ {
		all = append(all, requests[i].At.Sub(requests[i-1].At))
	}
	return all
}
