package chart_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Names of digits alone are names all the same. YAML reads them as numbers where
// they are not quoted, and the API server takes none as a label or a namespace.
func TestNamesOfDigits(t *testing.T) {
	const values = "{namespaces: ['123', '456'], nameOverride: '1234', replicas: 2, history: {type: None}, networkPolicy: {enabled: true, egress: {enabled: true}}, " +
		"metrics: {serviceMonitor: {enabled: true}, rules: {enabled: true}, dashboard: {enabled: true, namespace: '789'}}}"
	out, err := helm(t, values, "template", "12345", chart, "--namespace", "678", "--values", "-")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range decode(t, out) {
		for _, path := range [][]string{{"metadata", "labels"}, {"spec", "selector"}, {"spec", "selector", "matchLabels"}, {"spec", "podSelector", "matchLabels"}, {"spec", "template", "metadata", "labels"}} {
			fields, _, _ := unstructured.NestedMap(object.Object, path...)
			for name, value := range fields {
				if _, text := value.(string); !text && name != "matchLabels" {
					t.Errorf("%s: %v: %s is %v, a %T", id(object), path, name, value, value)
				}
			}
		}
		if namespace, found, err := unstructured.NestedString(object.Object, "metadata", "namespace"); err != nil || found && namespace == "" {
			t.Errorf("%s: its namespace is no text: %v", id(object), err)
		}
	}
}
