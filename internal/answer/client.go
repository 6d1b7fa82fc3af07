package answer

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/mapping"
	"github.com/assay-dev/assay/internal/retriever"
)

// Config says how an answer service is reached. All that comes from Secrets is
// resolved already.
type Config struct {
	URL string
	// Method of the request; empty: POST.
	Method string
	// Program turns questions into requests and replies into answers.
	Program *Program
	// Contexts is how many results the service is given the text of, from 1.
	Contexts int
	// Params are what mappings read as params.
	Params map[string]any
	// Header is sent with every request.
	Header http.Header
	// BearerToken, BasicUser with BasicPassword, or OAuth2 authenticate requests.
	BearerToken   string
	BasicUser     string
	BasicPassword string
	OAuth2        *call.OAuth2Config
	// TLS says whom to trust; nil: the system's authorities.
	TLS *tls.Config
	// Timeout of one attempt; 0: 60 seconds, for models are slow.
	Timeout time.Duration
	// MaxRetries is how often a request is tried again; 0: never.
	MaxRetries int
	// Limiter bounds the rate of requests; nil: no bound.
	Limiter *rate.Limiter
	// Secrets removes secrets from every error, and is told of those above; nil: one
	// of its own.
	Secrets *call.Redactor
	// MaxIdle is how many connections are kept open: the parallelism of the run.
	MaxIdle int
	// Observe hears of each attempt: OK or an Outcome, and how many seconds it
	// took. It may be nil.
	Observe func(outcome string, seconds float64)
	// UserAgent is sent with every request; empty: assay.
	UserAgent string
	// Egress says where connections may go; nil: anywhere.
	Egress call.Egress
	// Wrap stands before what sends the requests; nil: nothing does.
	Wrap call.Wrap
}

const defaultTimeout = time.Minute

// Client asks one answer service. It is safe for concurrent use.
type Client struct {
	program  *Program
	params   map[string]any
	contexts int
	endpoint *call.Endpoint
}

// New checks a configuration and gives a client for it, which calls nobody
// until it is asked. Close it.
func New(cfg Config) (*Client, error) {
	if cfg.Program == nil {
		return nil, errors.New("the mappings are not compiled: set Config.Program")
	}
	if cfg.Contexts < 1 {
		return nil, fmt.Errorf("contexts: it must be 1 or more, it is %d", cfg.Contexts)
	}
	if err := cfg.Program.CheckParams(cfg.Params); err != nil {
		return nil, err
	}
	params, err := mapping.OwnParams(cfg.Params)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	endpoint, err := call.New(endpointConfig(&cfg))
	if err != nil {
		return nil, err
	}
	return &Client{program: cfg.Program, params: params, contexts: cfg.Contexts, endpoint: endpoint}, nil
}

func endpointConfig(cfg *Config) call.Config {
	return call.Config{
		HTTPConfig: call.HTTPConfig{
			Words: call.Words{
				Service: "the answer service", Outcome: "Answer", Field: "answer", Root: "answer",
				Refused: "check what is sent: answer.request and the names in params",
				Shorten: "let the service leave out what answer.output does not read",
			},
			URL: cfg.URL, Header: cfg.Header, TLS: cfg.TLS,
			Auth:    call.Auth{BearerToken: cfg.BearerToken, BasicUser: cfg.BasicUser, BasicPassword: cfg.BasicPassword, OAuth2: cfg.OAuth2},
			Timeout: cmp.Or(cfg.Timeout, defaultTimeout), MaxIdle: cfg.MaxIdle, UserAgent: cfg.UserAgent,
			Egress: cfg.Egress, Wrap: cfg.Wrap, Secrets: cfg.Secrets,
		},
		Method: cfg.Method, MaxRetries: cfg.MaxRetries, Limiter: cfg.Limiter, Observe: cfg.Observe, Mapped: true,
	}
}

// SelfRetrieving says whether the service retrieves by itself: its replies have
// Results, and Answer is given none.
func (c *Client) SelfRetrieving() bool { return c.program.SelfRetrieving() }

// Answer asks for the answer to a case's question, made of the results that a
// retriever found, best first. Its error is always an *Error; where ctx ended the
// call, it wraps ctx's error.
func (c *Client) Answer(ctx context.Context, gc *golden.Case, topK int, results []retriever.Result) (*Reply, error) {
	q := &question{c: gc, topK: topK, params: c.params, results: results, contexts: texts(results, c.contexts)}
	request, failed := c.endpoint.Prepare(ctx, func(ctx context.Context) (call.Request, error) {
		return c.program.encode(ctx, q)
	})
	if failed != nil {
		return nil, failed
	}
	var reply *Reply
	stats, failed := c.endpoint.Call(ctx, request, func(ctx context.Context, header http.Header, body []byte) error {
		var err error
		reply, err = c.program.decode(ctx, q, header, body)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	reply.Latency, reply.Attempts = stats.Latency, stats.Attempts
	if reply.Contexts == nil {
		reply.Contexts = q.contexts
		if c.program.SelfRetrieving() {
			reply.Contexts = texts(reply.Results, c.contexts)
		}
	}
	return reply, nil
}

// Close lets go of the connections that are kept open.
func (c *Client) Close() { c.endpoint.Close() }
