package retriever

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

const qdrantReply = `{"result":{"points":[{"id":1,"version":1,"score":0.5,"payload":{"path":"a.md","body":"A"}}]},"status":"ok","time":0.001}`

// embeddings starts an embeddings server, and a Qdrant that must be sent its
// vector, and gives a client.
func embeddings(t *testing.T, handler http.HandlerFunc, change ...func(*Config)) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var sent struct{ Query []float64 }
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || !cmp.Equal(sent.Query, []float64{0.25, -1e-7, 3}) {
			t.Errorf("got %v, %v", sent, err)
		}
		reply(qdrantReply)(w, r)
	}, append([]func(*Config){func(c *Config) {
		c.Program = mustCompile(t, Mappings{Preset: "Qdrant", HasEmbedding: true})
		c.Params = map[string]any{"idField": "path", "textField": "body"}
		c.Embedding = &EmbeddingConfig{URL: server.URL + "/v1/embeddings?key=s3cret", Model: "e5", BearerToken: "t0ken"}
	}}, change...)...)
}

const embeddingReply = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-1e-7,3]}],"model":"e5","usage":{"prompt_tokens":5,"total_tokens":5}}`

func TestEmbedding(t *testing.T) {
	var calls atomic.Int32
	var sent []byte
	client := embeddings(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		sent, _ = io.ReadAll(r.Body)
		if got := r.Header.Get("Authorization"); got != "Bearer t0ken" {
			t.Errorf("got %q", got)
		}
		reply(embeddingReply)(w, r)
	}, func(c *Config) {
		c.Embedding.Dimensions = 3
		c.Observe = func(outcome string, _ float64) {
			if outcome != OK {
				t.Error(outcome)
			}
		}
	})
	for range 3 {
		r, err := client.Retrieve(t.Context(), howTo, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Result{{ID: "a.md", Text: "A", Score: score(0.5)}}, r.Results); diff != "" {
			t.Error(diff)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the same text was embedded %d times", n)
	}
	if _, err := client.Retrieve(t.Context(), &golden.Case{ID: "q02", Question: "another"}, 10); err != nil || calls.Load() != 2 {
		t.Errorf("another text: %d calls, %v", calls.Load(), err)
	}
	if diff := cmp.Diff(`{"dimensions":3,"encoding_format":"float","input":"another","model":"e5"}`, string(sent)); diff != "" {
		t.Error(diff)
	}
}

func TestEmbeddingFails(t *testing.T) {
	for name, test := range map[string]struct {
		handler  http.HandlerFunc
		outcome  Outcome
		attempts int
		want     string
	}{
		"401": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, HTTPError, 1, "401 Unauthorized; check retriever.embedding.auth"},
		"400": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, HTTPError, 1, "400 Bad Request; check retriever.embedding.model and dimensions"},
		"429": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, RateLimited, 2, "429 Too Many Requests"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, Timeout, 2, "no reply came within 100ms"},
		"HTML":        {reply("<html>"), Malformed, 1, "the body is not an embedding in JSON"},
		"no data":     {reply(`{"data":[]}`), Malformed, 1, `the reply has no "data" with an "embedding"`},
		"an error":    {reply(`{"error":{"message":"no such model"}}`), Malformed, 1, `it begins: {"error":{"message":"no such model"}}`},
		"base64":      {reply(`{"data":[{"embedding":"AACAPw=="}]}`), Malformed, 1, `the "embedding" is not a list of numbers`},
		"null within": {reply(`{"data":[{"embedding":[1,null]}]}`), Malformed, 1, `the "embedding" is not a list of numbers`},
		"empty":       {reply(`{"data":[{"embedding":[]}]}`), Malformed, 1, `the "embedding" is not a list of numbers`},
		"dimensions":  {reply(`{"data":[{"embedding":[1,2]}]}`), Malformed, 1, "the embedding has 2 numbers, but retriever.embedding.dimensions says 3"},
		"10 MiB":      {reply(strings.Repeat(" ", 10<<20)), TooLarge, 1, "larger than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			client := embeddings(t, test.handler, retries(1), timeout(100*time.Millisecond), func(c *Config) {
				c.Embedding.Dimensions = 3
				c.Observe = func(string, float64) { t.Error("an embedding counts as a call to the retriever") }
				if name == "10 MiB" {
					c.Timeout = 10 * time.Second
				}
			})
			e := fail(t, client)
			expect(t, e, test.outcome, test.attempts, "embedding the question: POST 127.0.0.1:", "/v1/embeddings: ", test.want)
			if strings.Contains(e.Message, "s3cret") || strings.Contains(e.Message, "t0ken") {
				t.Error(e.Message)
			}
			// A failure is not kept.
			if len(client.embedder.cache.vectors) != 0 {
				t.Error("a failure was cached")
			}
		})
	}
}

func TestVectorCache(t *testing.T) {
	key := func(b byte) (k [32]byte) { k[0] = b; return k }
	// Room for two vectors of 50 numbers.
	c := NewVectorCache(1000)
	for i := range byte(3) {
		c.put(key(i), make([]float64, 50))
		c.put(key(i), make([]float64, 50))
	}
	for i, want := range []bool{false, true, true} {
		if _, ok := c.get(key(byte(i))); ok != want {
			t.Errorf("vector %d: got %v, want %v", i, ok, want)
		}
	}
	c.put(key(9), make([]float64, 1000))
	if len(c.vectors) != 0 || c.left != 1000 || len(c.oldest) != 0 {
		t.Errorf("a vector that is too large leaves %d, %d bytes", len(c.vectors), c.left)
	}
}

// A shared cache must not give a vector to who could not have asked for it.
func TestSharedVectorsNeedTheSameCredentials(t *testing.T) {
	shared := NewVectorCache(1 << 20)
	var calls atomic.Int32
	handler := func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		reply(embeddingReply)(w, r)
	}
	server := httptest.NewServer(http.HandlerFunc(handler))
	defer server.Close()
	ask := func(token, model string) {
		client := embeddings(t, handler, func(c *Config) {
			c.Vectors = shared
			c.Embedding = &EmbeddingConfig{URL: server.URL, Model: model, BearerToken: token}
		})
		if _, err := client.Retrieve(t.Context(), howTo, 10); err != nil {
			t.Fatal(err)
		}
	}
	for i, test := range []struct {
		token, model string
		want         int32
	}{{"a", "m", 1}, {"a", "m", 1}, {"b", "m", 2}, {"a", "n", 3}} {
		if ask(test.token, test.model); calls.Load() != test.want {
			t.Errorf("call %d: %d embeddings, want %d", i, calls.Load(), test.want)
		}
	}
}

func FuzzReadVector(f *testing.F) {
	f.Add([]byte(embeddingReply), 3)
	f.Fuzz(func(t *testing.T, body []byte, dimensions int) {
		vector, err := readVector(body, dimensions)
		if err == nil && (len(vector) == 0 || dimensions > 0 && len(vector) != dimensions) {
			t.Errorf("got %d numbers", len(vector))
		}
	})
}
