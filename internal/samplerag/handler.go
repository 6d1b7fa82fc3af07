package samplerag

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// CorpusVersionHeader is the response header that carries Index.CorpusVersion.
const CorpusVersionHeader = "X-Corpus-Version"

const (
	maxBodyBytes = 1 << 20
	defaultTopK  = 10
)

type searchRequest struct {
	Query *string `json:"query"`
	TopK  *int    `json:"top_k"`
}

type searchResponse struct {
	Results []searchResult `json:"results"`
}

type searchResult struct {
	ID       string            `json:"id"`
	Text     string            `json:"text"`
	Score    float64           `json:"score"`
	Document string            `json:"document"`
	Metadata map[string]string `json:"metadata"`
}

// Handler serves the index: POST /search as the preset Assay asks, GET /healthz.
// A request that the caller has to change is answered with a 4xx status and
// {"error": "…"}.
func (ix *Index) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/search", allow(http.MethodPost, ix.serveSearch))
	mux.HandleFunc("/healthz", allow(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, fmt.Sprintf("nothing at %s: POST questions to /search", r.URL.Path))
	})
	return mux
}

func (ix *Index) serveSearch(w http.ResponseWriter, r *http.Request) {
	req, err := readRequest(w, r)
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	hits, err := ix.Search(r.Context(), *req.Query, *req.TopK)
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	res := searchResponse{Results: make([]searchResult, 0, len(hits))}
	for _, h := range hits {
		res.Results = append(res.Results, searchResult{
			ID: h.ID, Text: h.Text, Score: h.Score, Document: h.Document,
			Metadata: map[string]string{"title": h.Title},
		})
	}
	w.Header().Set(CorpusVersionHeader, ix.version)
	writeJSON(w, http.StatusOK, res)
}

// example ends the messages about a body that is no search.
const example = `send JSON such as {"query": "how do I start", "top_k": 10}`

func readRequest(w http.ResponseWriter, r *http.Request) (searchRequest, error) {
	req := searchRequest{}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return req, fmt.Errorf("read the body, of which at most %d bytes are taken: %w", maxBodyBytes, err)
	}
	var wrongType *json.UnmarshalTypeError
	err = json.Unmarshal(body, &req)
	switch {
	case errors.As(err, &wrongType) && wrongType.Field == "top_k":
		return req, &QueryError{fmt.Sprintf("top_k is a %s: give a whole number from 1 to %d", wrongType.Value, MaxTopK)}
	case errors.As(err, &wrongType) && wrongType.Field == "query":
		return req, &QueryError{fmt.Sprintf("query is a %s: give a string", wrongType.Value)}
	case err != nil:
		return req, &QueryError{fmt.Sprintf("the body is not a JSON object (%v): %s", err, example)}
	case req.Query == nil:
		return req, &QueryError{"the body has no query: " + example}
	}
	if req.TopK == nil {
		topK := defaultTopK
		req.TopK = &topK
	}
	return req, nil
}

func statusOf(err error) int {
	var tooLarge *http.MaxBytesError
	var query *QueryError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &query):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func allow(method string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			writeError(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s %s is not served: use %s", r.Method, r.URL.Path, method))
			return
		}
		next(w, r)
	}
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"error": message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The status is out: a reader that has gone is all that can fail here.
	_ = json.NewEncoder(w).Encode(v)
}
