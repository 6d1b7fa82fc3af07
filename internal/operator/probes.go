package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/assay-dev/assay/internal/server"
)

const (
	// answerWithin is shorter than the second that a kubelet waits by default.
	answerWithin = 500 * time.Millisecond
	// probesEndWithin bounds how long the probes are still answered when the operator stops.
	probesEndWithin = time.Second
)

// probes answer a kubelet, and whoever looks for what is wrong.
type probes struct {
	// alive fails only where the process is stuck and a restart helps; ready,
	// until it can do its work.
	alive, ready *healthz.Handler
	// history says what the store is like. It counts for nothing: runs go on, and
	// gates are answered, without it.
	history func(context.Context) string
}

// ServeHTTP answers /healthz and /readyz, and single checks below them. With
// ?verbose, and where a check fails, each check is named.
func (p *probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.Handle("/healthz", http.StripPrefix("/healthz", p.alive))
	mux.Handle("/healthz/", http.StripPrefix("/healthz", p.alive))
	mux.Handle("/readyz/", http.StripPrefix("/readyz", p.ready))
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix("/readyz", p.ready).ServeHTTP(w, r)
		if r.URL.Query().Has("verbose") {
			_, _ = fmt.Fprintf(w, "history: %s\n", p.history(r.Context()))
		}
	})
	mux.ServeHTTP(w, r)
}

// addProbes serves the probes from before the first object is read until after the
// last controller has stopped.
func addProbes(mgr manager.Manager, address string, p *probes) error {
	if !serves(address) {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the probes at %s (--health-probe-bind-address picks another address): %w", address, err)
	}
	within := probesEndWithin
	err = mgr.Add(&manager.Server{Name: "probes", Server: server.NewHTTPServer(p), Listener: listener, ShutdownTimeout: &within})
	if err != nil {
		return errors.Join(fmt.Errorf("add the probes: %w", err), listener.Close())
	}
	return nil
}

// answers fails where f, which only looks, does not come back: whoever it waits
// for will never let go.
func answers(what string, f func()) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		done := make(chan struct{})
		go func() { // it ends with f, or with the process that is stuck
			f()
			close(done)
		}()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer", what)
		}
	}
}

// cacheSynced is ready once the API server's objects are here.
func cacheSynced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), answerWithin)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the objects of the API server are not all read yet")
		}
		return nil
	}
}
