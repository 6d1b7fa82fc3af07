package chart_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The CRDs are those of config/crd to the last digit, and stay when the release goes.
func TestCRDs(t *testing.T) {
	for _, name := range []string{"evalsuites", "evalruns"} {
		data, err := os.ReadFile("../../config/crd/bases/assay.dev_" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		want := decode(t, string(data))[0]
		got := render(t, "").get(t, "CustomResourceDefinition /"+name+".assay.dev")
		if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("%s (-config +chart):\n%s", name, diff)
		}
		if policy := got.GetAnnotations()["helm.sh/resource-policy"]; policy != "keep" {
			t.Errorf("%s: helm.sh/resource-policy is %q: helm uninstall would delete every suite and run", name, policy)
		}
		if version, _, _ := unstructured.NestedString(want.Object, "metadata", "annotations", "controller-gen.kubebuilder.io/version"); got.GetAnnotations()["controller-gen.kubebuilder.io/version"] != version {
			t.Errorf("%s lost its annotations: %v", name, got.GetAnnotations())
		}
	}
}
