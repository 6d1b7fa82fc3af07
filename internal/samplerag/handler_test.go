package samplerag

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ask(t *testing.T, h http.Handler, method, path, body string) *http.Response {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return rec.Result()
}

func TestHandlerAnswers(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs")
	tests := []struct {
		name, body string
		want       []string
	}{
		{"as the preset Assay asks", `{"query": "cats", "top_k": 2}`, []string{"docs/cat.md#2", "docs/cat.md#1"}},
		{"Korean", `{"query": "강아지는?", "top_k": 1}`, []string{"docs/ko.md#2"}},
		{"ten without top_k", `{"query": "cats"}`, []string{"docs/cat.md#2", "docs/cat.md#1", "docs/dog.md#1"}},
		{"other fields do no harm", `{"query": "birds", "top_k": 1, "tenant": "x"}`, []string{"docs/note.txt#1"}},
		{"nothing found is an empty list", `{"query": "quantum", "top_k": 5}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := ask(t, ix.Handler(), http.MethodPost, "/search", tt.body)
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("got %s, %s: %s", res.Status, res.Header.Get("Content-Type"), body)
			}
			if got := res.Header.Get("X-Corpus-Version"); got != ix.CorpusVersion() || got == "" {
				t.Errorf("X-Corpus-Version is %q, want %q", got, ix.CorpusVersion())
			}
			var reply map[string][]map[string]any
			if err := json.Unmarshal(body, &reply); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if reply["results"] == nil {
				t.Fatalf("results is no list: %s", body)
			}
			var got []string
			for _, r := range reply["results"] {
				got = append(got, r["id"].(string))
				document, _, _ := strings.Cut(r["id"].(string), "#")
				if r["document"] != document || r["text"] == "" || r["score"].(float64) <= 0 || r["metadata"].(map[string]any)["title"] == "" {
					t.Errorf("result %v", r)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandlerRefuses(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs")
	tests := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"no JSON", "POST", "/search", "query=cat", 400, "the body is not a JSON object"},
		{"an empty body", "POST", "/search", "", 400, "the body is not a JSON object"},
		{"a list", "POST", "/search", `["cat"]`, 400, "the body is not a JSON object"},
		{"something behind the object", "POST", "/search", `{"query": "cat"} {}`, 400, "the body is not a JSON object"},
		{"null", "POST", "/search", "null", 400, "the body has no query"},
		{"no query", "POST", "/search", `{"top_k": 3}`, 400, "the body has no query"},
		{"an empty query", "POST", "/search", `{"query": "  ", "top_k": 3}`, 400, "query is empty"},
		{"a query that is no string", "POST", "/search", `{"query": 3}`, 400, "query is a number: give a string"},
		{"top_k 0", "POST", "/search", `{"query": "cat", "top_k": 0}`, 400, "top_k is 0: give a whole number from 1 to 1000"},
		{"top_k negative", "POST", "/search", `{"query": "cat", "top_k": -5}`, 400, "top_k is -5"},
		{"top_k over the limit", "POST", "/search", `{"query": "cat", "top_k": 1001}`, 400, "top_k is 1001"},
		{"top_k no whole number", "POST", "/search", `{"query": "cat", "top_k": 1.5}`, 400, "give a whole number from 1 to 1000"},
		{"top_k as text", "POST", "/search", `{"query": "cat", "top_k": "3"}`, 400, "top_k is a string: give a whole number"},
		{"a query over the limit", "POST", "/search", `{"query": "` + strings.Repeat("a", MaxQueryBytes+1) + `"}`, 400, "shorten it"},
		{"a body over 1 MiB", "POST", "/search", `{"query": "` + strings.Repeat("a", maxBodyBytes) + `"}`, 413, "request body too large"},
		{"another method", "GET", "/search", "", 405, "GET /search is not served: use POST"},
		{"another method on healthz", "DELETE", "/healthz", "", 405, "use GET"},
		{"another path", "POST", "/query", `{"query": "cat"}`, 404, "POST questions to /search"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := ask(t, ix.Handler(), tt.method, tt.path, tt.body)
			var reply map[string]string
			if err := json.NewDecoder(res.Body).Decode(&reply); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || !strings.Contains(reply["error"], tt.want) || len(reply) != 1 {
				t.Errorf("got %d %v, want %d with %q", res.StatusCode, reply, tt.status, tt.want)
			}
			if tt.status == http.StatusMethodNotAllowed && res.Header.Get("Allow") == "" {
				t.Error("no Allow header")
			}
		})
	}
}

func TestHealthz(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs")
	if res := ask(t, ix.Handler(), http.MethodGet, "/healthz", ""); res.StatusCode != http.StatusOK {
		t.Errorf("got %s", res.Status)
	}
}

func FuzzReadRequest(f *testing.F) {
	for _, s := range []string{`{"query": "cat", "top_k": 3}`, `{"query": "가", "top_k": 1e2}`, `{"query": null}`, `[]`, `{"top_k": {}}`, "\xff", `{"query":"\ud800"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		req, err := readRequest(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/search", strings.NewReader(body)))
		if err != nil {
			if status := statusOf(err); status < 400 || status > 499 {
				t.Errorf("%q: status %d: %v", body, status, err)
			}
			return
		}
		if req.Query == nil || req.TopK == nil || !json.Valid([]byte(body)) {
			t.Errorf("%q was taken for %+v", body, req)
		}
	})
}
