package openai

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
	"github.com/assay-dev/assay/internal/judge/provider/providertest"
)

const schema = `{"type":"object","properties":{"reason":{"type":"string"},"correct":{"type":"boolean"},"grounded":{"type":"boolean"}},"required":["reason","correct","grounded"],"additionalProperties":false}`

var request = judge.Request{
	System:          "You judge. Reply in JSON.",
	User:            "질문: 환불 <수수료>는 & 얼마? \"3%\" \\ 1\u2028\u2029 \u007f 😀\n\x01",
	Plain:           `Put the token "QX7" in.`,
	Schema:          judge.Schema{Name: "verdict", JSON: []byte(schema)},
	MaxOutputTokens: 512,
}

// newModel gives a model whose server has not been asked before.
func newModel(t testing.TB, url string, change ...func(*provider.Config)) judge.Model {
	t.Helper()
	forms.Forget()
	return sameModel(t, url, change...)
}

func sameModel(t testing.TB, url string, change ...func(*provider.Config)) judge.Model {
	t.Helper()
	cfg := provider.Config{URL: url + "/v1", Model: "gpt-5-mini", APIKey: "sk-topsecret"}
	for _, c := range change {
		c(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func complete(t *testing.T, m judge.Model) *judge.Response {
	t.Helper()
	response, err := m.Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// fail makes a call that must fail, and gives its error and what it cost.
func fail(t *testing.T, m judge.Model) (*judge.Error, *judge.Response) {
	t.Helper()
	response, err := m.Complete(t.Context(), request)
	var e *judge.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *judge.Error", err)
	}
	if response == nil {
		t.Fatal("a failed call says nothing of what it cost")
	}
	return e, response
}

func TestReplies(t *testing.T) {
	for file, want := range map[string]judge.Response{
		"verdict.json":  {Text: `{"reason":"The fee is in context 1.","correct":true,"grounded":true,"abstained":false}`, PromptTokens: 812, CompletionTokens: 96, Model: "gpt-5-mini-2025-08-07", FinishReason: "stop"},
		"vllm.json":     {Text: `{"reason":"요금이 문맥 1에 있습니다.","correct":true,"grounded":true,"abstained":false}`, PromptTokens: 640, CompletionTokens: 101, Model: "Qwen/Qwen3-32B", FinishReason: "stop"},
		"ollama.json":   {Text: `{"reason": "ok", "correct": true, "grounded": true, "abstained": false}`, PromptTokens: 388, CompletionTokens: 40, Model: "qwen3:14b", FinishReason: "stop"},
		"parts.json":    {Text: `{"reason":"ok","correct":true,"grounded":true}`, PromptTokens: 500, CompletionTokens: 80, Model: "magistral-medium-latest", FinishReason: "stop"},
		"length.json":   {Truncated: true, PromptTokens: 812, CompletionTokens: 512, Model: "gpt-5-mini-2025-08-07", FinishReason: "length"},
		"refusal.json":  {Refusal: "I'm sorry, I can't assist with that request.", PromptTokens: 81, CompletionTokens: 11, Model: "gpt-4o-2024-11-20", FinishReason: "stop"},
		"filtered.json": {Text: `{"correct": tr`, Refusal: "the provider's content filter stopped the reply", PromptTokens: 81, CompletionTokens: 5, Model: "gpt-4o-2024-11-20", FinishReason: "content_filter"},
	} {
		t.Run(file, func(t *testing.T) {
			want.Calls = 1
			server := providertest.New(t, providertest.Step{Body: providertest.Read(t, file)})
			got := complete(t, newModel(t, server.Start()))
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A server may call JSON what it will, or nothing.
func TestContentTypeIsNotTrusted(t *testing.T) {
	for _, kind := range []string{"", "text/plain; charset=utf-8", "application/json; charset=utf-8", "nonsense/"} {
		server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json"), Header: map[string]string{"Content-Type": kind}})
		if got := complete(t, newModel(t, server.Start())); got.PromptTokens != 812 {
			t.Errorf("with content type %q got %+v", kind, got)
		}
	}
}

func TestRequest(t *testing.T) {
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	complete(t, newModel(t, server.Start(), func(c *provider.Config) {
		c.Header = http.Header{"X-Tenant": {"a", "b"}, "User-Agent": {"assay/1"}}
		c.ExtraBody = map[string]any{
			"chat_template_kwargs": map[string]any{"enable_thinking": false, "문자": "<한글>"},
			"top_k":                20,
			"metadata":             map[string]any{"team": "docs"},
		}
	}))
	got := server.Requests()[0]
	if got.Method != "POST" || got.Path != "/v1/chat/completions" {
		t.Errorf("asked %s %s", got.Method, got.Path)
	}
	header := map[string][]string{}
	for _, name := range []string{"Authorization", "X-Tenant", "User-Agent", "Content-Type"} {
		header[name] = got.Header.Values(name)
	}
	wantHeader := map[string][]string{
		"Authorization": {"Bearer sk-topsecret"}, "X-Tenant": {"a", "b"}, "User-Agent": {"assay/1"}, "Content-Type": {"application/json"},
	}
	if diff := cmp.Diff(wantHeader, header); diff != "" {
		t.Errorf("headers, -want +got:\n%s", diff)
	}
	want := map[string]any{
		"model": "gpt-5-mini",
		"messages": []any{
			map[string]any{"role": "system", "content": request.System},
			map[string]any{"role": "user", "content": request.User},
		},
		"max_tokens": 512.0,
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "verdict", "strict": true, "schema": map[string]any{
				"type": "object",
				"properties": map[string]any{
					"reason": map[string]any{"type": "string"}, "correct": map[string]any{"type": "boolean"}, "grounded": map[string]any{"type": "boolean"},
				},
				"required":             []any{"reason", "correct", "grounded"},
				"additionalProperties": false,
			},
		}},
		"chat_template_kwargs": map[string]any{"enable_thinking": false, "문자": "<한글>"},
		"top_k":                20.0,
		"metadata":             map[string]any{"team": "docs"},
	}
	if diff := cmp.Diff(want, server.Bodies()[0]); diff != "" {
		t.Errorf("body, -want +got:\n%s", diff)
	}
}

// What goes out is UTF-8; only what JSON cannot hold is escaped. The schema's
// properties keep their order, which is the order that the model writes them in.
func TestTextGoesOutLiteral(t *testing.T) {
	for _, extra := range []map[string]any{nil, {"top_k": 1}} {
		server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
		complete(t, newModel(t, server.Start(), func(c *provider.Config) { c.ExtraBody = extra }))
		body := string(server.Requests()[0].Body)
		for _, part := range []string{"질문: 환불 <수수료>는 & 얼마?", "\u2028\u2029 \u007f 😀", schema} {
			if !strings.Contains(body, part) {
				t.Errorf("%q is not in the body:\n%s", part, body)
			}
		}
		if rest := strings.ReplaceAll(body, `\u0001`, ""); strings.Contains(rest, `\u`) || !utf8.ValidString(rest) {
			t.Errorf("the body has an escape that it needs not:\n%s", body)
		}
	}
}

func TestOnlyWhatIsGivenIsSent(t *testing.T) {
	// The SDK would read these, and send the operator's key to the suite's URL.
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "of-the-operator")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: of-the-operator")
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	complete(t, newModel(t, server.Start(), func(c *provider.Config) { c.APIKey = "" }))
	got := server.Requests()[0]
	if _, ok := got.Header["Authorization"]; ok {
		t.Error("credentials are sent where none were given")
	}
	for name, values := range got.Header {
		if strings.Contains(strings.Join(values, " "), "of-the-operator") {
			t.Errorf("%s is taken from the environment", name)
		}
	}
	want := []string{"max_tokens", "messages", "model", "response_format"}
	if got := slices.Sorted(maps.Keys(server.Bodies()[0])); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestTemperature(t *testing.T) {
	for _, temperature := range []float64{0, 0.7} {
		server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
		complete(t, newModel(t, server.Start(), func(c *provider.Config) { c.Temperature = &temperature }))
		if got := server.Bodies()[0]["temperature"]; got != temperature {
			t.Errorf("sent %v, want %v", got, temperature)
		}
	}
}

func TestQueryIsKept(t *testing.T) {
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	url := server.Start()
	complete(t, newModel(t, url, func(c *provider.Config) { c.URL = url + "/openai/deployments/judge?api-version=2025-01-01&a=%26" }))
	got := server.Requests()[0]
	if got.Path != "/openai/deployments/judge/chat/completions" || got.Query != "a=%26&api-version=2025-01-01" {
		t.Errorf("asked %s?%s", got.Path, got.Query)
	}
}

func TestLimitName(t *testing.T) {
	for url, want := range map[string]string{
		DefaultURL:                             newLimit,
		"https://API.OpenAI.com:443/v1":        newLimit,
		"https://x.openai.azure.com/openai/v1": newLimit,
		"http://vllm.models.svc:8000/v1":       oldLimit,
		"https://notopenai.com/v1":             oldLimit,
		"https://openai.com.evil.example/v1":   oldLimit,
		"::":                                   oldLimit,
	} {
		p := protocol{newLimit: byOpenAI(url)}
		if got := p.limitName(provider.Form{}); got != want {
			t.Errorf("%s is asked with %s, want %s", url, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*provider.Config)
		want   string
	}{
		"no model":       {func(c *provider.Config) { c.Model = " " }, "model: give the name"},
		"no scheme":      {func(c *provider.Config) { c.URL = "vllm:8000/v1" }, "url: it must begin with http"},
		"no URL":         {func(c *provider.Config) { c.URL = "http://a b/%zz" }, "url: it is not a URL"},
		"user":           {func(c *provider.Config) { c.URL = "http://u:p@vllm/v1" }, "url: it must not hold user"},
		"line in key":    {func(c *provider.Config) { c.APIKey = "sk\n" }, "apiKeySecretRef: its value holds a line break"},
		"line in header": {func(c *provider.Config) { c.Header = http.Header{"X-A": {"b\r\nc"}} }, "headers[X-A]: its value holds a line break"},
		"stream":         {func(c *provider.Config) { c.ExtraBody = map[string]any{"stream": true} }, "extraBody: stream is Assay's own"},
		"temperature":    {func(c *provider.Config) { c.ExtraBody = map[string]any{"temperature": 1} }, "set judge.temperature"},
		"retries":        {func(c *provider.Config) { c.MaxRetries = -1 }, "maxRetries: it must not be below 0"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := provider.Config{URL: "http://vllm/v1", Model: "m"}
			test.change(&cfg)
			if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := New(provider.Config{Model: "gpt-5-mini"}); err != nil {
		t.Errorf("OpenAI's own URL needs none: %v", err)
	}
}
