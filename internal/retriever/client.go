package retriever

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/assay-dev/assay/internal/golden"
)

// Client asks one retriever. It is safe for concurrent use.
type Client struct {
	program   *Program
	params    map[string]any
	retriever *endpoint
	embedder  *embedder
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
	params, err := ownParams(cfg.Params)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}

	secrets := newRedactor(cfg.Secrets)
	target, err := newEndpoint(&cfg, settings{
		field: "retriever", url: cfg.URL, method: cmp.Or(cfg.Method, http.MethodPost),
		header: cfg.Header, bearer: cfg.BearerToken, user: cfg.BasicUser, password: cfg.BasicPassword,
		oauth2: cfg.OAuth2, tls: cfg.TLS,
	}, secrets)
	if err != nil {
		return nil, err
	}
	target.limiter, target.observe = cfg.Limiter, cfg.Observe
	target.mapped = !cfg.Program.plainResults
	c := &Client{program: cfg.Program, params: params, retriever: target}
	if cfg.Program.usesVector {
		if c.embedder, err = newEmbedder(&cfg, secrets); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// ownParams copies params, their numbers as CEL knows them.
func ownParams(params map[string]any) (map[string]any, error) {
	if len(params) == 0 {
		return map[string]any{}, nil
	}
	text, err := encodeJSON(params)
	if err != nil {
		return nil, err
	}
	v, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

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
	parameters, body, err := c.encode(ctx, q)
	if err != nil {
		return nil, c.retriever.failedMapping(ctx, err)
	}

	reply := &Reply{}
	stats, failed := c.retriever.call(ctx, parameters, body, func(ctx context.Context, header http.Header, body []byte) error {
		var err error
		reply.Results, reply.CorpusVersion, err = c.program.decode(ctx, q, header, body)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	reply.Latency, reply.Attempts = stats.latency, stats.attempts
	return reply, nil
}

// encode makes a question's request, within the time that an attempt may take.
func (c *Client) encode(ctx context.Context, q *question) (url.Values, []byte, error) {
	if c.program.plainRequest && c.program.query == nil {
		return c.program.encode(ctx, q)
	}
	if err := mappings.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	defer mappings.Release(1)
	ctx, cancel := context.WithTimeout(ctx, c.retriever.timeout)
	defer cancel()
	parameters, body, err := c.program.encode(ctx, q)
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("the mappings were not done within %s (retriever.timeoutSeconds): simplify them", c.retriever.timeout)
	}
	return parameters, body, err
}

// Close lets go of the connections that are kept open.
func (c *Client) Close() {
	c.retriever.close()
	if c.embedder != nil {
		c.embedder.endpoint.close()
	}
}

// settings is what makes an endpoint, be it the retriever or the embeddings.
type settings struct {
	field, url, method     string
	header                 http.Header
	bearer, user, password string
	oauth2                 *OAuth2Config
	tls                    *tls.Config
}

func newEndpoint(cfg *Config, s settings, secrets *redactor) (*endpoint, error) {
	u, err := parseURL("url", s.url)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		checkHeader("headers", s.header),
		checkValue("auth.bearerTokenSecretRef", s.bearer),
	)
	if err != nil {
		return nil, err
	}
	secrets.add(s.bearer, s.user, s.password)
	e := &endpoint{
		field:      s.field,
		url:        u,
		method:     s.method,
		header:     http.Header{},
		timeout:    cmp.Or(cfg.Timeout, defaultTimeout),
		maxRetries: cfg.MaxRetries,
		secrets:    secrets.withQuery(u),
		http:       newHTTPClient(s.tls, cfg.MaxIdle, cmp.Or(cfg.Timeout, defaultTimeout)),
	}
	e.header.Set("Accept", "application/json")
	e.header.Set("User-Agent", cmp.Or(cfg.UserAgent, defaultUserAgent))
	for name, values := range s.header {
		e.header[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case s.bearer != "":
		e.header.Set("Authorization", "Bearer "+s.bearer)
	case s.user != "" || s.password != "":
		r := http.Request{Header: e.header}
		r.SetBasicAuth(s.user, s.password)
		secrets.add(e.header.Get("Authorization")[len("Basic "):])
	case s.oauth2 != nil:
		e.tokens, err = newTokens(s, u, e.timeout, cfg.MaxIdle, secrets)
	}
	return e, err
}

// newHTTPClient gives a client with connections of its own, the proxies of the
// environment, and the redirect rule of checkRedirect. The addresses of a host
// share the timeout, so that one that is silent leaves time for the next.
func newHTTPClient(config *tls.Config, maxIdle int, timeout time.Duration) *http.Client {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          max(maxIdle, 100),
		MaxIdleConnsPerHost:   max(maxIdle, 2),
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		// Headers take memory before the body's bound is known.
		MaxResponseHeaderBytes: 64 << 10,
	}
	if config != nil {
		transport.TLSClientConfig = config.Clone()
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}
