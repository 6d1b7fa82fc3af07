// Package api_test tries the custom resources on a real API server: every
// sample is applied, every rule is broken once, and what a user sees in kubectl
// is compared with what the documentation says.
package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// What the tests of this package share: one API server with the CRDs, and a
// client that is as strict about unknown fields as kubectl apply.
var (
	config  *rest.Config
	cluster client.Client
	server  *envtest.Environment
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 0, fmt.Errorf("these tests need a real API server: run `make test`, or set KUBEBUILDER_ASSETS=$(go run ./hack/controlplane) first")
	}
	if err := v1alpha1.AddToScheme(scheme.Scheme); err != nil {
		return 0, err
	}
	server = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
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
	plain, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return 0, err
	}
	cluster = client.WithFieldValidation(plain, metav1.FieldValidationStrict)
	return m.Run(), nil
}

// objectName turns a test's name into one that Kubernetes takes.
func objectName(t *testing.T) string {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		default:
			return '-'
		}
	}, strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:]))
	return strings.Trim(name[:min(len(name), 50)], "-")
}

// create creates an object and deletes it when the test ends.
func create(t *testing.T, object client.Object) error {
	t.Helper()
	err := cluster.Create(t.Context(), object)
	if err == nil {
		t.Cleanup(func() { _ = cluster.Delete(context.WithoutCancel(t.Context()), object) })
	}
	return err
}
