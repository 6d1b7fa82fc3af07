package chart_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// helm runs Helm with none of the user's own settings, and gives what it prints.
func helm(t *testing.T, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Getenv("HELM_BIN"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "HELM_PLUGINS="+home, "KUBECONFIG="+filepath.Join(home, "none"))
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

// template gives what the chart makes of values, or Helm's error.
func template(t *testing.T, values string, args ...string) (objects, error) {
	t.Helper()
	args = append([]string{"template", release, chart, "--namespace", system, "--values", "-"}, args...)
	once := sync.OnceValues(func() (string, error) { return helm(t, values, args...) })
	known, _ := rendered.LoadOrStore(values+"\x00"+strings.Join(args, "\x00"), once)
	out, err := known.(func() (string, error))()
	if err != nil {
		return nil, err
	}
	return decode(t, out), nil
}

// rendered is what Helm made of values already: every test that goes through the
// rows reads the same.
var rendered sync.Map

// render is template for values that must be accepted.
func render(t *testing.T, values string, args ...string) objects {
	t.Helper()
	all, err := template(t, values, args...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// objects are what an install applies.
type objects []*unstructured.Unstructured

func decode(t *testing.T, text string) objects {
	t.Helper()
	var all objects
	reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := reader.Decode(object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("reading what was rendered: %v\n%s", err, text)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// id names an object.
func id(object *unstructured.Unstructured) string {
	return strings.TrimPrefix(object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName(), " ")
}

// ids are the names of all of them.
func (all objects) ids() []string {
	var names []string
	for _, object := range all {
		names = append(names, id(object))
	}
	return names
}

// find gives the object with an id, or nil.
func (all objects) find(name string) *unstructured.Unstructured {
	for _, object := range all {
		if id(object) == name {
			return object
		}
	}
	return nil
}

// get gives the object with an id.
func (all objects) get(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	object := all.find(name)
	if object == nil {
		t.Fatalf("there is no %s among:\n%s", name, strings.Join(all.ids(), "\n"))
	}
	return object
}

// isHook tells the objects of helm test from those of the install.
func isHook(object *unstructured.Unstructured) bool {
	return object.GetAnnotations()["helm.sh/hook"] != ""
}

// into reads an object as its type, in which no field may be unknown.
func into[T any](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
		t.Fatalf("%s: %v", id(object), err)
	}
	return typed
}

const managerID = "Deployment assay-system/assay-controller-manager"

// pods are the templates of every pod of the chart, helm test's among them.
func (all objects) pods(t *testing.T) map[string]corev1.Pod {
	t.Helper()
	pods := map[string]corev1.Pod{}
	for _, object := range all {
		switch object.GetKind() {
		case "Pod":
			pods[id(object)] = into[corev1.Pod](t, object)
		case "Deployment":
			template, _, err := unstructured.NestedMap(object.Object, "spec", "template")
			if err != nil {
				t.Fatal(err)
			}
			pod := &unstructured.Unstructured{Object: template}
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			pod.SetName(object.GetName())
			pod.SetNamespace(object.GetNamespace())
			pods[id(object)] = into[corev1.Pod](t, pod)
		}
	}
	return pods
}
