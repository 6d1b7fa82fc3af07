package suite

import (
	"cmp"
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
	"github.com/assay-dev/assay/internal/golden"
)

// A golden set over http must fit these bounds.
const (
	maxGoldenBytes = 64 << 20
	goldenTimeout  = time.Minute
	maxRedirects   = 5
)

// goldenClient fetches golden sets where nobody gave another client.
var goldenClient = &http.Client{}

// fetchGolden gets the file and holds it to its digest. A server that is down
// is an outage; one that has another file, or none, is a mistake, which whoever
// keeps the file may mend as well as whoever wrote the suite.
func fetchGolden(ctx context.Context, src *v1alpha1.GoldenHTTPSource, client *http.Client) ([]golden.File, error) {
	ctx, cancel := context.WithTimeout(ctx, goldenTimeout)
	defer cancel()
	u, err := url.Parse(src.URL)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.http.url is no URL: write it as https://host/path")
	}
	// Without the query, which may carry a signature.
	where := u.Host + u.Path
	data, err := download(ctx, client, src.URL, where)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); !strings.EqualFold(got, src.SHA256) {
		return nil, errorf(ReasonGoldenSetNotFound, "the golden set at %s has the SHA-256 %s, but spec.goldenSet.http.sha256 pins %s: if the change is meant, write the new digest there", where, got, src.SHA256)
	}
	return []golden.File{{Name: path.Base(u.Path), Data: data}}, nil
}

func download(ctx context.Context, client *http.Client, target, where string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, errorf(ReasonGoldenSetInvalid, "spec.goldenSet.http.url is no URL: write it as https://host/path")
	}
	// The digest is that of the file as it lies on the server. Without this line
	// a .gz that is served with Content-Encoding: gzip comes unpacked.
	req.Header.Set("Accept-Encoding", "identity")
	bounded := *cmp.Or(client, goldenClient)
	bounded.CheckRedirect = checkRedirect
	resp, err := bounded.Do(req)
	if err != nil {
		return nil, unfetched(where, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := checkStatus(where, resp.StatusCode); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxGoldenBytes+1))
	if err != nil {
		return nil, unfetched(where, err)
	}
	if len(data) > maxGoldenBytes {
		return nil, errorf(ReasonGoldenSetInvalid, "the golden set at %s is over %d MiB: split it or compress it with gzip", where, maxGoldenBytes>>20)
	}
	return data, nil
}

// unfetched says why a request got no answer.
func unfetched(where string, err error) *Error {
	// The URL in a *url.Error may carry a signed query.
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var redirect *redirectError
	if errors.As(err, &redirect) {
		return errorf(ReasonGoldenSetNotFound, "fetch the golden set from %s: %w", where, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return outage(ReasonGoldenSetUnreadable, fmt.Errorf("fetch the golden set from %s: the server took too long, the limit is %s: %w", where, goldenTimeout, err))
	}
	return outage(ReasonGoldenSetUnreadable, fmt.Errorf("fetch the golden set from %s: %w", where, err))
}

// checkStatus takes nothing but a 200: a part of the file is not the file.
func checkStatus(where string, code int) error {
	answered := fmt.Sprintf("%d %s", code, http.StatusText(code))
	switch code {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return errorf(ReasonGoldenSetNotFound, "there is no golden set at %s (the server answered %s): put the file there, or correct spec.goldenSet.http.url", where, answered)
	case http.StatusUnauthorized, http.StatusForbidden:
		return errorf(ReasonGoldenSetNotFound, "the server does not give out %s (it answered %s): spec.goldenSet.http.url must be readable without credentials, and a signed URL may have expired", where, answered)
	}
	return outage(ReasonGoldenSetUnreadable, fmt.Errorf("fetch the golden set from %s: the server answered %s", where, answered))
}

// redirectError is a redirect that is not followed.
type redirectError struct{ message string }

func (e *redirectError) Error() string { return e.message }

// checkRedirect follows redirects within the same host only: what is fetched
// from inside the cluster is what the suite names.
func checkRedirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return &redirectError{fmt.Sprintf("it redirects more than %d times: write the final address into spec.goldenSet.http.url", maxRedirects)}
	case last.Scheme == "https" && next.URL.Scheme != "https":
		return &redirectError{"it redirects from https to http, which is not followed: write the final address into spec.goldenSet.http.url if that is meant"}
	case !strings.EqualFold(last.Host, next.URL.Host):
		return &redirectError{fmt.Sprintf("it redirects to another host, %s, which is not followed: write that address into spec.goldenSet.http.url if you trust it", next.URL.Host)}
	}
	return nil
}
