package call

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// tokens fetches access tokens by the client credentials grant and keeps them
// until they run out.
type tokens struct {
	words   Words
	url     *url.URL
	config  *clientcredentials.Config
	http    *http.Client
	timeout time.Duration
	secrets *Redactor

	mu    sync.Mutex
	token *oauth2.Token
}

func newTokens(cfg *HTTPConfig, target *url.URL, timeout time.Duration, secrets *Redactor) (*tokens, error) {
	grant := cfg.Auth.OAuth2
	u, err := parseURL("auth.oauth2.tokenURL", grant.TokenURL)
	if err != nil {
		return nil, err
	}
	// RFC 6749, section 2.3.1: both go out URL-encoded, in Basic authentication.
	pair := url.QueryEscape(grant.ClientID) + ":" + url.QueryEscape(grant.ClientSecret)
	secrets.Add(grant.ClientID, grant.ClientSecret, pair)
	config := cfg.TLS
	if config != nil && u.Hostname() != target.Hostname() {
		// A server name that was set is the service's own.
		config = config.Clone()
		config.ServerName = ""
	}
	return &tokens{
		words:   cfg.Words,
		url:     u,
		config:  &clientcredentials.Config{ClientID: grant.ClientID, ClientSecret: grant.ClientSecret, TokenURL: grant.TokenURL, Scopes: grant.Scopes},
		http:    newHTTPClient(config, cfg.MaxIdle, timeout, cfg.Egress),
		timeout: timeout,
		secrets: secrets.WithQuery(u),
	}, nil
}

// authorization gives the header's value. Calls that come while a token is
// fetched wait for it rather than fetch their own.
func (t *tokens) authorization(ctx context.Context) (string, *failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.token.Valid() {
		token, err := t.config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.http))
		if err != nil {
			return "", t.failed(ctx, err)
		}
		if err := checkValue("access_token", token.AccessToken); err != nil {
			return "", &failure{kind: Malformed, message: t.place() + ": the access token holds a control character"}
		}
		if len(token.AccessToken) > MaxSecret {
			return "", &failure{kind: Malformed, message: fmt.Sprintf("%s: the access token is longer than %d KiB", t.place(), MaxSecret>>10)}
		}
		t.secrets.addFetched(token.AccessToken)
		t.token = token
	}
	return t.token.Type() + " " + t.token.AccessToken, nil
}

// forget drops a token that the service did not take.
func (t *tokens) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = nil
}

func (t *tokens) field() string { return t.words.Field + ".auth.oauth2" }

func (t *tokens) place() string {
	return "fetching an access token: POST " + t.url.Host + t.secrets.Clean(t.url.EscapedPath(), maxDetail, false)
}

func (t *tokens) failed(ctx context.Context, err error) *failure {
	var refused *oauth2.RetrieveError
	var wrapped *url.Error
	switch {
	case errors.As(err, &refused):
		f := &failure{kind: HTTPError, message: status(refused.Response)}
		switch code := refused.Response.StatusCode; code {
		case http.StatusTooManyRequests:
			f.kind, f.retry = RateLimited, true
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			f.retry = true
		}
		f.after = RetryAfter(refused.Response.Header, time.Now())
		detail := refused.ErrorCode + " " + refused.ErrorDescription
		if refused.ErrorCode == "" {
			detail = string(refused.Body)
		}
		if detail := t.secrets.Clean(detail, maxQuoted, len(detail) >= maxErrorBody); detail != "" {
			f.message += ": " + detail
		}
		f.message = fmt.Sprintf("%s: %s; check %s", t.place(), f.message, t.field())
		return f
	case ctx.Err() != nil:
		return &failure{kind: Timeout, retry: true, message: fmt.Sprintf("%s: no token came within %s (%s.timeoutSeconds)", t.place(), t.timeout, t.words.Root)}
	case errors.As(err, &wrapped):
		f := classify(wrapped.Err, t.field()+".tokenURL", t.words.Field+".tls")
		f.message = t.place() + ": " + t.secrets.Clean(f.message, maxDetail, false)
		return f
	}
	return &failure{kind: Malformed, message: fmt.Sprintf("%s: %s; check %s.tokenURL", t.place(), t.secrets.Clean(err.Error(), maxDetail, false), t.field())}
}
