package retriever

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/assay-dev/assay/internal/call"
)

// Config says how a retriever is reached. All that comes from Secrets is
// resolved already.
type Config struct {
	URL string
	// Method of the request; empty: POST.
	Method string
	// Program turns questions into requests and replies into lists.
	Program *Program
	// Params are what mappings read as params.
	Params map[string]any
	// Header is sent with every request.
	Header http.Header
	// BearerToken, BasicUser with BasicPassword, or OAuth2 authenticate requests.
	BearerToken   string
	BasicUser     string
	BasicPassword string
	OAuth2        *OAuth2Config
	// TLS says whom to trust; nil: the system's authorities.
	TLS *tls.Config
	// Timeout of one attempt; 0: 10 seconds.
	Timeout time.Duration
	// MaxRetries is how often a request is tried again; 0: never.
	MaxRetries int
	// Limiter bounds the rate of requests; nil: no bound.
	Limiter *rate.Limiter
	// Embedding makes the vector of a question; nil where no mapping reads it.
	Embedding *EmbeddingConfig
	// Vectors holds embeddings; nil: the client has its own for as long as it lives.
	Vectors *VectorCache
	// Secrets removes secrets from every error, and is told of those above; nil: one
	// of its own.
	Secrets *call.Redactor
	// MaxIdle is how many connections are kept open: the parallelism of the run.
	MaxIdle int
	// Observe hears of each attempt against the retriever: OK or an Outcome, and
	// how long it took. It may be nil.
	Observe func(outcome string, seconds float64)
	// UserAgent is sent with every request; empty: assay.
	UserAgent string
	// Egress says where connections may go; nil: anywhere.
	Egress call.Egress
	// Wrap stands before what sends the requests; nil: nothing does.
	Wrap call.Wrap
}

// OAuth2Config is the client credentials grant of RFC 6749, section 4.4.
type OAuth2Config = call.OAuth2Config

// Limits holds one rate limiter for each namespace and host.
type Limits = call.Limits

// NewLimits gives limits that know no host yet.
func NewLimits() *Limits { return call.NewLimits() }

// EmbeddingConfig is an OpenAI-compatible embeddings endpoint.
type EmbeddingConfig struct {
	// URL of the call, whole.
	URL   string
	Model string
	// Dimensions of the vector; 0: the model's own.
	Dimensions    int
	Header        http.Header
	BearerToken   string
	BasicUser     string
	BasicPassword string
	OAuth2        *OAuth2Config
	TLS           *tls.Config
	// Wrap stands before what sends the requests; nil: nothing does.
	Wrap call.Wrap
	// Around, where it is not nil, hears of every embedding that is asked for: it is
	// with the context that it gives, and what it returns hears how that ended.
	Around func(context.Context) (context.Context, func(error))
}
