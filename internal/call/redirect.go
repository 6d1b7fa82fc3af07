package call

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// MaxRedirects is how many redirects a request follows.
const MaxRedirects = 5

// RedirectReason is why a redirect is not followed.
type RedirectReason int

// The reasons.
const (
	TooManyRedirects RedirectReason = iota
	LeavesTLS
	OtherHost
	OtherMethod
)

// RedirectError is a redirect that is not followed.
type RedirectError struct {
	Reason RedirectReason
	// To is where it leads. Its query may hold a key.
	To *url.URL
	// From and Method are the methods of the request and of the one that would follow.
	From, Method string
}

// Error says where the redirect leads, without the query, and what to do.
func (e *RedirectError) Error() string {
	target := e.To.Scheme + "://" + e.To.Host + e.To.EscapedPath()
	return "it redirects to " + target + ", " + e.why()
}

func (e *RedirectError) why() string {
	switch e.Reason {
	case TooManyRedirects:
		return fmt.Sprintf("after %d redirects already; use the final address as url", MaxRedirects)
	case LeavesTLS:
		return "which would leave TLS; use the final address as url if that is meant"
	case OtherMethod:
		return fmt.Sprintf("which would turn the %s into a %s; use that address as url", e.From, e.Method)
	}
	return "another host, which is not followed; use that address as url if it is meant"
}

// CheckRedirect follows redirects within the same host only: credentials and
// questions go to no other place than the one that the suite names. It is made for
// http.Client; its error is a *RedirectError.
func CheckRedirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	refuse := func(why RedirectReason) error {
		return &RedirectError{Reason: why, To: next.URL, From: last.Method, Method: next.Method}
	}
	switch {
	case len(via) > MaxRedirects:
		return refuse(TooManyRedirects)
	case last.URL.Scheme == "https" && next.URL.Scheme != "https":
		return refuse(LeavesTLS)
	case !sameHost(last.URL, next.URL):
		return refuse(OtherHost)
	case next.Method != last.Method:
		return refuse(OtherMethod)
	}
	return nil
}

// sameHost holds for the same name and port, and for the way from http to https
// on the usual ports.
func sameHost(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	upgrade := from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
	return upgrade || port(from) == port(to)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
