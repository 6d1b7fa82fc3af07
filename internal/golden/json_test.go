package golden

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSONProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		file File
		want []string
	}{
		"syntax": {file("f.json", "[", `  {"id": "a", "question": "q"},`, `  {"id": "b" "question": "q"}`, "]"),
			[]string{`f.json:3: is not JSON: invalid character '"' after object key:value pair`}},
		"cut off":  {file("f.json", "[", `  {"id": "a",`), []string{`f.json:2: is not JSON: unexpected end of JSON input`}},
		"NaN":      {file("f.json", "[{", `"question": "q", "relevant": [{"id": "x", "grade": NaN}]}]`), []string{`f.json:2: is not JSON: invalid character 'N' looking for beginning of value`}},
		"trailing": {file("f.json", `[{"question": "q"},`, `]`), []string{`f.json:2: is not JSON: invalid character ']' looking for beginning of value`}},
		"is JSONL": {file("f.json", `{"question": "q"}`, `{"question": "p"}`), []string{`f.json:2: is not JSON: invalid character '{' after top-level value; if every line is a case, name the file .jsonl`}},
		"text":     {file("f.json", "", `"hello"`), []string{`f.json:2: must be a list of cases, or a map with the list under cases`}},
		"one case": {file("f.json", `{"question": "q", "metadata": {"a": [1]}}`), []string{`f.json:1: must be a list of cases, or a map with the list under cases; a single case goes into a list too`}},
		"cases is a map": {file("f.json", `{`, `"cases": {"a": 1}}`),
			[]string{`f.json:2: cases: must be a list of cases, is a map`}},
		"cases twice": {file("f.json", `{"cases": [{"question": "q"}],`, `"cases": []}`), []string{`f.json:2: cases: is given twice, first on line 1: keep one`}},
		"field twice": {file("f.json", `[{"id": "a",`, `"question": "q",`, `"question": "q"}]`), []string{`f.json:3: case "a": question: is given twice in one case, first on line 2: keep one`}},
		"key twice": {file("f.json", `[{"id": "a", "question": "q", "metadata": {"x": {"k": 1,`, `"\u006b": 2}}}]`),
			[]string{`f.json:2: case "a": metadata: has the key "k" twice, first on line 1: keep one`}},
		"half a character": {file("f.jsonl", `{"id": "a", "question": "\ud83d\ude00 \\ud83d \ud83d!"}`),
			[]string{`f.jsonl:1: case "a": question: has \ud83d, which is half of a character: write both halves, or the character itself`}},
		"lines": {file("f.jsonl", `{"id": "a"`, "", `{"id": "b"}}`, `{"id": "c", "question": "q"}`, `[`),
			[]string{
				`f.jsonl:1: case #1: is not JSON: unexpected end of JSON input; every line must be one whole JSON object`,
				`f.jsonl:3: case #2: is not JSON: invalid character '}' after top-level value; every line must be one whole JSON object`,
				`f.jsonl:5: case #4: is not JSON: unexpected end of JSON input; every line must be one whole JSON object`,
			}},
		"line of a value": {file("f.json", "[", "{", `"id": "a",`, `"question": "q",`, `"relevant": [`, `"x",`, `{"id": "y",`, `"grade":`, `-1}]}]`),
			[]string{`f.json:9: case "a": relevant[1].grade: must be a number of at least 0 (0: not relevant), is -1`}},
		"too deep": {file("f.jsonl", strings.Repeat("[", 20_000)), []string{`f.jsonl:1: case #1: is not JSON: invalid character '[' exceeded max depth; every line must be one whole JSON object`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(problems(t, tt.file))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Many keys are looked up in another way than few.
func TestManyKeys(t *testing.T) {
	var keys []string
	for c := 'a'; c <= 'z'; c++ {
		keys = append(keys, `"`+string(c)+`": 1`)
	}
	row := func(more string) File {
		return file("f.jsonl", `{"id": "i", "question": "q", "metadata": {`+strings.Join(keys, ", ")+more+`}}`)
	}
	if got := len(mustRead(t, row("")).Cases[0].Metadata); got != 26 {
		t.Errorf("%d keys, want 26", got)
	}
	for _, k := range []string{"a", "p", "q", "z"} {
		want := []string{`f.jsonl:1: case "i": metadata: has the key "` + k + `" twice, first on line 1: keep one`}
		if diff := cmp.Diff(want, lines(problems(t, row(`, "`+k+`": 2`)))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestJSONEscapes(t *testing.T) {
	got := mustRead(t, file("f.json", `[{"\u0069d": "a", "question": "\"\\\/\n\ud83d\ude00\ufffd�"}]`)).Cases[0]
	if want := "\"\\/\n\U0001F600��"; got.ID != "a" || got.Question != want {
		t.Errorf("id %q, question %q, want %q", got.ID, got.Question, want)
	}
}
