package manifest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func apierrorsIsNotFound(err error) bool { return apierrors.IsNotFound(err) }

// spec puts lines into a suite; they begin at line 5.
func spec(lines ...string) string {
	return "apiVersion: assay.dev/v1alpha1\nkind: EvalSuite\nmetadata: {name: bot}\nspec:\n  " + strings.Join(lines, "\n  ") + "\n"
}

const (
	goldenLine    = "goldenSet: {configMapRef: {name: g}}"
	retrieverLine = "retriever: {url: \"http://bot\"}"
)

func TestLoadSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"no YAML", "---\na: 1\n---\nb: c: d\n", []string{
			"standard input:2: no Kubernetes manifest: apiVersion and kind are missing; a golden set as it stands is given with --golden",
			"standard input:4: not YAML: mapping values are not allowed in this context",
		}},
		{"a golden set", "- question: what\n", []string{
			"standard input:1: no Kubernetes manifest: a manifest is a map with apiVersion and kind; a golden set as it stands is given with --golden",
		}},
		{"a key twice", "apiVersion: v1\nkind: ConfigMap\nkind: Secret\n", []string{
			`standard input:3: not YAML: key "kind" already set in map`,
		}},
		{"a JSON key twice", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "name": "b"}}`, []string{
			`standard input:1: ConfigMap b: duplicate field "metadata.name"`,
		}},
		{"aliases that blow up", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", []string{
			"standard input:1: not YAML: document contains excessive aliasing",
		}},
		{"Latin-1", "kind: \xe9\n", []string{"standard input: the file is not UTF-8: save it as UTF-8"}},
		{"UTF-16", "\xff\xfek\x00", []string{"standard input: the file is UTF-16: save it as UTF-8"}},
		{"another version", "apiVersion: assay.dev/v1\nkind: EvalSuite\nmetadata: {name: bot}\n", []string{
			"standard input:1: EvalSuite bot: apiVersion: an EvalSuite must have apiVersion assay.dev/v1alpha1, not assay.dev/v1",
		}},
		{"no metadata", "apiVersion: assay.dev/v1alpha1\nkind: EvalSuite\n", []string{
			"standard input:1: EvalSuite: metadata: metadata with a name is missing",
		}},
		{"no name", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: x-\n", []string{
			"standard input:3: ConfigMap: metadata.name: a name is missing",
		}},
		{"a name that is a number", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 007\n", []string{
			`standard input:4: ConfigMap: metadata.name: must be a string, but 007 is a number: put it in quotes, name: "007"`,
		}},
		{"a bad namespace", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: A\n", []string{
			`standard input:5: ConfigMap a: metadata.namespace: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ` +
				`and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		}},
		{"bad labels", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    set: y\n    b: \"a b\"\n  annotations: {note: 1}\n", []string{
			"standard input:5: ConfigMap a: metadata.labels: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " +
				"and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
			`standard input:6: ConfigMap a: metadata.labels[set]: must be a string, but y is a boolean: put it in quotes, "y"`,
			`standard input:8: ConfigMap a: metadata.annotations[note]: must be a string, but 1 is a number: put it in quotes, "1"`,
		}},
		{"an unknown field of metadata", spec(goldenLine, retrieverLine) + "metadata2: {}\n", []string{
			"standard input:7: EvalSuite bot: metadata2: unknown field: did you mean metadata?",
		}},
		{"no spec", "---\napiVersion: assay.dev/v1alpha1\nkind: EvalSuite\nmetadata: {name: bot}\n", []string{
			"standard input:2: EvalSuite bot: spec: is required: add it",
			"standard input:2: EvalSuite bot: the rules between fields were not checked yet: correct the above first",
		}},
		{"min without quotes", spec(goldenLine, retrieverLine, "objectives:", "- metric: hit_rate@5", "  min: 0.90"), []string{
			`standard input:9: EvalSuite bot: spec.objectives[0].min: must be a string, but 0.90 is a number: put it in quotes, min: "0.90"`,
			"standard input:1: EvalSuite bot: the rules between fields were not checked yet: correct the above first",
		}},
		{"a beta without quotes", spec(goldenLine, retrieverLine, "scoring: {betas: [0.5]}"), []string{
			`standard input:7: EvalSuite bot: spec.scoring.betas[0]: must be a string, but 0.5 is a number: put it in quotes, "0.5"`,
			"standard input:1: EvalSuite bot: the rules between fields were not checked yet: correct the above first",
		}},
		{"a boolean of YAML 1.1", spec(goldenLine, retrieverLine, "schedule: on"), []string{
			`standard input:7: EvalSuite bot: spec.schedule: must be a string, but on is a boolean: put it in quotes, schedule: "on"`,
			"standard input:1: EvalSuite bot: the rules between fields were not checked yet: correct the above first",
		}},
		{"a list for a string", spec(goldenLine, retrieverLine, "schedule: [1]"), []string{
			`standard input:7: EvalSuite bot: spec.schedule: must be a string`,
			"standard input:1: EvalSuite bot: the rules between fields were not checked yet: correct the above first",
		}},
		{"quotes around a number", spec(goldenLine, "retriever:", "  url: \"http://bot\"", "  topK: \"5\""), []string{
			`standard input:8: EvalSuite bot: spec.retriever.topK: must be of type integer: remove the quotes around 5`,
			"standard input:1: EvalSuite bot: the rules between fields were not checked yet: correct the above first",
		}},
		{"several at once, in the order of lines", spec(goldenLine, "retriever:", "  url: \"http://bot\"", "  topk: 5", "  preset: Elastic", "answers: {}"), []string{
			"standard input:8: EvalSuite bot: spec.retriever.topk: unknown field: did you mean topK?",
			`standard input:9: EvalSuite bot: spec.retriever.preset: "Elastic" is not supported: use "Assay", "OpenSearch", "Qdrant", "Weaviate", "OpenAIVectorStore"`,
			"standard input:10: EvalSuite bot: spec.answers: unknown field: did you mean answer?",
			"standard input:1: EvalSuite bot: the rules between fields were not checked yet: correct the above first",
		}},
		{"CEL rules", spec(goldenLine, "retriever: {url: \"ftp://bot\", topK: 3}", "objectives:", "- metric: hit_rate@5", "  min: \"0,9\""), []string{
			"standard input:4: EvalSuite bot: spec: the k of an objective's metric must be at most retriever.topK: results beyond topK are never seen; raise retriever.topK or lower the k",
			"standard input:6: EvalSuite bot: spec.retriever.url: url must be a whole http:// or https:// URL without user and password (use auth for those), " +
				"for example http://docs-bot.rag.svc:8080/search",
			`standard input:9: EvalSuite bot: spec.objectives[0].min: min must be a decimal string, for example "0.90"`,
		}},
		{"an objective twice", spec(goldenLine, retrieverLine, "objectives:", "- {metric: mrr, min: \"0.5\"}", "- {metric: mrr, max: \"0.9\"}"), []string{
			"standard input:9: EvalSuite bot: spec.objectives[1]: the same entry stands twice: remove one of the two",
		}},
		{"bounds", spec(goldenLine, "retriever: {url: \"http://bot\", maxRetries: 50}"), []string{
			"standard input:6: EvalSuite bot: spec.retriever.maxRetries: should be less than or equal to 10",
		}},
		{"ConfigMap data", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g}\ndata:\n  a: 5\n  b: x\nbinaryData:\n  b: eA==\n  c: no!\ndatas: {}\n", []string{
			`standard input:5: ConfigMap g: data[a]: must be a string: put the value in quotes, or write it as a block behind "a: |"`,
			"standard input:8: ConfigMap g: binaryData[b]: the same key stands in data: remove one of the two",
			"standard input:9: ConfigMap g: binaryData[c]: is not base64: write plain text under data",
		}},
		{"unknown field of a ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: g}\ndatas: {}\n", []string{
			"standard input:4: ConfigMap g: datas: unknown field",
		}},
		{"Secret data", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  token: hunter2!\nstringData: [hunter2]\n", []string{
			"standard input:5: Secret s: data[token]: is not base64: write plain text under stringData",
			"standard input:6: Secret s: stringData: must be a map of keys to strings",
		}},
		{"the same twice", minimal + "---\n" + minimal, []string{
			"standard input:10: EvalSuite docs-bot: metadata.name: the same EvalSuite stands at standard input:1 already: remove one of the two",
		}},
		{"an item of a List", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: g}\n  data: {a: 1}\n- 5\n", []string{
			`standard input:7: ConfigMap g: data[a]: must be a string: put the value in quotes, or write it as a block behind "a: |"`,
			"standard input:8: no Kubernetes manifest: apiVersion and kind are missing; a golden set as it stands is given with --golden",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.text)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadSaysWhichFileIsWrong(t *testing.T) {
	dir := write(t, map[string]string{"broken.json": "{\"a\": 1,\n]", "cut.json": "{\"a\": 1,\n"})
	empty := t.TempDir()
	_, err := Load([]string{
		filepath.Join(dir, "missing.yaml"), "https://example.com/suite.yaml", empty, filepath.Join(dir, "broken.json"), filepath.Join(dir, "cut.json"),
	}, nil)
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"missing.yaml: no such file or directory",
		"https://example.com/suite.yaml: manifests are not read from URLs: download the file first",
		empty + ": the folder holds no .yaml, .yml or .json file",
		"broken.json:2: not JSON: invalid character ']' looking for beginning of object key string",
		"cut.json:1: not JSON: unexpected EOF",
	}
	if diff := cmp.Diff(want, relative(dir, strings.Split(err.Error(), "\n"))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"preset", "requestsPerSecond", "topK", "url"}
	for written, want := range map[string]string{"TOPK": "topK", "top_k": "topK", "presets": "preset", "requestPerSecond": "requestsPerSecond", "uri": "url", "answer": ""} {
		if got := nearest(written, known); got != want {
			t.Errorf("nearest(%s) = %q, want %q", written, got, want)
		}
	}
}

func TestSplitPath(t *testing.T) {
	for path, want := range map[string][]string{
		"spec.objectives[0].min":      {"spec", "objectives", "0", "min"},
		"data[golden.yaml]":           {"data", "golden.yaml"},
		"metadata.labels[a.dev/b].c[": {"metadata", "labels", "a.dev/b", "c", ""},
		"":                            nil,
		"items[0][1]":                 {"items", "0", "1"},
	} {
		if diff := cmp.Diff(want, splitPath(path)); diff != "" {
			t.Errorf("splitPath(%q) (-want +got):\n%s", path, diff)
		}
	}
}
