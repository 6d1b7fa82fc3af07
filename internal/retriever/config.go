package retriever

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"
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
	// Secrets are removed from every error, beside the credentials above.
	Secrets []string
	// MaxIdle is how many connections are kept open: the parallelism of the run.
	MaxIdle int
	// Observe hears of each attempt against the retriever: OK or an Outcome, and
	// how long it took. It may be nil.
	Observe func(outcome string, seconds float64)
	// UserAgent is sent with every request; empty: assay.
	UserAgent string
}

// OAuth2Config is the client credentials grant of RFC 6749, section 4.4.
type OAuth2Config struct {
	TokenURL     string
	ClientID     string
	ClientSecret string
	Scopes       []string
}

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
}

// OK is what Observe hears of an attempt that gave a list.
const OK = "OK"

const (
	defaultTimeout   = 10 * time.Second
	defaultUserAgent = "assay"
)

// parseURL gives a URL that requests can be sent to.
func parseURL(field, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		// The error's text has the URL whole, with what its query may hold.
		return nil, fmt.Errorf("%s: it is not a URL: give it whole, for example http://docs-bot.rag.svc:8080/search", field)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%s: it must begin with http:// or https:// and a host", field)
	case u.User != nil:
		return nil, fmt.Errorf("%s: it must not hold user and password: use auth for those", field)
	}
	return u, nil
}

// checkValue refuses what cannot stand in a header, before every request fails of it.
func checkValue(field, value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("%s: its value holds a line break or another control character: write the Secret without it (printf instead of echo)", field)
	}
	return nil
}

func checkHeader(field string, header http.Header) error {
	var all []error
	for name, values := range header {
		for _, value := range values {
			all = append(all, checkValue(field+"["+name+"]", value))
		}
	}
	return errors.Join(all...)
}
