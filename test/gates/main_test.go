// Package gates_test tries the samples of config/samples/gates that need no
// controller of another project: admission policies on a real API server, the
// health checks of Argo CD in Lua and of Flux in CEL.
package gates_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/assay-dev/assay/api/v1alpha1"
)

var (
	config  *rest.Config
	cluster client.Client
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
	server := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases")}, ErrorIfCRDPathMissing: true}
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
	if cluster, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// sample reads a file of config/samples/gates.
func sample(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "config", "samples", "gates", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); err != nil {
			break
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
	if len(objects) == 0 {
		t.Fatalf("%s holds nothing", name)
	}
	return objects
}

// apply applies a sample for the duration of a test.
func apply(t *testing.T, name string) {
	t.Helper()
	for _, o := range sample(t, name) {
		if err := cluster.Create(t.Context(), o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		t.Cleanup(func() {
			if err := cluster.Delete(context.WithoutCancel(t.Context()), o); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		})
	}
}
