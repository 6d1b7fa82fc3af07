package goldentool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/report"
)

func TestReadCases(t *testing.T) {
	want := []golden.Case{{ID: "007", Question: "a\nb\n", Answerable: true, Relevant: one("x.md")}}
	for name, text := range map[string]string{
		"YAML":                       "id: 007\nquestion: |\n  a\n\n  b\nrelevant: x.md\n",
		"YAML behind a marker":       "\ufeff---\n# a remark\n\nid: 007\nquestion: |\n  a\n\n  b\nrelevant: [x.md]\n",
		"YAML on a line":             `--- {id: 007, question: "a\n\nb\n", relevant: x.md}`,
		"YAML, indented":             "  id: 007\n  question: \"a\\n\\nb\\n\"\n  relevant: x.md\n",
		"a list":                     "- {id: 007, question: \"a\\n\\nb\\n\", relevant: x.md}\n",
		"a set":                      "cases: [{id: 007, question: \"a\\n\\nb\\n\", relevant: x.md}]\n",
		"JSON":                       " {\"id\": \"007\",\n\"question\": \"a\\n\\nb\\n\", \"relevant\": \"x.md\"}\n",
		"a JSON list":                `[{"id": "007", "question": "a\n\nb\n", "relevant": "x.md"}]`,
		"a JSON set, and an old key": `{"cases": [{"qid": "007", "query": "a\n\nb\n", "source_doc": "x.md"}]}`,
	} {
		got, err := ReadCases("standard input", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want[0].Question = "a\n\nb\n"
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(golden.Case{}, "Digest")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for text, wants := range map[string]string{
		"":                                  "standard input: has no cases",
		"hello":                             "standard input:1: must be a list of cases",
		"id: x\nquestion:\n":                `standard input:1: case "x": question: is missing`,
		"id: x\nquestion: a\nrelevant: {}":  "standard input:3: case \"x\": relevant",
		"{\"id\": \"x\",\n\"question\": 1":  "standard input:",
		"{\"question\": \"a\", \"id\": []}": "standard input:1: case ",
		"a: b: c":                           "standard input:1: is not YAML",
		"&a [*a]":                           "standard input:1: the YAML alias *a",
		"id: x\nquestion: \xff":             "is not UTF-8",
		strings.Repeat("#", maxYAMLBytes+1): "standard input is over 8 MiB",
	} {
		if _, err := ReadCases("standard input", []byte(text)); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%.40q: error %v, want %q", text, err, wants)
		}
	}
}

func FuzzReadCases(f *testing.F) {
	for _, s := range []string{"id: 1\nquestion: |\n  x\n", `{"question": "q"}`, "- question: q", "---\n{}", "\"\n", "--- &a\nquestion: *a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := ReadCases("input", data)
		if err == nil && len(cases) == 0 {
			t.Fatal("no case, and no error")
		}
		if e, ok := errors.AsType[*golden.Error](err); ok {
			for _, p := range e.Problems {
				if p.File != "input" {
					t.Fatalf("problem %v", p)
				}
			}
		}
	})
}

// caseOf makes the case of a run document as a run has it.
func caseOf(t *testing.T, line string) (golden.Case, report.Case) {
	t.Helper()
	c := mustRead(t, "g.jsonl", []byte(line)).Cases[0]
	rc := report.Case{ID: c.ID, Digest: c.Digest, Question: c.Question, History: c.History, ReferenceAnswer: c.ReferenceAnswer, Tags: c.Tags, Relevant: c.Relevant, Outcome: "Scored"}
	if !c.Answerable {
		rc.Answerable = &c.Answerable
	}
	return c, rc
}

func TestFromRun(t *testing.T) {
	want, rc := caseOf(t, `{"id": "a", "question": "q", "relevant": [{"id": "x", "grade": 2}], "reference_answer": "r", "tags": ["t"], "answerable": false, "history": [{"role": "user", "content": "c"}]}`)
	got, whole := FromRun(&rc)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(golden.Case{}, "Digest")); diff != "" || !whole {
		t.Errorf("whole: %v (-want +got):\n%s", whole, diff)
	}
	_, rc = caseOf(t, `{"id": "a", "question": "q", "metadata": {"tenant": "x"}}`)
	if _, whole = FromRun(&rc); whole {
		t.Error("a case is said to be whole that lost its metadata")
	}
	rc.Question = ""
	if _, whole = FromRun(&rc); whole {
		t.Error("a case without its question is said to be whole")
	}
}

func TestFailing(t *testing.T) {
	no, yes := false, true
	relevant := one("x")
	d := &report.Document{Cases: []report.Case{
		{ID: "found", Outcome: "Scored", Relevant: relevant, Rank: 3},
		{ID: "missed", Outcome: "Scored", Relevant: relevant},
		{ID: "nothing to find", Outcome: "Scored"},
		{ID: "unanswerable", Outcome: "Scored", Answerable: &no, Relevant: relevant},
		{ID: "failed", Outcome: "RetrieverTimeout", Relevant: relevant, Rank: 1},
		{ID: "wrong", Outcome: "Scored", Rank: 1, Verdict: &judge.Verdict{Correct: &no, Grounded: true}},
		{ID: "made up", Outcome: "Scored", Rank: 1, Verdict: &judge.Verdict{Correct: &yes}},
		{ID: "right", Outcome: "Scored", Rank: 1, Verdict: &judge.Verdict{Correct: &yes, Grounded: true}},
		{ID: "not judged", Outcome: "Scored", Rank: 1, Verdict: &judge.Verdict{Grounded: true}},
	}}
	if diff := cmp.Diff([]string{"missed", "failed", "wrong", "made up"}, Failing(d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummarize(t *testing.T) {
	set := mustRead(t, "g.yaml", []byte(`
- {id: a, question: q, relevant: [x, "cafe\u0301"], tags: [t, u], reference_answer: r}
- {id: b, question: q, relevant: ["caf\u00e9"], tags: [u]}
- {id: c, question: q, answerable: false, tags: [v], relevant: x}
- {id: d, question: q, reference_answer: r}
`))
	want := Summary{Cases: 4, Due: 2, Unanswerable: 1, WithReference: 2, RelevantIDs: 2, Tags: []TagCount{{"u", 2}, {"t", 1}, {"v", 1}}, Digest: set.Digest}
	if diff := cmp.Diff(want, Summarize(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// setOf reads the golden set out of a manifest, as a cluster would store it.
func setOf(t *testing.T, manifest []byte) (corev1.ConfigMap, *golden.Set) {
	t.Helper()
	var cm corev1.ConfigMap
	if err := yaml.UnmarshalStrict(manifest, &cm); err != nil {
		t.Fatalf("%v\n%.2000s", err, manifest)
	}
	for key, text := range cm.Data {
		return cm, mustRead(t, key, []byte(text))
	}
	for key, data := range cm.BinaryData {
		return cm, mustRead(t, key, data)
	}
	t.Fatal("the ConfigMap is empty")
	return cm, nil
}

func TestConfigMap(t *testing.T) {
	cases := []golden.Case{everything, due("b", "x.md")}
	for _, format := range Formats {
		data, err := Write(cases, format)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := ConfigMap("docs-golden", "rag", format, data)
		if err != nil {
			t.Fatal(err)
		}
		cm, set := setOf(t, manifest)
		if cm.Kind != "ConfigMap" || cm.APIVersion != "v1" || cm.Name != "docs-golden" || cm.Namespace != "rag" || cm.Data["golden."+string(format)] != string(data) {
			t.Errorf("%s: %+v", format, cm)
		}
		if set.Digest != mustRead(t, "g."+string(format), data).Digest {
			t.Errorf("%s: another set:\n%s", format, manifest)
		}
	}
	if manifest, err := ConfigMap("n", "", golden.YAML, []byte("- question: q\n")); err != nil || strings.Contains(string(manifest), "namespace") {
		t.Errorf("%v\n%s", err, manifest)
	}
}

// TestConfigMapPacks: a set over the limit is packed, and one that is too large
// even then is refused.
func TestConfigMapPacks(t *testing.T) {
	var cases []golden.Case
	for i := range 3000 {
		cases = append(cases, golden.Case{ID: fmt.Sprint(i), Question: strings.Repeat("the same words again ", 20), Answerable: true})
	}
	data, err := Write(cases, golden.JSONL)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := ConfigMap("n", "", golden.JSONL, data)
	if err != nil {
		t.Fatal(err)
	}
	cm, set := setOf(t, manifest)
	if len(cm.BinaryData["golden.jsonl.gz"]) == 0 || len(set.Cases) != 3000 {
		t.Errorf("%d cases in %d keys", len(set.Cases), len(cm.BinaryData))
	}
	random := make([]byte, maxConfigMapBytes+64<<10)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(random)
	if _, err := ConfigMap("n", "", golden.JSONL, random); err == nil || !strings.Contains(err.Error(), "a ConfigMap holds 1024 KiB") {
		t.Errorf("error %v", err)
	}
}

// TestSamples: what the project ships can be written anew and appended to.
func TestSamples(t *testing.T) {
	paths, err := filepath.Glob("../golden/testdata/*/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	appended := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := golden.File{Name: filepath.Base(path), Data: data}
		set, err := golden.Read(f)
		if err != nil {
			continue
		}
		for _, format := range Formats {
			out, err := Write(set.Cases, format)
			if err != nil {
				t.Fatal(err)
			}
			if again := mustRead(t, "x."+string(format), out); again.Digest != set.Digest {
				t.Errorf("%s as %s is another set", path, format)
			}
		}
		if _, _, err := Append(f, []golden.Case{{ID: "appended", Question: "q", Answerable: true}}); err == nil {
			appended++
		} else {
			t.Logf("%s: %v", path, err)
		}
	}
	if appended == 0 {
		t.Error("no sample could be appended to")
	}
}
