package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/assay-dev/assay/internal/server"
)

// api serves the HTTP API on every replica: it reads, and what it starts is an
// EvalRun for the leader to carry out.
type api struct {
	address string
	secure  bool
	certDir string
	handler http.Handler

	listening atomic.Bool
}

// NeedLeaderElection is false: every replica answers.
func (a *api) NeedLeaderElection() bool { return false }

// Start serves until the context ends.
func (a *api) Start(ctx context.Context) error {
	config, err := a.tls(ctx)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.address)
	if err != nil {
		return fmt.Errorf("listen for the HTTP API at %s (--api-bind-address picks another address): %w", a.address, err)
	}
	a.listening.Store(true)
	defer a.listening.Store(false)
	return server.Serve(ctx, listener, a.handler, config)
}

// listens is ready while the API is served.
func (a *api) listens(*http.Request) error {
	if !a.listening.Load() {
		return errors.New("the HTTP API does not listen")
	}
	return nil
}

// tls is nil for plain HTTP. Without certificates of the user's, one is made
// that nobody has signed, as for the metrics.
func (a *api) tls(ctx context.Context) (*tls.Config, error) {
	if !a.secure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if a.certDir == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		certificate, key, err := cert.GenerateSelfSignedCertKeyWithFixtures(host, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}, "")
		if err != nil {
			return nil, fmt.Errorf("make a certificate for the HTTP API: %w", err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("make a certificate for the HTTP API: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
		return config, nil
	}
	watcher, err := certwatcher.New(filepath.Join(a.certDir, "tls.crt"), filepath.Join(a.certDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("read the HTTP API's certificate from --api-cert-dir %s: %w", a.certDir, err)
	}
	go func() { _ = watcher.Start(ctx) }() // ends with the context
	config.GetCertificate = watcher.GetCertificate
	return config, nil
}
