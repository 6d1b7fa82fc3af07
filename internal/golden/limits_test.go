package golden

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each row is a value at its limit, which is read, and one beyond, which is not.
func TestLimits(t *testing.T) {
	text := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	many := func(n int, format string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(format, i)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	deep := func(n int) string {
		return strings.Repeat(`{"k":`, n-1) + "1" + strings.Repeat("}", n-1)
	}
	for name, tt := range map[string]struct {
		field        string
		good, beyond string
		want         string
	}{
		"question":       {"question", text(32 << 10), text(32<<10 + 1), `question: has 32769 bytes, the limit is 32768: shorten it`},
		"id":             {"id", text(1024), text(1025), `id: has 1025 bytes, the limit is 1024: shorten it`},
		"name":           {"name", text(1024), text(1025), `name: has 1025 bytes, the limit is 1024: shorten it`},
		"reference":      {"reference", text(256 << 10), text(256<<10 + 1), `reference: has 262145 bytes, the limit is 262144: shorten it`},
		"relevant":       {"relevant", many(10_000, `"%d"`), many(10_001, `"%d"`), `relevant: has 10001 ids, the limit is 10000: keep the most relevant ones`},
		"relevant id":    {"relevant", text(1024), text(1025), `relevant[0]: is an id of 1025 bytes, the limit is 1024`},
		"tags":           {"tags", many(64, `"%d"`), many(65, `"%d"`), `tags: gives the case more than 64 tags: keep fewer`},
		"tag":            {"tags", `"` + strings.Repeat("각", 128) + `"`, text(129), `tags: has a tag of 129 characters, the limit is 128: "` + strings.Repeat("x", 64) + `…"`},
		"turns":          {"history", many(1000, `{"role":"user","content":"%d"}`), many(1001, `{"role":"user","content":"%d"}`), `history: has 1001 turns, the limit is 1000: keep the last ones`},
		"history":        {"history", `[{"role": "user", "content": ` + text(256<<10-4) + `}]`, `[{"role": "user", "content": ` + text(256<<10-3) + `}]`, `history: has 262145 bytes of text, the limit is 262144: keep the last turns`},
		"metadata":       {"metadata", `{"k": ` + text(64<<10-5) + `}`, `{"k": ` + text(64<<10-4) + `}`, `metadata: is larger than 64 KiB: keep only what the request needs`},
		"metadata depth": {"metadata", deep(32), deep(33), `metadata: is nested more than 32 levels deep`},
	} {
		t.Run(name, func(t *testing.T) {
			row := func(value string) File {
				fields := `"` + tt.field + `": ` + value
				if tt.field != "question" {
					fields += `, "question": "q"`
				}
				if tt.field != "id" && tt.field != "name" {
					fields += `, "id": "a"`
				}
				return file("f.jsonl", "{"+fields+"}")
			}
			mustRead(t, row(tt.good))
			label := `"a"`
			if tt.field == "id" || tt.field == "name" {
				label = "#1"
			}
			want := []string{"f.jsonl:1: case " + label + ": " + tt.want}
			if diff := cmp.Diff(want, lines(problems(t, row(tt.beyond)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// manyCases writes n cases in JSONL.
func manyCases(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"q%06d","question":"What is number %d of the long list of questions, and why?","relevant":["doc_%d","doc_%d"],"reference_answer":"It is number %d, because the list has it there.","tags":["howto","lang-%d"],"metadata":{"tenant":"t%d"}}`+"\n", i, i, i, i/2, i, i%3, i%10)
	}
	return []byte(b.String())
}

func TestTooManyCases(t *testing.T) {
	data := manyCases(maxCases)
	if got := len(mustRead(t, File{"f.jsonl", data}).Cases); got != maxCases {
		t.Errorf("%d cases, want %d", got, maxCases)
	}
	extra := file("g.yaml", "- {id: a, question: q}", "- {id: b, question: q}")
	want := []string{`g.yaml:1: the set has more than 100,000 cases: leave cases out, or split it over several suites`}
	if diff := cmp.Diff(want, lines(problems(t, File{"f.jsonl", data}, extra, file("h.txt")))); diff != "" {
		t.Error(diff)
	}
	for name, data := range map[string]string{
		"f.jsonl": strings.Repeat("{}\n", maxCases+5),
		"f.json":  "[" + strings.Repeat("{},", maxCases+5) + "{}]",
		"g.json":  `{"cases": [` + strings.Repeat("{},", maxCases+5) + `{}], "cases": []}`,
		"f.yaml":  strings.Repeat("- {}\n", maxCases+5),
		"f.csv":   "id,question\n" + strings.Repeat("a,\n", maxCases+5),
	} {
		_, err := Read(File{name, []byte(data)})
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: error %v is a %T, want *Error", name, err, err)
		}
		if name != "f.csv" && e.Total != maxCases+1 {
			t.Errorf("%s: %d problems, want one a case and that they are too many", name, e.Total)
		}
		if len(e.Problems) != maxProblems {
			t.Errorf("%s: %d problems kept, want %d", name, len(e.Problems), maxProblems)
		}
	}
}

// TestManyValues: what a few kilobytes of gzip unpack to must not take gigabytes
// to look at.
func TestManyValues(t *testing.T) {
	ones := func(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }
	cell := func(n int) string { return strings.TrimSuffix(strings.Repeat("x;", n), ";") }
	for name, tt := range map[string]struct {
		file File
		want string
	}{
		"JSON": {file("f.json", `[{"id": "a", "question": "q", "extra": [`+ones(maxValues)+`]}]`),
			`f.json:1: case "a": extra: brings the case to more than 100,000 values: keep only what is asked and expected`},
		"JSON beside cases": {file("f.json", `{"extra": [`+ones(maxValues+1)+`], "cases": [{"id": "a", "question": "q"}]}`),
			`f.json:1: extra: brings the case to more than 100,000 values: keep only what is asked and expected`},
		"JSON in a cell": {file("f.csv", "id,question,history", `a,q,"[`+ones(maxValues+1)+`]"`),
			`f.csv:2: case "a": history: brings the case to more than 100,000 values: keep only what is asked and expected`},
		"a list in a cell": {file("f.csv", "id,question,relevant", "a,q,"+cell(50_000)),
			`f.csv:2: case "a": relevant: has 10001 ids, the limit is 10000: keep the most relevant ones`},
		"columns": {file("f.csv", "question,"+ones(maxColumns), "q"),
			`f.csv:1: the first row has 1001 columns, the limit is 1000: leave out those that are no field of a case`},
		"YAML": {file("f.yaml", "- [", ones(maxYAMLMarks), "]"),
			`f.yaml: holds more values than are read of YAML, going by its line breaks, commas and brackets: write a case a line in a .jsonl file, which takes far less memory`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lines(problems(t, tt.file)); len(got) == 0 || got[0] != tt.want {
				t.Errorf("problems %q, the first one not %q", got, tt.want)
			}
		})
	}
	// The count begins anew with every case.
	row := `{"question": "q", "id": "%d", "extra": [` + ones(maxValues/2) + `]}`
	mustRead(t, file("f.jsonl", fmt.Sprintf(row, 1), fmt.Sprintf(row, 2), fmt.Sprintf(row, 3)))
	mustRead(t, file("f.json", "["+fmt.Sprintf(row, 1)+","+fmt.Sprintf(row, 2)+","+fmt.Sprintf(row, 3)+"]"))
}

func TestUnpackedSize(t *testing.T) {
	pad := func(id string, size int) File {
		data := []byte(`{"id": "` + id + `", "question": "q"}` + "\n")
		data = append(data, bytes.Repeat([]byte(" "), size-len(data))...)
		return File{id + ".jsonl.gz", zipped(t, data)}
	}
	half, more := pad("a", maxUnpackedBytes/2), pad("b", maxUnpackedBytes/2+1)
	mustRead(t, pad("all", maxUnpackedBytes))
	const text = "unpacks to more than 64 MiB, counting all files of the set: leave cases out, or split the set over several suites"
	for name, files := range map[string][]File{
		"big.jsonl.gz": {{"big.jsonl.gz", pad("big", maxUnpackedBytes+1).Data}},
		"b.jsonl.gz":   {half, more},
	} {
		if diff := cmp.Diff([]string{name + ": " + text}, lines(problems(t, files...))); diff != "" {
			t.Error(diff)
		}
	}
}
