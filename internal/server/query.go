package server

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what a query may say.
const (
	maxWait      = 60 * time.Second
	maxRuns      = 200
	defaultRuns  = 50
	maxCases     = 1000
	defaultCases = 100
	maxText      = 1024
)

// query gives a call's parameters. One that the call does not have is refused,
// for a filter with a typing error would silently filter nothing.
func query(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query cannot be read: %v", err)
	}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, badRequest("%q is no parameter of this call; it takes %s", name, list(known))
		case len(all) > 1:
			return nil, badRequest("%s is given %d times: give it once", name, len(all))
		case len(all[0]) > maxText || !utf8.ValidString(all[0]) || strings.ContainsRune(all[0], 0):
			return nil, badRequest("%s must be at most %d bytes of UTF-8", name, maxText)
		}
	}
	return values, nil
}

// limit reads the parameter that says how many things an answer has: decimal
// digits, and nothing else.
func limit(values url.Values, name string, fallback, most int) (int, error) {
	if !values.Has(name) {
		return fallback, nil
	}
	text := values.Get(name)
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n < 1 || n > uint64(most) {
		return 0, badRequest("%s is %q: give a whole number from 1 to %d", name, text, most)
	}
	return int(n), nil
}

// wait is how long an answer may be held until its run is done.
func wait(values url.Values) (time.Duration, error) {
	if !values.Has("wait") {
		return 0, nil
	}
	text := values.Get("wait")
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, badRequest("wait is %q: give a duration from 0s to %s, for example 30s", text, "60s")
	}
	return d, nil
}

// list names things for people.
func list(names []string) string {
	switch len(names) {
	case 0:
		return "none"
	case 1:
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// nextPage is a Link header to the page behind a cursor. It is relative, so
// that it holds behind any proxy.
func nextPage(values url.Values, parameter, cursor string) string {
	next := url.Values{}
	for name := range values {
		next.Set(name, values.Get(name))
	}
	next.Set(parameter, cursor)
	return "<?" + next.Encode() + `>; rel="next"`
}

// isUUID reports whether the text is a UUID in its usual form, in any case.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
				return false
			}
		}
	}
	return true
}
