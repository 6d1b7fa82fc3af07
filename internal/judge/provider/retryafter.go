package provider

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostRetryAfter is what a time counts as that lies further ahead.
const mostRetryAfter = 24 * time.Hour

// retryAfter reads how long a server asks to be left alone for: Retry-After-Ms,
// or Retry-After in seconds, whole or not, or as an HTTP date (RFC 9110, section
// 10.2.3). What cannot be read counts as 0.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if wait, ok := number(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := header.Get("Retry-After")
	if wait, ok := number(value, time.Second); ok {
		return wait
	}
	at, err := http.ParseTime(strings.TrimSpace(value))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), mostRetryAfter)
}

// number reads a decimal number of units.
func number(value string, unit time.Duration) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(value, 64)
	if n > float64(mostRetryAfter/unit) {
		return mostRetryAfter, true
	}
	if err != nil {
		return 0, false
	}
	return time.Duration(n * float64(unit)), true
}
