package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/manifest"
)

// base is the least that a suite needs.
const base = `
goldenSet: {configMapRef: {name: golden}}
retriever: {url: "http://bot.rag.svc:8080/search"}
`

// suiteOf gives the suite of a spec as the operator gets it: with the CRD's
// defaults in, and allowed by its rules. The patches are merged into base;
// what is null in one is removed.
func suiteOf(t testing.TB, patches ...string) *v1alpha1.EvalSuite {
	t.Helper()
	spec := map[string]any{}
	for _, patch := range append([]string{base}, patches...) {
		m := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(patch), &m); err != nil {
			t.Fatalf("%v in\n%s", err, patch)
		}
		merge(spec, m)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "assay.dev/v1alpha1", "kind": "EvalSuite",
		"metadata": map[string]any{"name": "docs-bot", "namespace": "rag"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := manifest.Load([]string{"-"}, strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	s, err := manifests.Suite("")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		before, old := into[key].(map[string]any)
		after, now := value.(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case old && now:
			merge(before, after)
		default:
			into[key] = value
		}
	}
}

// objects is a namespace. What broken names cannot be read, however often it
// is tried.
type objects struct {
	configMaps []*corev1.ConfigMap
	secrets    []*corev1.Secret
	broken     string
	reads      []string
}

var errBroken = errors.New("etcd is away")

func (o *objects) ConfigMap(_ context.Context, name string) (*corev1.ConfigMap, error) {
	return find(o, "configmaps", name, o.configMaps, func(cm *corev1.ConfigMap) string { return cm.Name })
}

func (o *objects) Secret(_ context.Context, name string) (*corev1.Secret, error) {
	return find(o, "secrets", name, o.secrets, func(s *corev1.Secret) string { return s.Name })
}

func find[T any](o *objects, resource, name string, list []*T, nameOf func(*T) string) (*T, error) {
	o.reads = append(o.reads, name)
	if name == o.broken {
		return nil, errBroken
	}
	i := slices.IndexFunc(list, func(e *T) bool { return nameOf(e) == name })
	if i < 0 {
		return nil, apierrors.NewNotFound(corev1.Resource(resource), name)
	}
	return list[i], nil
}

func (o *objects) ConfigMaps(_ context.Context, selector labels.Selector) ([]corev1.ConfigMap, error) {
	if o.broken != "" {
		return nil, errBroken
	}
	var found []corev1.ConfigMap
	for _, cm := range o.configMaps {
		if selector.Matches(labels.Set(cm.Labels)) {
			found = append(found, *cm)
		}
	}
	slices.SortFunc(found, func(a, b corev1.ConfigMap) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// golden3 has three cases: two with a tag each, one without.
var golden3 = configMap("golden", map[string]string{"golden.yaml": `
- {id: q1, question: one, relevant: a, tags: howto}
- {id: q2, question: two, relevant: b, tags: [한국어, billing]}
- {id: q3, question: three, relevant: c}
`})

// want is what an error must be.
type want struct {
	reason    string
	transient bool
	// says stand in the message, in this order.
	says []string
}

func (w want) check(t *testing.T, err error) {
	t.Helper()
	e, ok := AsError(err)
	if !ok {
		t.Fatalf("got %v, want an *Error with reason %s", err, w.reason)
	}
	if e.Reason != w.reason || e.Transient != w.transient {
		t.Errorf("reason is %s, transient %t, want %s, %t: %s", e.Reason, e.Transient, w.reason, w.transient, e.Message)
	}
	rest := err.Error()
	for _, text := range w.says {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("it says %q, want in it, in this order, %s", err, strings.Join(quoteAll(w.says), ", "))
		}
		rest = after
	}
}

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = fmt.Sprintf("%q", text)
	}
	return quoted
}

func rawJSON(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
