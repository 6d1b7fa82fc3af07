package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
)

const minimal = `apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {name: docs-bot, namespace: rag}
spec:
  goldenSet: {configMapRef: {name: golden}}
  retriever: {url: "http://docs-bot:8080/search"}
`

// load reads one manifest from standard input.
func load(t *testing.T, text string) (*Manifests, error) {
	t.Helper()
	return Load([]string{"-"}, strings.NewReader(text))
}

func mustLoad(t *testing.T, text string) *Manifests {
	t.Helper()
	m, err := load(t, text)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return m
}

// write puts files into a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadAppliesTheDefaultsOfTheCRD(t *testing.T) {
	spec := mustLoad(t, minimal).Suites[0].Spec
	want := v1alpha1.EvalSuiteSpec{
		GoldenSet: v1alpha1.GoldenSet{ConfigMapRef: &v1alpha1.GoldenConfigMapReference{Name: "golden"}},
		Retriever: v1alpha1.Retriever{
			URL: "http://docs-bot:8080/search", Preset: v1alpha1.PresetAssay, Method: "POST", TopK: 10, TimeoutSeconds: 10,
			MaxRetries: ptr.To[int32](2), WarmupRequests: ptr.To[int32](0),
		},
		Scoring:           v1alpha1.Scoring{Unit: v1alpha1.UnitChunk, BLEUTokenizer: v1alpha1.BLEUWhitespace, MinCoverage: "0.95"},
		Baseline:          v1alpha1.Baseline{Policy: v1alpha1.BaselineLastPassed, OnNotComparable: v1alpha1.NotComparableIgnore},
		JitterSeconds:     ptr.To[int32](0),
		Suspend:           ptr.To(false),
		ConcurrencyPolicy: v1alpha1.ForbidConcurrent,
		OnGoldenSetChange: ptr.To(true),
		Execution:         v1alpha1.Execution{Parallelism: 8, TimeoutSeconds: 1800},
		Gate:              v1alpha1.Gate{MaxAgeSeconds: 86400},
		History:           v1alpha1.History{PassedRuns: ptr.To[int32](5), FailedRuns: ptr.To[int32](10), StoreContent: ptr.To(true)},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestLoadTakesTopKAlone(t *testing.T) {
	spec := mustLoad(t, strings.Replace(minimal, "/search\"", "/search\", topK: 5", 1)).Suites[0].Spec
	if spec.Retriever.TopK != 5 || spec.Scoring.K != nil {
		t.Errorf("topK %d, k %v; want 5 and none", spec.Retriever.TopK, spec.Scoring.K)
	}
}

func TestLoadDropsStatus(t *testing.T) {
	status := mustLoad(t, minimal+"status: {hitRate: \"0.9\", observedGeneration: 3}\n").Suites[0].Status
	if diff := cmp.Diff(v1alpha1.EvalSuiteStatus{ObservedGeneration: ptr.To[int64](-1)}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestLoadReadsEveryForm(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: golden}\ndata: {a.yaml: text}\n"
	asJSON := `{"apiVersion": "v1", "kind": "ConfigMap",` + "\n\t" + `"metadata": {"name": "golden"}, "data": {"a.yaml": "text"}}`
	for name, text := range map[string]string{
		"YAML":                    configMap,
		"byte-order mark":         "\uFEFF" + configMap,
		"CRLF":                    strings.ReplaceAll("---\n"+configMap, "\n", "\r\n"),
		"empty documents":         "# note\n---\n---\n" + configMap + "...\n---\n# end\n",
		"document behind marker":  "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: golden}, data: {a.yaml: text}}\n",
		"YAML directive":          "%YAML 1.1\n---\n" + configMap,
		"JSON":                    asJSON,
		"JSON with mark":          "\uFEFF" + asJSON,
		"List":                    "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: golden}, data: {a.yaml: text}}\n",
		"ConfigMapList":           "apiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: golden}, data: {a.yaml: text}}\n",
		"flow YAML, no JSON":      "{apiVersion: v1, kind: ConfigMap, metadata: {name: golden}, data: {a.yaml: text}}",
		"marker in a block value": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: golden}\ndata:\n  a.yaml: text\n  other: |\n    ---\n    x\n",
	} {
		t.Run(name, func(t *testing.T) {
			cm, err := mustLoad(t, text).Source("rag").ConfigMap(t.Context(), "golden")
			if err != nil {
				t.Fatal(err)
			}
			if cm.Data["a.yaml"] != "text" {
				t.Errorf("data = %v", cm.Data)
			}
		})
	}
}

func TestLoadReadsSeveralJSONDocuments(t *testing.T) {
	m := mustLoad(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`+"\n"+`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}`)
	if len(m.configMaps) != 1 || len(m.secrets) != 1 {
		t.Errorf("%d ConfigMaps and %d Secrets, want one of each", len(m.configMaps), len(m.secrets))
	}
}

func TestLoadReadsFolders(t *testing.T) {
	dir := write(t, map[string]string{
		"2-suite.yaml":  minimal,
		"1-golden.yml":  "- question: what\n  relevant: doc\n",
		"3-values.yaml": "replicas: 3\n",
		"4-deploy.json": `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "bot"}}`,
		"README.md":     "no manifest",
	})
	m, err := Load([]string{dir, filepath.Join(dir, "2-suite.yaml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Suites) != 1 {
		t.Errorf("%d suites, want the one, read once", len(m.Suites))
	}
	want := []string{
		"1-golden.yml:1: the document is no Kubernetes manifest (no apiVersion and kind) and is left out",
		"3-values.yaml:1: the document is no Kubernetes manifest (no apiVersion and kind) and is left out",
		"4-deploy.json:1: Deployment bot is left out: a run with no cluster reads EvalSuite, ConfigMap and Secret only",
	}
	if diff := cmp.Diff(want, relative(dir, m.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func relative(dir string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.ReplaceAll(line, dir+string(filepath.Separator), "")
	}
	return out
}

func TestLoadWarnsOfWhatNoClusterTakes(t *testing.T) {
	m := mustLoad(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: golden}\ndata: {a.yaml: "+strings.Repeat("x", 1<<20)+"}\n")
	want := []string{"standard input:1: ConfigMap golden holds more than 1 MiB, which no cluster takes: " +
		"spread it over several ConfigMaps and use goldenSet.configMapSelector"}
	if diff := cmp.Diff(want, m.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestSecretsAreAsTheAPIServerWouldStoreThem(t *testing.T) {
	m := mustLoad(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: YQ==, b: b2xk}\nstringData: {b: new}\n")
	secret, err := m.Source("rag").Secret(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"a": []byte("a"), "b": []byte("new")}, secret.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestSourceKeepsToTheNamespace(t *testing.T) {
	m := mustLoad(t, `
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {set: x}}, data: {from: anywhere}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: rag, labels: {set: x}}, data: {from: rag}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {set: x}}, data: {from: anywhere}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {set: z}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: other, labels: {set: x}}}
`)
	names := func(namespace string) []string {
		found, err := m.Source(namespace).ConfigMaps(t.Context(), labels.SelectorFromSet(labels.Set{"set": "x"}))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, cm := range found {
			names = append(names, cm.Namespace+"/"+cm.Name+"="+cm.Data["from"])
		}
		return names
	}
	if diff := cmp.Diff([]string{"rag/a=anywhere", "rag/b=rag"}, names("rag")); diff != "" {
		t.Errorf("in rag (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"other/a=anywhere", "other/b=anywhere", "other/d="}, names("other")); diff != "" {
		t.Errorf("in other (-want +got):\n%s", diff)
	}
}

func TestSourceSaysWhatIsMissing(t *testing.T) {
	m := mustLoad(t, "{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: other}}\n")
	source := m.Source("rag")
	for _, test := range []struct{ name, want string }{
		{"token", `Secret "token" is not in the files: add its manifest with -f`},
		{"key", `Secret "key" stands in the files for namespace other only, and the suite is in namespace rag: change metadata.namespace of one of the two`},
	} {
		_, err := source.Secret(t.Context(), test.name)
		if last := source.Missing()[len(source.Missing())-1]; last != test.want {
			t.Errorf("Missing() ends with %q, want %q", last, test.want)
		}
		if !apierrorsIsNotFound(err) || err.Error() != test.want {
			t.Errorf("Secret(%s) = %v, want NotFound with %q", test.name, err, test.want)
		}
	}
}

func TestSuiteIsPickedByName(t *testing.T) {
	suite := func(namespace, name string) string {
		return strings.Replace(minimal, "{name: docs-bot, namespace: rag}", "{name: "+name+", namespace: "+namespace+"}", 1) + "---\n"
	}
	one := mustLoad(t, suite("rag", "a"))
	three := mustLoad(t, suite("rag", "a")+suite("rag", "b")+suite("dev", "b"))
	for _, test := range []struct {
		manifests  *Manifests
		name, want string
	}{
		{one, "", "rag/a"},
		{one, "a", "rag/a"},
		{three, "a", "rag/a"},
		{three, "dev/b", "dev/b"},
		{one, "x", `no EvalSuite "x" in the files, which hold rag/a`},
		{three, "", "3 EvalSuites in the files: pick one with --suite (dev/b, rag/a, rag/b)"},
		{three, "b", `2 EvalSuites are named "b": give --suite as namespace/name (dev/b, rag/a, rag/b)`},
		{mustLoad(t, ""), "", "no EvalSuite in the files: give the suite's manifest with -f"},
	} {
		got := ""
		if found, err := test.manifests.Suite(test.name); err != nil {
			got = err.Error()
		} else {
			got = found.Namespace + "/" + found.Name
		}
		if got != test.want {
			t.Errorf("Suite(%q) = %s, want %s", test.name, got, test.want)
		}
	}
}

func TestSuiteWithoutNamespaceIsInDefault(t *testing.T) {
	m := mustLoad(t, strings.Replace(minimal, ", namespace: rag", "", 1))
	if got := m.Suites[0].Namespace; got != DefaultNamespace {
		t.Errorf("namespace = %q, want %q", got, DefaultNamespace)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(minimal)
	f.Add("---\nkind: List\napiVersion: v1\nitems: [{}, 5]\n")
	f.Add(`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"x": 1}}`)
	f.Add("a: &a [*a]\n--- b\n...\n%TAG")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Load([]string{"-"}, strings.NewReader(text))
		if err == nil {
			for _, suite := range m.Suites {
				if suite.Name == "" || suite.Namespace == "" || suite.Spec.Retriever.TopK == 0 {
					t.Errorf("a suite without name, namespace or topK was taken: %+v", suite)
				}
			}
		} else if err.Error() == "" {
			t.Error("an error without a message")
		}
	})
}

// TestSamplesAreValid holds the suites that users copy to the rules that their
// cluster will apply.
func TestSamplesAreValid(t *testing.T) {
	const samples = "../../config/samples"
	files, err := filepath.Glob(filepath.Join(samples, "evalsuite_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples in %s: %v", samples, err)
	}
	for _, file := range append(files, filepath.Join(samples, "quickstart")) {
		m, err := Load([]string{file}, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := m.Suite(""); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
