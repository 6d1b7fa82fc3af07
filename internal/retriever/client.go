package retriever

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/mapping"
)

// Client asks one retriever. It is safe for concurrent use.
type Client struct {
	program  *Program
	params   map[string]any
	endpoint *call.Endpoint
	embedder *embedder
}

// New checks a configuration and gives a client for it, which calls nobody
// until it is asked. Close it.
func New(cfg Config) (*Client, error) {
	if cfg.Program == nil {
		return nil, errors.New("the mappings are not compiled: set Config.Program")
	}
	if err := cfg.Program.CheckParams(cfg.Params); err != nil {
		return nil, err
	}
	if cfg.Program.usesVector && cfg.Embedding == nil {
		return nil, errors.New("a mapping uses vector: add retriever.embedding (url and model)")
	}
	params, err := mapping.OwnParams(cfg.Params)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}

	secrets := cfg.Secrets
	if secrets == nil {
		secrets = call.NewRedactor() // the embeddings service has the same
	}
	endpoint, err := call.New(endpointConfig(&cfg, secrets))
	if err != nil {
		return nil, err
	}
	c := &Client{program: cfg.Program, params: params, endpoint: endpoint}
	if cfg.Program.usesVector {
		if c.embedder, err = newEmbedder(&cfg, secrets); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func endpointConfig(cfg *Config, secrets *call.Redactor) call.Config {
	return call.Config{
		HTTPConfig: call.HTTPConfig{
			Words: call.Words{
				Service: "the retriever", Outcome: "Retriever", Field: "retriever", Root: "retriever",
				Refused: "check what is sent: retriever.request and the names in params",
				Shorten: shorten,
			},
			URL: cfg.URL, Header: cfg.Header, TLS: cfg.TLS,
			Auth:    call.Auth{BearerToken: cfg.BearerToken, BasicUser: cfg.BasicUser, BasicPassword: cfg.BasicPassword, OAuth2: cfg.OAuth2},
			Timeout: cfg.Timeout, MaxIdle: cfg.MaxIdle, UserAgent: cfg.UserAgent, Egress: cfg.Egress, Wrap: cfg.Wrap, Secrets: secrets,
		},
		Method: cfg.Method, MaxRetries: cfg.MaxRetries, Limiter: cfg.Limiter, Observe: cfg.Observe,
		Mapped: !cfg.Program.plainResults,
	}
}

const shorten = "ask for fewer results or leave out fields that are not mapped"

// Retrieve asks for the topK results of a case's question. Its error is always
// an *Error; where ctx ended the call, it wraps ctx's error.
func (c *Client) Retrieve(ctx context.Context, gc *golden.Case, topK int) (*Reply, error) {
	q := &question{c: gc, topK: topK, params: c.params}
	if c.embedder != nil {
		vector, err := c.embedder.embed(ctx, gc.Question)
		if err != nil {
			return nil, err
		}
		q.vector = vector
	}
	request, failed := c.encode(ctx, q)
	if failed != nil {
		return nil, failed
	}

	reply := &Reply{}
	stats, failed := c.endpoint.Call(ctx, request, func(ctx context.Context, header http.Header, body []byte) error {
		var err error
		reply.Results, reply.CorpusVersion, err = c.program.decode(ctx, q, header, body)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	reply.Latency, reply.Attempts = stats.Latency, stats.Attempts
	return reply, nil
}

// encode makes a question's request; what is no mapping of the suite's own is
// made at once.
func (c *Client) encode(ctx context.Context, q *question) (call.Request, *Error) {
	encode := func(ctx context.Context) (call.Request, error) { return c.program.encode(ctx, q) }
	if !c.program.plainRequest || c.program.query != nil {
		return c.endpoint.Prepare(ctx, encode)
	}
	request, err := encode(ctx)
	if err != nil {
		return request, c.endpoint.Unasked(ctx, err)
	}
	return request, nil
}

// Close lets go of the connections that are kept open.
func (c *Client) Close() {
	c.endpoint.Close()
	if c.embedder != nil {
		c.embedder.endpoint.Close()
	}
}
