package supportbundle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func suiteOf(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: map[string]any{"spec": read(t, spec)}}
}

func TestReferences(t *testing.T) {
	refs, selectors := referencesOf(suiteOf(t, `
goldenSet:
  configMapRef: {name: golden, key: a.yaml}
  configMapSelector: {matchLabels: {golden: docs-bot}}
retriever:
  headers: [{name: A, value: b}, {name: X, valueFrom: {secretKeyRef: {name: s1, key: k}}}]
  auth: {oauth2: {tokenURL: x, clientIDSecretRef: {name: s2, key: id}, clientSecretSecretRef: {name: s2, key: secret}}}
  tls: {caBundleRef: {name: ca}, clientCertSecretRef: {name: mtls}}
  embedding: {auth: {bearerTokenSecretRef: {name: s3, key: token}}}
answer:
  auth: {basicAuth: {usernameSecretRef: {name: s4, key: user}, passwordSecretRef: {name: s4, key: password}}}
  tls: {caBundleRef: {kind: Secret, name: ca2, key: root.pem}}
judge:
  apiKeySecretRef: {name: s5, key: key}
  promptRef: {name: prompt, key: text}
  calibration: {configMapRef: {name: labels}}
`))
	var got []string
	for _, r := range refs {
		got = append(got, fmt.Sprintf("%s %s %v %s", r.kind, r.name, r.keys, r.field))
	}
	slices.Sort(got)
	want := []string{
		"ConfigMap ca [ca.crt] spec.retriever.tls.caBundleRef",
		"ConfigMap golden [a.yaml] spec.goldenSet.configMapRef",
		"ConfigMap labels [] spec.judge.calibration.configMapRef",
		"ConfigMap prompt [text] spec.judge.promptRef",
		"Secret ca2 [root.pem] spec.answer.tls.caBundleRef",
		"Secret mtls [tls.crt tls.key] spec.retriever.tls.clientCertSecretRef",
		"Secret s1 [k] spec.retriever.headers[1].valueFrom.secretKeyRef",
		"Secret s2 [id] spec.retriever.auth.oauth2.clientIDSecretRef",
		"Secret s2 [secret] spec.retriever.auth.oauth2.clientSecretSecretRef",
		"Secret s3 [token] spec.retriever.embedding.auth.bearerTokenSecretRef",
		"Secret s4 [password] spec.answer.auth.basicAuth.passwordSecretRef",
		"Secret s4 [user] spec.answer.auth.basicAuth.usernameSecretRef",
		"Secret s5 [key] spec.judge.apiKeySecretRef",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(selectors) != 1 || selectors[0].MatchLabels["golden"] != "docs-bot" {
		t.Errorf("selectors are %v", selectors)
	}
}

// Every field of the API that names an object is known by its name.
func TestEveryReferenceIsKnown(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(of.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[of] || !strings.Contains(of.PkgPath(), "assay") {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			field := of.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if strings.HasSuffix(name, "Ref") {
				refs, _ := referencesOf(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{name: map[string]any{"name": "x"}}}})
				if len(refs) != 1 {
					t.Errorf("%s.%s names an object, and is not looked at", of.Name(), name)
				}
			}
			walk(field.Type)
		}
	}
	walk(reflect.TypeFor[v1alpha1.EvalSuiteSpec]())
	if len(seen) < 20 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

// A suite of another release, or one that makes no sense, breaks nothing.
func TestReferencesOfGarbage(t *testing.T) {
	for _, spec := range []string{
		`{}`, `{configMapRef: x}`, `{configMapRef: [1, {name: 2}]}`, `{a: {secretKeyRef: {name: 1, key: {}}}}`, `{configMapSelector: {matchLabels: [x]}}`, `{caBundleRef: {kind: 3}}`,
	} {
		referencesOf(suiteOf(t, spec))
	}
	referencesOf(&unstructured.Unstructured{Object: map[string]any{"spec": "text"}})
}
