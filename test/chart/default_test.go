package chart_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestLint has Helm look at the chart with every file of values that it comes with.
func TestLint(t *testing.T) {
	files, err := filepath.Glob(chart + "/values*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("values files: %v, %v", files, err)
	}
	for _, file := range files {
		if _, err := helm(t, "", "lint", "--strict", "--values", file, chart); err != nil {
			t.Error(err)
		}
	}
}

// kustomize gives the objects of a kustomization of config/.
func kustomize(t *testing.T, name string) objects {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), "kustomize", "../../config/"+name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, string(out))
}

// byID takes away what only Helm writes.
func byID(all objects) map[string]map[string]any {
	named := map[string]map[string]any{}
	for _, object := range all {
		if isHook(object) {
			continue
		}
		for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"} {
			unstructured.RemoveNestedField(object.Object, "metadata", "labels", label)
		}
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
		if len(object.GetAnnotations()) == 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
		}
		named[id(object)] = object.Object
	}
	return named
}

// Whoever installs with kustomize gets what the chart installs by default, and
// the namespace, which Helm makes by itself (--create-namespace).
func TestKustomizeRendersTheSame(t *testing.T) {
	want, got := byID(render(t, "")), byID(kustomize(t, "default"))
	const namespace = "Namespace /assay-system"
	if got[namespace] == nil {
		t.Error("config/default makes no namespace")
	}
	delete(got, namespace)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("config/default is not what the chart renders (-chart +config):\n%s", diff)
	}
}

// The names are those that documentation, dashboards and scripts go by.
func TestNames(t *testing.T) {
	all := render(t, "{replicas: 2, history: {type: None}, networkPolicy: {enabled: true}, metrics: {rules: {enabled: true}, dashboard: {enabled: true}}}")
	all = append(all, render(t, "", "--show-only", "templates/pvc.yaml")...)
	for _, want := range []string{
		managerID,
		"ServiceAccount assay-system/assay-controller-manager",
		"Service assay-system/assay-controller-manager-metrics",
		"Service assay-system/assay-controller-manager-api",
		"ClusterRole /assay-manager",
		"ClusterRole /assay-metrics-auth",
		"ClusterRole /assay-metrics-reader",
		"ClusterRole /assay-editor",
		"ClusterRole /assay-viewer",
		"Role assay-system/assay-leader-election",
		"PersistentVolumeClaim assay-system/assay-history",
		"PodDisruptionBudget assay-system/assay-controller-manager",
		"NetworkPolicy assay-system/assay-controller-manager",
		"PrometheusRule assay-system/assay",
		"ConfigMap assay-system/assay-dashboard",
	} {
		all.get(t, want)
	}
}

// The chart's CRDs and roles are those of config/: hack/chart-files.sh copies them.
func TestCopiesOfConfig(t *testing.T) {
	for folder, source := range map[string]string{"crds": "../../config/crd/bases/*.yaml", "rbac": "../../config/rbac/*_role.yaml"} {
		want, got := contents(t, source), contents(t, filepath.Join(chart, "files", folder, "*"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("charts/assay/files/%s is not what config/ has: run make generate (-config +chart):\n%s", folder, diff)
		}
	}
}

// contents gives the files of a pattern by their names.
func contents(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(data)
	}
	return all
}
