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
	shutdownTimeout = 5 * time.Second
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

// NewHTTPServer gives a server whose connections are bounded in time and size. It
// speaks HTTP/1.1 alone: the denials of service of HTTP/2 are nothing that a few
// small answers must be open to.
func NewHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
}

// Serve answers on the listener until the context ends, then lets the calls
// that are under way end: those that wait for a run are answered at once. With a
// nil config it speaks plain HTTP. The listener is closed in any case.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, config *tls.Config) error {
	if config != nil {
		config = config.Clone()
		config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
		config.NextProtos = []string{"http/1.1"}
		listener = tls.NewListener(listener, config)
	}
	// Not ctx itself: its end would end the calls that are under way.
	base := context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, ctx.Done())
	srv := NewHTTPServer(handler)
	srv.BaseContext = func(net.Listener) context.Context { return base }
	srv.ErrorLog = errorLog(logr.FromContextOrDiscard(ctx))
	return serve(ctx, base, srv, listener)
}

// serve serves until ctx ends; base is the context of the calls.
func serve(ctx, base context.Context, srv *http.Server, listener net.Listener) error {
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
