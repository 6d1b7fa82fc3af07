package call

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const maxRedirects = 5

// redirectError is a redirect that is not followed.
type redirectError struct{ message string }

func (e *redirectError) Error() string { return e.message }

// checkRedirect follows redirects within the same host only: credentials and
// questions go to no other place than the one that the suite names.
func checkRedirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	target := next.URL.Scheme + "://" + next.URL.Host + next.URL.EscapedPath()
	refuse := func(why string) error {
		return &redirectError{fmt.Sprintf("it redirects to %s, %s", target, why)}
	}
	switch {
	case len(via) > maxRedirects:
		return refuse(fmt.Sprintf("after %d redirects already; use the final address as url", maxRedirects))
	case last.URL.Scheme == "https" && next.URL.Scheme != "https":
		return refuse("which would leave TLS; use the final address as url if that is meant")
	case !sameHost(last.URL, next.URL):
		return refuse("another host, which is not followed; use that address as url if it is meant")
	case next.Method != last.Method:
		return refuse(fmt.Sprintf("which would turn the %s into a %s; use that address as url", last.Method, next.Method))
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
