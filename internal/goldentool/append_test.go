package goldentool

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

var added = golden.Case{
	ID: "new", Question: "first\nsecond", Answerable: true, ReferenceAnswer: "yes", Tags: []string{"howto"},
	Relevant: []golden.Relevant{{ID: "a.md", Grade: 1}, {ID: "b.md", Grade: 1}},
}

func TestAppend(t *testing.T) {
	const asYAML = `- id: new
  question: |-
    first
    second
  relevant: [a.md, b.md]
  reference_answer: "yes"
  tags: [howto]
`
	const asJSON = `{"id":"new","question":"first\nsecond","relevant":["a.md","b.md"],"reference_answer":"yes","tags":["howto"]}`
	indented := strings.TrimSuffix("  "+strings.ReplaceAll(asYAML, "\n", "\n  "), "  ")
	for _, test := range []struct{ name, file, before, after string }{
		{"YAML with comments", "g.yaml", "# head\n\n- id: '007' # the first\n  question: \"a  b\"\n\n# a remark\n- {id: two, question: b}\n# the end\n",
			"# head\n\n- id: '007' # the first\n  question: \"a  b\"\n\n# a remark\n- {id: two, question: b}\n# the end\n" + asYAML},
		{"YAML without a last line break", "g.yml", "- question: a", "- question: a\n" + asYAML},
		{"YAML with line breaks of Windows", "g.yaml", "- question: a\r\n", "- question: a\r\n" + strings.ReplaceAll(asYAML, "\n", "\r\n")},
		{"YAML under cases", "g.yaml", "cases: # all\n  - question: a\n", "cases: # all\n  - question: a\n" + indented},
		{"YAML under cases, not indented", "g.yaml", "cases:\n- question: a\n", "cases:\n- question: a\n" + asYAML},
		{"YAML with another key behind", "g.yaml", "cases:\n  - question: a\n\n# about the owner\nowner: ops\n", "cases:\n  - question: a\n" + indented + "\n# about the owner\nowner: ops\n"},
		{"YAML with a text that looks like a comment", "g.yaml", "cases:\n  - question: |\n      a\n      # b\nowner: ops\n", "cases:\n  - question: |\n      a\n      # b\n" + indented + "owner: ops\n"},
		{"YAML that repeats by aliases", "g.yaml", "- &a {id: a, question: q, metadata: {x: 1}}\n- {<<: *a, id: b}\n", "- &a {id: a, question: q, metadata: {x: 1}}\n- {<<: *a, id: b}\n" + asYAML},
		{"YAML of nothing but comments", "g.yaml", "# golden\n", "# golden\n" + asYAML},
		{"YAML that is empty", "g.yaml", "", asYAML},
		{"YAML in flow style", "g.yaml", "# head\n[{id: a, question: b}] # tail\n", "# head\n[{id: a, question: b}, {id: new, question: \"first\\nsecond\", relevant: [a.md, b.md], reference_answer: \"yes\", tags: [howto]}] # tail\n"},
		{"YAML with an empty list", "g.yaml", "cases: [] # none yet\n", "cases:\n  # none yet\n  - id: new\n    question: |-\n      first\n      second\n    relevant: [a.md, b.md]\n    reference_answer: \"yes\"\n    tags: [howto]\n"},
		{"JSON Lines", "g.jsonl", "\ufeff{\"question\": \"a\"}", "\ufeff{\"question\": \"a\"}\n" + asJSON + "\n"},
		{"JSON Lines with line breaks of Windows", "g.ndjson", "{\"question\": \"a\"}\r\n", "{\"question\": \"a\"}\r\n" + asJSON + "\r\n"},
		{"JSON", "g.json", "[\n    {\"question\": \"a\"}\n]\n", "[\n    {\"question\": \"a\"},\n    " + asJSON + "\n]\n"},
		{"JSON on one line", "g.json", `[{"question": "a"}]`, `[{"question": "a"}, ` + asJSON + `]`},
		{"JSON under cases", "g.json", "\ufeff{\"owner\": [\"cases\", []], \"cases\": [\n  {\"question\": \"]\"}\n], \"x\": []}", "\ufeff{\"owner\": [\"cases\", []], \"cases\": [\n  {\"question\": \"]\"},\n  " + asJSON + "\n], \"x\": []}"},
		{"JSON with an empty list", "g.json", "{\"cases\": []}", "{\"cases\": [" + asJSON + "]}"},
		{"JSON that is empty", "g.json", "", "[\n  " + asJSON + "\n]\n"},
		{"CSV", "g.csv", "id,user_input,colour,relevant,reference,type,category\n1,\"a\r\nb\",red,x,,,\n", "id,user_input,colour,relevant,reference,type,category\n1,\"a\r\nb\",red,x,,,\n" +
			"new,\"first\nsecond\",,a.md;b.md,yes,howto,\r\n"},
		{"TSV", "g.tsv", "question\tid\trelevant\treference\ttags\n", "question\tid\trelevant\treference\ttags\n\"first\nsecond\"\tnew\ta.md;b.md\tyes\thowto\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := golden.File{Name: test.file, Data: []byte(test.before)}
			data, set, err := Append(before, []golden.Case{added})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if string(before.Data) != test.before {
				t.Error("the text that was given is not what it was")
			}
			at := slices.IndexFunc(set.Cases, func(c golden.Case) bool { return c.ID == "new" })
			if at < 0 {
				t.Fatal("the case is not in the set")
			}
			got := set.Cases[at]
			got.Digest = ""
			if diff := cmp.Diff(added, got); diff != "" {
				t.Errorf("the case (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAppendEverything: a case with all there is, to every format that has room.
func TestAppendEverything(t *testing.T) {
	for _, f := range []golden.File{
		file("g.yaml", "- question: a\n"), file("f.yaml", "[{question: a}]"), file("g.json", `[{"question": "a"}]`), file("g.jsonl", `{"question": "a"}`),
	} {
		_, set, err := Append(f, []golden.Case{everything, due("second", "x")})
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		got := set.Cases[slices.IndexFunc(set.Cases, func(c golden.Case) bool { return c.ID == everything.ID })]
		got.Digest = ""
		if diff := cmp.Diff(everything, got); diff != "" || len(set.Cases) != 3 {
			t.Errorf("%s: %d cases (-want +got):\n%s", f.Name, len(set.Cases), diff)
		}
	}
	table := everything
	table.Relevant, table.Tags = nil, []string{"korean"}
	if _, _, err := Append(file("g.csv", "id,name,question,reference_answer,tags,answerable,history,metadata\n"), []golden.Case{table}); err != nil {
		t.Errorf("g.csv: %v", err)
	}
}

func TestAppendRefuses(t *testing.T) {
	for _, test := range []struct {
		name  string
		file  golden.File
		c     golden.Case
		wants string
	}{
		{"an id that is there", file("g.yaml", "- question: a\n- id: new\n  question: b\n"), added, `case "new": id: duplicate id, first used at g.yaml:2`},
		{"the same question without ids", file("g.yaml", "- question: a\n"), golden.Case{Question: "a", Answerable: true}, "the case at g.yaml:1 has the same question"},
		{"no question", file("g.yaml", "- question: a\n"), golden.Case{ID: "x", Answerable: true}, `case "x": question: is empty`},
		{"a set with a problem", file("g.yaml", "- id: x\n"), added, `g.yaml:1: case "x": question: is missing`},
		{"no golden set", file("g.yaml", "kind: ConfigMap\n"), added, "g.yaml:1: must be a list of cases"},
		{"a format that is none", file("g.txt", ""), added, "g.txt has an ending that says no format"},
		{"a packed file", file("g.jsonl.gz", ""), added, "g.jsonl.gz is packed"},
		{"a table without columns", file("g.csv", ""), added, "needs a first row"},
		{"a table without the column", file("g.csv", "id,question,relevant,reference_answer\n"), added, "g.csv: the file has no column for tags"},
		{"a table and a grade", file("g.csv", "id,question,relevant\n"), golden.Case{ID: "x", Question: "q", Answerable: true, Relevant: []golden.Relevant{{ID: "a", Grade: 2}}}, "no place for the grade of a"},
		{"a table and a semicolon", file("g.csv", "id,question,relevant\n"), due("x", "a;b"), `a table cannot hold "a;b" under relevant`},
		{"YAML in flow style whose comments the library loses", file("g.yaml", "[ # first\n  # second\n  {id: a, question: b}, # third\n  # fourth\n]\n"), added, "adding the case would change others"},
		{"YAML with line breaks that the library folds", file("g.yaml", "[{question: \"a\u2028  b\"}]"), added, "adding the case would change others"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, _, err := Append(test.file, []golden.Case{test.c})
			if err == nil || !strings.Contains(err.Error(), test.wants) {
				t.Errorf("error %v, want %q\n%s", err, test.wants, data)
			}
		})
	}
}

func fuzzAppend(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), "q", "a.md")
	}
	f.Fuzz(func(t *testing.T, data []byte, question, relevant string) {
		c := golden.Case{ID: "a new case", Question: question, Answerable: true, Relevant: one(relevant)}
		before, errBefore := golden.Read(golden.File{Name: name, Data: data})
		after, set, err := Append(golden.File{Name: name, Data: data}, []golden.Case{c})
		if err != nil {
			return
		}
		if errBefore == nil {
			for _, old := range before.Cases {
				at, there := slices.BinarySearchFunc(set.Cases, old.ID, func(c golden.Case, id string) int { return strings.Compare(c.ID, id) })
				if !there || !cmp.Equal(old, set.Cases[at]) {
					t.Fatalf("case %q is not what it was\n%s", old.ID, after)
				}
			}
			if len(set.Cases) != len(before.Cases)+1 {
				t.Fatalf("%d cases, were %d", len(set.Cases), len(before.Cases))
			}
		}
		if again := mustRead(t, name, after); again.Digest != set.Digest {
			t.Fatal("the set is not what was said")
		}
		if name != "g.yaml" && !bytes.HasPrefix(after, bytes.TrimRight(data, "]} \t\r\n")) && name != "g.json" {
			t.Fatalf("the file does not begin as it did:\n%s", after)
		}
	})
}

func FuzzAppendYAML(f *testing.F) {
	fuzzAppend(f, "g.yaml", "# c\n- question: a\n", "cases: [{question: b}]\nx: y", "cases:\n  - question: |+\n      a\n\n\n# x\ny: z\n", "- question: a\n...\n", "---\n---\n- question: 'a'", "[]", "")
}

func FuzzAppendJSON(f *testing.F) {
	fuzzAppend(f, "g.json", `[{"question": "a"}]`, `{"x": "cases", "cases": [ ]}`, "", "[\n]")
}

func FuzzAppendJSONL(f *testing.F) { fuzzAppend(f, "g.jsonl", `{"question": "a"}`, "") }

func FuzzAppendCSV(f *testing.F) {
	fuzzAppend(f, "g.csv", "id,question,relevant\n", "question,id,source_doc,type\r\n\"a\r\nb\",1,,\r\n")
}

func TestErrWouldChangeCanBeTold(t *testing.T) {
	_, _, err := Append(file("g.yaml", "[{question: \"a\u2028  b\"}]"), []golden.Case{added})
	if !errors.Is(err, ErrWouldChange) {
		t.Errorf("error %v", err)
	}
}
