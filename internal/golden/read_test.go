package golden

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var noDigest = cmpopts.IgnoreFields(Case{}, "Digest")

func TestSeeds(t *testing.T) {
	for path, want := range map[string]Case{
		"seeds/stack_traces.yaml": {
			ID:         "Timeout in the payment client",
			Question:   "Traceback (most recent call last):\n  File \"payment/client.py\", line 88, in charge\nTimeoutError: timed out\n",
			Relevant:   []Relevant{{"payment/client.py", 1}},
			Answerable: true,
		},
		"seeds/manual.json": {
			ID:              "d3d78f905d5d8ed1",
			Question:        "How is a device reset?",
			Relevant:        []Relevant{{"manual.pdf", 1}},
			ReferenceAnswer: "Hold the button for ten seconds.",
			Answerable:      true,
		},
		"seeds/queries.jsonl": {
			ID:              "q12",
			Question:        "How do Services find Pods?",
			Relevant:        []Relevant{{"doc_004", 1}, {"doc_009", 1}},
			ReferenceAnswer: "By labels.",
			Answerable:      true,
		},
	} {
		t.Run(path, func(t *testing.T) {
			set := mustRead(t, fixture(t, path))
			if len(set.Cases) != 2 || len(set.Warnings) != 0 {
				t.Errorf("%d cases and warnings %v, want 2 and none", len(set.Cases), set.Warnings)
			}
			if diff := cmp.Diff(want, byID(t, set, want.ID), noDigest); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The digests below are published in status and compared across releases: a
// change here makes every suite in every cluster run again.
const formatsDigest = "sha256:223e4cd537b564d780a2c194221093d3eae1edba092742b9ddbb3d71d69e1f0e"

func TestFormatsAgree(t *testing.T) {
	want := []Case{
		{
			ID: "007", Question: `What does "; drop" do?`, Answerable: true,
			Relevant:        []Relevant{{"9007199254740993", 1}, {"1.10", 1}},
			ReferenceAnswer: "Nothing.",
			Tags:            []string{"howto", "sql"},
			Metadata: map[string]any{
				"tenant": "a", "version": int64(7), "ratio": 1.5, "live": true, "none": nil, "list": []any{int64(1), "b"},
			},
			Digest: "309d1d49ccf7395ee7708628c413ec605bd85d5425fd5e0725147c40c89e479f",
		},
		{
			ID: "2024-01-01", Question: "line one\nline two", Answerable: true,
			Relevant: []Relevant{{"규정.md", 1}},
			Tags:     []string{"howto"},
			History:  []Turn{{"user", "hi"}, {"assistant", "hello"}},
			Digest:   "3bd84237b67a7c50f204655bb3d168eedf1c244f75df638a38161304a4ba06f4",
		},
		{ID: "yes", Question: "Who wins?", Digest: "d12b2b251655a6ef18c7fb5f4ace75626d2d48b2d3eb7a1d47619db5678f7368"},
	}
	if diff := cmp.Diff(want, mustRead(t, fixture(t, "formats/set.yaml")).Cases); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"set.yaml", "set.json", "wrapped.json", "set.jsonl", "set.csv", "set.tsv"} {
		f := fixture(t, "formats/"+name)
		yml := f
		yml.Name = strings.NewReplacer(".yaml", ".YML", ".jsonl", ".ndjson").Replace(f.Name)
		bom := File{Name: f.Name, Data: append([]byte("\ufeff"), strings.TrimPrefix(string(f.Data), "\ufeff")...)}
		for kind, f := range map[string]File{
			"as it is": f,
			"gzip":     {Name: f.Name + ".gz", Data: zipped(t, f.Data)},
			"renamed":  yml,
			"with BOM": bom,
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				set := mustRead(t, f)
				if set.Digest != formatsDigest {
					t.Errorf("digest %s, want %s", set.Digest, formatsDigest)
				}
				if len(set.Warnings) != 0 {
					t.Errorf("warnings %v", set.Warnings)
				}
				for i, c := range set.Cases {
					if c.Digest != want[i].Digest {
						t.Errorf("case %s: digest %s, want %s", c.ID, c.Digest, want[i].Digest)
					}
				}
			})
		}
	}
}

func TestDigest(t *testing.T) {
	base := []string{
		`{"id": "a", "question": "one", "relevant": [{"id": "x", "grade": 2}, "y"], "tags": ["t"], "metadata": {"k": [1, 2]}}`,
		`{"id": "b", "question": "two", "reference": "r", "history": [{"role": "user", "content": "c"}]}`,
	}
	want := mustRead(t, file("f.jsonl", base...))
	if again := mustRead(t, file("f.jsonl", base[1], base[0])); again.Digest != want.Digest {
		t.Error("the order of the cases changes the digest")
	}
	if again := mustRead(t, file("b.jsonl", base[1]), file("a.jsonl", base[0])); again.Digest != want.Digest {
		t.Error("the order of the files changes the digest")
	}
	for name, change := range map[string]struct {
		old, new   string
		set, cases bool // what it changes
	}{
		"spaces":          {`"question": `, `"question":   `, false, false},
		"order of ids":    {`{"id": "x", "grade": 2}, "y"`, `"y", {"grade": 2.0, "id": "x"}`, false, false},
		"explicit grade":  {`"y"`, `{"id": "y", "grade": 1}`, false, false},
		"grade 0":         {`"y"`, `"y", {"id": "z", "grade": 0}`, false, false},
		"explicit true":   {`"id": "b"`, `"id": "b", "answerable": true`, false, false},
		"empty history":   {`"id": "a"`, `"id": "a", "history": [], "reference": ""`, false, false},
		"name of a field": {`"reference"`, `"ground_truth"`, false, false},
		"unknown field":   {`"id": "b"`, `"id": "b", "note": "n"`, false, false},
		"id":              {`"id": "b"`, `"id": "c"`, true, false},
		"name":            {`"id": "b"`, `"id": "b", "name": "c"`, true, false},
		"tag":             {`["t"]`, `["u"]`, true, false},
		"question":        {"two", "two ", true, true},
		"relevant":        {`"y"`, `"z"`, true, true},
		"grade":           {`"grade": 2`, `"grade": 3`, true, true},
		"reference":       {`"r"`, `"s"`, true, true},
		"history":         {`"content": "c"`, `"content": "d"`, true, true},
		"metadata":        {`[1, 2]`, `[2, 1]`, true, true},
		"answerable":      {`"id": "b"`, `"id": "b", "answerable": false`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := strings.Join(base, "\n")
			if !strings.Contains(data, change.old) {
				t.Fatalf("%q is not there to change", change.old)
			}
			set := mustRead(t, file("f.jsonl", strings.Replace(data, change.old, change.new, 1)))
			if (set.Digest != want.Digest) != change.set {
				t.Errorf("set digest changed: %t, want %t", !change.set, change.set)
			}
			changed := false
			for i := range set.Cases {
				changed = changed || set.Cases[i].Digest != want.Cases[i].Digest
			}
			if changed != change.cases {
				t.Errorf("case digest changed: %t, want %t", changed, change.cases)
			}
		})
	}
}

func TestDerivedID(t *testing.T) {
	ids := func(rows ...string) []string {
		var ids []string
		for _, c := range mustRead(t, file("f.jsonl", rows...)).Cases {
			ids = append(ids, c.ID)
		}
		return ids
	}
	one, two := `{"question": "q", "metadata": {"a": 1, "b": 2}}`, `{"question": "q", "metadata": {"a": 1, "b": 3}}`
	if diff := cmp.Diff(ids(one, two), ids(two, one)); diff != "" {
		t.Errorf("ids depend on the order: %s", diff)
	}
	if got := ids(`{"metadata": {"b": 2, "a": 1}, "question": "q", "relevant": "x"}`); got[0] != ids(one)[0] {
		t.Error("an id depends on more than question and metadata")
	}
	if got := ids(`{"question": "q", "title": "T"}`, `{"question": "p", "title": "T"}`); slices.Contains(got, "T") {
		t.Error("a title became an id")
	}
	got := lines(problems(t, file("a.jsonl", one), file("b.jsonl", "", one)))
	want := []string{`b.jsonl:2: case #1: duplicate id: the case at a.jsonl:1 has the same question and metadata, and neither has an id: give both an id, or remove one`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNames(t *testing.T) {
	for field, names := range map[string][]string{
		"ID":              {"id", "query_id", "qid", "_id", "name"},
		"Name":            {"name", "title"},
		"Question":        {"question", "query", "stack_trace", "user_input"},
		"Relevant":        {"relevant", "expected_files", "relevant_doc_ids", "source_doc", "reference_context_ids", "retrieval_gt"},
		"ReferenceAnswer": {"reference_answer", "ground_truth", "reference", "expected_answer", "generation_gt"},
		"Tags":            {"tags", "type", "category"},
	} {
		for _, name := range names {
			t.Run(field+" "+name, func(t *testing.T) {
				row := map[string]string{name: "v", "relevant": "x"}
				want := Case{ID: "i", Question: "q", Relevant: []Relevant{{"x", 1}}, ReferenceAnswer: "r", Answerable: true}
				switch field {
				case "ID":
					want.ID = "v"
				case "Name":
					want.Name = "v"
				case "Question":
					want.Question = "v"
				case "Relevant":
					delete(row, "relevant")
					row[name] = "v"
					want.Relevant = []Relevant{{"v", 1}}
				case "ReferenceAnswer":
					want.ReferenceAnswer = "v"
				case "Tags":
					want.Tags = []string{"v"}
				}
				if field != "ID" {
					row["id"] = "i"
				}
				if field != "Question" {
					row["question"] = "q"
				}
				if field != "ReferenceAnswer" {
					row["reference_answer"] = "r"
				}
				var b strings.Builder
				for k, v := range row {
					fmt.Fprintf(&b, "  %s: %s\n", k, v)
				}
				set := mustRead(t, file("f.yaml", "-\n"+b.String()))
				if diff := cmp.Diff(want, set.Cases[0], noDigest); diff != "" {
					t.Error(diff)
				}
				if len(set.Warnings) != 0 {
					t.Errorf("warnings %v", set.Warnings)
				}
			})
		}
	}
}

func TestNameStandsForIDOnlyAlone(t *testing.T) {
	for _, id := range []string{"id", "query_id", "qid", "_id"} {
		c := mustRead(t, file("f.jsonl", `{"name": "n", "`+id+`": "i", "question": "q"}`)).Cases[0]
		if c.ID != "i" || c.Name != "n" {
			t.Errorf("%s: id %q, name %q", id, c.ID, c.Name)
		}
	}
}

func TestSameFieldTwice(t *testing.T) {
	rest := `"question": "q", "reference": "r"`
	for _, tt := range []struct{ row, problem string }{
		{`"id": "a", "qid": "a"`, ""},
		{`"id": 7, "qid": "7"`, ""},
		{`"id": "a", "query": "q"`, ""},
		{`"id": "a", "relevant": ["x", "y"], "source_doc": [{"id": "y"}, "x", "x"]`, ""},
		{`"id": "a", "relevant": "\uADDC\uC815", "source_doc": "\u1100\u1172\u110c\u1165\u11bc"`, ""},
		{`"id": "a", "expected_answer": "r"`, ""},
		{`"id": "a", "name": "n", "title": "n"`, ""},
		{`"id": "a", "query": null`, ""},
		{`"id": "a", "qid": "b"`, `case "a": qid: differs from id of the same case, which means the same field: keep one`},
		{`"id": "a", "query": "Q"`, `case "a": question: differs from query of the same case, which means the same field: keep one`},
		{`"id": "a", "query": "p", "user_input": "q"`, `case "a": user_input: differs from query of the same case, which means the same field: keep one`},
		{`"id": "a", "relevant": "x", "source_doc": "y"`, `case "a": source_doc: differs from relevant of the same case, which means the same field: keep one`},
		{`"id": "a", "relevant": "x", "source_doc": [{"id": "x", "grade": 2}]`, `case "a": source_doc: differs from relevant of the same case, which means the same field: keep one`},
		{`"id": "a", "ground_truth": "s"`, `case "a": reference: differs from ground_truth of the same case, which means the same field: keep one`},
		{`"id": "a", "name": "n", "title": "m"`, `case "a": title: differs from name of the same case, which means the same field: keep one`},
	} {
		t.Run(tt.row, func(t *testing.T) {
			f := file("f.jsonl", "{"+tt.row+", "+rest+"}")
			if tt.problem == "" {
				mustRead(t, f)
				return
			}
			if got := lines(problems(t, f)); !slices.Contains(got, "f.jsonl:1: "+tt.problem) {
				t.Errorf("problems %q, want %q", got, tt.problem)
			}
		})
	}
}

func TestValues(t *testing.T) {
	for name, tt := range map[string]struct {
		row  string
		want Case
	}{
		"number ids": {`"id": 9007199254740993, "relevant": [18446744073709551616, 1.10, 7]`,
			Case{ID: "9007199254740993", Relevant: []Relevant{{"18446744073709551616", 1}, {"1.10", 1}, {"7", 1}}}},
		"one number": {`"id": "a", "relevant": 42`, Case{ID: "a", Relevant: []Relevant{{"42", 1}}}},
		"grades": {`"id": "a", "relevant": [{"id": "x", "grade": 0}, {"id": 7, "grade": 2.5}, {"id": "z"}, {"id": "n", "grade": null}, "s"]`,
			Case{ID: "a", Relevant: []Relevant{{"7", 2.5}, {"z", 1}, {"n", 1}, {"s", 1}}}},
		"repeats": {`"id": "a", "relevant": ["café", {"id": "cafe\u0301", "grade": 3}, "café", {"id": "café", "grade": 0}]`,
			Case{ID: "a", Relevant: []Relevant{{"café", 3}}}},
		"kept as composed": {`"id": "a", "relevant": "cafe\u0301"`, Case{ID: "a", Relevant: []Relevant{{"cafe\u0301", 1}}}},
		"AutoRAG":          {`"qid": "a", "retrieval_gt": [["x"], ["y"]], "generation_gt": ["g"]`, Case{ID: "a", Relevant: []Relevant{{"x", 1}, {"y", 1}}, ReferenceAnswer: "g"}},
		"united tags": {`"id": "a", "tags": ["b", "a"], "type": "c", "category": ["a", 7]`,
			Case{ID: "a", Tags: []string{"7", "a", "b", "c"}}},
		"nulls": {`"id": "a", "relevant": null, "tags": null, "answerable": null, "history": null, "metadata": null, "name": null`, Case{ID: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.Question, tt.want.Answerable = "q", true
			got := mustRead(t, file("f.jsonl", `{"question": "q", `+tt.row+`}`)).Cases[0]
			if diff := cmp.Diff(tt.want, got, noDigest); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQuestionByteForByte(t *testing.T) {
	for _, q := range []string{
		" 휴가는 며칠 전에?\r\n\tif (a < b && c) { return \"x\"; }\n\n ",
		"\u1100\u1161\u11a8", // decomposed
		"\U0001F600 \u2028 \u0085 \u00a0",
		"private \uf6f0 use",
	} {
		json := strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`).Replace(q)
		csv := `"` + strings.ReplaceAll(q, `"`, `""`) + `"`
		for _, f := range []File{
			file("f.jsonl", `{"question": "`+json+`"}`),
			file("f.yaml", `- question: "`+json+`"`),
			file("f.csv", "id,question\r\na,"+csv+"\r\n"),
			file("f.tsv", "id\tquestion\r\na\t"+csv+"\r\n"),
		} {
			if got := mustRead(t, f).Cases[0].Question; got != q {
				t.Errorf("%s: question %q, want %q", f.Name, got, q)
			}
		}
	}
}

func TestMerge(t *testing.T) {
	set := mustRead(t, file("a.yaml", "- {id: b, question: q}"), file("b.csv", "id,question", "a,q"), file("c.json", ""))
	if len(set.Cases) != 2 || set.Cases[0].ID != "a" || set.Cases[1].ID != "b" {
		t.Errorf("cases %v, want a and b", set.Cases)
	}
	got := lines(problems(t,
		file("a.yaml", "", "- {qid: b, question: q}"), file("b.csv", "id,question", "a,q", "b,r"), file("c.jsonl", `{"name": "a", "question": "s"}`)))
	want := []string{
		`b.csv:3: case "b": id: duplicate id, first used at a.yaml:2: give each case its own`,
		`c.jsonl:1: case "a": name: duplicate id, first used at b.csv:2: give each case its own`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithTags(t *testing.T) {
	rows := []string{
		`{"id": "a", "question": "q", "tags": ["x", "y"]}`,
		`{"id": "b", "question": "q", "tags": "y"}`,
		`{"id": "c", "question": "q", "tags": "\u1100\u1161\u11a8"}`,
		`{"id": "d", "question": "q"}`,
	}
	set := mustRead(t, file("f.jsonl", rows...))
	if diff := cmp.Diff([]string{"x", "y", "\uac01"}, set.Tags()); diff != "" {
		t.Error(diff)
	}
	if set.WithTags(nil) != set || set.WithTags([]string{}) != set {
		t.Error("no tags give another set")
	}
	for _, tt := range []struct {
		tags []string
		rows []string
	}{
		{[]string{"y"}, rows[:2]},
		{[]string{"x"}, rows[:1]},
		{[]string{"x", "\uac01"}, []string{rows[0], rows[2]}},
	} {
		got, want := set.WithTags(tt.tags), mustRead(t, file("f.jsonl", tt.rows...))
		if diff := cmp.Diff(want.Cases, got.Cases); diff != "" {
			t.Errorf("%v: %s", tt.tags, diff)
		}
		if got.Digest != want.Digest {
			t.Errorf("%v: the digest is not that of its cases", tt.tags)
		}
	}
	if got := set.WithTags([]string{"none"}); len(got.Cases) != 0 || got.Digest == set.Digest {
		t.Errorf("a tag that no case has gives %d cases", len(got.Cases))
	}
}

func TestDue(t *testing.T) {
	set := mustRead(t, file("f.jsonl",
		`{"id": "a", "question": "q", "relevant": "x"}`,
		`{"id": "b", "question": "q", "relevant": "x", "answerable": false}`,
		`{"id": "c", "question": "q", "reference": "x"}`))
	for i, want := range []bool{true, false, false} {
		if got := set.Cases[i].Due(); got != want {
			t.Errorf("case %s: Due %t", set.Cases[i].ID, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	set := mustRead(t,
		file("a.yaml", "version: 2", "cases:", "- {id: a, question: q, note: n}", "- {id: b, question: q, reference: r, note: n}"),
		file("b.jsonl",
			`{"id": "c", "user_input": "q", "reference_contexts": ["text"]}`,
			`{"id": "d", "question": "q", "answerable": false}`,
			`{"id": "e", "question": "q", "relevant": [{"id": "x", "rank": 1}], "history": [{"role": "r", "content": "c", "at": 1}]}`))
	want := []string{
		`a.yaml:1: version: is not known beside cases, and is ignored`,
		`a.yaml:3: case "a": note: is not a field of a case, and is ignored (also: b)`,
		`a.yaml:3: case "a": has neither a relevant id nor a reference answer: it can only be judged for groundedness, and is not asked without an answer service; write the ids that answer it, or answerable: false where none does`,
		`b.jsonl:1: case "c": reference_contexts: holds texts, not ids, and is ignored: give the ids of the contexts as relevant or reference_context_ids`,
		`b.jsonl:1: case "c": has neither a relevant id nor a reference answer: it can only be judged for groundedness, and is not asked without an answer service; write the ids that answer it, or answerable: false where none does`,
		`b.jsonl:3: case "e": relevant[].rank: is not a field of a relevant id, and is ignored`,
		`b.jsonl:3: case "e": history[].at: is not a field of a turn, and is ignored`,
	}
	if diff := cmp.Diff(want, lines(set.Warnings)); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var rows []string
	for i := range 500 {
		rows = append(rows, fmt.Sprintf(`{"id": "c%03d", "question": "q", "f%d": 1}`, i, i))
	}
	got := mustRead(t, file("f.jsonl", rows...)).Warnings
	if len(got) != maxWarnings+1 || got[maxWarnings].Message != "401 more warnings are not listed" {
		t.Errorf("%d warnings, the last %v", len(got), got[len(got)-1])
	}
	if want := "(also: c001, c002, c003, c004, c005 and 494 more)"; !strings.HasSuffix(got[1].Message, want) {
		t.Errorf("warning %q, want %q", got[1].Message, want)
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{
		"a.yaml": YAML, "a.yml": YAML, "a.json": JSON, "a.jsonl": JSONL, "a.ndjson": JSONL, "a.csv": CSV, "a.tsv": TSV,
		"a.b.yaml.gz": YAML, "A.CSV": CSV, "x/y.JSON.GZ": JSON,
		"a": "", "yaml": "", "a.txt": "", "a.gz": "", "a.yaml.zip": "", "a.yaml.gz.gz": "", "": "",
	} {
		if got, ok := FormatOf(name); got != want || ok != (want != "") {
			t.Errorf("FormatOf(%q) = %q, %t", name, got, ok)
		}
	}
}
