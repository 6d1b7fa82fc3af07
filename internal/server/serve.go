package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

// How long a connection may take over what. A whole answer may take maxWait,
// and the calls to the API server and the store around it.
const (
	headerTimeout   = 10 * time.Second
	bodyTimeout     = 10 * time.Second
	requestTimeout  = maxWait + 30*time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 10 * time.Second
	// maxHeaderBytes leaves room for a token that lists many groups.
	maxHeaderBytes = 64 << 10
)

// stoppingKey is under what a request's context has the channel that closes
// when the server begins to stop.
type stoppingKey struct{}

// stopping gives a channel that closes when the server begins to stop.
func stopping(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return c
}

// Serve answers on the listener until the context ends, then lets the calls
// that are under way end: those that wait for a run are answered at once. With a
// nil config it speaks plain HTTP. The listener is closed in any case.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, config *tls.Config) error {
	if config != nil {
		config = config.Clone()
		if len(config.NextProtos) == 0 {
			config.NextProtos = []string{"h2", "http/1.1"}
		}
		listener = tls.NewListener(listener, config)
	}
	// Not ctx itself: its end would end the calls that are under way.
	base := context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, ctx.Done())
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          errorLog(logr.FromContextOrDiscard(ctx)),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve the API at %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(base, shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(ending); err != nil {
		_ = srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API at %s: %w", listener.Addr(), err)
	}
	return nil
}
