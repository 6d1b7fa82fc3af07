package provider

import (
	"fmt"
	"net/http"
	"strings"
)

const maxRedirects = 5

// redirectError is a redirect that is not followed.
type redirectError struct{ message string }

func (e *redirectError) Error() string { return e.message }

func refuse(format string, args ...any) error {
	return &redirectError{fmt.Sprintf(format, args...)}
}

// sameHost follows redirects to the same scheme, host and port only, with the
// same method: prompts go to no other place than the one that the suite names.
func sameHost(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return refuse("it redirects more than %d times: use the final address as judge.url", maxRedirects)
	case next.URL.Scheme != last.URL.Scheme || !strings.EqualFold(next.URL.Host, last.URL.Host):
		return refuse("it redirects to %s://%s, another host, which is not followed: use that address as judge.url if it is meant", next.URL.Scheme, next.URL.Host)
	case next.Method != last.Method:
		return refuse("it redirects in a way that would turn the %s into a %s: use the final address as judge.url", last.Method, next.Method)
	}
	return nil
}
