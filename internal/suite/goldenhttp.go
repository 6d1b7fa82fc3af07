package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
)

// A golden set over http must fit these bounds.
const (
	maxGoldenBytes = 64 << 20
	goldenTimeout  = time.Minute
)

const goldenURLField = "spec.goldenSet.http.url"

// fetchGolden gets the file and holds it to its digest. A server that is down
// is an outage; one that has another file, or none, is a mistake, which whoever
// keeps the file may mend as well as whoever wrote the suite.
func fetchGolden(ctx context.Context, src *v1alpha1.GoldenHTTPSource, d Deps) ([]golden.File, error) {
	ctx, cancel := context.WithTimeout(ctx, goldenTimeout)
	defer cancel()
	from, err := newGoldenServer(src, d)
	if err != nil {
		return nil, err
	}
	defer from.client.CloseIdleConnections()
	data, err := from.download(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); !strings.EqualFold(got, src.SHA256) {
		return nil, errorf(ReasonGoldenSetNotFound, "the golden set at %s has the SHA-256 %s, but spec.goldenSet.http.sha256 pins %s: if the change is meant, write the new digest there", from.where, got, src.SHA256)
	}
	return []golden.File{{Name: path.Base(from.url.Path), Data: data}}, nil
}

// goldenServer is where a golden set lies.
type goldenServer struct {
	url *url.URL
	// where is the URL for people, without the query, which may carry a signature.
	where   string
	client  *http.Client
	secrets *call.Redactor
}

func newGoldenServer(src *v1alpha1.GoldenHTTPSource, d Deps) (*goldenServer, error) {
	u, err := url.Parse(src.URL)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "%s is no URL: write it as https://host/path", goldenURLField)
	}
	client, err := call.NewHTTPClient(call.HTTPConfig{
		Words: call.Words{Service: "the server of the golden set", Field: "goldenSet.http", Root: "goldenSet.http"},
		URL:   src.URL,
		// The digest is that of the file as it lies on the server. Without this line
		// a .gz that is served with Content-Encoding: gzip comes unpacked.
		Header:  http.Header{"Accept-Encoding": {"identity"}, "Accept": {"*/*"}},
		Timeout: goldenTimeout,
		MaxBody: maxGoldenBytes,
		Egress:  d.Egress,
	})
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.http.%w", err)
	}
	if d.network != nil {
		client.Transport = d.network
	}
	return &goldenServer{url: u, where: u.Host + u.Path, client: client, secrets: call.NewRedactor().WithQuery(u)}, nil
}

func (s *goldenServer) download(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "%s is no URL: write it as https://host/path", goldenURLField)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, s.unfetched(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := s.checkStatus(resp.StatusCode); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, s.unfetched(err)
	}
	return data, nil
}

// unfetched says why a request got no file.
func (s *goldenServer) unfetched(err error) *Error {
	e := &Error{Reason: ReasonGoldenSetUnreadable, Transient: true, Err: err}
	why := call.Explain(err, goldenURLField, "")
	var redirect *call.RedirectError
	var refused *call.EgressError
	switch {
	case errors.As(err, &redirect):
		e.Reason, e.Transient, why.Message = ReasonGoldenSetNotFound, false, redirected(redirect)
	case errors.As(err, &refused):
		e.Reason, e.Transient = ReasonEgressDenied, false
	case why.Kind == call.TooLarge:
		return errorf(ReasonGoldenSetInvalid, "the golden set at %s is over %d MiB: split it or compress it with gzip", s.where, maxGoldenBytes>>20)
	case errors.Is(err, context.DeadlineExceeded):
		why.Message = fmt.Sprintf("the server took too long, the limit is %s", goldenTimeout)
	}
	e.Message = fmt.Sprintf("fetch the golden set from %s: %s", s.where, s.secrets.Clean(why.Message, maxExplained, false))
	return e
}

// maxExplained bounds what a message says in somebody else's words, in bytes.
const maxExplained = 1024

// redirected says what to write in place of a URL that leads elsewhere.
func redirected(e *call.RedirectError) string {
	switch e.Reason {
	case call.TooManyRedirects:
		return fmt.Sprintf("it redirects more than %d times: write the final address into %s", call.MaxRedirects, goldenURLField)
	case call.LeavesTLS:
		return fmt.Sprintf("it redirects from https to http, which is not followed: write the final address into %s if that is meant", goldenURLField)
	}
	return fmt.Sprintf("it redirects to another host, %s, which is not followed: write that address into %s if you trust it", e.To.Host, goldenURLField)
}

// checkStatus takes nothing but a 200: a part of the file is not the file.
func (s *goldenServer) checkStatus(code int) error {
	answered := fmt.Sprintf("%d %s", code, http.StatusText(code))
	switch code {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return errorf(ReasonGoldenSetNotFound, "there is no golden set at %s (the server answered %s): put the file there, or correct %s", s.where, answered, goldenURLField)
	case http.StatusUnauthorized, http.StatusForbidden:
		return errorf(ReasonGoldenSetNotFound, "the server does not give out %s (it answered %s): %s must be readable without credentials, and a signed URL may have expired", s.where, answered, goldenURLField)
	}
	return outage(ReasonGoldenSetUnreadable, fmt.Errorf("fetch the golden set from %s: the server answered %s", s.where, answered))
}
