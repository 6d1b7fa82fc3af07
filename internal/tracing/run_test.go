package tracing_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/tracing"
	"github.com/assay-dev/assay/internal/tracing/tracingtest"
)

// What must be in no span.
var private = []string{
	"PRIVATE-QUESTION", "PRIVATE-REFERENCE", "PRIVATE-TEXT", "PRIVATE-ANSWER", "PRIVATE-REASON", "PRIVATE-HEADER", "PRIVATE-TOKEN",
	"PRIVATE-KEY", "PRIVATE-QUERY", "PRIVATE-ERROR", "PRIVATE-PARAM", "PRIVATE-PATH",
}

// manifests is a suite that asks everybody, at one server.
func manifests(url string) string {
	return strings.ReplaceAll(`
apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {name: docs-bot, namespace: rag}
spec:
  goldenSet: {configMapRef: {name: golden}}
  execution: {parallelism: 1}
  retriever:
    url: URL/PRIVATE-TOKEN/search?key=PRIVATE-QUERY
    topK: 5
    maxRetries: 2
    warmupRequests: 1
    auth: {bearerTokenSecretRef: {name: keys, key: token}}
    headers: [{name: X-Literal, value: PRIVATE-HEADER}]
    params: {collection: PRIVATE-PARAM}
    request: '{"query": question, "vector": vector, "top_k": topK}'
    query: '{"q": question}'
    embedding:
      url: URL/v1/embeddings?key=PRIVATE-QUERY
      model: e5
  answer: {url: URL/ask, maxRetries: 0}
  judge:
    provider: OpenAI
    url: URL/v1
    model: gpt-test
    temperature: "0"
    maxRetries: 0
    apiKeySecretRef: {name: keys, key: judge}
  objectives: [{metric: "hit_rate@5", min: "0.1"}]
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: rag}
stringData: {token: PRIVATE-TOKEN, judge: PRIVATE-KEY}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: golden, namespace: rag}
data:
  golden.yaml: |
    - {id: q1, question: PRIVATE-QUESTION one, relevant: a.md, reference_answer: PRIVATE-REFERENCE}
    - {id: q2, question: PRIVATE-QUESTION two, relevant: a.md, reference_answer: PRIVATE-REFERENCE}
    - {id: q3, question: PRIVATE-QUESTION three, relevant: a.md, reference_answer: PRIVATE-REFERENCE}
`, "URL", url)
}

// service plays retriever, embeddings, answer service and judge.
type service struct {
	url string

	searches, answers atomic.Int32
	mu                sync.Mutex
	headers           map[string][]http.Header // by path
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{headers: map[string][]http.Header{}}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	s.headers[r.URL.Path] = append(s.headers[r.URL.Path], r.Header.Clone())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/search"):
		switch s.searches.Add(1) {
		case 2: // the first case's first attempt, after the warm-up
			w.Header().Set("Retry-After", "0")
			http.Error(w, "PRIVATE-ERROR PRIVATE-QUESTION", http.StatusServiceUnavailable)
			return
		case 3: // and its second
			http.Redirect(w, r, "/PRIVATE-PATH", http.StatusTemporaryRedirect)
			return
		}
		fallthrough
	case r.URL.Path == "/PRIVATE-PATH":
		_, _ = io.WriteString(w, `{"results":[{"id":"b.md","text":"PRIVATE-TEXT"},{"id":"a.md","text":"PRIVATE-TEXT"}]}`)
	case r.URL.Path == "/v1/embeddings":
		_, _ = io.WriteString(w, `{"data":[{"embedding":[1,2]}],"model":"e5"}`)
	case r.URL.Path == "/ask":
		if s.answers.Add(1) == 2 {
			http.Error(w, "PRIVATE-ERROR", http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"answer":"PRIVATE-ANSWER %d"}`, s.answers.Load())
	case r.URL.Path == "/v1/chat/completions":
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","model":"gpt-test-2026","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"correct\":true,\"grounded\":true,\"reason\":\"PRIVATE-REASON\"}"}}],"usage":{"prompt_tokens":1234,"completion_tokens":20,"total_tokens":1254}}`)
	default:
		http.NotFound(w, r)
	}
}

// The spans of a run with everybody in it: a retry, a redirect, a failure.
func TestSpansOfARun(t *testing.T) {
	to, asked := tracingtest.New(t), newService(t)
	traces, logged := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 1})
	result := carryOut(t, manifests(asked.url), traces.Tracer())
	if result.Done != 3 || result.Errored != 1 {
		t.Fatalf("the run came to %+v, %v", result.Decision, result.Outcomes)
	}
	traces.Stop()
	if lines := logged(); len(lines) > 0 {
		t.Errorf("logged %q", lines)
	}
	const (
		search = "server.address=127.0.0.1 server.port=PORT url.full=http://127.0.0.1:PORT/[redacted]/search"
		model  = " gen_ai.operation.name=chat gen_ai.output.type=json gen_ai.provider.name=openai gen_ai.request.max_tokens=512 gen_ai.request.model=gpt-test gen_ai.request.temperature=0 gen_ai.response.finish_reasons=[stop] gen_ai.response.model=gpt-test-2026 gen_ai.usage.input_tokens=1234 gen_ai.usage.output_tokens=20 server.address=127.0.0.1 server.port=PORT\n"
		embed  = "      embeddings e5 (client) gen_ai.operation.name=embeddings gen_ai.provider.name=openai gen_ai.request.model=e5 server.address=127.0.0.1 server.port=PORT\n" +
			"        POST (client) assay.service=embedding http.request.method=POST http.response.status_code=200 server.address=127.0.0.1 server.port=PORT url.full=http://127.0.0.1:PORT/v1/embeddings\n"
		chat = "    grade assay.judge.cached=false\n" + "      chat gpt-test (client)" + model +
			"        POST (client) assay.service=judge http.request.method=POST http.response.status_code=200 server.address=127.0.0.1 server.port=PORT url.full=http://127.0.0.1:PORT/v1/chat/completions\n"
		answer = "assay.service=answer http.request.method=POST "
		ask    = "server.address=127.0.0.1 server.port=PORT url.full=http://127.0.0.1:PORT/ask\n"
	)
	want := "run assay.cases=3 assay.cases.done=3 assay.cases.errored=1 assay.cases.stride=1 assay.namespace=rag assay.reason=" + result.Decision.Reason +
		" assay.revision=none assay.run=docs-bot-1 assay.run.uid=UID assay.suite=docs-bot assay.trigger=Manual assay.verdict=" + string(result.Decision.Verdict) + "\n" +
		"  case assay.case.id=q1 assay.case.outcome=Scored assay.case.rank=2\n" +
		"    retrieve assay.results=2 assay.top_k=5\n" +
		// The warm-up has asked for the same embedding.
		"      POST (client) ERROR assay.service=retriever error.type=503 http.request.method=POST http.response.status_code=503 " + search + "\n" +
		"      POST (client) assay.service=retriever http.request.method=POST http.request.resend_count=1 http.response.status_code=307 " + search + "\n" +
		"      POST (client) assay.service=retriever http.request.method=POST http.request.resend_count=2 http.response.status_code=200 server.address=127.0.0.1 server.port=PORT url.full=http://127.0.0.1:PORT\n" +
		"    answer assay.contexts=2\n" +
		"      POST (client) " + answer + "http.response.status_code=200 " + ask +
		chat +
		"  case ERROR assay.case.id=q2 assay.case.outcome=AnswerHTTPError error.type=AnswerHTTPError\n" +
		"    retrieve assay.results=2 assay.top_k=5\n" + embed +
		"      POST (client) assay.service=retriever http.request.method=POST http.response.status_code=200 " + search + "\n" +
		"    answer ERROR error.type=AnswerHTTPError\n" +
		"      POST (client) ERROR assay.service=answer error.type=500 http.request.method=POST http.response.status_code=500 " + ask +
		"  case assay.case.id=q3 assay.case.outcome=Scored assay.case.rank=2\n" +
		"    retrieve assay.results=2 assay.top_k=5\n" + embed +
		"      POST (client) assay.service=retriever http.request.method=POST http.response.status_code=200 " + search + "\n" +
		"    answer assay.contexts=2\n" +
		"      POST (client) " + answer + "http.response.status_code=200 " + ask +
		chat
	if diff := cmp.Diff(want, to.Tree()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if to.Resource("service.name") != "assay" || to.Resource("service.version") == "" || to.Resource("telemetry.sdk.language") != "go" {
		t.Errorf("the process is described as %q %q", to.Resource("service.name"), to.Resource("service.version"))
	}
	for _, word := range private {
		if strings.Contains(to.Raw(), word) {
			t.Errorf("%s is in a span", word)
		}
	}
}

// Services join the trace: what they are sent names the span of the very request.
func TestServicesJoinTheTrace(t *testing.T) {
	to, asked := tracingtest.New(t), newService(t)
	traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 1})
	carryOut(t, manifests(asked.url), traces.Tracer())
	traces.Stop()
	requests := map[string]string{}
	for _, s := range to.Spans() {
		if s.Name == http.MethodPost {
			requests[hexID(s.SpanId)] = hexID(s.TraceId)
		}
	}
	joined := 0
	for path, all := range asked.headers {
		for i, h := range all {
			traceID, spanID, sampled := parent(t, h.Get("Traceparent"))
			warmup := i == 0 && (path == "/PRIVATE-TOKEN/search" || path == "/v1/embeddings")
			switch {
			case warmup && sampled:
				t.Errorf("%s: a warm-up request, which has no span, is sampled", path)
			case !warmup && (!sampled || requests[spanID] != traceID):
				t.Errorf("%s: request %d is sent %s, which is no request's span", path, i, h.Get("Traceparent"))
			case !warmup:
				joined++
			}
			if h.Get("Tracestate") != "" || h.Get("Baggage") != "" {
				t.Errorf("%s: more than traceparent is sent: %v", path, h)
			}
		}
	}
	if joined != len(requests) || joined == 0 {
		t.Errorf("%d requests joined %d spans", joined, len(requests))
	}
}

// Without tracing nothing is sent anywhere, and no header either.
func TestOff(t *testing.T) {
	asked := newService(t)
	traces, _ := setup(t, tracing.Options{SampleRatio: 1})
	if traces != nil || traces.Tracer() != nil {
		t.Fatal("tracing is on, and nothing turned it on")
	}
	if result := carryOut(t, manifests(asked.url), traces.Tracer()); result.Done != 3 {
		t.Errorf("%d cases were done", result.Done)
	}
	traces.Stop()
	for path, all := range asked.headers {
		for _, h := range all {
			if got := h.Get("Traceparent"); got != "" {
				t.Errorf("%s is sent traceparent %s", path, got)
			}
		}
	}
}

// A run that the sampler leaves out has no span, and tells services so.
func TestUnsampled(t *testing.T) {
	to, asked := tracingtest.New(t), newService(t)
	traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 0})
	carryOut(t, manifests(asked.url), traces.Tracer())
	traces.Stop()
	if spans := to.Spans(); len(spans) > 0 {
		t.Errorf("sent:\n%s", to.Tree())
	}
	for path, all := range asked.headers {
		for _, h := range all {
			if _, _, sampled := parent(t, h.Get("Traceparent")); sampled {
				t.Errorf("%s is told that the trace is sampled", path)
			}
		}
	}
}

// A service that is told of a trace by the suite itself keeps that one.
func TestOwnHeader(t *testing.T) {
	const own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	to, asked := tracingtest.New(t), newService(t)
	traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 1})
	carryOut(t, strings.Replace(manifests(asked.url), "{name: X-Literal, value: PRIVATE-HEADER}", "{name: traceparent, value: "+own+"}", 1), traces.Tracer())
	traces.Stop()
	for _, h := range asked.headers["/PRIVATE-TOKEN/search"] {
		if got := h.Values("Traceparent"); len(got) != 1 || got[0] != own {
			t.Errorf("sent traceparent %q", got)
		}
	}
}

// A pipeline's own trace goes on in the run.
func TestFromEnvironment(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for value, joined := range map[string]bool{"00-" + trace + "-" + span + "-01": true, "": false, "00-zz": false, "\x00": false} {
		if value != "\x00" { // which no environment can hold
			t.Setenv("TRACEPARENT", value)
		}
		to := tracingtest.New(t)
		traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 1})
		_, run := traces.Tracer().Begin(tracing.FromEnvironment(t.Context()), tracing.RunInfo{}, emptyPlan())
		run.End(nil)
		traces.Stop()
		spans := to.Spans()
		if len(spans) != 1 {
			t.Fatalf("%q: %d spans", value, len(spans))
		}
		if got := hexID(spans[0].TraceId) == trace && hexID(spans[0].ParentSpanId) == span; got != joined {
			t.Errorf("%q: joined is %t", value, got)
		}
	}
}

// What OTEL_TRACES_SAMPLER says holds where the flag says nothing.
func TestSamplerOfTheEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		sampler, argument string
		ratio             float64
		want              int
	}{
		"off by the environment":      {"always_off", "", 1, 0},
		"ratio by the environment":    {"parentbased_traceidratio", "0", 1, 0},
		"the flag has the last word":  {"always_on", "", 0, 0},
		"without parents all the way": {"always_on", "", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", test.sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", test.argument)
			to := tracingtest.New(t)
			traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: test.ratio})
			_, run := traces.Tracer().Begin(t.Context(), tracing.RunInfo{}, emptyPlan())
			run.End(nil)
			traces.Stop()
			if got := len(to.Spans()); got != test.want {
				t.Errorf("%d spans, want %d", got, test.want)
			}
		})
	}
}

// The verdict Error is an error of the run; a missed objective is none.
func TestVerdicts(t *testing.T) {
	for verdict, failed := range map[score.Verdict]bool{score.Passed: false, score.Failed: false, score.Inconclusive: false, score.Error: true} {
		to := tracingtest.New(t)
		traces, _ := setup(t, tracing.Options{Endpoint: to.URL, SampleRatio: 1})
		_, run := traces.Tracer().Begin(t.Context(), tracing.RunInfo{Suite: "s", Run: "r", UID: "u", Trigger: "Schedule"}, emptyPlan())
		run.End(resultOf(verdict, "SomeReason"))
		traces.Stop()
		errored := ""
		if failed {
			errored = " ERROR"
		}
		got := to.Tree()
		if !strings.HasPrefix(got, "run"+errored+" assay.cases=0") || !strings.Contains(got, "assay.reason=SomeReason") || !strings.Contains(got, "assay.verdict="+string(verdict)) {
			t.Errorf("%s: %s", verdict, got)
		}
	}
}
