package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge"
)

const (
	// maxBody bounds a reply, after decompression.
	maxBody = 8 << 20
	// maxErrorBody bounds what is read of a reply that is no success.
	maxErrorBody = 64 << 10
)

// attempt is what an SDK sends one request with. It gives the SDK whole replies
// that are a success and JSON, and keeps what went wrong in any other.
type attempt struct {
	model *model
	sent  bool
	kind  string
	body  []byte
	// failure is nil where the SDK got its reply.
	failure *failure
}

// Do sends a request and reads the reply whole.
func (a *attempt) Do(r *http.Request) (*http.Response, error) {
	a.sent = true
	response, err := a.model.http.Do(r)
	if err != nil {
		return nil, a.fail(a.broken(r, err, "no reply came within"))
	}
	defer func() { _ = response.Body.Close() }()
	a.kind = response.Header.Get("Content-Type")
	if response.StatusCode < 200 || response.StatusCode > 299 {
		a.body, _ = io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		return nil, a.fail(a.model.refused(response, a.body))
	}
	a.body, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, a.fail(a.broken(r, err, "the reply did not end within"))
	case len(a.body) > maxBody:
		return nil, a.fail(&failure{outcome: judge.Malformed, message: fmt.Sprintf("the reply is larger than %d MiB; lower judge.maxOutputTokens", maxBody>>20)})
	case !json.Valid(a.body):
		return nil, a.fail(a.unreadable("the reply is not JSON"))
	}
	if fault := readFault(a.body); fault != nil && fault.instead {
		return nil, a.fail(a.model.reported(fault))
	}
	// The SDKs read JSON only where the server calls it that.
	response.Header = response.Header.Clone()
	response.Header.Set("Content-Type", "application/json")
	response.Body = io.NopCloser(bytes.NewReader(a.body))
	return response, nil
}

func (a *attempt) fail(f *failure) error {
	a.failure = f
	return errors.New(f.message)
}

// broken is a request that got no whole reply.
func (a *attempt) broken(r *http.Request, err error, late string) *failure {
	m := a.model
	if r.Context().Err() != nil {
		return m.late(late)
	}
	why := call.Explain(err, "judge.url", "judge.tls")
	return &failure{outcome: outcomes[why.Kind], message: m.clean(why.Message, maxDetail), retry: why.Retry, after: why.After}
}

// unreadable is a reply that was no success for what stands in it.
func (a *attempt) unreadable(why string) *failure {
	kind, _, _ := strings.Cut(a.kind, ";")
	if kind == "" {
		kind = "none"
	}
	text := fmt.Sprintf("%s; content type %s", a.model.clean(why, maxDetail), a.model.clean(kind, 100))
	switch {
	case kind == "text/event-stream":
		text += ", which is streaming: leave stream out of judge.extraBody, and turn it off on the server"
	case kind == "text/html", strings.HasPrefix(http.DetectContentType(a.body), "text/html"):
		text += ", a page for browsers: check judge.url"
	}
	if quoted := a.model.quote(a.body); quoted != "" {
		text += ", it begins: " + quoted
	}
	return &failure{outcome: judge.Malformed, message: text}
}
