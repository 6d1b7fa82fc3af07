package golden

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := Read(fixture(t, "bad/many.jsonl"), fixture(t, "bad/many.yaml"), file("notes.md", "# Notes"), fixture(t, "bad/latin1.yaml"))
	want := `16 problems:
many.jsonl:1: case "a": question: is empty: write what is to be asked
many.jsonl:2: case "a": relevant[0].grade: must be a number of at least 0 (0: not relevant), is -1
many.jsonl:2: case "a": id: duplicate id, first used at many.jsonl:1: give each case its own
many.jsonl:3: case "c": source_doc: differs from relevant of the same case, which means the same field: keep one
many.jsonl:4: case #4: is not JSON: invalid character 'o' in literal null (expecting 'u'); every line must be one whole JSON object
many.jsonl:5: case "e": question: must be text, is a list
many.jsonl:5: case "e": answerable: must be true or false, is text "no"
many.yaml:5: case "f": relevant[0].grade: must be a number of at least 0 (0: not relevant), is .nan
many.yaml:6: case "f": relevant[1].grade: must be a number of at least 0 (0: not relevant), is .inf
many.yaml:7: case "f": relevant[2]: is an empty id: write the id, or remove it
many.yaml:3: case "f": question: is empty: write what is to be asked
many.yaml:10: case "a": id: is given twice in one case, first on line 8: keep one
many.yaml:8: case "a": id: duplicate id, first used at many.jsonl:1: give each case its own
notes.md: has an ending that says no format: name it .yaml, .yml, .json, .jsonl, .ndjson, .csv or .tsv, each also with .gz
latin1.yaml:1: case "a": id: duplicate id, first used at many.jsonl:1: give each case its own
latin1.yaml:4: case "b": question: is not UTF-8 (nor are 1 other lines): if it is Latin-1, convert it with ` + "`iconv -f latin1 -t utf-8`"
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	for _, tt := range []struct{ cases, kept, lines int }{
		{2, 2, 3}, {20, 20, 21}, {21, 21, 22}, {5000, 1000, 22},
	} {
		_, err := Read(file("f.jsonl", strings.Split(strings.Repeat("{}\n", tt.cases), "\n")...))
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%d problems: error %v is a %T, want *Error", tt.cases, err, err)
		}
		if e.Total != tt.cases || len(e.Problems) != tt.kept {
			t.Errorf("%d problems: Total %d, %d kept", tt.cases, e.Total, len(e.Problems))
		}
		text := strings.Split(e.Error(), "\n")
		if want := fmt.Sprintf("%d problems:", tt.cases); text[0] != want || len(text) != tt.lines {
			t.Errorf("%d problems: %d lines, the first %q", tt.cases, len(text), text[0])
		}
		if more := tt.cases - maxListed; more > 0 && text[len(text)-1] != fmt.Sprintf("and %d more", more) {
			t.Errorf("%d problems: the last line is %q", tt.cases, text[len(text)-1])
		}
	}
	_, err := Read(file("f.jsonl", "{}"))
	if want := `f.jsonl:1: case #1: question: is missing: a case needs a question (or query, stack_trace, user_input)`; err.Error() != want {
		t.Errorf("one problem: %q", err)
	}
}

func TestProblemString(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for want, p := range map[string]Problem{
		"m":                            {Message: "m"},
		"f: m":                         {File: "f", Message: "m"},
		"f:3: m":                       {File: "f", Line: 3, Message: "m"},
		`f:3: case "a\nb": tags: m`:    {File: "f", Line: 3, Case: "a\nb", Field: "tags", Message: "m"},
		"f: case #3: m":                {File: "f", Case: "#3", Message: "m"},
		`"a\nb": "c\td": m`:            {File: "a\nb", Field: "c\td", Message: "m"},
		`case "휴가": m`:                 {Case: "휴가", Message: "m"},
		`case "` + long[:64] + `…": m`: {Case: long, Message: "m"},
		long[:512] + `…: m`:            {File: long, Message: "m"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// In each row the file is refused with exactly these problems.
func TestProblems(t *testing.T) {
	row := func(fields string) string { return `{"id": "a", "question": "q", ` + fields + `}` }
	const missing = "question: is missing: a case needs a question (or query, stack_trace, user_input)"
	for _, tt := range []struct {
		name string
		file File
		want []string
	}{
		{"empty YAML", file("f.yaml", ""), []string{"f.yaml: has no cases: write at least one case with a question"}},
		{"comments only", file("f.yaml", "# nothing", "---", "# here"), []string{"f.yaml: has no cases: write at least one case with a question"}},
		{"empty list", file("f.json", "[]"), []string{"f.json: has no cases: write at least one case with a question"}},
		{"empty cases", file("f.yaml", "cases:"), []string{"f.yaml: has no cases: write at least one case with a question"}},
		{"null cases", file("f.json", `{"cases": null}`), []string{"f.json: has no cases: write at least one case with a question"}},
		{"blank lines", file("f.jsonl", "", " ", ""), []string{"f.jsonl: has no cases: write at least one case with a question"}},
		{"header only", file("f.csv", "id,question", ""), []string{"f.csv: has no cases: write at least one case with a question"}},

		{"no ending", file("f", "- {question: q}"), []string{"f: has an ending that says no format: name it " + Endings}},
		{"not gzip", file("f.yaml.gz", "- {question: q}"), []string{"f.yaml.gz: is not gzip, as its ending .gz says, or is cut off: invalid header"}},
		{"empty gzip", file("f.yaml.gz", ""), []string{"f.yaml.gz: is not gzip, as its ending .gz says, or is cut off: it ends too early"}},
		{"gzip by another name", File{"f.yaml", zipped(t, []byte("- {question: q}"))}, []string{"f.yaml: is gzip, but its name does not end in .gz: add .gz to the name"}},
		{"UTF-16", File{"f.yaml", []byte("\xff\xfe-\x00 \x00")}, []string{"f.yaml: is UTF-16, not UTF-8: convert it with `iconv -f utf-16 -t utf-8`"}},

		{"Latin-1 YAML", fixture(t, "bad/latin1.yaml"), []string{"latin1.yaml:4: case \"b\": question: is not UTF-8 (nor are 1 other lines): if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`"}},
		{"Latin-1 CSV", fixture(t, "bad/latin1.csv"), []string{"latin1.csv:2: case \"a\": question: is not UTF-8: if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`"}},
		{"Latin-1 JSON", file("f.json", "[{\"question\": \"q\",", "\"tags\": [\"caf\xe9\"]}]"), []string{"f.json:2: case #1: tags: is not UTF-8: if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`"}},
		{"Latin-1 key", file("f.yaml", "- id: a", "  question: q", "  metadata: {k: {\xe9: 1}}"), []string{"f.yaml:3: case \"a\": metadata: is not UTF-8: if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`"}},
		{"Latin-1 comment", file("f.yaml", "- question: q", "# \xe9"), []string{"f.yaml:2: is not UTF-8: if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`"}},
		{"Latin-1 ids do not collide", file("f.jsonl", "{\"id\": \"\xe9\", \"question\": \"q\"}", "{\"id\": \"\xe8\", \"question\": \"q\"}"),
			[]string{"f.jsonl:1: case \"\\uf7e9\": id: is not UTF-8 (nor are 1 other lines): if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`"}},

		{"missing question", file("f.yaml", "- id: a"), []string{`f.yaml:1: case "a": ` + missing}},
		{"null question", file("f.yaml", "- id: a", "  question: ~"), []string{`f.yaml:1: case "a": ` + missing}},
		{"no id, no question", file("f.yaml", "- relevant: x", "- relevant: x"), []string{`f.yaml:1: case #1: ` + missing, `f.yaml:2: case #2: ` + missing}},
		{"blank question", file("f.yaml", "- id: a", `  query: "\n "`), []string{`f.yaml:2: case "a": query: is empty: write what is to be asked`}},
		{"blank id", file("f.json", `[{"id": " ", "question": "q"}]`), []string{`f.json:1: case #1: id: is empty: give the case an id, or leave the field out`}},

		{"case is text", file("f.yaml", "- What is a Pod?"), []string{`f.yaml:1: case #1: must be a map of fields, with at least a question, is text "What is a Pod?"`}},
		{"case is null", file("f.jsonl", "null"), []string{`f.jsonl:1: case #1: must be a map of fields, with at least a question, is null`}},
		{"case is a list", file("f.jsonl", "[]"), []string{`f.jsonl:1: case #1: must be a map of fields, with at least a question, is a list`}},

		{"id is a list", file("f.jsonl", `{"id": [], "question": "q"}`), []string{`f.jsonl:1: case #1: id: must be text, is a list`}},
		{"id is a bool", file("f.jsonl", `{"id": true, "question": "q"}`), []string{`f.jsonl:1: case #1: id: must be text, is true or false`}},
		{"reference is a map", file("f.jsonl", row(`"reference": {}`)), []string{`f.jsonl:1: case "a": reference: must be text, is a map`}},
		{"two references", file("f.jsonl", row(`"reference": ["a", "b"]`)), []string{`f.jsonl:1: case "a": reference: must be text, is a list`}},
		{"relevant is a map", file("f.jsonl", row(`"relevant": {}`)), []string{`f.jsonl:1: case "a": relevant[0]: has no id: write {id: …, grade: …}`}},
		{"relevant is a bool", file("f.jsonl", row(`"relevant": [true]`)), []string{`f.jsonl:1: case "a": relevant[0]: must be an id, or {id, grade}, is true or false`}},
		{"relevant is null", file("f.jsonl", row(`"relevant": [null]`)), []string{`f.jsonl:1: case "a": relevant[0]: must be an id, or {id, grade}, is null`}},
		{"relevant groups", file("f.jsonl", row(`"retrieval_gt": [["x"], ["y", "z"]]`)), []string{`f.jsonl:1: case "a": retrieval_gt[1]: must be one id, is a list of 2: every id stands by itself`}},
		{"id in relevant is a list", file("f.jsonl", row(`"relevant": [{"id": []}]`)), []string{`f.jsonl:1: case "a": relevant[0]: must be an id, or {id, grade}, is a list`}},
		{"empty relevant", file("f.jsonl", row(`"source_doc": ""`)), []string{`f.jsonl:1: case "a": source_doc[0]: is an empty id: write the id, or remove it`}},
		{"blank relevant", file("f.jsonl", row(`"relevant": [{"id": " "}]`)), []string{`f.jsonl:1: case "a": relevant[0]: is an empty id: write the id, or remove it`}},
		{"grade is text", file("f.jsonl", row(`"relevant": [{"id": "x", "grade": "2"}]`)), []string{`f.jsonl:1: case "a": relevant[0].grade: must be a number of at least 0, is text "2"`}},
		{"grade out of range", file("f.jsonl", row(`"relevant": [{"id": "x", "grade": 1e999}]`)), []string{`f.jsonl:1: case "a": relevant[0].grade: must be a number of at least 0 (0: not relevant), is 1e999`}},
		{"grade -.inf", file("f.yaml", "- {id: a, question: q, relevant: [{id: x, grade: -.inf}]}"), []string{`f.yaml:1: case "a": relevant[0].grade: must be a number of at least 0 (0: not relevant), is -.inf`}},
		{"tags are a map", file("f.jsonl", row(`"tags": {}`)), []string{`f.jsonl:1: case "a": tags: must be a tag or a list of tags, is a map`}},
		{"empty tag", file("f.jsonl", row(`"tags": ["x", ""]`)), []string{`f.jsonl:1: case "a": tags: has an empty tag: write the tag, or remove it`}},
		{"answerable is text", file("f.jsonl", row(`"answerable": "false"`)), []string{`f.jsonl:1: case "a": answerable: must be true or false, is text "false"`}},
		{"answerable is no", file("f.yaml", "- {id: a, question: q, answerable: no}"), []string{`f.yaml:1: case "a": answerable: must be true or false, is text "no"`}},
		{"answerable is 0", file("f.yaml", "- {id: a, question: q, answerable: 0}"), []string{`f.yaml:1: case "a": answerable: must be true or false, is a number`}},
		{"history is text", file("f.jsonl", row(`"history": "hi"`)), []string{`f.jsonl:1: case "a": history: must be a list of {role, content}, is text "hi"`}},
		{"turn is text", file("f.jsonl", row(`"history": ["hi"]`)), []string{`f.jsonl:1: case "a": history[0]: must be {role, content}, is text "hi"`}},
		{"turn without role", file("f.jsonl", row(`"history": [{"content": "hi"}]`)), []string{`f.jsonl:1: case "a": history[0]: must have role and content`}},
		{"content is a list", file("f.jsonl", row(`"history": [{"role": "user", "content": []}]`)), []string{`f.jsonl:1: case "a": history[0].content: must be text, is a list`}},
		{"metadata is text", file("f.jsonl", row(`"metadata": "x"`)), []string{`f.jsonl:1: case "a": metadata: must be a map, is text "x"`}},
		{"metadata integer", file("f.jsonl", row(`"metadata": {"k": [9223372036854775808]}`)), []string{`f.jsonl:1: case "a": metadata: has the integer 9223372036854775808, which does not fit in 64 bits: quote it to keep it as text`}},
		{"metadata NaN", file("f.yaml", "- id: a", "  question: q", "  metadata:", "    k: .nan"), []string{`f.yaml:4: case "a": metadata: has a number that JSON cannot write, .nan: quote it to keep it as text`}},
		{"metadata range", file("f.jsonl", row(`"metadata": {"k": 1e999}`)), []string{`f.jsonl:1: case "a": metadata: has a number that JSON cannot write, 1e999: quote it to keep it as text`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(problems(t, tt.file))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingToRead(t *testing.T) {
	want := []string{"has no cases: write at least one case with a question"}
	if diff := cmp.Diff(want, lines(problems(t))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, lines(problems(t, file("a.yaml", ""), file("b.csv", "")))); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedGzip(t *testing.T) {
	whole := zipped(t, []byte(strings.Repeat("- {question: q}\n", 1000)))
	broken := append([]byte(nil), whole...)
	broken[len(broken)-6] ^= 0xff // in the checksum
	for name, data := range map[string][]byte{
		"f.yaml.gz: is damaged gzip: it ends too early; pack the file again (gzip -k FILE)": whole[:len(whole)-10],
		"f.yaml.gz: is damaged gzip: invalid checksum; pack the file again (gzip -k FILE)":  broken,
	} {
		if diff := cmp.Diff([]string{name}, lines(problems(t, File{"f.yaml.gz", data}))); diff != "" {
			t.Error(diff)
		}
	}
}
