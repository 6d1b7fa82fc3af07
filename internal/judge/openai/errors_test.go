package openai

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
	"github.com/assay-dev/assay/internal/judge/provider/providertest"
)

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		body    string
		want    judge.Outcome
		endsRun bool
		parts   []string
	}{
		"key": {401, `{"error":{"message":"Incorrect API key provided: sk-topsecret.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			judge.HTTPError, false, []string{"/v1/chat/completions: 401 Unauthorized", "check judge.apiKeySecretRef", "provided: [redacted]."}},
		"forbidden":   {403, `forbidden`, judge.HTTPError, false, []string{"403 Forbidden; check judge.apiKeySecretRef", ": forbidden"}},
		"no model":    {404, `{"error":{"message":"model \"qwen3\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, judge.HTTPError, false, []string{"404 Not Found; check judge.url and judge.model"}},
		"temperature": {400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`, judge.HTTPError, false, []string{"leave judge.temperature out"}},
		"extra":       {400, `{"error":{"message":"Unrecognized request argument supplied: foo","type":"invalid_request_error"}}`, judge.HTTPError, false, []string{"judge.extraBody"}},
		"empty":       {500, ``, judge.HTTPError, false, []string{"500 Internal Server Error"}},
		"page":        {502, "<html>\n<h1>Bad Gateway</h1>", judge.HTTPError, false, []string{"502 Bad Gateway: <html> <h1>"}},

		"quota":         {429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, judge.QuotaExceeded, true, []string{"quota or credit is used up"}},
		"day":           {429, `{"error":{"message":"Rate limit reached for gpt-5-mini in organization org-x on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, judge.QuotaExceeded, true, nil},
		"tokens a day":  {429, `{"error":{"message":"Rate limit reached for model llama on tokens per day (TPD): Limit 500000","type":"tokens","code":"rate_limit_exceeded"}}`, judge.QuotaExceeded, true, nil},
		"Gemini":        {429, `[{"error":{"code":429,"message":"Quota exceeded for metric: generate_requests, limit: 250, GenerateRequestsPerDayPerProjectPerModel","status":"RESOURCE_EXHAUSTED"}}]`, judge.QuotaExceeded, true, nil},
		"paid":          {402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, judge.QuotaExceeded, true, nil},
		"LiteLLM":       {400, `{"error":{"message":"Budget has been exceeded! Current cost: 10.0, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`, judge.QuotaExceeded, true, nil},
		"minute":        {429, `{"error":{"message":"Rate limit reached for gpt-5-mini on tokens per min (TPM): Limit 200000","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, judge.RateLimited, false, []string{"lower judge.requestsPerSecond"}},
		"bare limit":    {429, ``, judge.RateLimited, false, nil},
		"window":        {400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9100 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, judge.ContextTooLong, false, []string{"lower answer.contexts"}},
		"vLLM's window": {400, `{"object":"error","message":"This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).","type":"BadRequestError","param":null,"code":400}`, judge.ContextTooLong, false, nil},
		"llama's":       {400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, judge.ContextTooLong, false, nil},
		"LiteLLM's":     {400, `{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: input is long","type":null,"param":null,"code":"400"}}`, judge.ContextTooLong, false, nil},
		"large":         {413, `Request Entity Too Large`, judge.ContextTooLong, false, nil},
		"filter":        {400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}`, judge.Refused, false, nil},

		"error with 200":       {200, `{"error":{"message":"Provider returned error","code":502,"metadata":{}}}`, judge.Failed, false, []string{"the server reports, with a status of success: Provider returned error"}},
		"limit with 200":       {200, `{"error":{"message":"slow down","code":429}}`, judge.RateLimited, false, nil},
		"quota with 200":       {200, `{"error":{"message":"no credit","code":"insufficient_quota"}}`, judge.QuotaExceeded, true, nil},
		"text with 200":        {200, `{"error":"model is loading"}`, judge.Failed, false, []string{"model is loading"}},
		"error beside choices": {200, `{"error":{"message":"upstream"},"choices":[]}`, judge.Failed, false, []string{"upstream"}},

		"no JSON":        {200, `Service starting`, judge.Malformed, false, []string{"the reply is not JSON; content type application/json, it begins: Service starting"}},
		"cut":            {200, `{"choices":[{"message":{"content":"{}`, judge.Malformed, false, []string{"the reply is not JSON"}},
		"two":            {200, `{"choices":[]} {}`, judge.Malformed, false, []string{"the reply is not JSON"}},
		"nothing":        {200, ``, judge.Malformed, false, []string{"the reply is not JSON"}},
		"no content":     {204, ``, judge.Malformed, false, []string{"the reply is not JSON"}},
		"null":           {200, `null`, judge.Malformed, false, []string{"the reply has no choices"}},
		"list":           {200, `[]`, judge.Malformed, false, nil},
		"number":         {200, `7`, judge.Malformed, false, nil},
		"string":         {200, `"ok"`, judge.Malformed, false, nil},
		"empty object":   {200, `{}`, judge.Malformed, false, []string{"the reply has no choices"}},
		"no choices":     {200, `{"choices":[]}`, judge.Malformed, false, []string{"the reply has no choices"}},
		"null choices":   {200, `{"choices":null}`, judge.Malformed, false, []string{"the reply has no choices"}},
		"other choices":  {200, `{"choices":"one"}`, judge.Malformed, false, nil},
		"odd choice":     {200, `{"choices":[7]}`, judge.Malformed, false, nil},
		"no message":     {200, `{"choices":[{"finish_reason":"stop"}]}`, judge.Malformed, false, []string{"no message"}},
		"null message":   {200, `{"choices":[{"message":null}]}`, judge.Malformed, false, []string{"no message"}},
		"odd message":    {200, `{"choices":[{"message":"hi"}]}`, judge.Malformed, false, nil},
		"not followed":   {304, ``, judge.HTTPError, false, []string{"304 Not Modified"}},
		"odd error":      {400, `{"error":[1,{"message":2}]}`, judge.HTTPError, false, nil},
		"odder error":    {400, `{"error":{"message":{"a":1},"type":[],"code":{},"param":7}}`, judge.HTTPError, false, nil},
		"binary garbage": {400, "\x00\xff\xfe\x1b[31m", judge.HTTPError, false, []string{`\x00\xff\xfe\x1b[31m`}},
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.New(t, providertest.Step{Status: test.status, Body: test.body})
			e, response := fail(t, newModel(t, server.Start()))
			if e.Outcome != test.want || e.EndsRun != test.endsRun {
				t.Errorf("got %s (ends the run: %t), want %s (%t): %s", e.Outcome, e.EndsRun, test.want, test.endsRun, e.Message)
			}
			if response.Calls != 1 {
				t.Errorf("counted %d calls", response.Calls)
			}
			if !strings.HasPrefix(e.Message, "POST 127.0.0.1:") || strings.Contains(e.Message, "topsecret") {
				t.Errorf("the message is %s", e.Message)
			}
			for _, part := range test.parts {
				if !strings.Contains(e.Message, part) {
					t.Errorf("got  %s\nwant %s", e.Message, part)
				}
			}
		})
	}
}

// Types that the SDK does not expect are no verdict and no panic.
func TestOddTypes(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":7}}]}`,
		`{"choices":[{"message":{"content":{"a":1}}}]}`,
		`{"choices":[{"message":{"content":[1,"a",{"type":7}]}}]}`,
		`{"choices":[{"message":{"content":null}}]}`,
		`{"choices":[{"message":{"content":"","tool_calls":"none"}}],"usage":"much"}`,
		`{"choices":[{"message":{"content":"","refusal":null},"finish_reason":null}],"usage":{"prompt_tokens":-5}}`,
		`{"choices":[{"message":{}}],"created":"yesterday","usage":null}`,
	} {
		server := providertest.New(t, providertest.Step{Body: body})
		response, err := newModel(t, server.Start()).Complete(t.Context(), request)
		var e *judge.Error
		if err != nil && (!errors.As(err, &e) || e.Outcome != judge.Malformed) {
			t.Errorf("%s: got %v", body, err)
		}
		if response == nil || strings.Contains(response.Text, "{") || response.PromptTokens < 0 || response.Refusal != "" {
			t.Errorf("%s: got %+v", body, response)
		}
	}
}

func TestHugeReply(t *testing.T) {
	const large = 9 << 20
	for name, client := range map[string]*http.Client{"of its own": nil, "given": {}} {
		t.Run(name, func(t *testing.T) {
			server := providertest.New(t, providertest.Step{Body: `{"choices":[{"message":{"content":"` + strings.Repeat("x", large) + `"}}]}`})
			e, _ := fail(t, newModel(t, server.Start(), func(c *provider.Config) { c.HTTPClient = client }))
			if e.Outcome != judge.Malformed || !strings.Contains(e.Message, "the reply is larger than 8 MiB") {
				t.Errorf("got %s: %s", e.Outcome, e.Message)
			}
		})
	}
}

func TestErrorShowsLittleOfTheBody(t *testing.T) {
	server := providertest.New(t, providertest.Step{Status: 400, Body: strings.Repeat("한", 100_000)})
	e, _ := fail(t, newModel(t, server.Start()))
	if got := strings.Count(e.Message, "한"); got != 256/3 || !strings.HasSuffix(e.Message, "한…") {
		t.Errorf("%d characters are shown: %s", got, e.Message)
	}
}

func TestSecrets(t *testing.T) {
	server := providertest.New(t, providertest.Step{Status: 401, Body: `{"error":"no sk-topsecret, password hunter2, key \"q%2Fuery\", and cXVlcnk="}`})
	url := server.Start()
	e, _ := fail(t, newModel(t, url, func(c *provider.Config) {
		c.URL = url + "/v1?key=q/uery"
		c.Secrets = call.NewRedactor("hunter2")
	}))
	for _, secret := range []string{"topsecret", "hunter2", "q%2Fuery", "key=q"} {
		if strings.Contains(e.Message, secret) {
			t.Errorf("%s is shown: %s", secret, e.Message)
		}
	}
}

func TestConnectionRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	listener.Close()
	e, response := fail(t, newModel(t, url, func(c *provider.Config) { c.MaxRetries = 3 }))
	if e.Outcome != judge.Unreachable || !strings.Contains(e.Message, "nothing listens there: check judge.url") || response.Calls != 1 {
		t.Errorf("got %s after %d calls: %s", e.Outcome, response.Calls, e.Message)
	}
}

func TestRedirects(t *testing.T) {
	for name, client := range map[string]*http.Client{"of its own": nil, "given": {}} {
		t.Run(name, func(t *testing.T) {
			other := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
			to := other.Start()
			server := providertest.New(t,
				providertest.Step{Status: 307, Header: map[string]string{"Location": "/v2/chat/completions"}},
				providertest.Step{Body: providertest.Read(t, "verdict.json")},
				providertest.Step{Status: 307, Header: map[string]string{"Location": to + "/v1/chat/completions"}},
				providertest.Step{Status: 302, Header: map[string]string{"Location": "/v2/chat/completions"}},
				providertest.Step{Status: 307, Header: map[string]string{"Location": "/v1/chat/completions"}},
			)
			m := newModel(t, server.Start(), func(c *provider.Config) { c.HTTPClient = client })
			complete(t, m)
			if got := server.Requests()[1]; got.Path != "/v2/chat/completions" || got.Header.Get("Authorization") != "Bearer sk-topsecret" || len(got.Body) == 0 {
				t.Errorf("the redirect within the host is followed as %s with %q", got.Path, got.Body)
			}
			for _, want := range []string{"another host, which is not followed", "would turn the POST into a GET", "redirects"} {
				e, _ := fail(t, m)
				if e.Outcome != judge.HTTPError || !strings.Contains(e.Message, want) {
					t.Errorf("got %s: %s, want %s", e.Outcome, e.Message, want)
				}
			}
			if n := len(other.Requests()); n != 0 {
				t.Errorf("another host was asked %d times", n)
			}
		})
	}
}

// The body stops in the middle, and the connection stays open.
func TestSlowBody(t *testing.T) {
	server := providertest.New(t, providertest.Step{Serve: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"choices":[`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
	e, _ := fail(t, newModel(t, server.Start(), func(c *provider.Config) { c.Timeout = 50 * time.Millisecond }))
	if e.Outcome != judge.Timeout || !strings.Contains(e.Message, "the reply did not end within 50ms (judge.timeoutSeconds)") {
		t.Errorf("got %s: %s", e.Outcome, e.Message)
	}
}
