package call

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// HTTPConfig says how an HTTP service is reached. All that comes from Secrets is
// resolved already.
type HTTPConfig struct {
	Words Words
	URL   string
	// Header is sent with every request.
	Header http.Header
	Auth   Auth
	// TLS says whom to trust; nil: the system's authorities.
	TLS *tls.Config
	// Timeout of one attempt; 0: 10 seconds.
	Timeout time.Duration
	// MaxIdle is how many connections are kept open: the parallelism of the run.
	MaxIdle int
	// UserAgent is sent with every request; empty: assay.
	UserAgent string
	// Egress says where connections may go; nil: anywhere.
	Egress Egress
	// MaxBody bounds a reply to a client of NewHTTPClient, in bytes; 0: 8 MiB.
	MaxBody int
	// Wrap stands before what sends the requests; nil: nothing does. Requests for an
	// access token are not among them.
	Wrap Wrap
	// Secrets removes secrets from what is said of a call, and is given the ones
	// of this configuration; nil: one of its own.
	Secrets *Redactor
}

// Wrap gives what stands before a transport, such as tracing. redact removes the
// secrets of the endpoint from a text.
type Wrap func(next http.RoundTripper, redact func(string) string) http.RoundTripper

// Config says how an Endpoint is asked.
type Config struct {
	HTTPConfig
	// Method of the request; empty: POST.
	Method string
	// MaxRetries is how often a request is tried again; 0: never.
	MaxRetries int
	// Limiter bounds the rate of requests; nil: no bound.
	Limiter *rate.Limiter
	// Observe hears of each attempt: OK or an Outcome, and how many seconds it
	// took. It may be nil.
	Observe func(outcome string, seconds float64)
	// Mapped says that replies are read by CEL, which takes computing.
	Mapped bool
}

// Auth is what requests show: a bearer token, user and password, or a token of
// OAuth 2.0. At most one of them is given.
type Auth struct {
	BearerToken   string
	BasicUser     string
	BasicPassword string
	OAuth2        *OAuth2Config
}

// OAuth2Config is the client credentials grant of RFC 6749, section 4.4.
type OAuth2Config struct {
	TokenURL     string
	ClientID     string
	ClientSecret string
	Scopes       []string
}

const (
	defaultTimeout   = 10 * time.Second
	defaultUserAgent = "assay"
)

// New checks a configuration and gives an endpoint for it, which calls nobody
// until it is asked. Close it.
func New(cfg Config) (*Endpoint, error) {
	a, err := newAccess(&cfg.HTTPConfig)
	if err != nil {
		return nil, err
	}
	return &Endpoint{
		access:     a,
		method:     cmp.Or(cfg.Method, http.MethodPost),
		maxRetries: cfg.MaxRetries,
		limiter:    cfg.Limiter,
		observe:    cfg.Observe,
		mapped:     cfg.Mapped,
	}, nil
}

// access is what it takes to send a request to one URL.
type access struct {
	words   Words
	url     *url.URL
	header  http.Header
	tokens  *tokens
	timeout time.Duration
	secrets *Redactor
	http    *http.Client
}

func newAccess(cfg *HTTPConfig) (access, error) {
	u, err := parseURL("url", cfg.URL)
	if err != nil {
		return access{}, err
	}
	err = errors.Join(
		checkHeader("headers", cfg.Header),
		checkValue("auth.bearerTokenSecretRef", cfg.Auth.BearerToken),
	)
	if err != nil {
		return access{}, err
	}
	secrets := cfg.Secrets
	if secrets == nil {
		secrets = NewRedactor()
	}
	secrets.Add(cfg.Auth.BearerToken, cfg.Auth.BasicUser, cfg.Auth.BasicPassword)
	timeout := cmp.Or(cfg.Timeout, defaultTimeout)
	a := access{
		words:   cfg.Words,
		url:     u,
		header:  http.Header{},
		timeout: timeout,
		secrets: secrets.WithQuery(u),
		http:    newHTTPClient(cfg.TLS, cfg.MaxIdle, timeout, cfg.Egress),
	}
	if cfg.Wrap != nil {
		a.http.Transport = cfg.Wrap(a.http.Transport, a.secrets.Redact)
	}
	a.header.Set("Accept", "application/json")
	a.header.Set("User-Agent", cmp.Or(cfg.UserAgent, defaultUserAgent))
	for name, values := range cfg.Header {
		a.header[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case cfg.Auth.BearerToken != "":
		a.header.Set("Authorization", "Bearer "+cfg.Auth.BearerToken)
	case cfg.Auth.BasicUser != "" || cfg.Auth.BasicPassword != "":
		r := http.Request{Header: a.header}
		r.SetBasicAuth(cfg.Auth.BasicUser, cfg.Auth.BasicPassword)
		secrets.Add(a.header.Get("Authorization")[len("Basic "):])
	case cfg.Auth.OAuth2 != nil:
		a.tokens, err = newTokens(cfg, u, timeout, secrets)
	}
	return a, err
}

// Close lets go of the connections that are kept open.
func (a *access) Close() {
	a.http.CloseIdleConnections()
	if a.tokens != nil {
		a.tokens.http.CloseIdleConnections()
	}
}

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
