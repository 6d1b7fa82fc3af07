package judge

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

func labelFile(name string, lines ...string) golden.File {
	return golden.File{Name: name, Data: []byte(strings.Join(lines, "\n"))}
}

var threeLabels = []Label{
	{
		ID: "a", Question: "환불은 며칠 안에 되나요?", Reference: "14일", Contexts: []string{"환불은 14일 이내", "a, \"b\"; c"}, Answer: "14일\n이내",
		Answerable: true, Correct: new(true), Grounded: new(false), History: []golden.Turn{{Role: "user", Content: "안녕"}},
	},
	{Question: "007", Answer: "", Answerable: false, Correct: new(true)},
	{ID: "c", Question: "q3", Contexts: []string{"one; text"}, Answer: "true", Answerable: true, Grounded: new(true)},
}

var labelFiles = map[string]golden.File{
	"yaml": labelFile("l.yaml",
		"# verdicts of people",
		"- id: a", "  question: 환불은 며칠 안에 되나요?", "  reference_answer: 14일", "  contexts:", "    - 환불은 14일 이내", `    - 'a, "b"; c'`,
		"  answer: |-", "    14일", "    이내", "  correct: true", "  grounded: False", "  history: [{role: user, content: 안녕}]",
		"- {question: 007, answer: '', answerable: false, correct: true, grounded: null, reason: not read}",
		"- {id: c, question: q3, contexts: one; text, answer: true, grounded: \"true\"}"),
	"json": labelFile("l.json",
		`{"labels": [`,
		`{"id": "a", "question": "환불은 며칠 안에 되나요?", "reference_answer": "14일", "contexts": ["환불은 14일 이내", "a, \"b\"; c"], "answer": "14일\n이내", "correct": true, "grounded": false, "history": [{"role": "user", "content": "안녕"}]},`,
		`{"question": "007", "answer": "", "answerable": false, "correct": "True"},`,
		`{"id": "c", "question": "q3", "contexts": "one; text", "answer": "true", "grounded": true}]}`),
	"jsonl": labelFile("l.jsonl",
		`{"id": "a", "question": "환불은 며칠 안에 되나요?", "reference_answer": "14일", "contexts": ["환불은 14일 이내", "a, \"b\"; c"], "answer": "14일\n이내", "correct": true, "grounded": false, "history": [{"role": "user", "content": "안녕"}]}`,
		"",
		`{"question": "007", "answer": "", "answerable": false, "correct": true}`,
		`{"id": "c", "question": "q3", "contexts": ["one; text"], "answer": "true", "grounded": true}`),
	"csv": labelFile("l.csv",
		"\ufeffid,question,reference_answer,contexts,answer,answerable,correct,grounded,history",
		`a,환불은 며칠 안에 되나요?,14일,"[""환불은 14일 이내"", ""a, \""b\""; c""]","14일`, `이내",,TRUE,FALSE,"[{""role"": ""user"", ""content"": ""안녕""}]"`,
		`,007,,,,false,true,,`,
		`,,,,,,,,`,
		`c,q3,,one; text,true,,,true,`),
	"tsv": labelFile("l.tsv",
		"id\tquestion\treference_answer\tcontexts\tanswer\tanswerable\tcorrect\tgrounded\thistory",
		"a\t환불은 며칠 안에 되나요?\t14일\t\"[\"\"환불은 14일 이내\"\", \"\"a, \\\"\"b\\\"\"; c\"\"]\"\t\"14일\n이내\"\t\tTRUE\tFALSE\t\"[{\"\"role\"\": \"\"user\"\", \"\"content\"\": \"\"안녕\"\"}]\"",
		"\t007\t\t\t\tfalse\ttrue\t\t",
		"c\tq3\t\tone; text\ttrue\t\t\ttrue\t"),
}

func TestReadLabels(t *testing.T) {
	for name, file := range labelFiles {
		t.Run(name, func(t *testing.T) {
			set, err := ReadLabels(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(threeLabels, set.Labels); diff != "" || len(set.Warnings) > 0 {
				t.Error(diff, set.Warnings)
			}
			if set.Digest != LabelsDigest(threeLabels) {
				t.Errorf("digest %s", set.Digest)
			}
		})
	}
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	if _, err := zw.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadLabelsOfSeveralFiles(t *testing.T) {
	packed := gzipped(t, []byte(`{"question": "q", "answer": "a", "correct": true}`))
	set, err := ReadLabels(labelFiles["yaml"], golden.File{Name: "l.jsonl.gz", Data: packed}, labelFile("empty.yaml", "# nothing"))
	if err != nil || len(set.Labels) != 4 {
		t.Fatalf("%+v, %v", set, err)
	}
	_, err = ReadLabels(labelFiles["yaml"], labelFiles["jsonl"])
	want := "2 problems:\n" +
		`l.jsonl:1: case "a": id: duplicate id, first used at l.yaml:2: give each label its own` + "\n" +
		`l.jsonl:4: case "c": id: duplicate id, first used at l.yaml:15: give each label its own`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestLabelProblems(t *testing.T) {
	const rest = `"question": "q", "answer": "a", `
	for _, tt := range []struct {
		file golden.File
		want string
	}{
		{labelFile("l.txt", "x"), "l.txt: has an ending that says no format"},
		{labelFile("l.jsonl"), "l.jsonl: has no labels"},
		{labelFile("l.yaml", "# none"), "l.yaml: has no labels"},
		{labelFile("l.json", "[]"), "l.json: has no labels"},
		{labelFile("l.jsonl", "", `{"question": "q", "answer": "a", "correct": 1}`), `l.jsonl:2: case #1: correct: must be true or false, is 1`},
		{labelFile("l.jsonl", `{`+rest+`"correct": "yes"}`), `l.jsonl:1: case #1: correct: must be true or false, is the text "yes"`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true, "answerable": "no"}`), `case #1: answerable: must be true or false`},
		{labelFile("l.jsonl", `{"id": "x", `+rest+`"correct": null}`), `l.jsonl:1: case "x": has neither correct nor grounded`},
		{labelFile("l.jsonl", `{"answer": "a", "correct": true}`), `question: is missing`},
		{labelFile("l.jsonl", `{"question": " ", "answer": "a", "correct": true}`), `question: is empty`},
		{labelFile("l.jsonl", `{"question": ["q"], "answer": "a", "correct": true}`), `question: must be text, is a list`},
		{labelFile("l.jsonl", `{"question": "q", "correct": true}`), `answer: is missing`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true, "correct": false}`), `correct: is given twice in one label`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true, "contexts": {"a": 1}}`), `contexts[0]: must be text, is an object`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true, "contexts": ["a", null]}`), `contexts[1]: must be text, is null`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true, "contexts": [`+strings.Repeat(`"a",`, maxLabelContexts)+`"a"]}`), `contexts: has 1001 texts, the limit is 1000`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true, "history": "x"}`), `history: must be a list of {role, content}, is the text "x"`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true, "history": [{"role": "user"}]}`), `history[0]: must be {role, content}`},
		{labelFile("l.jsonl", `[1]`), `case #1: must be a map of fields, is a list`},
		{labelFile("l.jsonl", `{`+rest+`"correct": true}`, `{"a"`), `l.jsonl:2: case #2: is not JSON: it ends too early; every line must be one whole JSON object`},
		{labelFile("l.jsonl", `{} {}`), `is not JSON: something follows after its end`},
		{labelFile("l.jsonl", strings.Repeat("[", 100)+strings.Repeat("]", 100)), `is nested too deep`},
		{labelFile("l.json", `[`, `{`+rest+`"correct": true},`, `{`+rest+`"correct": tru}]`), `l.json:3: is not JSON: invalid character`},
		{labelFile("l.json", `[{`, rest+`"correct": true`), `l.json:2: is not JSON: it ends too early`},
		{labelFile("l.json", `{"a": 1}`, `{"b": 1}`), `; if every line is a label, name the file .jsonl`},
		{labelFile("l.json", "[{", `"question": "q", "answer": "a",`, `"correct":`, `1}]`), `l.json:4: case #1: correct: must be true or false, is 1`},
		{labelFile("l.json", `{"cases": []}`), `l.json:1: must be a list of labels, or a map with the list under labels`},
		{labelFile("l.json", `{"labels": "x"}`), `must be a list of labels, is the text "x"`},
		{labelFile("l.json", `true`), `must be a list of labels, is true or false`},
		{labelFile("l.yaml", "- question: q", "  answer: a", "  correct: 'maybe'"), `l.yaml:3: case #1: correct: must be true or false, is the text "maybe"`},
		{labelFile("l.yaml", "- question: q", "  answer: [", "  correct"), `is not YAML: `},
		{labelFile("l.yaml", "- &a {question: q, answer: a, correct: true}", "- *a"), `l.yaml:2: uses a YAML alias`},
		{labelFile("l.yaml", "- {question: q, answer: a, correct: true}", "---", "- {}"), `l.yaml:3: holds a second YAML document`},
		{labelFile("l.yaml", "- ? [a]", "  : b"), `has a key that is no text`},
		{labelFile("l.yaml", strings.Repeat("[", 100)+strings.Repeat("]", 100)), `is nested too deep`},
		{labelFile("l.csv", "question,answer,correct", "q,a"), `l.csv:2: case #1: has 2 cells, but the first row has 3`},
		{labelFile("l.csv", "question,answer,correct", "q,a,x"), `l.csv:2: case #1: correct: must be true or false, is the text "x"`},
		{labelFile("l.csv", "question,answer,correct", `q,a "b",true`), `l.csv:2: is not CSV: bare "`},
		{labelFile("l.csv", "question,answer,correct,correct", "q,a,true,true"), `correct: is given twice`},
		{labelFile("l.jsonl.gz", "x"), `is not gzip, as its ending .gz says`},
		{labelFile("l.jsonl", `{}`, "\xff"), `l.jsonl:2: is not UTF-8`},
		{labelFile("l.csv", "q\x00", strings.Repeat("x", maxLabelBytes)), `brings the labels to more than 64 MiB`},
	} {
		_, err := ReadLabels(tt.file)
		var e *golden.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80q: got %v, want %s", tt.file.Data, err, tt.want)
		}
	}
}

func TestGzipOfLabelsIsBounded(t *testing.T) {
	packed := gzipped(t, bytes.Repeat([]byte(" "), maxLabelBytes+1))
	if _, err := ReadLabels(golden.File{Name: "l.jsonl.gz", Data: packed}); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestTooManyLabels(t *testing.T) {
	row := `{"question": "q", "answer": "a", "correct": true}` + "\n"
	if set, err := ReadLabels(labelFile("l.jsonl", strings.Repeat(row, maxLabels))); err != nil || len(set.Labels) != maxLabels {
		t.Error(err)
	}
	_, err := ReadLabels(labelFile("l.jsonl", strings.Repeat(row, maxLabels+100)))
	if want := fmt.Sprintf("l.jsonl:%d: case #%d: the set has more than 10000 labels: use fewer", maxLabels+1, maxLabels+1); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = ReadLabels(labelFile("l.jsonl", strings.Repeat("x\n", 5000)))
	var e *golden.Error
	if !errors.As(err, &e) || e.Total != 5000 || len(e.Problems) != maxLabelProblems {
		t.Errorf("%d of %d problems are kept", len(e.Problems), e.Total)
	}
}

func TestLabelWarnings(t *testing.T) {
	set, err := ReadLabels(
		labelFile("l.jsonl", `{"question": "q", "answer": "a", "correct": true, "grouned": false, "reason": "r", "tags": ["x"], "metadata": {}, "abstained": false}`,
			`{"question": "q", "answer": "a", "correct": true, "grouned": false}`),
		labelFile("l.json", `{"version": 1, "labels": [{"question": "q", "answer": "a", "correct": true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []golden.Problem{
		{File: "l.jsonl", Line: 1, Field: "grouned", Message: "is not a field of a label, and is ignored"},
		{File: "l.json", Line: 1, Field: "version", Message: "is not known beside labels, and is ignored"},
	}
	if diff := cmp.Diff(want, set.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestLabelsDigest(t *testing.T) {
	base := LabelsDigest(threeLabels)
	same := slices.Clone(threeLabels)
	slices.Reverse(same)
	same[0].ID, same[1].Reason, same[1].Contexts = "other", "because", []string{}
	if LabelsDigest(same) != base {
		t.Error("order, ids or reasons change the digest")
	}
	for name, change := range map[string]func(*Label){
		"question":   func(l *Label) { l.Question = "x" },
		"history":    func(l *Label) { l.History = nil },
		"reference":  func(l *Label) { l.Reference = "x" },
		"contexts":   func(l *Label) { l.Contexts = l.Contexts[:1] },
		"answer":     func(l *Label) { l.Answer = "x" },
		"answerable": func(l *Label) { l.Answerable = false },
		"correct":    func(l *Label) { l.Correct = new(false) },
		"grounded":   func(l *Label) { l.Grounded = nil },
	} {
		changed := slices.Clone(threeLabels)
		change(&changed[0])
		if LabelsDigest(changed) == base {
			t.Errorf("%s is not part of the digest", name)
		}
	}
	id := Identity{Provider: "OpenAI"}
	d := CalibrationDigest(id, base)
	if d == CalibrationDigest(LexicalIdentity(), base) || d == CalibrationDigest(id, "other") || d != CalibrationDigest(id, base) || !strings.HasPrefix(d, "sha256:") {
		t.Errorf("digest %s", d)
	}
}

func TestWriteLabels(t *testing.T) {
	var b bytes.Buffer
	labels := slices.Clone(threeLabels)
	labels[0].Reason, labels[0].Answer = "<근거>", "<b>14일</b> & more"
	if err := WriteLabels(&b, labels); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"reason":"<근거>"`) || strings.Contains(b.String(), `\u`) {
		t.Errorf("people get:\n%s", b.String())
	}
	set, err := ReadLabels(golden.File{Name: "l.jsonl", Data: b.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	labels[0].Reason = ""
	if diff := cmp.Diff(labels, set.Labels); diff != "" {
		t.Error(diff)
	}
	if err := WriteLabels(full{}, labels); err == nil || !strings.Contains(err.Error(), "write label 1") {
		t.Errorf("a full disk gives %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func FuzzReadLabels(f *testing.F) {
	for format, file := range labelFiles {
		f.Add("l."+format, file.Data)
	}
	f.Add("l.yaml", []byte("labels:\n- &a {question: q}\n- *a"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			name = "l" + name[i:]
		}
		set, err := ReadLabels(golden.File{Name: name, Data: data})
		if err != nil {
			var e *golden.Error
			if !errors.As(err, &e) || len(e.Problems) == 0 {
				t.Fatalf("%#v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := WriteLabels(&b, set.Labels); err != nil {
			t.Fatal(err)
		}
		again, err := ReadLabels(golden.File{Name: "l.jsonl", Data: b.Bytes()})
		if err != nil || again.Digest != set.Digest {
			t.Fatalf("what was read cannot be read again: %v\n%s", err, b.String())
		}
	})
}
