package connect

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// qdrantFilter is https://qdrant.tech/documentation/search/filtering/, as far as
// it is used here.
type qdrantFilter struct {
	Must []struct {
		Key   string                 `json:"key"`
		Match struct{ Value string } `json:"match"`
	} `json:"must"`
}

// qdrantRequest is the body of https://api.qdrant.tech/api-reference/search/query-points.
type qdrantRequest struct {
	Query       json.RawMessage `json:"query"`
	Using       string          `json:"using"`
	Limit       int             `json:"limit"`
	WithPayload json.RawMessage `json:"with_payload"`
	Filter      *qdrantFilter   `json:"filter"`
	Prefetch    []qdrantRequest `json:"prefetch"`
}

func (f *qdrantFilter) takes(c chunk) bool {
	if f == nil {
		return true
	}
	for _, m := range f.Must {
		if fields(c)[m.Key] != m.Match.Value {
			return false
		}
	}
	return true
}

// score of a chunk under a query that is a vector, a text for the server's own
// BM25, or a fusion of what was fetched before.
func (q qdrantRequest) score(t *testing.T, c chunk) (float64, bool) {
	if !q.Filter.takes(c) {
		return 0, false
	}
	var vector []float64
	if json.Unmarshal(q.Query, &vector) == nil {
		return cosine(vector, embed(c.Body)), true
	}
	var other struct {
		Text, Model, Fusion string
	}
	if err := json.Unmarshal(q.Query, &other); err != nil {
		t.Errorf("query is %s", q.Query)
	}
	if other.Fusion == "rrf" {
		var s float64
		var matched bool
		for _, part := range q.Prefetch {
			one, ok := part.score(t, c)
			s, matched = s+one, matched || ok
		}
		return s, matched
	}
	if other.Text == "" || other.Model == "" {
		t.Errorf("query is %s", q.Query)
	}
	s := overlap(other.Text, c.Body)
	return s, s > 0
}

// qdrant stands in for Qdrant's POST /collections/NAME/points/query. Points have
// numbers for ids, and the corpus in their payload.
func qdrant(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("api-key") != "replace-me" {
			http.Error(w, "Must provide an API key or an Authorization bearer token", http.StatusUnauthorized)
			return
		}
		collection := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/collections/"), "/points/query")
		if collection != "docs" {
			reply(w, http.StatusNotFound, qdrantError("Not found: Collection `"+collection+"` doesn't exist!"))
			return
		}
		var request qdrantRequest
		if !decode(t, w, r, &request) {
			return
		}
		var vector []float64
		if json.Unmarshal(request.Query, &vector) == nil && len(vector) != dimensions {
			reply(w, http.StatusBadRequest, qdrantError("Wrong input: Vector dimension error: expected dim: 1024, got 64"))
			return
		}
		points := []map[string]any{}
		for _, h := range best(func(c chunk) (float64, bool) { return request.score(t, c) }, request.Limit) {
			point := map[string]any{"id": slices.Index(corpus, h.chunk) + 1, "version": 1, "score": h.score}
			if string(request.WithPayload) == "true" {
				point["payload"] = map[string]any{"chunk_id": h.ID, "body": h.Body, "tenant": h.Tenant,
					"page_content": h.Body, "metadata": map[string]any{"source": h.Document}}
			}
			points = append(points, point)
		}
		reply(w, http.StatusOK, map[string]any{"time": 0.001, "status": "ok", "result": map[string]any{"points": points}})
	}))
	t.Cleanup(s.Close)
	return s
}

func qdrantError(message string) map[string]any {
	return map[string]any{"time": 0.001, "status": map[string]any{"error": message}}
}

func qdrantSuite(t *testing.T, p page, url, vectors string) string {
	t.Helper()
	return at(t, p.suite(t, "evalsuite_qdrant.yaml"), map[string]string{
		"http://qdrant.search.svc:6333": url, "http://vllm.models.svc:8000": vectors})
}

func TestQdrant(t *testing.T) {
	p := readPage(t, "connect/qdrant.md")
	manifest := qdrantSuite(t, p, qdrant(t).URL, embeddings(t).URL)
	passes(t, manifest)
	if got := found(t, manifest)["rotate"]; !slices.Contains(got, "billing-1") {
		t.Errorf("without a filter: %v, want the other tenant's chunk too", got)
	}

	t.Run("filter", func(t *testing.T) {
		filtered := with(t, manifest, p.section(t, "A filter for each case"))
		passes(t, filtered)
		if got := found(t, filtered)["rotate"]; slices.Contains(got, "billing-1") {
			t.Errorf("%v, want none of the other tenant", got)
		}
	})
	t.Run("hybrid", func(t *testing.T) {
		passes(t, with(t, manifest, p.section(t, "Named vectors and hybrid")))
	})
	t.Run("LangChain's payload", func(t *testing.T) {
		got := found(t, with(t, manifest, p.section(t, "Which ids come back")))["rotate"]
		if !slices.Contains(got, "docs/keys.md") {
			t.Errorf("%v, want documents", got)
		}
	})
	t.Run("what goes wrong", func(t *testing.T) {
		p.says(t, failure(t, with(t, manifest, "retriever: {params: {idField: chunkId, textField: body}}")), "RetrieverMalformed", "no such key: chunkId")
		p.says(t, failure(t, strings.ReplaceAll(manifest, "BAAI/bge-m3", smallModel)), "Vector dimension error: expected dim")
		p.says(t, failure(t, strings.ReplaceAll(manifest, "/collections/docs/", "/collections/typo/")), "RetrieverHTTPError", "doesn't exist!")
		p.says(t, failure(t, with(t, manifest, `retriever: {request: '{"query": vector, "limit": topK}'}`)), "no such key: payload")
	})
}
