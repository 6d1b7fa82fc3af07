package answer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
)

var (
	howTo = &golden.Case{
		ID: "q01", Question: "환불은 <어떻게> 하나요?", Tags: []string{"ko"},
		Metadata: map[string]any{"tenant": "docs"},
		History:  []golden.Turn{{Role: "user", Content: "hi"}},
	}
	one   = 1.0
	found = []retriever.Result{
		{ID: "a", Text: "A", Score: &one, Document: "d", Metadata: map[string]any{"n": int64(9007199254740993)}},
		{ID: "b"},
		{ID: "c", Text: "다"},
		{ID: "d", Text: "D"},
	}
)

const anAnswer = `{"answer":"In the shop."}`

func mustCompile(t testing.TB, m Mappings) *Program {
	t.Helper()
	p, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newClient(t testing.TB, url string, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{URL: url, Contexts: 3}
	for _, c := range change {
		c(&cfg)
	}
	if cfg.Program == nil {
		cfg.Program = mustCompile(t, Mappings{Method: cfg.Method})
	}
	client, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// serve starts a server and gives a client for it.
func serve(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newClient(t, server.URL+"/answer?key=tooth", change...)
}

func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func mapped(t *testing.T, m Mappings) func(*Config) {
	return func(c *Config) { c.Program = mustCompile(t, m) }
}

// fail makes a call that must fail, and gives its error.
func fail(t *testing.T, c *Client) *Error {
	t.Helper()
	_, err := c.Answer(t.Context(), howTo, 10, found)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

func expect(t *testing.T, e *Error, outcome Outcome, attempts int, parts ...string) {
	t.Helper()
	if e.Outcome != outcome || e.Attempts != attempts {
		t.Errorf("got %s after %d attempts, want %s after %d: %s", e.Outcome, e.Attempts, outcome, attempts, e.Message)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("got  %s\nwant %s", e.Message, part)
		}
	}
}

func TestAnswer(t *testing.T) {
	var got *http.Request
	var body []byte
	var observed []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		reply(anAnswer)(w, r)
	}, func(c *Config) {
		c.Header = http.Header{"x-tenant": {"docs"}}
		c.BearerToken = "t0ken"
		c.UserAgent = "assay/1.0"
		c.Observe = func(outcome string, seconds float64) { observed = append(observed, fmt.Sprint(outcome, seconds > 0)) }
	})
	r, err := client.Answer(t.Context(), howTo, 10, found)
	if err != nil {
		t.Fatal(err)
	}
	if r.Attempts != 1 || r.Latency <= 0 {
		t.Errorf("got %d attempts, %s", r.Attempts, r.Latency)
	}
	r.Latency, r.Attempts = 0, 0
	if diff := cmp.Diff(&Reply{Answer: "In the shop.", Contexts: []string{"A", "", "다"}}, r); diff != "" {
		t.Error(diff)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/answer?key=tooth" {
		t.Errorf("got %s %s", got.Method, got.RequestURI)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "assay/1.0", "X-Tenant": "docs", "Authorization": "Bearer t0ken"} {
		if got := got.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if diff := cmp.Diff(`{"contexts":["A","","다"],"question":"환불은 <어떻게> 하나요?"}`, string(body)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"OKtrue"}, observed); diff != "" {
		t.Error(diff)
	}
}

func TestAnswerByGET(t *testing.T) {
	var got string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Query().Encode() + " " + string(body)
		reply(anAnswer)(w, r)
	}, func(c *Config) {
		c.Method = http.MethodGet
		c.Program = mustCompile(t, Mappings{Method: http.MethodGet, Query: `{"q": case.id, "c": contexts}`})
	})
	if _, err := client.Answer(t.Context(), howTo, 10, found); err != nil {
		t.Fatal(err)
	}
	if want := "GET c=A&c=&c=%EB%8B%A4&key=tooth&q=q01 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequests(t *testing.T) {
	for name, test := range map[string]struct {
		mappings Mappings
		results  []retriever.Result
		want     string
	}{
		"no results": {Mappings{}, nil, `{"contexts":[],"question":"환불은 <어떻게> 하나요?"}`},
		"everything in scope": {
			Mappings{Request: `{"id": case.id, "turns": case.history.map(h, h.role), "k": topK, "p": params.model, "n": results.size(), "first": results[0], "second": results[1], "c": contexts.join("|")}`},
			found,
			`{"c":"A||다","first":{"document":"d","id":"a","metadata":{"n":9007199254740993},"score":1,"text":"A"},"id":"q01","k":10,"n":4,"p":"small","second":{"id":"b","text":""},"turns":["user"]}`,
		},
		"chat": {
			Mappings{Request: `{"model": params.model, "messages": [{"role": "user", "content": question}]}`}, found,
			`{"messages":[{"content":"환불은 <어떻게> 하나요?","role":"user"}],"model":"small"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var body []byte
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				reply(anAnswer)(w, r)
			}, mapped(t, test.mappings), func(c *Config) { c.Params = map[string]any{"model": "small"} })
			if _, err := client.Answer(t.Context(), howTo, 10, test.results); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for name, test := range map[string]struct {
		handler  http.HandlerFunc
		outcome  Outcome
		attempts int
		want     []string
	}{
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!DOCTYPE html><title>Sign in</title>")
		}, Malformed, 1, []string{"the body is not JSON", "a page for browsers: check answer.url", "it begins: <!DOCTYPE"}},
		"empty":           {reply(""), Malformed, 1, []string{"the body is empty"}},
		"garbage":         {reply("\x00\xff"), Malformed, 1, []string{"the body is not UTF-8"}},
		"cut":             {reply(`{"answer":"In`), Malformed, 1, []string{"it ends in the middle of a value"}},
		"two":             {reply(anAnswer + anAnswer), Malformed, 1, []string{"something follows after the value"}},
		"a stream":        {reply("data: {\"answer\":\"x\"}\n\n"), Malformed, 1, []string{"the body is not JSON"}},
		"a bomb":          {reply(strings.Repeat("[", 1<<18)), Malformed, 1, []string{"exceeded max depth"}},
		"a list":          {reply(`["x"]`), Malformed, 1, []string{`answer.output: it gave no "answer": let the service`}},
		"no answer":       {reply(`{"text":"x"}`), Malformed, 1, []string{`answer.output: it gave no "answer": let the service reply {"answer": "…"}, or say in answer.output where the text stands`, `it begins: {"text":"x"}`}},
		"null":            {reply(`{"answer":null}`), Malformed, 1, []string{`it gave no "answer"`}},
		"a number":        {reply(`{"answer":42}`), Malformed, 1, []string{`it gave an "answer" that is an int, but must be a string: say in answer.output where the text stands`}},
		"a map":           {reply(`{"answer":{"text":"x"}}`), Malformed, 1, []string{`an "answer" that is a map`}},
		"contexts a text": {reply(`{"answer":"x","contexts":"A"}`), Malformed, 1, []string{`it gave "contexts" that are a string, but must be a list of strings`}},
		"contexts maps":   {reply(`{"answer":"x","contexts":["A",{"text":"B"}]}`), Malformed, 1, []string{`it gave "contexts" whose item 2 is a map, but must be a string: map each to its text, for example "contexts": response.contexts.map(c, c.text)`}},
		"contexts nulls":  {reply(`{"answer":"x","contexts":[null]}`), Malformed, 1, []string{`whose item 1 is null`}},
		"contexts a lot":  {reply(`{"answer":"x","contexts":[` + strings.Repeat(`"",`, 1000) + `""]}`), Malformed, 1, []string{"it gave 1001 contexts, but at most 1000 are read"}},
		"10 MiB":          {reply(`{"answer":"` + strings.Repeat("x", 10<<20) + `"}`), TooLarge, 1, []string{"the reply is larger than 8 MiB; let the service leave out what answer.output does not read"}},
		"10 MiB, packed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(bytes.Repeat([]byte(" "), 10<<20))
			_ = z.Close()
		}, TooLarge, 1, []string{"larger than 8 MiB"}},
		"400":   {status(400, "no question"), HTTPError, 1, []string{"400 Bad Request; check what is sent: answer.request and the names in params: no question"}},
		"401":   {status(401, ""), HTTPError, 1, []string{"401 Unauthorized; check answer.auth"}},
		"404":   {status(404, ""), HTTPError, 1, []string{"404 Not Found; check answer.url and its method"}},
		"500":   {status(500, "boom"), HTTPError, 1, []string{"500 Internal Server Error: boom"}},
		"503":   {status(503, ""), HTTPError, 2, []string{"503 Service Unavailable (2 attempts)"}},
		"429":   {status(429, ""), RateLimited, 2, []string{"429 Too Many Requests; it does not say how long to wait: set answer.requestsPerSecond, or lower execution.parallelism"}},
		"hangs": {hang, Timeout, 2, []string{"no reply came within 100ms (answer.timeoutSeconds)"}},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/x", http.StatusTemporaryRedirect)
		}, HTTPError, 1, []string{"it redirects to http://elsewhere.example/x, another host, which is not followed"}},
	} {
		t.Run(name, func(t *testing.T) {
			var observed []string
			client := serve(t, test.handler, func(c *Config) {
				c.MaxRetries = 1
				if name == "hangs" {
					c.Timeout = 100 * time.Millisecond
				}
				c.Observe = func(outcome string, _ float64) { observed = append(observed, outcome) }
			})
			e := fail(t, client)
			expect(t, e, test.outcome, test.attempts, append(test.want, "POST 127.0.0.1:")...)
			if strings.Contains(e.Message, "tooth") {
				t.Errorf("the query is shown: %s", e.Message)
			}
			if len(observed) != test.attempts || observed[0] != string(test.outcome) {
				t.Errorf("observed %q", observed)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		server := httptest.NewServer(reply(""))
		server.Close()
		expect(t, fail(t, newClient(t, server.URL)), Unreachable, 1, "nothing listens there: check answer.url")
	})
	t.Run("reset", func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}, func(c *Config) { c.MaxRetries = 1 })
		expect(t, fail(t, client), Unreachable, 2, "the connection was closed before the reply had ended")
	})
	t.Run("reported", func(t *testing.T) {
		client := serve(t, reply(`{"error":"the model is loading","answer":""}`), mapped(t, Mappings{Error: `response.?error.orValue("")`}))
		expect(t, fail(t, client), Failed, 1, "/answer: the answer service reports: the model is loading")
	})
	t.Run("a mapping of the request", func(t *testing.T) {
		client := newClient(t, "http://docs-bot.rag.svc/answer", mapped(t, Mappings{Request: `{"t": case.metadata.nope}`}))
		expect(t, fail(t, client), Malformed, 0, "POST docs-bot.rag.svc/answer: no request was made: answer.request: no such key: nope")
	})
	t.Run("long contexts", func(t *testing.T) {
		client := newClient(t, "http://docs-bot.rag.svc/answer")
		long := []retriever.Result{{ID: "a", Text: strings.Repeat("x", maxRequest)}}
		_, err := client.Answer(t.Context(), howTo, 10, long)
		var e *Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		expect(t, e, Malformed, 0, "answer.request: it is too large: a request may have 2 MiB; lower answer.contexts")
	})
	t.Run("repeated contexts", func(t *testing.T) {
		client := serve(t, reply(`{"answer":"x","text":"`+strings.Repeat("x", 1<<20)+`"}`),
			mapped(t, Mappings{Output: `{"answer": response.answer, "contexts": [1,2,3,4,5,6,7,8,9].map(i, response.text)}`}))
		expect(t, fail(t, client), Malformed, 1, "it gave an answer and contexts of 9 MiB, but at most 8 are read")
	})
}

// The prefix of the outcomes and the words of the package must not part.
func TestOutcomes(t *testing.T) {
	for kind, outcome := range map[call.Kind]Outcome{
		call.Timeout: Timeout, call.Unreachable: Unreachable, call.HTTPError: HTTPError, call.RateLimited: RateLimited,
		call.Malformed: Malformed, call.TooLarge: TooLarge, call.Failed: Failed,
	} {
		if want := "Answer" + Outcome(kind); outcome != want {
			t.Errorf("got %s, want %s", outcome, want)
		}
	}
}

func TestCallerStops(t *testing.T) {
	entered := make(chan struct{})
	client := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(entered)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	_, err := client.Answer(ctx, howTo, 10, found)
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	expect(t, e, Timeout, 1, "the run was stopped before a reply came")
	if _, err := client.Answer(ctx, howTo, 10, found); !errors.Is(err, context.Canceled) {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestConfigIsUsed(t *testing.T) {
	t.Run("retries until it is well", func(t *testing.T) {
		var calls atomic.Int32
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			reply(anAnswer)(w, r)
		}, func(c *Config) { c.MaxRetries = 1 })
		if r, err := client.Answer(t.Context(), howTo, 10, found); err != nil || r.Attempts != 2 {
			t.Error(r, err)
		}
	})
	t.Run("rate limit", func(t *testing.T) {
		client := serve(t, reply(anAnswer), func(c *Config) { c.Limiter = rate.NewLimiter(1e-6, 1) })
		if _, err := client.Answer(t.Context(), howTo, 10, found); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := client.Answer(ctx, howTo, 10, found)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		expect(t, e, Timeout, 0, "there is no time left to wait for answer.requestsPerSecond")
	})
	t.Run("TLS", func(t *testing.T) {
		server := httptest.NewTLSServer(reply(anAnswer))
		defer server.Close()
		server.Config.ErrorLog = nil
		trusting := newClient(t, server.URL, func(c *Config) { c.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig })
		if _, err := trusting.Answer(t.Context(), howTo, 10, found); err != nil {
			t.Error(err)
		}
	})
	t.Run("basic", func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "ada" || password != "l0velace" {
				t.Errorf("got %s, %s", user, password)
			}
			reply(anAnswer)(w, r)
		}, func(c *Config) { c.BasicUser, c.BasicPassword = "ada", "l0velace" })
		if _, err := client.Answer(t.Context(), howTo, 10, found); err != nil {
			t.Error(err)
		}
	})
	t.Run("OAuth 2.0", func(t *testing.T) {
		login := httptest.NewServer(reply(`{"access_token":"t1-access","token_type":"Bearer","expires_in":3600}`))
		defer login.Close()
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Authorization"); got != "Bearer t1-access" {
				t.Errorf("got %q", got)
			}
			reply(anAnswer)(w, r)
		}, func(c *Config) {
			c.OAuth2 = &call.OAuth2Config{TokenURL: login.URL, ClientID: "assay", ClientSecret: "hunter2!"}
		})
		if _, err := client.Answer(t.Context(), howTo, 10, found); err != nil {
			t.Error(err)
		}
	})
	t.Run("egress", func(t *testing.T) {
		client := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }, func(c *Config) { c.Egress = nowhere{} })
		expect(t, fail(t, client), Unreachable, 1, "the operator's egress policy refuses it: nowhere to go; use another answer.url")
	})
	t.Run("secrets", func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_ = json.NewEncoder(w).Encode([]any{r.Header, "l1sted<&>", r.RequestURI})
		}, func(c *Config) {
			c.BearerToken, c.Secrets, c.Header = "b3arer", call.NewRedactor("l1sted<&>", "h3ader"), http.Header{"X-Key": {"h3ader"}}
		})
		e := fail(t, client)
		for _, secret := range []string{"b3arer", "l1sted", "h3ader", "tooth"} {
			if strings.Contains(e.Message, secret) {
				t.Errorf("%s is shown: %s", secret, e.Message)
			}
		}
	})
}

type nowhere struct{}

func (nowhere) Host(host string) (string, error)     { return host, nil }
func (nowhere) Address(string, netip.AddrPort) error { return errors.New("nowhere to go") }

func TestEndpointConfig(t *testing.T) {
	cfg := endpointConfig(&Config{MaxIdle: 7})
	if cfg.Timeout != time.Minute {
		t.Errorf("a model is given %s by default", cfg.Timeout)
	}
	if !cfg.Mapped || cfg.MaxIdle != 7 {
		t.Errorf("got %+v", cfg)
	}
	if cfg := endpointConfig(&Config{Timeout: time.Second}); cfg.Timeout != time.Second {
		t.Errorf("got %s", cfg.Timeout)
	}
}

func TestNewRefuses(t *testing.T) {
	plain := mustCompile(t, Mappings{})
	for name, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"no program":        {Config{URL: "http://a", Contexts: 1}, "the mappings are not compiled"},
		"no contexts":       {Config{URL: "http://a", Program: plain}, "contexts: it must be 1 or more, it is 0"},
		"no URL":            {Config{Program: plain, Contexts: 1}, "url: it must begin with http:// or https://"},
		"user in URL":       {Config{Program: plain, Contexts: 1, URL: "http://u:s3cret@a"}, "url: it must not hold user and password"},
		"token with a line": {Config{Program: plain, Contexts: 1, URL: "http://a", BearerToken: "s3cret\n"}, "auth.bearerTokenSecretRef: its value holds a line break"},
		"missing params":    {Config{Program: mustCompile(t, Mappings{Request: `{"m": params.model}`}), Contexts: 1, URL: "http://a"}, `answer.params: "model" is missing, which is read by answer.request`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
