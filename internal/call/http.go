package call

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// NewHTTPClient gives a client for whoever speaks a protocol already, such as a
// vendor's SDK: with the headers, the credentials, the TLS, the redirect rule and
// the egress policy of an Endpoint, and bodies that are bounded like its own. It
// has no deadline and does not retry. Explain says what its errors mean.
func NewHTTPClient(cfg HTTPConfig) (*http.Client, error) {
	a, err := newAccess(&cfg)
	if err != nil {
		return nil, err
	}
	client := *a.http
	client.Transport = &authorized{access: a, own: cfg.Header, maxBody: cmp.Or(cfg.MaxBody, maxBody)}
	return &client, nil
}

// authorized adds what a service wants to see to the requests for it.
type authorized struct {
	access access
	// own are the headers that the suite gives, over those of the SDK.
	own http.Header
	// maxBody bounds replies, in bytes.
	maxBody int
}

// RoundTrip sends a request. What is added goes to the configured host alone.
func (t *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &t.access
	with, err := t.authorize(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	response, err := a.http.Transport.RoundTrip(with)
	if err != nil {
		return nil, err
	}
	if a.tokens != nil && (response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden) {
		a.tokens.forget()
	}
	response.Body = &boundedBody{body: response.Body, left: t.maxBody, most: t.maxBody}
	return response, nil
}

// authorize gives a request with what is added to it.
func (t *authorized) authorize(r *http.Request) (*http.Request, error) {
	a := &t.access
	if !sameHost(a.url, r.URL) {
		return nil, &strayError{to: r.URL.Host, field: a.words.Field}
	}
	r = r.Clone(r.Context())
	for name := range t.own {
		name = http.CanonicalHeaderKey(name)
		r.Header[name] = a.header[name]
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", a.header.Get("User-Agent"))
	}
	if authorization := a.header.Get("Authorization"); authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	if a.tokens != nil {
		authorization, failed := a.tokens.authorization(r.Context())
		if failed != nil {
			return nil, &tokenError{failed}
		}
		r.Header.Set("Authorization", authorization)
	}
	return r, nil
}

// CloseIdleConnections lets go of the connections that are kept open.
func (t *authorized) CloseIdleConnections() { t.access.Close() }

// strayError is a request to a host that the suite does not name.
type strayError struct{ to, field string }

func (e *strayError) Error() string {
	return fmt.Sprintf("the request goes to %s, which is not the host of %s.url", e.to, e.field)
}

// tokenError is an access token that could not be fetched.
type tokenError struct{ failure *failure }

func (e *tokenError) Error() string { return e.failure.message }

// tooLargeError is a body beyond its bound, in bytes.
type tooLargeError struct{ most int }

func (e tooLargeError) Error() string {
	return fmt.Sprintf("the reply is larger than %d MiB", e.most>>20)
}

// boundedBody fails where a body goes on beyond what is left.
type boundedBody struct {
	body io.ReadCloser
	left int
	most int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, tooLargeError{b.most}
	}
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if b.left -= n; b.left < 0 {
		return n - 1, tooLargeError{b.most}
	}
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }

// Explanation says what an error of a client of NewHTTPClient means.
type Explanation struct {
	Kind Kind
	// Message says what to do. It is not redacted.
	Message string
	// Retry says that another attempt may fare better, after at least some time.
	Retry bool
	After time.Duration
}

// Explain says what an error of the transport means, and what to do in the fields
// of the suite that hold the URL and, unless it is empty, the TLS settings. An error
// of the request's own context is for the caller.
func Explain(err error, urlField, tlsField string) Explanation {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		// Its text would show the URL with its query.
		err = wrapped.Err
	}
	f := classify(err, urlField, tlsField)
	return Explanation{Kind: f.kind, Message: f.message, Retry: f.retry, After: f.after}
}

// newHTTPClient gives a client with connections of its own, the proxies of the
// environment, and the redirect rule of CheckRedirect.
func newHTTPClient(config *tls.Config, maxIdle int, timeout time.Duration, egress Egress) *http.Client {
	// The addresses of a host share the timeout, so that one that is silent leaves
	// time for the next.
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	transport := func(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
		t := &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dial,
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
			t.TLSClientConfig = config.Clone()
		}
		return t
	}
	client := &http.Client{CheckRedirect: CheckRedirect}
	if egress == nil {
		client.Transport = transport(dialer.DialContext)
		return client
	}
	direct := transport((&guardedDialer{dialer: dialer, egress: egress}).dial)
	direct.Proxy = nil
	client.Transport = &guarded{
		egress: egress, proxy: http.ProxyFromEnvironment, resolve: net.DefaultResolver.LookupNetIP,
		direct: direct, proxied: transport(dialer.DialContext),
	}
	return client
}
