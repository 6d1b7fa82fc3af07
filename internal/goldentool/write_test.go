package goldentool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

// mustRead reads a golden set.
func mustRead(t testing.TB, name string, data []byte) *golden.Set {
	t.Helper()
	set, err := golden.Read(golden.File{Name: name, Data: data})
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return set
}

// everything is a case with all that a case can have.
var everything = golden.Case{
	ID: "007", Name: "Yes", Question: "first: line\n\n\tsecond # line\n", Answerable: false,
	Relevant:        []golden.Relevant{{ID: "a;b.md#1", Grade: 2.5}, {ID: "true", Grade: 1}, {ID: "1e3", Grade: 1}},
	ReferenceAnswer: " \"quoted\" \\ 😀\u2028\u0085\x01\U000E0001 ", Tags: []string{"1.10", "a, b", "korean"},
	History:  []golden.Turn{{Role: "user", Content: "one\ntwo"}, {Role: "assistant", Content: ""}},
	Metadata: map[string]any{"n": int64(1), "f": 1.0, "b": true, "z": nil, "s": "0x10", "l": []any{"a", map[string]any{"k: y": "v"}}, "big": 1e20},
}

func TestWriteReadsBack(t *testing.T) {
	for _, c := range []golden.Case{
		everything,
		{ID: "plain", Question: "How do I get my money back?", Answerable: true, Relevant: []golden.Relevant{{ID: "billing/refunds.md", Grade: 1}}},
		{ID: "한국어", Question: "설치는 어떻게 하나요", Answerable: true, Tags: []string{"korean"}},
		{ID: "null", Name: "~", Question: "- not a list", Answerable: true},
		{ID: "spaces", Question: " leading\n  and inner \n", Answerable: true},
		{ID: "crlf", Question: "a\r\nb", Answerable: true},
		{ID: "breaks", Question: "a\n\n\nb\n\n", Answerable: true},
		{ID: "marks", Question: "x\n---\n...\n# y", Answerable: true},
		{ID: "many", Question: "q", Answerable: true, Relevant: func() (ids []golden.Relevant) {
			for _, s := range []string{"a", "b", "c", "d"} {
				ids = append(ids, golden.Relevant{ID: strings.Repeat(s, 40), Grade: 1})
			}
			return ids
		}()},
	} {
		for _, format := range Formats {
			t.Run(c.ID+" "+string(format), func(t *testing.T) {
				data, err := Write([]golden.Case{c}, format)
				if err != nil {
					t.Fatal(err)
				}
				got := mustRead(t, "set."+string(format), data).Cases[0]
				got.Digest = ""
				if diff := cmp.Diff(c, got); diff != "" {
					t.Errorf("(-written +read):\n%s\n%s", diff, data)
				}
			})
		}
	}
}

// TestWriteWithoutID leaves it to the reader to name the case.
func TestWriteWithoutID(t *testing.T) {
	for _, format := range Formats {
		data, err := Write([]golden.Case{{Name: "a name", Question: "q", Answerable: true}}, format)
		if err != nil {
			t.Fatal(err)
		}
		got := mustRead(t, "set."+string(format), data).Cases[0]
		if got.Name != "a name" || len(got.ID) != 16 {
			t.Errorf("%s: id %q, name %q; want an id of 16 digits and the name", format, got.ID, got.Name)
		}
	}
}

func TestWriteReadsWell(t *testing.T) {
	data, err := Write([]golden.Case{
		{ID: "refund", Question: "How do I get my money back?", Answerable: true, Tags: []string{"howto"}, Relevant: []golden.Relevant{{ID: "billing/refunds.md", Grade: 1}}},
		{ID: "trace", Question: "panic:\n  at main.go", Answerable: true, Relevant: []golden.Relevant{{ID: "a.md", Grade: 2}, {ID: "b #1", Grade: 1}}, Metadata: map[string]any{"tenant": "ops", "zip": "007"}},
		{ID: "none", Question: "Who won?", Answerable: false},
	}, golden.YAML)
	if err != nil {
		t.Fatal(err)
	}
	const want = `- id: refund
  question: How do I get my money back?
  relevant: [billing/refunds.md]
  tags: [howto]
- id: trace
  question: |-
    panic:
      at main.go
  relevant:
    - {id: a.md, grade: 2}
    - {id: "b #1", grade: 1}
  metadata: {tenant: ops, zip: "007"}
- id: none
  question: Who won?
  answerable: false
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteRefusesOtherFormats(t *testing.T) {
	if _, err := Write([]golden.Case{{Question: "q"}}, golden.CSV); err == nil {
		t.Error("csv was written")
	}
}

// FuzzWrite holds every text to what is read back.
func FuzzWrite(f *testing.F) {
	for _, s := range []string{"plain", everything.Question, everything.ReferenceAnswer, "a\n b\n", "0o7", "- x", "a: b", "\ufeff", "<<", "=", "\ttab\nx", "a\n\tb", "!t", "%x", "\uf6f0\u2028"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, question, other string) {
		c := golden.Case{ID: "id " + other, Question: "q" + question, ReferenceAnswer: other, Answerable: true,
			Relevant: []golden.Relevant{{ID: "r" + question, Grade: 1}, {ID: "s", Grade: 0.5}},
			History:  []golden.Turn{{Role: other, Content: question}}, Metadata: map[string]any{"k" + other: question}}
		jsonl, err := Write([]golden.Case{c}, golden.JSONL)
		if err != nil {
			t.Fatal(err)
		}
		want, err := golden.Read(golden.File{Name: "s.jsonl", Data: jsonl})
		if err != nil {
			return // too long: no case
		}
		yaml, err := Write(want.Cases, golden.YAML)
		if err != nil {
			t.Fatal(err)
		}
		got, err := golden.Read(golden.File{Name: "s.yaml", Data: yaml})
		if err != nil {
			t.Fatalf("%v\n%s", err, yaml)
		}
		if diff := cmp.Diff(want.Cases, got.Cases); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s", diff, yaml)
		}
	})
}
