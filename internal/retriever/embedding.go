package retriever

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/mapping"
)

// embedder turns questions into vectors through an OpenAI-compatible endpoint:
// POST {"model", "input", "dimensions"?, "encoding_format": "float"}, answered
// by {"data": [{"embedding": […]}]}.
type embedder struct {
	endpoint   *call.Endpoint
	model      string
	dimensions int
	cache      *VectorCache
	around     func(context.Context) (context.Context, func(error))
	// scope is what of the configuration can change a vector, or who may see it.
	scope []byte
}

func newEmbedder(cfg *Config, secrets *call.Redactor) (*embedder, error) {
	c := cfg.Embedding
	target, err := call.New(call.Config{
		HTTPConfig: call.HTTPConfig{
			Words: call.Words{
				Service: "the embeddings service", Outcome: "Retriever", Field: "retriever.embedding", Root: "retriever",
				Doing:   "embedding the question",
				Refused: "check retriever.embedding.model and dimensions",
				Shorten: shorten,
			},
			URL: c.URL, Header: c.Header, TLS: c.TLS,
			Auth:    call.Auth{BearerToken: c.BearerToken, BasicUser: c.BasicUser, BasicPassword: c.BasicPassword, OAuth2: c.OAuth2},
			Timeout: cfg.Timeout, MaxIdle: cfg.MaxIdle, UserAgent: cfg.UserAgent, Egress: cfg.Egress, Wrap: c.Wrap, Secrets: secrets,
		},
		MaxRetries: cfg.MaxRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("embedding.%w", err)
	}
	cache := cfg.Vectors
	if cache == nil {
		cache = NewVectorCache(defaultCacheBytes)
	}
	scope, err := json.Marshal([]any{c.URL, c.Model, c.Dimensions, c.Header, c.BearerToken, c.BasicUser, c.BasicPassword, c.OAuth2})
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	return &embedder{endpoint: target, model: c.Model, dimensions: c.Dimensions, cache: cache, around: c.Around, scope: scope}, nil
}

func (e *embedder) embed(ctx context.Context, text string) (vector []float64, err error) {
	key := sha256.Sum256(append(append(strconv.AppendInt(nil, int64(len(e.scope)), 10), e.scope...), text...))
	if vector, ok := e.cache.get(key); ok {
		return vector, nil
	}
	if e.around != nil {
		within, done := e.around(ctx)
		ctx = within
		defer func() { done(err) }()
	}
	request := map[string]any{"model": e.model, "input": text, "encoding_format": "float"}
	if e.dimensions > 0 {
		request["dimensions"] = e.dimensions
	}
	body, err := mapping.EncodeJSON(request)
	if err != nil {
		return nil, e.endpoint.Unasked(ctx, err)
	}
	_, failed := e.endpoint.Call(ctx, call.Request{Body: body}, func(_ context.Context, _ http.Header, body []byte) error {
		var err error
		vector, err = readVector(body, e.dimensions)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	e.cache.put(key, vector)
	return vector, nil
}

// readVector reads the reply to one input. dimensions of 0: any number.
func readVector(body []byte, dimensions int) ([]float64, error) {
	body, err := mapping.CheckBody(body)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Data []struct {
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return nil, fmt.Errorf("the body is not an embedding in JSON: %w", err)
	}
	if len(reply.Data) == 0 || len(reply.Data[0].Embedding) == 0 {
		return nil, errors.New(`the reply has no "data" with an "embedding"`)
	}
	var vector []*float64
	if err := json.Unmarshal(reply.Data[0].Embedding, &vector); err != nil || len(vector) == 0 || slices.Contains(vector, nil) {
		return nil, errors.New(`the "embedding" is not a list of numbers`)
	}
	if dimensions > 0 && len(vector) != dimensions {
		return nil, fmt.Errorf("the embedding has %d numbers, but retriever.embedding.dimensions says %d", len(vector), dimensions)
	}
	numbers := make([]float64, len(vector))
	for i, n := range vector {
		numbers[i] = *n
	}
	return numbers, nil
}

const defaultCacheBytes = 32 << 20

// VectorCache keeps embeddings up to a number of bytes, the oldest going first.
// Several clients may share one: an entry is found only by who has the same URL,
// model and credentials. It is safe for concurrent use.
type VectorCache struct {
	mu      sync.Mutex
	left    int
	vectors map[[sha256.Size]byte][]float64
	oldest  [][sha256.Size]byte
}

// NewVectorCache gives a cache for so many bytes of vectors.
func NewVectorCache(bytes int) *VectorCache {
	return &VectorCache{left: bytes, vectors: map[[sha256.Size]byte][]float64{}}
}

func (c *VectorCache) get(key [sha256.Size]byte) ([]float64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	vector, ok := c.vectors[key]
	return vector, ok
}

func (c *VectorCache) put(key [sha256.Size]byte, vector []float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.vectors[key]; ok {
		return
	}
	c.vectors[key] = vector
	c.oldest = append(c.oldest, key)
	c.left -= entryBytes(vector)
	for c.left < 0 && len(c.oldest) > 0 {
		first := c.oldest[0]
		c.oldest = c.oldest[1:]
		c.left += entryBytes(c.vectors[first])
		delete(c.vectors, first)
	}
}

// entryBytes is the memory of an entry: its numbers, and about 100 bytes to find it.
func entryBytes(vector []float64) int { return 8*len(vector) + 100 }
