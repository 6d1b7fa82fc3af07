package connect

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// chunk is one entry of the corpus that every store holds here.
type chunk struct {
	ID       string `json:"chunk_id"`
	Document string `json:"path"`
	Tenant   string `json:"tenant"`
	Body     string `json:"body"`
}

// corpus is that of the samples. It has two tenants, of which each has words that
// the other's question asks for: a filter that is left out shows.
var corpus = readCorpus()

func readCorpus() []chunk {
	file, err := os.Open(filepath.Join(root, "config", "samples", "connect", "chunks.jsonl"))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	var chunks []chunk
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var c chunk
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

// dimensions of the vectors here.
const dimensions = 1024

// smallModel is one that no collection here was built with.
const smallModel = "small"

// words of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// embed is a bag of words, hashed: no model, and yet texts that share words are near.
func embed(text string) []float64 {
	vector := make([]float64, dimensions)
	for _, w := range words(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(w))
		vector[h.Sum32()%dimensions]++
	}
	var sum float64
	for _, v := range vector {
		sum += v * v
	}
	for i := range vector {
		vector[i] /= max(math.Sqrt(sum), 1e-9)
	}
	return vector
}

func cosine(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// overlap is how many of the question's words stand in a text.
func overlap(question, text string) float64 {
	there := words(text)
	var n float64
	for _, w := range words(question) {
		if slices.Contains(there, w) {
			n++
		}
	}
	return n
}

// hit is a chunk that was found.
type hit struct {
	chunk
	score float64
}

// best gives the hits in the order of their scores, at most limit.
func best(score func(chunk) (float64, bool), limit int) []hit {
	var hits []hit
	for _, c := range corpus {
		if s, ok := score(c); ok {
			hits = append(hits, hit{c, s})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	return hits[:min(limit, len(hits))]
}

// embeddings stands in for an OpenAI-compatible /v1/embeddings. It takes one text
// or a list, and gives numbers or base64, as clients ask for either.
func embeddings(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model          string          `json:"model"`
			Input          json.RawMessage `json:"input"`
			EncodingFormat string          `json:"encoding_format"`
			Dimensions     int             `json:"dimensions"`
		}
		if r.URL.Path != "/v1/embeddings" || !decode(t, w, r, &request) {
			http.NotFound(w, r)
			return
		}
		var texts []string
		if json.Unmarshal(request.Input, &texts) != nil {
			texts = []string{""}
			if err := json.Unmarshal(request.Input, &texts[0]); err != nil {
				t.Errorf("embeddings: input is %s", request.Input)
			}
		}
		data := make([]map[string]any, len(texts))
		for i, text := range texts {
			vector := embed(text)
			if request.Model == smallModel {
				vector = vector[:64]
			}
			data[i] = map[string]any{"object": "embedding", "index": i, "embedding": encoded(vector, request.EncodingFormat)}
		}
		reply(w, http.StatusOK, map[string]any{"object": "list", "model": request.Model, "data": data,
			"usage": map[string]any{"prompt_tokens": 8, "total_tokens": 8}})
	}))
	t.Cleanup(s.Close)
	return s
}

func encoded(vector []float64, format string) any {
	if format != "base64" {
		return vector
	}
	var bytes []byte
	for _, v := range vector {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(v)))
	}
	return base64.StdEncoding.EncodeToString(bytes)
}

// decode reads a request strictly: a field that the vendor does not document is a
// mistake of the mapping.
func decode(t *testing.T, w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s %s: the request is not as documented: %v", r.Method, r.URL, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
