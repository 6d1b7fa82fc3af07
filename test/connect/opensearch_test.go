package connect

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// openSearchQuery is what of the query language is used here, by the names of
// https://docs.opensearch.org/latest/query-dsl/.
type openSearchQuery struct {
	Match  map[string]string                    `json:"match,omitempty"`
	Term   map[string]string                    `json:"term,omitempty"`
	Bool   *openSearchBool                      `json:"bool,omitempty"`
	KNN    map[string]openSearchKNN             `json:"knn,omitempty"`
	Hybrid *struct{ Queries []openSearchQuery } `json:"hybrid,omitempty"`
}

type openSearchBool struct {
	Must   []openSearchQuery `json:"must"`
	Filter []openSearchQuery `json:"filter"`
}

type openSearchKNN struct {
	Vector []float64        `json:"vector"`
	K      int              `json:"k"`
	Filter *openSearchQuery `json:"filter,omitempty"`
}

func fields(c chunk) map[string]string {
	return map[string]string{"chunk_id": c.ID, "path": c.Document, "tenant": c.Tenant, "body": c.Body}
}

// score gives a chunk's score, and whether it matches at all.
func (q openSearchQuery) score(t *testing.T, c chunk) (float64, bool) {
	switch {
	case q.Match != nil:
		var s float64
		for field, text := range q.Match {
			s += overlap(text, fields(c)[field])
		}
		return s, s > 0
	case q.Term != nil:
		for field, value := range q.Term {
			if fields(c)[field] != value {
				return 0, false
			}
		}
		return 0, true
	case q.KNN != nil:
		knn, ok := q.KNN["embedding"]
		if !ok || len(knn.Vector) != dimensions || knn.K < 1 {
			t.Errorf("knn is %v", q.KNN)
			return 0, false
		}
		if knn.Filter != nil {
			if _, ok := knn.Filter.score(t, c); !ok {
				return 0, false
			}
		}
		return (1 + cosine(knn.Vector, embed(c.Body))) / 2, true
	case q.Bool != nil:
		return q.Bool.score(t, c)
	case q.Hybrid != nil:
		var s float64
		var matched bool
		for _, part := range q.Hybrid.Queries {
			one, ok := part.score(t, c)
			s, matched = s+one, matched || ok
		}
		return s, matched
	}
	t.Errorf("a query with nothing in it")
	return 0, false
}

func (b openSearchBool) score(t *testing.T, c chunk) (float64, bool) {
	var s float64
	for _, part := range slices.Concat(b.Must, b.Filter) {
		one, ok := part.score(t, c)
		if !ok {
			return 0, false
		}
		s += one
	}
	return s, true
}

// openSearch stands in for OpenSearch's POST /INDEX/_search, with the security
// plugin's basic authentication.
func openSearch(t *testing.T, idField string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "assay" || password != "replace-me" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/docs/_search" {
			reply(w, http.StatusNotFound, map[string]any{"status": 404, "error": map[string]any{
				"type": "index_not_found_exception", "reason": "no such index [" + strings.Split(r.URL.Path, "/")[1] + "]"}})
			return
		}
		var request struct {
			Size   int             `json:"size"`
			Source []string        `json:"_source"`
			Query  openSearchQuery `json:"query"`
		}
		if !decode(t, w, r, &request) {
			return
		}
		if request.Query.Hybrid != nil && r.URL.Query().Get("search_pipeline") == "" {
			t.Error("a hybrid query's scores mean nothing without a search pipeline")
		}
		hits := []map[string]any{}
		for _, h := range best(func(c chunk) (float64, bool) { return request.Query.score(t, c) }, request.Size) {
			source := map[string]any{}
			for field, value := range fields(h.chunk) {
				if field == "chunk_id" {
					field = idField
				}
				if slices.Contains(request.Source, field) {
					source[field] = value
				}
			}
			hits = append(hits, map[string]any{"_index": "docs", "_id": h.ID, "_score": h.score, "_source": source})
		}
		reply(w, http.StatusOK, map[string]any{
			"took": 3, "timed_out": false,
			"_shards": map[string]any{"total": 1, "successful": 1, "skipped": 0, "failed": 0},
			"hits":    map[string]any{"total": map[string]any{"value": len(hits), "relation": "eq"}, "max_score": 1.0, "hits": hits},
		})
	}))
	t.Cleanup(s.Close)
	return s
}

func openSearchSuite(t *testing.T, p page, url string) string {
	t.Helper()
	return at(t, p.suite(t, "evalsuite_opensearch.yaml"), map[string]string{"https://opensearch.search.svc:9200": url})
}

func TestOpenSearch(t *testing.T) {
	p := readPage(t, "connect/opensearch.md")
	server := openSearch(t, "chunk_id")
	manifest := openSearchSuite(t, p, server.URL)
	vectors := embeddings(t)
	inPlace := map[string]string{"http://vllm.models.svc:8000": vectors.URL}
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
		fragment := strings.ReplaceAll(p.section(t, "Hybrid and vectors"), "https://opensearch.search.svc:9200", server.URL)
		passes(t, with(t, manifest, at(t, fragment, inPlace)))
	})
	t.Run("_id", func(t *testing.T) {
		passes(t, with(t, manifest, p.section(t, "Which ids come back")))
	})
	t.Run("what goes wrong", func(t *testing.T) {
		p.says(t, failure(t, openSearchSuite(t, p, openSearch(t, "id").URL)), "RetrieverMalformed", "no such key: chunk_id")
		p.says(t, failure(t, strings.ReplaceAll(manifest, "/docs/_search", "/typo/_search")), "RetrieverHTTPError", "index_not_found_exception")
		p.says(t, failure(t, strings.ReplaceAll(manifest, "password: replace-me", "password: wrong")), "401")
	})
}
