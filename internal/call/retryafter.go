package call

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is how long a service may ask to be left alone for before a
// call is given up.
const maxRetryAfter = time.Minute

// MostRetryAfter is what a time counts as that lies further ahead.
const MostRetryAfter = 24 * time.Hour

// RetryAfter reads how long a server asks to be left alone for: Retry-After-Ms,
// which vendors of models send, or Retry-After in seconds, whole or not, or as an
// HTTP date (RFC 9110, section 10.2.3). What cannot be read counts as 0.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	if wait, ok := decimal(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := header.Get("Retry-After")
	if wait, ok := decimal(value, time.Second); ok {
		return wait
	}
	at, err := http.ParseTime(strings.TrimSpace(value))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), MostRetryAfter)
}

// decimal reads a decimal number of units.
func decimal(value string, unit time.Duration) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(value, 64)
	if n > float64(MostRetryAfter/unit) {
		return MostRetryAfter, true
	}
	if err != nil {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}
