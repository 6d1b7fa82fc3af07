package connect

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// vectorStore stands in for OpenAI's POST /v1/vector_stores/ID/search, over files
// whose ids are made of their names. It keeps the bodies that it was sent.
type vectorStore struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

// last is the body that was sent last.
func (s *vectorStore) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

func fileID(document string) string {
	return "file-" + strings.NewReplacer("/", "", ".", "", "docs", "").Replace(document)
}

func newVectorStore(t *testing.T) *vectorStore {
	t.Helper()
	s := &vectorStore{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer replace-me" {
			reply(w, http.StatusUnauthorized, openAIError("Incorrect API key provided.", "invalid_api_key"))
			return
		}
		if r.Method != http.MethodPost || r.URL.Path != "/v1/vector_stores/vs_abc123/search" {
			reply(w, http.StatusNotFound, openAIError("Vector store with id 'vs_typo' not found.", ""))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		var request struct {
			Query         string `json:"query"`
			MaxNumResults int    `json:"max_num_results"`
			RewriteQuery  bool   `json:"rewrite_query"`
			Filters       *struct {
				Type, Key, Value string
			} `json:"filters"`
		}
		if !decode(t, w, r, &request) {
			return
		}
		if request.MaxNumResults < 1 || request.MaxNumResults > 50 {
			t.Errorf("max_num_results is %d", request.MaxNumResults)
		}
		data := []map[string]any{}
		for _, h := range best(func(c chunk) (float64, bool) {
			if f := request.Filters; f != nil && (f.Type != "eq" || f.Key != "tenant" || f.Value != c.Tenant) {
				return 0, false
			}
			return cosine(embed(request.Query), embed(c.Body)), true
		}, request.MaxNumResults) {
			data = append(data, map[string]any{"file_id": fileID(h.Document), "filename": h.Document[strings.LastIndex(h.Document, "/")+1:], "score": h.score,
				"attributes": map[string]any{"tenant": h.Tenant}, "content": []map[string]any{{"type": "text", "text": h.Body}}})
		}
		reply(w, http.StatusOK, map[string]any{"object": "vector_store.search_results.page", "search_query": []string{request.Query},
			"data": data, "has_more": false, "next_page": nil})
	}))
	t.Cleanup(s.Close)
	return s
}

func openAIError(message, code string) map[string]any {
	return map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}}
}

func TestOpenAIVectorStore(t *testing.T) {
	p := readPage(t, "connect/openai-vector-store.md")
	store := newVectorStore(t)
	manifest := at(t, p.suite(t, "evalsuite_openai_vector_store.yaml"), map[string]string{"https://api.openai.com": store.URL})
	passes(t, manifest)
	plain := store.last()
	filtered := with(t, manifest, p.section(t, "A filter for each case"))
	passes(t, filtered)
	ids := found(t, filtered)["rotate"]
	if slices.Contains(ids, fileID("docs/billing.md")) {
		t.Errorf("%v, want none of the other tenant", ids)
	}
	byTenant := openai.VectorStoreSearchParamsFiltersUnion{OfComparisonFilter: &shared.ComparisonFilterParam{
		Type: "eq", Key: "tenant", Value: shared.ComparisonFilterValueUnionParam{OfString: openai.String("acme")}}}

	for name, c := range map[string]struct {
		sent    string
		filters openai.VectorStoreSearchParamsFiltersUnion
	}{
		"as the vendor's client":           {plain, openai.VectorStoreSearchParamsFiltersUnion{}},
		"as the vendor's client, filtered": {store.last(), byTenant},
	} {
		t.Run(name, func(t *testing.T) {
			var question struct{ Query string }
			if err := json.Unmarshal([]byte(c.sent), &question); err != nil {
				t.Fatal(err)
			}
			client := openai.NewClient(option.WithBaseURL(store.URL+"/v1"), option.WithAPIKey("replace-me"))
			got, err := client.VectorStores.Search(t.Context(), "vs_abc123", openai.VectorStoreSearchParams{
				Query:         openai.VectorStoreSearchParamsQueryUnion{OfString: openai.String(question.Query)},
				MaxNumResults: openai.Int(20),
				RewriteQuery:  openai.Bool(false),
				Filters:       c.filters,
			})
			if err != nil {
				t.Fatal(err)
			}
			// Both sent the same, and the reply is one that the client reads.
			var ours, theirs any
			if json.Unmarshal([]byte(c.sent), &ours) != nil || json.Unmarshal([]byte(store.last()), &theirs) != nil {
				t.Fatal("a body is not JSON")
			}
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("the request (-client's +ours):\n%s", diff)
			}
			if len(got.Data) == 0 || got.Data[0].FileID == "" || got.Data[0].Content[0].Text == "" || got.Data[0].Score == 0 {
				t.Errorf("the client reads %+v", got.Data)
			}
		})
	}
	t.Run("names in place of ids", func(t *testing.T) {
		named := strings.NewReplacer("file-keysmd", "keys.md", "file-networkmd", "network.md", "file-installmd", "install.md").Replace(manifest)
		passes(t, with(t, named, p.section(t, "Which ids come back")))
	})
	t.Run("what goes wrong", func(t *testing.T) {
		p.says(t, failure(t, strings.ReplaceAll(manifest, "vs_abc123", "vs_typo")), "RetrieverHTTPError", "not found")
		p.says(t, failure(t, strings.ReplaceAll(manifest, "apiKey: replace-me", "apiKey: wrong")), "401")
		out := assay(t, with(t, manifest, "retriever: {topK: 51}"), "run", "-f", "{}", "--plan")
		if out.err == nil {
			t.Fatal("topK 51 is accepted")
		}
		p.says(t, out.err.Error()+out.stderr, "returns at most 50 results")
	})
}
