package retriever

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
)

const twoResults = `{"results":[{"id":"a","text":"A","score":2},{"id":"b"}]}`

// serve starts a server and gives a client for it.
func serve(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newClient(t, server.URL+"/search?key=tooth", change...)
}

func newClient(t testing.TB, url string, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{URL: url}
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

func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func timeout(d time.Duration) func(*Config) { return func(c *Config) { c.Timeout = d } }
func retries(n int) func(*Config)           { return func(c *Config) { c.MaxRetries = n } }

// fail makes a call that must fail, and gives its error.
func fail(t *testing.T, c *Client) *Error {
	t.Helper()
	_, err := c.Retrieve(t.Context(), howTo, 10)
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

func TestRetrieve(t *testing.T) {
	var got *http.Request
	var body []byte
	var observed []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		reply(twoResults)(w, r)
	}, func(c *Config) {
		c.Header = http.Header{"x-tenant": {"docs"}}
		c.Observe = func(outcome string, seconds float64) {
			if seconds <= 0 {
				t.Errorf("took %v s", seconds)
			}
			observed = append(observed, outcome)
		}
	})
	r, err := client.Retrieve(t.Context(), howTo, 5)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Result{{ID: "a", Text: "A", Score: score(2)}, {ID: "b"}}, r.Results); diff != "" {
		t.Error(diff)
	}
	if r.Attempts != 1 || r.Latency <= 0 {
		t.Errorf("got %d attempts, %s", r.Attempts, r.Latency)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/search?key=tooth" {
		t.Errorf("got %s %s", got.Method, got.RequestURI)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "assay", "X-Tenant": "docs"} {
		if got := got.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	var sent map[string]any
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"query": howTo.Question, "top_k": 5.0}, sent); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{OK}, observed); diff != "" {
		t.Error(diff)
	}
}

func TestRetrieveByGET(t *testing.T) {
	var got string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Query().Encode() + " " + r.Header.Get("Content-Type") + string(body)
		reply(twoResults)(w, r)
	}, func(c *Config) {
		c.Method = http.MethodGet
		c.Program = mustCompile(t, Mappings{Method: http.MethodGet, Query: `{"q": case.id, "k": topK}`})
	})
	if _, err := client.Retrieve(t.Context(), howTo, 5); err != nil {
		t.Fatal(err)
	}
	if want := "GET k=5&key=tooth&q=q01 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(reply(twoResults))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := newClient(t, server.URL)
	for range 20 {
		if _, err := client.Retrieve(t.Context(), howTo, 5); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("20 calls opened %d connections", n)
	}
}

func TestBadReplies(t *testing.T) {
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html>\n<title>Sign in\x1b</title>"+strings.Repeat("y", 1000))
	}
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, test := range map[string]struct {
		handler  http.HandlerFunc
		outcome  Outcome
		attempts int
		want     []string
	}{
		"HTML": {html, Malformed, 1, []string{
			"/search: the body is not JSON: invalid character '<'", "content type text/html, a page for browsers: check retriever.url", `it begins: <!DOCTYPE html> <title>Sign in\x1b</title>yyy`,
		}},
		"truncated":             {reply(`{"results":[{"id":"a"`), Malformed, 1, []string{"it ends in the middle of a value"}},
		"trailing":              {reply(`{"results":[]} x`), Malformed, 1, []string{"something follows after the value"}},
		"no id":                 {reply(`{"results":[{"text":"x"}]}`), Malformed, 1, []string{`retriever.results: the result at rank 1 has no "id"`, `it begins: {"results":[{"text":"x"}]}`}},
		"empty":                 {reply(``), Malformed, 1, []string{"the body is empty"}},
		"204":                   {status(204, ""), Malformed, 1, []string{"the body is empty; no content type"}},
		"a bomb":                {reply(strings.Repeat(`[`, 1<<18)), Malformed, 1, []string{"exceeded max depth"}},
		"10 MiB":                {reply(`{"results":[{"id":"a","text":"` + strings.Repeat("x", 10<<20) + `"}]}`), TooLarge, 1, []string{"the reply is larger than 8 MiB"}},
		"400":                   {status(400, `{"error":"no \"top_k\""}`), HTTPError, 1, []string{`400 Bad Request; check what is sent: retriever.request and the names in params: {"error":"no \"top_k\""}`}},
		"401":                   {status(401, "who?"), HTTPError, 1, []string{"401 Unauthorized; check retriever.auth: who?"}},
		"403":                   {status(403, ""), HTTPError, 1, []string{"403 Forbidden; check retriever.auth"}},
		"404":                   {status(404, "404 page not found\n"), HTTPError, 1, []string{"404 Not Found; check retriever.url and its method: 404 page not found"}},
		"500 once":              {status(500, "boom"), HTTPError, 1, []string{"500 Internal Server Error: boom"}},
		"a status unheard":      {status(599, ""), HTTPError, 1, []string{"/search: 599"}},
		"304":                   {status(304, ""), HTTPError, 1, []string{"304 Not Modified"}},
		"a redirect to nowhere": {status(302, ""), HTTPError, 1, []string{"302 Found"}},
		"gzip that is none": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, twoResults)
		}, Malformed, 1, []string{"cannot be unpacked"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := fail(t, serve(t, test.handler, retries(2)))
			expect(t, e, test.outcome, test.attempts, append(test.want, "POST 127.0.0.1:")...)
			if strings.Contains(e.Message, "tooth") || strings.Contains(e.Message, "?") && name != "401" {
				t.Errorf("the query is shown: %s", e.Message)
			}
			if len(e.Message) > 800 {
				t.Errorf("%d bytes of message", len(e.Message))
			}
		})
	}
}

// A body that does not say how long it is must be bounded as it comes, and a
// packed one as it is unpacked.
func TestBodyIsBounded(t *testing.T) {
	chunk := bytes.Repeat([]byte(" "), 1<<20)
	for name, handler := range map[string]http.HandlerFunc{
		"without a length": func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 100 {
				if _, err := z.Write(chunk); err != nil {
					return
				}
			}
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, fail(t, serve(t, handler)), TooLarge, 1, "larger than 8 MiB")
		})
	}
	t.Run("8 MiB pass", func(t *testing.T) {
		body := twoResults + strings.Repeat(" ", 8<<20-len(twoResults))
		if _, err := serve(t, reply(body)).Retrieve(t.Context(), howTo, 10); err != nil {
			t.Error(err)
		}
	})
	t.Run("gzip passes", func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Error("gzip is not asked for")
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, twoResults)
			_ = z.Close()
		})
		if r, err := client.Retrieve(t.Context(), howTo, 10); err != nil || len(r.Results) != 2 {
			t.Error(r, err)
		}
	})
}

func TestHangingRetriever(t *testing.T) {
	// A server sees that its client has gone only once it has read the body.
	hang := func(r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"no header": {func(_ http.ResponseWriter, r *http.Request) {
			hang(r)
		}, "no reply came within 50ms (retriever.timeoutSeconds)"},
		"half a body": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"results":[`)
			w.(http.Flusher).Flush()
			hang(r)
		}, "the reply did not end within 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			var observed []string
			client := serve(t, test.handler, timeout(50*time.Millisecond), retries(1), func(c *Config) {
				c.Observe = func(outcome string, seconds float64) { observed = append(observed, fmt.Sprint(outcome, " ", seconds)) }
			})
			e := fail(t, client)
			expect(t, e, Timeout, 2, test.want, "(2 attempts)")
			if e.Latency != 50*time.Millisecond {
				t.Errorf("latency is %s, want the limit", e.Latency)
			}
			// The caller must be able to tell its own deadline from an attempt's.
			if errors.Is(e, context.DeadlineExceeded) {
				t.Error("an attempt's limit looks like the caller's")
			}
			if diff := cmp.Diff([]string{"RetrieverTimeout 0.05", "RetrieverTimeout 0.05"}, observed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallerStops(t *testing.T) {
	entered := make(chan struct{}, 1)
	client := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		entered <- struct{}{}
		<-r.Context().Done()
	}, func(c *Config) {
		c.Observe = func(outcome string, _ float64) { t.Errorf("observed %s", outcome) }
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	_, err := client.Retrieve(ctx, howTo, 10)
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	expect(t, e, Timeout, 1, "the run was stopped before a reply came")

	_, err = client.Retrieve(ctx, howTo, 10)
	if !errors.As(err, &e) || !errors.Is(err, context.Canceled) || e.Attempts != 0 {
		t.Errorf("a call after the end: %v", err)
	}

	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = client.Retrieve(ctx, howTo, 10)
	if !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(e.Message, "the run's time was up") {
		t.Errorf("a call past its deadline: %v", err)
	}
}

func TestBrokenConnections(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		server := httptest.NewServer(reply(""))
		server.Close()
		expect(t, fail(t, newClient(t, server.URL, retries(3))), Unreachable, 1, "nothing listens there: check retriever.url and that the service runs", "connection refused")
	})
	hijack := func(send string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, send)
			// With nothing left to wait for, closing sends a reset.
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}
	t.Run("reset before the reply", func(t *testing.T) {
		expect(t, fail(t, serve(t, hijack(""), retries(1))), Unreachable, 2, "the connection was closed before the reply had ended")
	})
	t.Run("reset in the body", func(t *testing.T) {
		expect(t, fail(t, serve(t, hijack("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"results\":"), retries(1))), Unreachable, 2, "the connection was closed before the reply had ended")
	})
	t.Run("not HTTP", func(t *testing.T) {
		expect(t, fail(t, serve(t, hijack("SSH-2.0-OpenSSH_9.6\r\n"))), Unreachable, 1, "malformed HTTP")
	})
	t.Run("then well again", func(t *testing.T) {
		var calls atomic.Int32
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) == 1 {
				hijack("")(w, r)
				return
			}
			reply(twoResults)(w, r)
		}, retries(2))
		r, err := client.Retrieve(t.Context(), howTo, 10)
		if err != nil || r.Attempts != 2 || len(r.Results) != 2 {
			t.Error(r, err)
		}
	})
}

func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other host was asked")
	}))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || !bytes.Contains(body, []byte("top_k")) || r.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("got %s %q %q", r.Method, body, r.Header)
		}
		reply(twoResults)(w, r)
	})
	mux.Handle("/slash", http.RedirectHandler("/ok/", http.StatusTemporaryRedirect))
	mux.Handle("/permanent", http.RedirectHandler("/slash", http.StatusPermanentRedirect))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusTemporaryRedirect))
	mux.Handle("/moved", http.RedirectHandler("/ok/", http.StatusFound))
	mux.Handle("/elsewhere", http.RedirectHandler(elsewhere.URL+"/steal?key=s3cret", http.StatusTemporaryRedirect))
	server := httptest.NewServer(mux)
	defer server.Close()
	ask := func(path string) *Client {
		return newClient(t, server.URL+path, retries(2), func(c *Config) { c.BearerToken = "t0ken" })
	}
	for _, path := range []string{"/slash", "/permanent"} {
		if _, err := ask(path).Retrieve(t.Context(), howTo, 10); err != nil {
			t.Error(err)
		}
	}
	expect(t, fail(t, ask("/loop")), HTTPError, 1, "after 5 redirects already")
	expect(t, fail(t, ask("/moved")), HTTPError, 1, "/ok/, which would turn the POST into a GET; use that address as url")
	e := fail(t, ask("/elsewhere"))
	expect(t, e, HTTPError, 1, "it redirects to "+elsewhere.URL+"/steal, another host, which is not followed")
	if strings.Contains(e.Message, "s3cret") {
		t.Error(e.Message)
	}
}

func TestFailingRequestMapping(t *testing.T) {
	client := newClient(t, "http://docs-bot.rag.svc/search", func(c *Config) {
		c.Program = mustCompile(t, Mappings{Request: `{"t": case.metadata.nope}`})
	})
	expect(t, fail(t, client), Malformed, 0, "POST docs-bot.rag.svc/search: no request was made: retriever.request: no such key: nope")
}

// What is computed by CEL is bounded in time and taken in turns.
func TestMappingsAreComputing(t *testing.T) {
	client := newClient(t, "http://docs-bot.rag.svc/search", timeout(1), func(c *Config) {
		c.Program = mustCompile(t, Mappings{Request: `[[[[question]]]]` + strings.Repeat(`.map(a, [a, a])`, 10)})
	})
	expect(t, fail(t, client), Malformed, 0, "no request was made: the mappings were not done within 1ns (retriever.timeoutSeconds): simplify them")

	for results, want := range map[string]bool{"": false, `response.hits`: true} {
		cfg := Config{Program: mustCompile(t, Mappings{Results: results})}
		if got := endpointConfig(&cfg, nil).Mapped; got != want {
			t.Errorf("results %q: mapped is %v", results, got)
		}
	}
}

// nowhere is an egress policy that allows no address.
type nowhere struct{}

func (nowhere) Host(host string) (string, error)     { return host, nil }
func (nowhere) Address(string, netip.AddrPort) error { return errors.New("nowhere to go") }

func TestEgress(t *testing.T) {
	refused := func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }
	const want = "the operator's egress policy refuses it: nowhere to go; use another "
	expect(t, fail(t, serve(t, refused, func(c *Config) { c.Egress = nowhere{} })), Unreachable, 1, want+"retriever.url")
	expect(t, fail(t, embeddings(t, refused, func(c *Config) { c.Egress = nowhere{} })), Unreachable, 1, "embedding the question: ", want+"retriever.embedding.url")
}

func TestReportedError(t *testing.T) {
	client := serve(t, reply(`{"error":"shard 3 is down","results":[]}`), retries(2), func(c *Config) {
		c.Program = mustCompile(t, Mappings{Error: `response.error`})
	})
	expect(t, fail(t, client), Failed, 1, "/search: the retriever reports: shard 3 is down")
}

func TestCorpusVersion(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Index-Version", "2026-11-30")
		reply(twoResults)(w, r)
	}, func(c *Config) { c.Program = mustCompile(t, Mappings{CorpusVersion: `headers["x-index-version"]`}) })
	r, err := client.Retrieve(t.Context(), howTo, 10)
	if err != nil || r.CorpusVersion != "2026-11-30" {
		t.Error(r, err)
	}
}

func TestNewRefuses(t *testing.T) {
	assay := mustCompile(t, Mappings{})
	qdrant := mustCompile(t, Mappings{Preset: "Qdrant", HasEmbedding: true})
	params := map[string]any{"idField": "path", "textField": "body"}
	for name, test := range map[string]struct {
		cfg  Config
		want string
	}{
		"no program":        {Config{URL: "http://a"}, "the mappings are not compiled"},
		"no URL":            {Config{Program: assay}, "url: it must begin with http:// or https:// and a host"},
		"another scheme":    {Config{Program: assay, URL: "ftp://a/x"}, "url: it must begin with"},
		"user in URL":       {Config{Program: assay, URL: "http://u:p@a/x"}, "url: it must not hold user and password"},
		"not a URL":         {Config{Program: assay, URL: "http://a/%zz?key=s3cret"}, "url: it is not a URL"},
		"missing params":    {Config{Program: qdrant, URL: "http://a"}, `retriever.params: "idField" is missing`},
		"no embedding":      {Config{Program: qdrant, URL: "http://a", Params: params}, "add retriever.embedding"},
		"embedding's URL":   {Config{Program: qdrant, URL: "http://a", Params: params, Embedding: &EmbeddingConfig{}}, "embedding.url: it must begin"},
		"token with a line": {Config{Program: assay, URL: "http://a", BearerToken: "s3cret\n"}, "auth.bearerTokenSecretRef: its value holds a line break"},
		"header with one":   {Config{Program: assay, URL: "http://a", Header: http.Header{"X-Key": {"s3cret\r\n"}}}, "headers[X-Key]: its value holds a line break"},
		"token URL":         {Config{Program: assay, URL: "http://a", OAuth2: &OAuth2Config{}}, "auth.oauth2.tokenURL: it must begin"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestParamsAreNotTheCallers(t *testing.T) {
	params := map[string]any{"n": json.Number("7")}
	client := newClient(t, "http://a", func(c *Config) { c.Params = params })
	if diff := cmp.Diff(map[string]any{"n": int64(7)}, client.params); diff != "" {
		t.Error(diff)
	}
	if params["n"] != json.Number("7") {
		t.Error("the caller's params were changed")
	}
}
