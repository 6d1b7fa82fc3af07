package api_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// foreign are the API groups of the tools that samples gate. The end-to-end tests
// apply those objects, with the tools' own CRDs.
var foreign = map[string]bool{"argoproj.io": true, "flagger.app": true, "kustomize.toolkit.fluxcd.io": true}

// elsewhere are the groups of policies that would hold for the other tests too;
// test/gates tries them on an API server of its own.
var elsewhere = map[string]bool{"admissionregistration.k8s.io": true}

// Every sample is applied as kubectl apply --server-side would, or created where its name is generated.
func TestSamplesAreAccepted(t *testing.T) {
	root := filepath.Join("..", "..", "config", "samples")
	kinds := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range documents(t, data) {
				kinds[object.GetKind()]++
				if group := object.GroupVersionKind().Group; !foreign[group] && !elsewhere[group] {
					apply(t, object)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if kinds["EvalSuite"] == 0 || kinds["EvalRun"] == 0 {
		t.Errorf("the samples hold %d EvalSuites and %d EvalRuns, want some of each", kinds["EvalSuite"], kinds["EvalRun"])
	}
}

func apply(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	namespaced, err := cluster.IsObjectNamespaced(object)
	if err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if namespaced {
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		ensureNamespace(t, object.GetNamespace())
	}
	if object.GetName() == "" && object.GetGenerateName() != "" {
		if err := create(t, object); err != nil {
			t.Errorf("creating %s %s: %v", object.GetKind(), object.GetGenerateName(), err)
		}
		return
	}
	configuration := client.ApplyConfigurationFromUnstructured(object)
	if err := cluster.Apply(t.Context(), configuration, client.FieldOwner("samples"), client.ForceOwnership); err != nil {
		t.Errorf("applying %s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

func ensureNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := cluster.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("creating namespace %s: %v", name, err)
	}
}
