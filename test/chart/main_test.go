// Package chart_test renders the Helm chart with the real Helm, with every value
// that it takes, and has a real API server judge what comes out.
package chart_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	chart   = "../../charts/assay"
	release = "assay"
	// system is the namespace that the chart is installed in.
	system = "assay-system"
)

// config is of an API server that has the CRDs.
var config *rest.Config

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	switch {
	case os.Getenv("HELM_BIN") == "":
		return 0, errors.New("these tests need Helm: run `make test`, or `make tools` and set HELM_BIN to the helm in ~/.cache/assay-tools")
	case os.Getenv("KUBEBUILDER_ASSETS") == "":
		return 0, errors.New("these tests need a real API server: run `make test`, or set KUBEBUILDER_ASSETS=$(go run ./hack/controlplane) first")
	}
	server := &envtest.Environment{
		Scheme:                scheme.Scheme,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// A machine that builds other things meanwhile is slow, not broken.
		ControlPlaneStartTimeout: 2 * time.Minute,
	}
	// Without a network, kube-apiserver finds no address to advertise; nobody uses it.
	server.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	config, err = server.Start()
	if err != nil {
		return 0, fmt.Errorf("starting the API server with the CRDs: %w", err)
	}
	defer func() {
		if stopErr := server.Stop(); err == nil && stopErr != nil {
			err = fmt.Errorf("stopping the API server: %w", stopErr)
		}
	}()
	return m.Run(), nil
}
