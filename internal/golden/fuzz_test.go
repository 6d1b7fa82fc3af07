package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// asJSONL writes a set as another program would.
func asJSONL(t *testing.T, s *Set) File {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := len(s.Cases) - 1; i >= 0; i-- {
		c := &s.Cases[i]
		row := map[string]any{"_id": c.ID, "user_input": c.Question, "answerable": c.Answerable, "category": c.Tags, "metadata": c.Metadata}
		if c.Name != "" {
			row["title"] = c.Name
		}
		if c.ReferenceAnswer != "" {
			row["ground_truth"] = c.ReferenceAnswer
		}
		if c.History != nil {
			row["history"] = c.History
		}
		if c.Relevant != nil {
			row["source_doc"] = c.Relevant
		}
		if err := enc.Encode(row); err != nil {
			t.Fatalf("a case that was read is no JSON: %v", err)
		}
	}
	return File{"again.jsonl", b.Bytes()}
}

// checkRead holds whatever is read to what the package promises.
func checkRead(t *testing.T, f File) {
	set, err := Read(f)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || set != nil || e.Total < 1 || len(e.Problems) != min(e.Total, maxProblems) {
			t.Fatalf("error %#v with set %v", err, set)
		}
		for _, p := range e.Problems {
			if p.Message == "" || p.File != f.Name || strings.Contains(p.String(), "\n") {
				t.Fatalf("problem %#v", p)
			}
			if rows := 1 + bytes.Count(f.Data, []byte("\n")) + bytes.Count(f.Data, []byte("\r")); p.Line < 0 || p.Line > rows {
				t.Fatalf("problem %v is on a line that is not there, of %d", p, rows)
			}
		}
		if n := strings.Count(e.Error(), "\n"); n > maxListed+1 {
			t.Fatalf("the error's text has %d lines", n+1)
		}
		return
	}
	if len(set.Cases) == 0 {
		t.Fatal("a set without cases")
	}
	for i, c := range set.Cases {
		if c.ID == "" || i > 0 && set.Cases[i-1].ID >= c.ID {
			t.Fatalf("ids are empty, repeated or not sorted: %q", c.ID)
		}
		if strings.TrimSpace(c.Question) == "" || !utf8.ValidString(c.Question) || len(c.Question) > maxQuestionBytes {
			t.Fatalf("question %q", c.Question)
		}
		for _, r := range c.Relevant {
			if r.ID == "" || !(r.Grade > 0) || math.IsInf(r.Grade, 0) {
				t.Fatalf("relevant %v", r)
			}
		}
	}
	again, err := Read(asJSONL(t, set))
	if err != nil {
		t.Fatalf("the set as JSONL: %v", err)
	}
	if again.Digest != set.Digest {
		t.Fatalf("the set as JSONL has digest %s, was %s", again.Digest, set.Digest)
	}
}

func fuzzFormat(f *testing.F, ending string, more ...string) {
	paths, err := filepath.Glob("testdata/*/*" + ending)
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range more {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkRead(t, File{"f" + ending, data}) })
}

func FuzzYAML(f *testing.F) {
	fuzzFormat(f, ".yaml",
		"- &a {id: a, question: q}\n- {<<: [*a, {metadata: {k: [1, .5, ~, !!str 1]}}], id: b}\n",
		"- question: |\n    a\n  relevant: [{id: x, grade: 0x10}, *y]\n", "- &a [*a]", "a: b: c", "'it's'", bomb(9),
		"- question: \"a\u2028b\u0085\"\n", "--- []\n---\n- {}\n", "- question: \xe9")
}

func FuzzJSON(f *testing.F) {
	fuzzFormat(f, ".json", `{"cases": [{"question": "\ud83d\ude00\ud83d", "relevant": [[1e5]]}], "x": {}}`, `[{"a":1,"a":2}]`, "[1,]", `{"cases":[],"cases":[]}`, "[\n\n")
}

func FuzzJSONL(f *testing.F) {
	fuzzFormat(f, ".jsonl", "{\"question\": \"q\"}\r\n\n[\n\xff", `{"name": "n", "query": "q", "question": "r", "metadata": {"k": 1e999}}`)
}

func FuzzCSV(f *testing.F) {
	fuzzFormat(f, ".csv", "question,history\r\n\"a\r\nb\",\"[{\"\"role\"\": 1}]\"\r\n", "question\n\"a\"b\"\n", "question,,\na,,\n,,\n", "id,id,question\n")
}

func FuzzTSV(f *testing.F) {
	fuzzFormat(f, ".tsv", "question\trelevant\nq\ta; b;;\n")
}

func FuzzGzip(f *testing.F) {
	f.Add(zipped(f, []byte(`{"question": "q"}`)))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Read(File{"f.jsonl.gz", data})
		if (set == nil) == (err == nil) {
			t.Fatalf("set %v, error %v", set, err)
		}
	})
}
