package docpage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		page string
		want []Step
	}{
		"nothing": {"# Title\n\nText with `a command` in it.\n", nil},
		"commands and their output": {
			"```console\n$ kubectl get evs\nNAME   PASSING\nbot    True\n$ true && \\\n    false\n```\n",
			[]Step{
				{Line: 2, Command: "kubectl get evs", Output: []string{"NAME   PASSING", "bot    True"}},
				{Line: 5, Command: "true && \\\n    false"},
			},
		},
		"a here-document": {
			"```console\n$ kubectl apply -f - <<'EOF'\nkind: A\nEOF\napplied\n```\n",
			[]Step{{Line: 2, Command: "kubectl apply -f - <<'EOF'\nkind: A\nEOF", Output: []string{"applied"}}},
		},
		"in a list": {
			"- first\n\n  <!-- test: skip a list item -->\n  ```console\n  $ a\n  ```\n",
			[]Step{{Line: 5, Command: "a", Skip: "a list item"}},
		},
		"a file, then a command": {
			"<!-- test: file suite.yaml -->\n```yaml\nkind: EvalSuite\n```\n\n```console\n$ use suite.yaml\n```\n",
			[]Step{{Line: 3, File: "suite.yaml", Text: "kind: EvalSuite\n"}, {Line: 7, Command: "use suite.yaml"}},
		},
		"manifests, and yaml that is none": {
			"```yaml\napiVersion: v1\nkind: ConfigMap\n```\n```yaml\nscoring: {unit: Chunk}\n```\n",
			[]Step{{Line: 2, Manifest: "apiVersion: v1\nkind: ConfigMap\n"}},
		},
		"directives": {
			"<!-- test: before RUN=$(last-run) -->\n\n<!-- test: fails -->\n```console\n$ a\n$ b\nno\n```\n<!-- test: until Forwarding from -->\n```console\n$ serve\n```\n<!-- test: skip needs an account -->\n```console\n$ c\n```\n",
			[]Step{
				{Line: 1, Command: "RUN=$(last-run)"},
				{Line: 5, Command: "a"},
				{Line: 6, Command: "b", Output: []string{"no"}, Fails: true},
				{Line: 11, Command: "serve", Until: "Forwarding from"},
				{Line: 15, Command: "c", Skip: "needs an account"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tt.page)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ page, want string }{
		"an unknown directive":      {"<!-- test: maybe -->\n```console\n$ a\n```\n", `line 1: there is no directive "maybe"`},
		"a directive over lines":    {"<!-- test: skip\nit -->\n", "line 1: "},
		"a directive for no block":  {"<!-- test: fails -->\n\ntext\n", "line 1: no block follows"},
		"a directive at the end":    {"<!-- test: fails -->\n", "line 1: no block follows"},
		"a reason that is none":     {"<!-- test: skip no -->\n```console\n$ a\n```\n", "say why"},
		"a file elsewhere":          {"<!-- test: file ../a -->\n```yaml\na\n```\n", "is no file name"},
		"output before any command": {"```console\noutput\n```\n", "line 2: a console block begins"},
		"a block without an end":    {"```console\n$ a\n", "line 1: the block has no end"},
		"a manifest that fails":     {"<!-- test: fails -->\n```yaml\na: b\n```\n", "only a console block"},
		"until nothing":             {"<!-- test: until -->\n```console\n$ a\n```\n", "until what"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(tt.page); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse = %v, want an error with %q", err, tt.want)
			}
		})
	}
}
