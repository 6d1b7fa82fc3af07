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

// retryAfter reads a Retry-After header: seconds or an HTTP date (RFC 9110,
// section 10.2.3). What cannot be read counts as 0, what lies too far ahead as a
// day.
func retryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds > int(most/time.Second) {
			return most
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), most)
}
