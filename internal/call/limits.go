package call

import (
	"net/url"
	"strings"
	"sync"

	"golang.org/x/time/rate"
)

// Limits holds one rate limiter for each namespace and host, which all runs of
// the namespace against the host share. It is safe for concurrent use.
type Limits struct {
	mu   sync.Mutex
	byID map[limitID]*rate.Limiter
}

type limitID struct{ namespace, host string }

// NewLimits gives limits that know no host yet.
func NewLimits() *Limits { return &Limits{byID: map[limitID]*rate.Limiter{}} }

// For gives the limiter of a namespace against the host and port of a URL. Where
// suites name different rates, the one that was named last holds for all. A
// tenth of a second's requests may go out at once.
func (l *Limits) For(namespace, rawURL string, perSecond int) *rate.Limiter {
	id := limitID{namespace: namespace, host: rawURL}
	if u, err := url.Parse(rawURL); err == nil && u.Host != "" {
		id.host = strings.ToLower(u.Hostname()) + ":" + port(u)
	}
	limit, burst := rate.Limit(max(perSecond, 1)), max(1, perSecond/10)
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, ok := l.byID[id]
	if !ok {
		limiter = rate.NewLimiter(limit, burst)
		l.byID[id] = limiter
	} else if limiter.Limit() != limit {
		limiter.SetLimit(limit)
		limiter.SetBurst(burst)
	}
	return limiter
}
