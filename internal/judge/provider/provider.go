// Package provider asks a model through its vendor's SDK: with deadlines,
// retries, a rate limit and bounded replies, and with errors that name no secret.
// It finds out in which form a server takes a request, and remembers it. What a
// vendor's protocol has of its own is a Protocol.
package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge"
)

// Config says how a model is reached. All that comes from Secrets is resolved
// already.
type Config struct {
	// URL of the provider's API; empty: the vendor's own.
	URL string
	// Model by the name that the provider knows it by.
	Model string
	// APIKey is sent as the vendor has it; empty: none is.
	APIKey string
	// Header is sent with every request, over the headers of the SDK.
	Header http.Header
	// HTTPClient sends the requests: with the TLS, the credentials and the egress
	// policy of the suite. Nil: one with the system's authorities.
	HTTPClient *http.Client
	// Timeout of one attempt; 0: a minute.
	Timeout time.Duration
	// MaxRetries is how often a request is tried again; 0: never.
	MaxRetries int
	// Limiter bounds the rate of requests, with all who share it; nil: no bound.
	Limiter *rate.Limiter
	// Temperature of the model; nil: none is sent, for some models refuse it.
	Temperature *float64
	// ExtraBody is merged into the body of every request.
	ExtraBody map[string]any
	// Secrets removes secrets from every error, and is told of APIKey; nil: one of
	// its own. What stands in the query of URL is removed as well.
	Secrets *call.Redactor
	// Observe hears of each attempt: OK or a judge.Outcome, and how many seconds
	// it took. It may be nil.
	Observe func(outcome string, seconds float64)
}

const defaultTimeout = time.Minute

// HTTPClient is what an SDK sends its requests with.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// Protocol is what a vendor's way of speaking has of its own.
type Protocol interface {
	// Send makes one request through the vendor's SDK, over http, and reads the
	// reply. It does not retry. Its error says what is wrong with a reply, for
	// people; http remembers what went wrong with the request. A *Decline is a
	// reply that says by its own fields that there will be none, and comes beside
	// what it cost.
	Send(ctx context.Context, http HTTPClient, r *judge.Request, form Form) (*judge.Response, error)
	// Classify says what an error of the server means.
	Classify(status int, f *Fault) Meaning
	// Without gives a form that leaves out what the server refuses; the same form:
	// the error is about something else.
	Without(form Form, f *Fault) Form
}

// Decline is a reply that is whole and has no text that could be read.
type Decline struct {
	Outcome judge.Outcome
	Message string
}

// Error gives the message.
func (d *Decline) Error() string { return d.Message }

// Endpoint is where a protocol is spoken.
type Endpoint struct {
	// Base is the URL that the SDK is given.
	Base string
	// Path of the calls, behind Base.
	Path string
	// Own are the fields of the body that ExtraBody may not set, each with what to
	// set in its place.
	Own map[string]string
	// Forms remembers how servers of this protocol want to be asked.
	Forms *Memory
}

// New gives the model at an endpoint, which calls nobody until it is asked.
func New(cfg Config, at Endpoint, protocol Protocol) (judge.Model, error) {
	base, err := url.Parse(at.Base)
	switch {
	case err != nil:
		// The error's text has the URL whole, with what its query may hold.
		return nil, errors.New("url: it is not a URL: give it whole, for example http://vllm.models.svc:8000/v1")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("url: it must begin with http:// or https:// and a host")
	case base.User != nil:
		return nil, errors.New("url: it must not hold user and password: use auth for those")
	case strings.TrimSpace(cfg.Model) == "":
		return nil, errors.New("model: give the name of the model as its provider has it")
	case cfg.Temperature != nil && (math.IsNaN(*cfg.Temperature) || math.IsInf(*cfg.Temperature, 0)):
		return nil, errors.New("temperature: it must be a number")
	case cfg.MaxRetries < 0:
		return nil, fmt.Errorf("maxRetries: it must not be below 0, is %d", cfg.MaxRetries)
	}
	if err := errors.Join(checkExtra(cfg.ExtraBody, at.Own), checkText("apiKeySecretRef", cfg.APIKey), checkHeader(cfg.Header)); err != nil {
		return nil, err
	}
	client, err := newHTTP(&cfg, at.Base)
	if err != nil {
		return nil, err
	}
	secrets := cfg.Secrets
	if secrets == nil {
		secrets = call.NewRedactor()
	}
	secrets.Add(cfg.APIKey)
	m := &model{
		protocol:   protocol,
		key:        formKey{server: at.Base, model: cfg.Model},
		forms:      at.Forms,
		http:       client,
		timeout:    cmp.Or(cfg.Timeout, defaultTimeout),
		maxRetries: cfg.MaxRetries,
		limiter:    cfg.Limiter,
		observe:    cfg.Observe,
		secrets:    secrets.WithQuery(base),
	}
	path := strings.TrimSuffix(base.EscapedPath(), "/") + "/" + at.Path
	m.place = http.MethodPost + " " + base.Host + m.clean(path, maxDetail)
	return m, nil
}

// newHTTP gives the client that requests go out with. It follows no redirect to
// another host.
func newHTTP(cfg *Config, base string) (*http.Client, error) {
	if cfg.HTTPClient == nil {
		return call.NewHTTPClient(call.HTTPConfig{
			Words:   call.Words{Service: "the judge", Outcome: "Judge", Field: "judge", Root: "judge"},
			URL:     base,
			Timeout: cfg.Timeout,
		})
	}
	client := *cfg.HTTPClient
	if client.CheckRedirect == nil {
		client.CheckRedirect = call.CheckRedirect
	}
	return &client, nil
}

// checkExtra refuses fields that are the request itself.
func checkExtra(extra map[string]any, own map[string]string) error {
	var all []error
	for field := range extra {
		if instead, ok := own[field]; ok {
			all = append(all, fmt.Errorf("extraBody: %s is Assay's own: %s", field, instead))
		}
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

// checkText refuses what cannot stand in a header, before every request fails of it.
func checkText(field, value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("%s: its value holds a line break or another control character: write the Secret without it (printf instead of echo)", field)
	}
	return nil
}

func checkHeader(header http.Header) error {
	var all []error
	for name, values := range header {
		for _, value := range values {
			all = append(all, checkText("headers["+name+"]", value))
		}
	}
	return errors.Join(all...)
}
