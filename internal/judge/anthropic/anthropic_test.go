package anthropic

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
	"github.com/assay-dev/assay/internal/judge/provider/providertest"
)

const schema = `{"type":"object","properties":{"reason":{"type":"string"},"correct":{"type":"boolean"},"grounded":{"type":"boolean"}},"required":["reason","correct","grounded"],"additionalProperties":false}`

var request = judge.Request{
	System:          "You judge. <Reply> in JSON.",
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
	cfg := provider.Config{URL: url, Model: "claude-sonnet-4-5", APIKey: "sk-ant-topsecret"}
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
		"verdict.json":    {Text: `{"reason":"요금이 문맥 1에 있습니다.","correct":true,"grounded":true,"abstained":false}`, PromptTokens: 800, CompletionTokens: 60, Model: "claude-sonnet-4-5-20250929", FinishReason: "end_turn"},
		"thinking.json":   {Text: `{"reason":"ok","correct":true,"grounded":true}`, PromptTokens: 640, CompletionTokens: 210, Model: "claude-opus-4-5", FinishReason: "end_turn"},
		"tool.json":       {Text: `{"reason": "ok", "correct": true, "grounded": true, "abstained": false}`, PromptTokens: 900, CompletionTokens: 70, Model: "claude-3-haiku-20240307", FinishReason: "tool_use"},
		"max_tokens.json": {Text: `{"reason":"The fee is`, Truncated: true, PromptTokens: 700, CompletionTokens: 512, Model: "claude-sonnet-4-5-20250929", FinishReason: "max_tokens"},
		"refusal.json":    {Refusal: "The request asks for dangerous detail.", PromptTokens: 700, Model: "claude-opus-4-5", FinishReason: "refusal"},
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

func TestRefusalWithoutAReason(t *testing.T) {
	for details, want := range map[string]string{
		`null`: "the model declined to answer",
		`{"type":"refusal","category":"cyber","explanation":null}`: "cyber",
		`"odd"`: "the model declined to answer",
	} {
		server := providertest.New(t, providertest.Step{Body: `{"type":"message","content":[],"stop_reason":"refusal","stop_details":` + details + `}`})
		if got := complete(t, newModel(t, server.Start())); got.Refusal != want {
			t.Errorf("%s: got %q, want %q", details, got.Refusal, want)
		}
	}
}

func TestWindowIsExceeded(t *testing.T) {
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "window.json")})
	e, response := fail(t, newModel(t, server.Start(), func(c *provider.Config) { c.MaxRetries = 3 }))
	if e.Outcome != judge.ContextTooLong || response.Calls != 1 || response.PromptTokens != 199990 {
		t.Errorf("got %s for %+v", e.Outcome, response)
	}
}

// bodyOf is what a form sends, beside model, messages and system.
func bodyOf(s *providertest.Server, at int) map[string]any {
	body := maps.Clone(s.Bodies()[at])
	for _, field := range []string{"model", "messages", "system", "max_tokens"} {
		delete(body, field)
	}
	return body
}

func decodedSchema() map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"reason": map[string]any{"type": "string"}, "correct": map[string]any{"type": "boolean"}, "grounded": map[string]any{"type": "boolean"},
		},
		"required":             []any{"reason", "correct", "grounded"},
		"additionalProperties": false,
	}
}

func TestRequest(t *testing.T) {
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	complete(t, newModel(t, server.Start(), func(c *provider.Config) {
		c.Header = http.Header{"Anthropic-Beta": {"a", "b"}, "User-Agent": {"assay/1"}}
		c.ExtraBody = map[string]any{"output_config": map[string]any{"effort": "low"}, "metadata": map[string]any{"user_id": "팀"}}
	}))
	got := server.Requests()[0]
	if got.Method != "POST" || got.Path != "/v1/messages" || got.Header.Get("Anthropic-Version") == "" {
		t.Errorf("asked %s %s with version %q", got.Method, got.Path, got.Header.Get("Anthropic-Version"))
	}
	if got.Header.Get("Authorization")+got.Header.Get("X-Api-Key") != "Bearer sk-ant-topsecret" {
		t.Errorf("the key is sent as %q and %q", got.Header.Get("Authorization"), got.Header.Get("X-Api-Key"))
	}
	if diff := cmp.Diff([]string{"a", "b"}, got.Header.Values("Anthropic-Beta")); diff != "" {
		t.Errorf("headers, -want +got:\n%s", diff)
	}
	if agent := got.Header.Values("User-Agent"); !slices.Equal(agent, []string{"assay/1"}) {
		t.Errorf("the user agent is %q", agent)
	}
	want := map[string]any{
		"model":      "claude-sonnet-4-5",
		"max_tokens": 512.0,
		"system":     []any{map[string]any{"type": "text", "text": request.System}},
		"messages": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": request.User},
		}}},
		"output_config": map[string]any{"effort": "low", "format": map[string]any{"type": "json_schema", "schema": decodedSchema()}},
		"metadata":      map[string]any{"user_id": "팀"},
	}
	if diff := cmp.Diff(want, server.Bodies()[0]); diff != "" {
		t.Errorf("body, -want +got:\n%s", diff)
	}
}

// What goes out is UTF-8, though the SDK escapes for HTML; only what JSON cannot
// hold is escaped. The schema's properties keep their order in both forms.
func TestTextGoesOutLiteral(t *testing.T) {
	const input = `"input_schema":` + schema
	for _, extra := range []map[string]any{nil, {"output_config": map[string]any{"effort": "low"}}} {
		server := providertest.New(t, providertest.Step{Status: 400, Body: noFormat}, providertest.Step{Body: providertest.Read(t, "tool.json")})
		complete(t, newModel(t, server.Start(), func(c *provider.Config) { c.ExtraBody = extra }))
		for i, want := range []string{`"schema":` + schema, input} {
			body := string(server.Requests()[i].Body)
			for _, part := range []string{"질문: 환불 <수수료>는 & 얼마?", "\u2028\u2029 \u007f 😀", "You judge. <Reply>", want} {
				if !strings.Contains(body, part) {
					t.Errorf("%q is not in the body:\n%s", part, body)
				}
			}
			if rest := strings.ReplaceAll(body, `\u0001`, ""); strings.Contains(rest, `\u`) || !utf8.ValidString(rest) {
				t.Errorf("the body has an escape that it needs not:\n%s", body)
			}
		}
	}
}

func TestOnlyWhatIsGivenIsSent(t *testing.T) {
	// The SDK would read these, and send the operator's key to the suite's URL.
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "of-the-operator")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: of-the-operator")
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	complete(t, newModel(t, server.Start(), func(c *provider.Config) { c.APIKey = "" }))
	for name, values := range server.Requests()[0].Header {
		if name == "Authorization" || name == "X-Api-Key" || strings.Contains(strings.Join(values, " "), "of-the-operator") {
			t.Errorf("%s: %q is sent, which nobody gave", name, values)
		}
	}
	want := []string{"max_tokens", "messages", "model", "output_config", "system"}
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

// A URL is taken with its version or without, as other providers want it.
func TestURL(t *testing.T) {
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	url := server.Start()
	for i, test := range []struct{ path, want string }{
		{"", "/v1/messages"}, {"/", "/v1/messages"}, {"/v1", "/v1/messages"}, {"/v1/", "/v1/messages"},
		{"/anthropic", "/anthropic/v1/messages"}, {"/a%2Fb/v1?key=x%26", "/a/b/v1/messages"}, {"/v1beta", "/v1beta/v1/messages"},
	} {
		complete(t, newModel(t, url+test.path))
		if got := server.Requests()[i].Path; got != test.want {
			t.Errorf("%s: asked %s, want %s", test.path, got, test.want)
		}
	}
	if got := server.Requests()[5].Query; got != "key=x%26" {
		t.Errorf("the query is %s", got)
	}
}

// A limit that the SDK would have streamed is asked for all the same.
func TestLargeLimit(t *testing.T) {
	server := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	large := request
	large.MaxOutputTokens = 131072
	for _, model := range []string{"claude-sonnet-4-5", "claude-opus-4-20250514"} {
		m := newModel(t, server.Start(), func(c *provider.Config) { c.Model = model })
		if _, err := m.Complete(t.Context(), large); err != nil {
			t.Error(err)
		}
	}
}

// asked is the form of each request that a server was sent.
func asked(s *providertest.Server) []string {
	var all []string
	for i := range s.Bodies() {
		form := "text"
		body := bodyOf(s, i)
		if _, ok := body["output_config"]; ok {
			form = "format"
		}
		if choice, ok := body["tool_choice"].(map[string]any); ok {
			form = choice["type"].(string) + " " + choice["name"].(string)
		}
		all = append(all, form)
	}
	return all
}

// Refusals as servers word them.
const (
	noFormat  = `{"type":"error","error":{"type":"invalid_request_error","message":"'claude-3-haiku-20240307' does not support output format."},"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}`
	bedrock   = `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format: Extra inputs are not permitted"}}`
	older     = `{"type":"error","error":{"type":"invalid_request_error","message":"output_config: Extra inputs are not permitted"}}`
	noTools   = `{"type":"error","error":{"type":"invalid_request_error","message":"tool_choice is not supported by this server"}}`
	noEffort  = `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.effort: this model does not support the effort parameter"}}`
	tooLong   = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`
	overload  = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`
	rateLimit = `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your organization of 40,000 input tokens per minute."}}`
)

func TestFallback(t *testing.T) {
	verdict := providertest.Step{Body: providertest.Read(t, "verdict.json")}
	tool := providertest.Step{Body: providertest.Read(t, "tool.json")}
	prose := providertest.Step{Body: providertest.Read(t, "prose.json")}
	refuse := func(body string) providertest.Step { return providertest.Step{Status: 400, Body: body} }
	for name, test := range map[string]struct {
		steps []providertest.Step
		want  []string
	}{
		"older model":       {[]providertest.Step{refuse(noFormat), tool}, []string{"format", "tool verdict"}},
		"Bedrock":           {[]providertest.Step{refuse(bedrock), tool}, []string{"format", "tool verdict"}},
		"older server":      {[]providertest.Step{refuse(older), tool}, []string{"format", "tool verdict"}},
		"no tools either":   {[]providertest.Step{refuse(noFormat), refuse(noTools), verdict}, []string{"format", "tool verdict", "text"}},
		"format is ignored": {[]providertest.Step{prose, tool}, []string{"format", "tool verdict"}},
		"all is ignored":    {[]providertest.Step{prose, prose, prose}, []string{"format", "tool verdict", "text"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.New(t, test.steps...)
			url := server.Start()
			got := complete(t, newModel(t, url))
			if diff := cmp.Diff(test.want, asked(server)); diff != "" {
				t.Errorf("asked, -want +got:\n%s", diff)
			}
			calls := len(test.want)
			last := test.want[calls-1]
			if got.Calls != int64(calls) || got.Plain != (last == "text") {
				t.Errorf("got %+v", got)
			}
			text := server.Bodies()[calls-1]["messages"].([]any)[0].(map[string]any)["content"].([]any)[0].(map[string]any)["text"].(string)
			if want := request.User; got.Plain && text != want+"\n\n"+request.Plain || !got.Plain && text != want {
				t.Errorf("asked %q", text)
			}

			complete(t, sameModel(t, url))
			if forms := asked(server); len(forms) != calls+1 || forms[calls] != last {
				t.Errorf("a second call asked %q, want %s", forms[calls:], last)
			}
			complete(t, sameModel(t, url, func(c *provider.Config) { c.Model = "other" }))
			if forms := asked(server); forms[calls+1] != "format" {
				t.Errorf("another model was asked %s first", forms[calls+1])
			}
		})
	}
}

func TestTool(t *testing.T) {
	server := providertest.New(t, providertest.Step{Status: 400, Body: noFormat}, providertest.Step{Body: providertest.Read(t, "tool.json")})
	complete(t, newModel(t, server.Start()))
	want := map[string]any{
		"tools":       []any{map[string]any{"name": "verdict", "description": "Hands in the verdict.", "input_schema": decodedSchema()}},
		"tool_choice": map[string]any{"type": "tool", "name": "verdict", "disable_parallel_tool_use": true},
	}
	if diff := cmp.Diff(want, bodyOf(server, 1)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	invalid := func(message string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"` + message + `"}}`
	}
	for name, test := range map[string]struct {
		status  int
		body    string
		want    judge.Outcome
		endsRun bool
		parts   []string
	}{
		"key":        {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid bearer sk-ant-topsecret"}}`, judge.HTTPError, false, []string{"/v1/messages: 401 Unauthorized; check judge.apiKeySecretRef", "bearer [redacted]"}},
		"model":      {404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, judge.HTTPError, false, []string{"check judge.url and judge.model", "claude-9"}},
		"effort":     {400, noEffort, judge.HTTPError, false, []string{"judge.extraBody"}},
		"credit":     {400, invalid("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."), judge.QuotaExceeded, true, nil},
		"usage":      {400, invalid("You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."), judge.QuotaExceeded, true, nil},
		"billing":    {402, `{"type":"error","error":{"type":"billing_error","message":"x","details":{"error_code":"linked_organization_spend_limit_reached"}}}`, judge.QuotaExceeded, true, nil},
		"contract":   {429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"contract_spend_limit_reached"}}}`, judge.QuotaExceeded, true, nil},
		"tier":       {429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}`, judge.QuotaExceeded, true, nil},
		"day":        {429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your daily rate limit."}}`, judge.QuotaExceeded, true, nil},
		"ramp":       {429, `{"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"ramp_limit_exceeded"}}}`, judge.RateLimited, false, nil},
		"minute":     {429, rateLimit, judge.RateLimited, false, []string{"lower judge.requestsPerSecond"}},
		"prompt":     {400, tooLong, judge.ContextTooLong, false, []string{"lower answer.contexts"}},
		"both":       {400, invalid("input length and `max_tokens` exceed context limit: 199990 + 512 > 200000"), judge.ContextTooLong, false, nil},
		"request":    {413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, judge.ContextTooLong, false, nil},
		"overloaded": {529, overload, judge.HTTPError, false, []string{"529 Overloaded"}},
		"with 200":   {200, overload, judge.Failed, false, []string{"the server reports, with a status of success: Overloaded"}},

		"no JSON":      {200, "<!DOCTYPE html><title>Sign in</title>", judge.Malformed, false, []string{"a page for browsers: check judge.url"}},
		"nothing":      {200, ``, judge.Malformed, false, nil},
		"null":         {200, `null`, judge.Malformed, false, []string{"the reply has no content"}},
		"empty object": {200, `{}`, judge.Malformed, false, []string{"the reply has no content"}},
		"no list":      {200, `{"content":"{}"}`, judge.Malformed, false, nil},
		"null content": {200, `{"content":null}`, judge.Malformed, false, []string{"the reply has no content"}},
		"list":         {200, `[1]`, judge.Malformed, false, nil},
		"OpenAI's":     {200, `{"choices":[{"message":{"content":"{}"}}]}`, judge.Malformed, false, []string{"the reply has no content"}},
		"odd error":    {400, `{"type":"error","error":7}`, judge.HTTPError, false, nil},
		"odder error":  {400, `{"type":"error","error":{"message":[],"details":"x"}}`, judge.HTTPError, false, nil},
		"text error":   {503, `upstream connect error`, judge.HTTPError, false, []string{"503 Service Unavailable: upstream connect error"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.New(t, providertest.Step{Status: test.status, Body: test.body})
			e, response := fail(t, newModel(t, server.Start()))
			if e.Outcome != test.want || e.EndsRun != test.endsRun {
				t.Errorf("got %s (ends the run: %t), want %s (%t): %s", e.Outcome, e.EndsRun, test.want, test.endsRun, e.Message)
			}
			if response.Calls != 1 {
				t.Errorf("asked %q", asked(server))
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
		`{"content":[]}`,
		`{"content":[7,"a",null,[]]}`,
		`{"content":[{"type":"text"}]}`,
		`{"content":[{"type":"text","text":7}],"usage":{"input_tokens":-1,"output_tokens":"x"}}`,
		`{"content":[{"type":"tool_use","name":"other","input":{"correct":true}}],"stop_reason":7}`,
		`{"content":[{"type":"tool_use","name":"verdict"}],"usage":[]}`,
		`{"content":[{"type":"thinking","thinking":"{}"},{"type":"new_kind","text":"{}"}]}`,
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

func TestOverloadIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := providertest.New(t,
			providertest.Step{Status: 529, Body: overload},
			providertest.Step{Status: 429, Body: rateLimit, Header: map[string]string{"Retry-After": "33"}},
			providertest.Step{Body: providertest.Read(t, "verdict.json")})
		m := newModel(t, "http://judge", func(c *provider.Config) { c.HTTPClient, c.MaxRetries = server.Client(), 2 })
		if got := complete(t, m); got.Calls != 3 {
			t.Errorf("counted %d calls", got.Calls)
		}
		requests := server.Requests()
		if wait := requests[2].At.Sub(requests[1].At); wait.Seconds() != 33 {
			t.Errorf("waited %s after the 429", wait)
		}
	})
}

func TestRedirectToAnotherHost(t *testing.T) {
	other := providertest.New(t, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	server := providertest.New(t, providertest.Step{Status: 307, Header: map[string]string{"Location": other.Start() + "/v1/messages"}})
	e, _ := fail(t, newModel(t, server.Start()))
	if e.Outcome != judge.HTTPError || !strings.Contains(e.Message, "another host, which is not followed") || len(other.Requests()) != 0 {
		t.Errorf("got %s: %s", e.Outcome, e.Message)
	}
}

func TestHugeReply(t *testing.T) {
	server := providertest.New(t, providertest.Step{Body: `{"content":[{"type":"text","text":"` + strings.Repeat("x", 9<<20) + `"}]}`})
	if e, _ := fail(t, newModel(t, server.Start())); e.Outcome != judge.Malformed || !strings.Contains(e.Message, "the reply is larger than 8 MiB") {
		t.Errorf("got %s: %s", e.Outcome, e.Message)
	}
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*provider.Config)
		want   string
	}{
		"no model":    {func(c *provider.Config) { c.Model = "" }, "model: give the name"},
		"no URL":      {func(c *provider.Config) { c.URL = "http://a b/%zz" }, "url: it is not a URL"},
		"tools":       {func(c *provider.Config) { c.ExtraBody = map[string]any{"tools": []any{}} }, "extraBody: tools is Assay's own"},
		"temperature": {func(c *provider.Config) { c.ExtraBody = map[string]any{"temperature": 1} }, "set judge.temperature"},
		"format": {func(c *provider.Config) {
			c.ExtraBody = map[string]any{"output_config": map[string]any{"format": map[string]any{}}}
		}, "extraBody: output_config.format is Assay's own"},
		"no object": {func(c *provider.Config) { c.ExtraBody = map[string]any{"output_config": nil} }, "extraBody: output_config must be an object"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := provider.Config{Model: "m"}
			test.change(&cfg)
			if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := New(provider.Config{Model: "claude-sonnet-4-5"}); err != nil {
		t.Errorf("Anthropic's own URL needs none: %v", err)
	}
}
