package connect

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// weaviateSearch is the body of POST /v1/search/COLLECTION/hybrid, by the names of
// Weaviate's REST reference: https://docs.weaviate.io/weaviate/api/rest.
type weaviateSearch struct {
	Query            string   `json:"query"`
	Alpha            *float64 `json:"alpha"`
	FusionType       string   `json:"fusionType"`
	QueryProperties  []string `json:"queryProperties"`
	TargetVector     string   `json:"targetVector"`
	Limit            int      `json:"limit"`
	ReturnProperties []string `json:"returnProperties"`
	ReturnMetadata   []string `json:"returnMetadata"`
	Tenant           string   `json:"tenant"`
	Where            *struct {
		Path      []string `json:"path"`
		Operator  string   `json:"operator"`
		ValueText string   `json:"valueText"`
	} `json:"where"`
}

// weaviateNearVector is the body of …/near-vector.
type weaviateNearVector struct {
	Vector           []float64 `json:"vector"`
	Limit            int       `json:"limit"`
	ReturnProperties []string  `json:"returnProperties"`
	ReturnMetadata   []string  `json:"returnMetadata"`
}

// weaviateProperties are those of the collection Docs.
func weaviateProperties(c chunk) map[string]string {
	return map[string]string{"chunkId": c.ID, "path": c.Document, "tenant": c.Tenant, "body": c.Body}
}

// weaviate stands in for Weaviate's REST search over the collection Docs, which
// is not multi-tenant.
func weaviate(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/search/{collection}/hybrid", func(w http.ResponseWriter, r *http.Request) {
		var request weaviateSearch
		if !decode(t, w, r, &request) {
			return
		}
		if request.Tenant != "" {
			reply(w, http.StatusUnprocessableEntity, weaviateError("class Docs has multi-tenancy disabled, but request was with tenant"))
			return
		}
		alpha := 0.75
		if request.Alpha != nil {
			alpha = *request.Alpha
		}
		weaviateReply(w, request.Limit, request.ReturnProperties, request.ReturnMetadata, func(c chunk) (float64, bool) {
			if f := request.Where; f != nil {
				if f.Operator != "Equal" || len(f.Path) != 1 {
					t.Errorf("where is %+v", f)
				}
				if weaviateProperties(c)[f.Path[0]] != f.ValueText {
					return 0, false
				}
			}
			return alpha*cosine(embed(request.Query), embed(c.Body)) + (1-alpha)*overlap(request.Query, c.Body)/10, true
		})
	})
	mux.HandleFunc("POST /v1/search/{collection}/near-vector", func(w http.ResponseWriter, r *http.Request) {
		var request weaviateNearVector
		if decode(t, w, r, &request) {
			weaviateReply(w, request.Limit, request.ReturnProperties, request.ReturnMetadata, func(c chunk) (float64, bool) {
				return cosine(request.Vector, embed(c.Body)), true
			})
		}
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer replace-me":
			reply(w, http.StatusUnauthorized, map[string]any{"code": 401, "message": "anonymous access not enabled, please provide an auth scheme such as OIDC"})
		case !strings.HasPrefix(r.URL.Path, "/v1/search/Docs/"):
			reply(w, http.StatusNotFound, weaviateError("could not find class Typo in schema"))
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func weaviateError(message string) map[string]any {
	return map[string]any{"error": []map[string]any{{"message": message}}}
}

func weaviateReply(w http.ResponseWriter, limit int, properties, metadata []string, score func(chunk) (float64, bool)) {
	results := []map[string]any{}
	for i, h := range best(score, limit) {
		p := map[string]any{}
		for _, name := range properties {
			value, ok := weaviateProperties(h.chunk)[name]
			if !ok {
				reply(w, http.StatusBadRequest, weaviateError("no such prop with name '"+name+"' found in class 'Docs' in the schema"))
				return
			}
			p[name] = value
		}
		m := map[string]any{}
		for _, name := range metadata {
			switch name {
			case "score":
				m[name] = h.score
			case "distance":
				m[name] = 1 - h.score
			}
		}
		results = append(results, map[string]any{"id": weaviateID(i), "properties": p, "metadata": m})
	}
	reply(w, http.StatusOK, map[string]any{"results": results, "tookMs": 2})
}

func weaviateID(i int) string {
	return "cc44bbee-ca5f-4db7-a412-5fc6a230000" + string(rune('0'+i))
}

func TestWeaviate(t *testing.T) {
	p := readPage(t, "connect/weaviate.md")
	server := weaviate(t)
	manifest := at(t, p.suite(t, "evalsuite_weaviate.yaml"), map[string]string{"http://weaviate.search.svc:8080": server.URL})
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
	t.Run("vectors", func(t *testing.T) {
		fragment := strings.ReplaceAll(p.section(t, "Vectors of your own"), "http://weaviate.search.svc:8080", server.URL)
		passes(t, with(t, manifest, at(t, fragment, map[string]string{"http://vllm.models.svc:8000": embeddings(t).URL})))
	})
	t.Run("what goes wrong", func(t *testing.T) {
		p.says(t, failure(t, with(t, manifest, "retriever: {params: {idField: chunk_id, textField: body}}")), "RetrieverHTTPError", "no such prop with name")
		p.says(t, failure(t, strings.ReplaceAll(manifest, "/search/Docs/", "/search/Typo/")), "404", "could not find class")
		p.says(t, failure(t, strings.ReplaceAll(manifest, "apiKey: replace-me", "apiKey: wrong")), "401")
		p.says(t, failure(t, with(t, manifest, `retriever: {request: '{"query": question, "limit": topK, "tenant": case.metadata.tenant}'}`)), "422", "multi-tenancy disabled")
	})
}
