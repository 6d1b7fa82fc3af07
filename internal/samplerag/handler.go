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
	healthPath   = "/healthz"
	maxBodyBytes = 1 << 20
	defaultTopK  = 10
)

type searchRequest struct {
	Query *string `json:"query"`
	TopK  *int    `json:"top_k"`
}

type answerRequest struct {
	Question *string `json:"question"`
	// Contexts to answer from; without any, the service retrieves by itself.
	Contexts *[]string `json:"contexts"`
	TopK     *int      `json:"top_k"`
}

type answerResponse struct {
	Answer   string         `json:"answer"`
	Contexts []string       `json:"contexts"`
	Results  []searchResult `json:"results,omitempty"`
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

// Handler serves the index: POST /search as the preset Assay asks, POST /answer
// with a question and contexts, GET /healthz. Without contexts /answer retrieves
// by itself and gives the results too.
// A request that the caller has to change is answered with a 4xx status and
// {"error": "…"}.
func (ix *Index) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/search", allow(http.MethodPost, ix.serveSearch))
	mux.HandleFunc("/answer", allow(http.MethodPost, ix.serveAnswer))
	mux.HandleFunc(healthPath, allow(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, fmt.Sprintf("nothing at %s: POST questions to /search or /answer", r.URL.Path))
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
	w.Header().Set(CorpusVersionHeader, ix.version)
	writeJSON(w, http.StatusOK, searchResponse{Results: resultsOf(hits)})
}

func resultsOf(hits []Hit) []searchResult {
	results := make([]searchResult, 0, len(hits))
	for _, h := range hits {
		results = append(results, searchResult{
			ID: h.ID, Text: h.Text, Score: h.Score, Document: h.Document,
			Metadata: map[string]string{"title": h.Title},
		})
	}
	return results
}

func (ix *Index) serveAnswer(w http.ResponseWriter, r *http.Request) {
	req, err := readAnswerRequest(w, r)
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	res := answerResponse{Contexts: []string{}}
	var contexts []string
	if req.Contexts != nil {
		contexts = *req.Contexts
	} else {
		hits, err := ix.Search(r.Context(), *req.Question, *req.TopK)
		if err != nil {
			writeError(w, statusOf(err), err.Error())
			return
		}
		res.Results = resultsOf(hits)
		for _, h := range hits[:min(len(hits), ownContexts)] {
			contexts = append(contexts, h.Text)
		}
	}
	a, err := ix.Extract(r.Context(), *req.Question, contexts)
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	res.Answer = a.Text
	res.Contexts = append(res.Contexts, a.Contexts...)
	w.Header().Set(CorpusVersionHeader, ix.version)
	writeJSON(w, http.StatusOK, res)
}

// ownContexts is how many results an answer is made of where the service
// retrieves by itself.
const ownContexts = 5

// example ends the messages about a body that is no search.
const example = `send JSON such as {"query": "how do I start", "top_k": 10}`

func readRequest(w http.ResponseWriter, r *http.Request) (searchRequest, error) {
	req := searchRequest{}
	if err := readBody(w, r, &req, example); err != nil {
		return req, err
	}
	if req.Query == nil {
		return req, &QueryError{"the body has no query: " + example}
	}
	req.TopK = orDefault(req.TopK)
	return req, nil
}

// answerExample ends the messages about a body that asks for no answer.
const answerExample = `send JSON such as {"question": "how do I start", "contexts": ["…"]}`

func readAnswerRequest(w http.ResponseWriter, r *http.Request) (answerRequest, error) {
	req := answerRequest{}
	if err := readBody(w, r, &req, answerExample); err != nil {
		return req, err
	}
	if req.Question == nil {
		return req, &QueryError{"the body has no question: " + answerExample}
	}
	req.TopK = orDefault(req.TopK)
	return req, checkQuery(*req.Question, *req.TopK)
}

func orDefault(topK *int) *int {
	if topK == nil {
		topK = new(int)
		*topK = defaultTopK
	}
	return topK
}

// fieldTypes says what a field must be.
var fieldTypes = map[string]string{
	"top_k":    fmt.Sprintf("give a whole number from 1 to %d", MaxTopK),
	"query":    "give a string",
	"question": "give a string",
	"contexts": "give a list of strings",
}

// readBody reads a JSON object; example ends the message where it is none.
func readBody(w http.ResponseWriter, r *http.Request, into any, example string) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return fmt.Errorf("read the body, of which at most %d bytes are taken: %w", maxBodyBytes, err)
	}
	var wrongType *json.UnmarshalTypeError
	err = json.Unmarshal(body, into)
	switch {
	case errors.As(err, &wrongType) && fieldTypes[wrongType.Field] != "":
		return &QueryError{fmt.Sprintf("%s is a %s: %s", wrongType.Field, wrongType.Value, fieldTypes[wrongType.Field])}
	case err != nil:
		return &QueryError{fmt.Sprintf("the body is not a JSON object (%v): %s", err, example)}
	}
	return nil
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
