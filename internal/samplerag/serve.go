package samplerag

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// MaxLatency is the longest delay that WithLatency may add.
const MaxLatency = 10 * time.Second

// WithLatency delays every answer, so that a run takes as long as one against a
// larger service. A caller that goes away ends the wait. GET /healthz is answered
// at once: a slow service is not an ill one.
func WithLatency(next http.Handler, latency time.Duration) http.Handler {
	if latency <= 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case <-time.After(latency):
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}

// Serve answers on the listener until ctx ends, then lets requests that are
// going finish for up to five seconds. It closes the listener.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	if err != nil {
		return fmt.Errorf("stop serving on %s: %w", l.Addr(), err)
	}
	return nil
}
