package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Manifests that are valid with nothing to spare: a row of a table changes one thing.
const (
	minimalSuite = `
apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {namespace: default}
spec:
  goldenSet: {configMapRef: {name: golden}}
  retriever: {url: "http://retriever.rag.svc:8080/search"}
`
	minimalRun = `
apiVersion: assay.dev/v1alpha1
kind: EvalRun
metadata: {namespace: default}
spec: {suiteRef: {name: docs-bot}}
`
)

// changed is base, changed by a patch and named after the test.
func changed(t *testing.T, base, patch string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: decode(t, base)}
	object.SetName(objectName(t))
	if patch != "" {
		object.Object = merged(object.Object, decode(t, patch))
	}
	return object
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.ToJSON([]byte(text))
	if err != nil {
		t.Fatalf("reading the manifest: %v\n%s", err, text)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		t.Fatalf("reading the manifest: %v\n%s", err, text)
	}
	return object.Object
}

// merged is RFC 7386: null removes, objects merge, all else replaces.
func merged(target, patch map[string]any) map[string]any {
	out := maps.Clone(target)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isObject:
			old, _ := out[key].(map[string]any)
			out[key] = merged(old, inner)
		default:
			out[key] = value
		}
	}
	return out
}

// documents splits a file and keeps the Kubernetes objects in it.
func documents(t *testing.T, data []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var content any
		switch err := decoder.Decode(&content); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("reading the file: %v", err)
		}
		fields, _ := content.(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		if object.GetAPIVersion() != "" && object.GetKind() != "" && object.GetKind() != "Kustomization" {
			objects = append(objects, object)
		}
	}
}
