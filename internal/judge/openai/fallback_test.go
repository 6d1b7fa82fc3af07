package openai

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/judge/provider"
	"github.com/assay-dev/assay/internal/judge/provider/providertest"
)

// asked is the form of each request that a server was sent.
func asked(s *providertest.Server) []string {
	var all []string
	for _, body := range s.Bodies() {
		form := "text"
		if format, ok := body["response_format"].(map[string]any); ok {
			form = format["type"].(string)
		}
		for _, limit := range []string{newLimit, oldLimit} {
			if _, ok := body[limit]; ok {
				form += " " + limit
			}
		}
		all = append(all, form)
	}
	return all
}

// Refusals as servers word them, each of the strictest form left.
const (
	noSchema  = `{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.","type":"invalid_request_error","param":"response_format","code":null}}`
	lmStudio  = `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`
	llamaCpp  = `{"error":{"code":500,"message":"response_format type must be one of \"text\" or \"json_object\", but got: json_schema","type":"server_error"}}`
	fastAPI   = `{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted"},{"type":"extra_forbidden","loc":["body","max_tokens"],"msg":"Extra inputs are not permitted"}]}`
	oldVLLM   = `{"object":"error","message":"The provided JSON schema contains features not supported by xgrammar.","type":"BadRequestError","param":null,"code":400}`
	router    = `{"error":{"message":"No endpoints found that can handle the requested parameters.","code":404}}`
	noOldName = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
)

func TestFallback(t *testing.T) {
	ok := providertest.Step{Body: providertest.Read(t, "verdict.json")}
	prose := providertest.Step{Body: providertest.Read(t, "prose.json")}
	refuse := func(status int, body string) providertest.Step { return providertest.Step{Status: status, Body: body} }
	for name, test := range map[string]struct {
		steps []providertest.Step
		// want is each form that was asked, first the one of a second call.
		want []string
		next string
	}{
		"no schema":         {[]providertest.Step{refuse(400, noSchema), ok}, []string{"json_schema max_tokens", "json_object max_tokens"}, "json_object max_tokens"},
		"no format":         {[]providertest.Step{refuse(400, noSchema), refuse(400, lmStudio), ok}, []string{"json_schema max_tokens", "json_object max_tokens", "text max_tokens"}, "text max_tokens"},
		"llama.cpp":         {[]providertest.Step{refuse(500, llamaCpp), ok}, []string{"json_schema max_tokens", "json_object max_tokens"}, "json_object max_tokens"},
		"FastAPI":           {[]providertest.Step{refuse(422, fastAPI), ok}, []string{"json_schema max_tokens", "json_object max_completion_tokens"}, "json_object max_completion_tokens"},
		"vLLM":              {[]providertest.Step{refuse(400, oldVLLM), ok}, []string{"json_schema max_tokens", "json_object max_tokens"}, "json_object max_tokens"},
		"router":            {[]providertest.Step{refuse(404, router), ok}, []string{"json_schema max_tokens", "json_object max_tokens"}, "json_object max_tokens"},
		"not JSON":          {[]providertest.Step{refuse(400, "unknown field response_format"), ok}, []string{"json_schema max_tokens", "json_object max_tokens"}, "json_object max_tokens"},
		"with 200":          {[]providertest.Step{refuse(200, noSchema), ok}, []string{"json_schema max_tokens", "json_object max_tokens"}, "json_object max_tokens"},
		"other limit":       {[]providertest.Step{refuse(400, noOldName), ok}, []string{"json_schema max_tokens", "json_schema max_completion_tokens"}, "json_schema max_completion_tokens"},
		"schema is ignored": {[]providertest.Step{prose, ok}, []string{"json_schema max_tokens", "json_object max_tokens"}, "json_object max_tokens"},
		"all is ignored":    {[]providertest.Step{prose, prose, prose}, []string{"json_schema max_tokens", "json_object max_tokens", "text max_tokens"}, "text max_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.New(t, test.steps...)
			url := server.Start()
			got := complete(t, newModel(t, url))
			if diff := cmp.Diff(test.want, asked(server)); diff != "" {
				t.Errorf("asked, -want +got:\n%s", diff)
			}
			if want := int64(len(test.want)); got.Calls != want {
				t.Errorf("counted %d calls, want %d", got.Calls, want)
			}
			plain := test.next == "text max_tokens"
			if got.Plain != plain {
				t.Errorf("plain is %t, want %t", got.Plain, plain)
			}
			user := server.Bodies()[len(test.want)-1]["messages"].([]any)[1].(map[string]any)["content"].(string)
			if want := request.User; plain && user != want+"\n\n"+request.Plain || !plain && user != want {
				t.Errorf("asked %q", user)
			}

			// Another client of the same server and model knows by now.
			complete(t, sameModel(t, url))
			if forms := asked(server); forms[len(test.want)] != test.next || len(forms) != len(test.want)+1 {
				t.Errorf("a second call asked %q, want %s", forms[len(test.want):], test.next)
			}
			// Another model of this server may take more.
			complete(t, sameModel(t, url, func(c *provider.Config) { c.Model = "other" }))
			if forms := asked(server); forms[len(test.want)+1] != "json_schema max_tokens" {
				t.Errorf("another model was asked %s first", forms[len(test.want)+1])
			}
		})
	}
}

// An error that speaks of something else, or of a limit that is too high, is no
// reason for another form.
func TestNoFallback(t *testing.T) {
	for name, body := range map[string]string{
		"temperature": `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`,
		"limit":       `{"error":{"message":"max_tokens is too large: 70000. This model supports at most 16384 completion tokens.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}`,
		"window":      `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length is 4096 tokens and your request has 5000 input tokens.","type":"BadRequestError","param":null,"code":400}`,
		"model":       `{"error":{"message":"The model 'gpt-9' does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.New(t, providertest.Step{Status: 400, Body: body})
			if _, response := fail(t, newModel(t, server.Start())); response.Calls != 1 {
				t.Errorf("asked %q", asked(server))
			}
		})
	}
}

// A form that a server takes in the end is remembered; one error by the way is not.
func TestNothingIsRememberedOfAFailure(t *testing.T) {
	server := providertest.New(t,
		providertest.Step{Status: 400, Body: noSchema}, providertest.Step{Status: 401, Body: `{}`}, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	m := newModel(t, server.Start())
	_, _ = fail(t, m)
	complete(t, m)
	want := []string{"json_schema max_tokens", "json_object max_tokens", "json_schema max_tokens"}
	if diff := cmp.Diff(want, asked(server)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReplyThatIsCutOrDeclinedIsNotIgnored(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"The answer"},"finish_reason":"length"}]}`,
		`{"choices":[{"message":{"content":"I cannot","refusal":"no"},"finish_reason":"stop"}]}`,
		`{"choices":[{"message":{"content":" "},"finish_reason":"stop"}]}`,
	} {
		server := providertest.New(t, providertest.Step{Body: body})
		if got := complete(t, newModel(t, server.Start())); got.Calls != 1 || got.Plain {
			t.Errorf("%s: asked %q", body, asked(server))
		}
	}
}

// Many cases find out at the same time what the server refuses.
func TestConcurrentFallback(t *testing.T) {
	server := providertest.New(t, providertest.Step{Status: 400, Body: noSchema}, providertest.Step{Status: 400, Body: noSchema}, providertest.Step{Body: providertest.Read(t, "verdict.json")})
	m := newModel(t, server.Start())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if response, err := m.Complete(t.Context(), request); err != nil || response.Text == "" {
				t.Errorf("got %+v, %v", response, err)
			}
		})
	}
	group.Wait()
}
