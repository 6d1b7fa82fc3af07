package secrets

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/cli"
)

// assay gives all that a command prints.
func assay(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := cli.NewRootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String()
}

// The same suites without a cluster, from manifests on disk, in every format.
func TestNoSecretShowsOnTheCommandLine(t *testing.T) {
	b := newBench(t, "rag")
	folder := t.TempDir()
	golden := write(t, folder, "golden.yaml", &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "rag", Name: "golden"}, Data: map[string]string{"golden.yaml": goldenSet},
	})
	var printed strings.Builder
	formats := []string{"table", "json", "junit", "markdown"}
	for i, s := range b.suites {
		files := []string{"-f", write(t, folder, s.Name+".yaml", s), "-f", golden}
		if n := slices.IndexFunc(b.secrets, func(secret *corev1.Secret) bool { return secret.Name == s.Name }); n >= 0 {
			files = append(files, "-f", write(t, folder, s.Name+"-secret.yaml", b.secrets[n]))
		}
		how := formats[i%4 : i%4+1]
		if strings.HasSuffix(s.Name, "-content") || s.Name == "chain" {
			how = formats
		}
		for _, format := range how {
			text := assay(t, append([]string{"run", "-o", format}, files...)...)
			if text == "" {
				t.Errorf("assay run of %s printed nothing", s.Name)
			}
			printed.WriteString(text)
		}
		if s.Name == "retriever-fine" || s.Name == "retriever-denied" {
			printed.WriteString(assay(t, append([]string{"run", "--plan", "-o", "json"}, files...)...))
			printed.WriteString(assay(t, append([]string{"golden", "check", "--retriever"}, files...)...))
		}
	}
	b.vault.requireSent(t)
	b.vault.search().in(t, "assay run", printed.String())
}

// What is wrong with a Secret's manifest is said without what is in it.
func TestManifestsThatAreWrong(t *testing.T) {
	v := &vault{}
	folder := t.TempDir()
	suite := write(t, folder, "suite.yaml", (&bench{t: t, vault: v, namespace: "rag", urls: map[string]string{}}).suiteWithToken())
	for name, manifest := range map[string]string{
		"not base64":           "data: {token: %q}",
		"a number":             "stringData: {token: %s}\ndata: {token: 12}",
		"a list":               "stringData: {token: [%q]}",
		"a map":                "stringData: {token: {%q: 1}}",
		"no map":               "stringData: %q",
		"an unknown field":     "stringDate: {token: %q}",
		"in the wrong place":   "metadata: {name: bot, namespace: rag, labels: %q}",
		"the key twice":        "stringData: {token: %q, token: x}",
		"broken YAML":          "stringData: {token: %q",
		"broken later":         "stringData:\n  token: %q\n bad",
		"another key":          "stringData: {other: %q}",
		"more than one line":   "stringData: {token: %q}\n---\nkind: [",
		"as the type":          "type: {%q: 1}",
		"as the name of a key": "stringData: {%q: a}",
	} {
		t.Run(name, func(t *testing.T) {
			s := v.word(name)
			text := "apiVersion: v1\nkind: Secret\nmetadata: {name: bot, namespace: rag}\n" + fmt.Sprintf(manifest, s.value) + "\n"
			path := filepath.Join(folder, "secret.yaml")
			must(t, os.WriteFile(path, []byte(text), 0o600))
			printed := assay(t, "run", "-f", suite, "-f", path)
			if !strings.Contains(printed, "error") {
				t.Errorf("it was taken:\n%s", printed)
			}
			v.search().in(t, "assay run", printed)
		})
	}
}

// suiteWithToken is a suite that needs the key token of the Secret bot.
func (b *bench) suiteWithToken() *v1alpha1.EvalSuite {
	s := b.newSuite("docs-bot")
	s.Spec.Retriever.URL = "http://127.0.0.1:1/search"
	s.Spec.Retriever.Auth = &v1alpha1.Auth{BearerTokenSecretRef: &v1alpha1.SecretKeySelector{Name: "bot", Key: "token"}}
	return s
}

// write gives the path of a manifest.
func write(t *testing.T, folder, name string, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	must(t, err)
	path := filepath.Join(folder, name)
	must(t, os.WriteFile(path, text, 0o600))
	return path
}
