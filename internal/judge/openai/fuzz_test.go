package openai

import (
	"errors"
	"net/http"
	"testing"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
	"github.com/assay-dev/assay/internal/judge/provider/providertest"
)

// Whatever a server replies is a response or a typed error.
func FuzzReply(f *testing.F) {
	for _, file := range []string{"verdict.json", "vllm.json", "parts.json", "refusal.json", "filtered.json"} {
		f.Add(200, providertest.Read(f, file))
		f.Add(400, providertest.Read(f, file))
	}
	f.Add(429, `{"error":{"message":"m","code":"insufficient_quota"}}`)
	f.Add(200, `{"error":"e"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		status = 200 + (status%400+400)%400
		server := providertest.New(t, providertest.Step{Status: status, Body: body})
		m := newModel(t, "http://judge", func(c *provider.Config) {
			c.HTTPClient = server.Client()
			c.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		})
		response, err := m.Complete(t.Context(), request)
		var e *judge.Error
		switch {
		case response == nil:
			t.Fatal("no response")
		case err == nil && status > 299:
			t.Fatalf("%d is taken for a success", status)
		case err != nil && (!errors.As(err, &e) || e.Outcome == "" || e.Message == ""):
			t.Fatalf("the error is %v", err)
		case response.PromptTokens < 0 || response.CompletionTokens < 0 || response.Calls < 1 || response.Calls > 5:
			t.Fatalf("it cost %+v", response)
		}
	})
}
