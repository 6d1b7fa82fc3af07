package retriever

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
	field   string
	url     *url.URL
	config  *clientcredentials.Config
	http    *http.Client
	timeout time.Duration
	secrets *redactor

	mu    sync.Mutex
	token *oauth2.Token
}

func newTokens(s settings, target *url.URL, timeout time.Duration, maxIdle int, secrets *redactor) (*tokens, error) {
	u, err := parseURL("auth.oauth2.tokenURL", s.oauth2.TokenURL)
	if err != nil {
		return nil, err
	}
	// RFC 6749, section 2.3.1: both go out URL-encoded, in Basic authentication.
	pair := url.QueryEscape(s.oauth2.ClientID) + ":" + url.QueryEscape(s.oauth2.ClientSecret)
	secrets.add(s.oauth2.ClientID, s.oauth2.ClientSecret, pair)
	config := s.tls
	if config != nil && u.Hostname() != target.Hostname() {
		// A server name that was set is the retriever's.
		config = config.Clone()
		config.ServerName = ""
	}
	return &tokens{
		field:   s.field + ".auth.oauth2",
		url:     u,
		config:  &clientcredentials.Config{ClientID: s.oauth2.ClientID, ClientSecret: s.oauth2.ClientSecret, TokenURL: s.oauth2.TokenURL, Scopes: s.oauth2.Scopes},
		http:    newHTTPClient(config, maxIdle, timeout),
		timeout: timeout,
		secrets: secrets.withQuery(u),
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
			return "", &failure{outcome: Malformed, message: t.place() + ": the access token holds a control character"}
		}
		t.secrets.add(token.AccessToken)
		t.token = token
	}
	return t.token.Type() + " " + t.token.AccessToken, nil
}

// forget drops a token that the retriever did not take.
func (t *tokens) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = nil
}

func (t *tokens) place() string {
	return "fetching an access token: POST " + t.url.Host + t.secrets.clean(t.url.EscapedPath(), maxDetail, false)
}

func (t *tokens) failed(ctx context.Context, err error) *failure {
	var refused *oauth2.RetrieveError
	var wrapped *url.Error
	switch {
	case errors.As(err, &refused):
		f := &failure{outcome: HTTPError, message: status(refused.Response)}
		switch code := refused.Response.StatusCode; code {
		case http.StatusTooManyRequests:
			f.outcome, f.retry = RateLimited, true
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			f.retry = true
		}
		f.after = retryAfter(refused.Response.Header.Get("Retry-After"), time.Now())
		detail := refused.ErrorCode + " " + refused.ErrorDescription
		if refused.ErrorCode == "" {
			detail = string(refused.Body)
		}
		if detail := t.secrets.clean(detail, maxQuoted, len(detail) >= maxErrorBody); detail != "" {
			f.message += ": " + detail
		}
		f.message = fmt.Sprintf("%s: %s; check %s", t.place(), f.message, t.field)
		return f
	case ctx.Err() != nil:
		return &failure{outcome: Timeout, retry: true, message: fmt.Sprintf("%s: no token came within %s (retriever.timeoutSeconds)", t.place(), t.timeout)}
	case errors.As(err, &wrapped):
		f := classify(wrapped.Err, t.field)
		f.message = t.place() + ": " + t.secrets.clean(f.message, maxDetail, false)
		return f
	}
	return &failure{outcome: Malformed, message: fmt.Sprintf("%s: %s; check %s.tokenURL", t.place(), t.secrets.clean(err.Error(), maxDetail, false), t.field)}
}
