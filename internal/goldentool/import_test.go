package goldentool

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assay-dev/assay/internal/golden"
)

func file(name, text string) golden.File { return golden.File{Name: name, Data: []byte(text)} }

func one(id string) []golden.Relevant { return []golden.Relevant{{ID: id, Grade: 1}} }

type importTest struct {
	name    string
	from    Source
	in      Input
	options Options
	want    []golden.Case
	dropped []string
}

var importTests = []importTest{
	{
		name: "BEIR", from: BEIR,
		in: Input{
			Files: []golden.File{file("queries.jsonl", `{"_id": "q1", "text": "what is gold?", "metadata": {"url": "x", "n": 1}}
{"_id": 2, "text": "금은 무엇인가", "metadata": {}}

{"_id": "q3", "text": "not judged"}
{"_id": "q4", "text": "judged, nothing relevant"}
`)},
			Qrels: file("test.tsv", "query-id\tcorpus-id\tscore\r\nq1\tMED-10\t2\nq1\tdoc with space\t1\nq1\tMED-11\t0\n2\td2\t1\n2\td2\t2\nq4\td9\t-1\nq9\td1\t1\n"),
		},
		want: []golden.Case{
			{ID: "q1", Question: "what is gold?", Answerable: true, Relevant: []golden.Relevant{{ID: "MED-10", Grade: 2}, {ID: "doc with space", Grade: 1}}, Metadata: map[string]any{"url": "x", "n": int64(1)}},
			{ID: "2", Question: "금은 무엇인가", Answerable: true, Relevant: []golden.Relevant{{ID: "d2", Grade: 2}}},
		},
		dropped: []string{
			"document that was judged not relevant (grade 0 or below): 2 (q1 MED-11, q4 d9)",
			"document that was judged twice for a query; the higher grade counts: 1 (2 d2)",
			"query without qrels: 1 (q3)",
			"query whose documents were all judged not relevant: 1 (q4)",
			"query of the qrels that is not among the queries: 1 (q9)",
		},
	},
	{
		name: "TREC topics", from: TREC,
		in: Input{
			Files: []golden.File{file("topics.txt", `
<top>

<num> Number: 301
<title> International Organized
Crime

<desc> Description:
Identify organizations that participate &amp; profit.

<narr> Narrative:
A relevant document must name them.
</top>
<TOP><num>MB01</num><title>AT&T</title></TOP>
<top><num> 303 <desc> no title
<top><num> 304 <query>hubble</query>
`)},
			Qrels: file("qrels.txt", "301 0 FBIS3-1 1\n301 0 FBIS3-2 0\nMB01 Q0 d1 2\n303 0 d 1\n304 0 d 1\n"),
		},
		want: []golden.Case{
			{ID: "301", Question: "International Organized Crime", Answerable: true, Relevant: one("FBIS3-1")},
			{ID: "MB01", Question: "AT&T", Answerable: true, Relevant: []golden.Relevant{{ID: "d1", Grade: 2}}},
			{ID: "304", Question: "hubble", Answerable: true, Relevant: one("d")},
		},
		dropped: []string{"document that was judged not relevant (grade 0 or below): 1 (301 FBIS3-2)", "topic without <title>: 1 (303)"},
	},
	{
		name: "TREC descriptions", from: TREC, options: Options{TopicField: "desc"},
		in: Input{
			Files: []golden.File{file("topics.txt", "<top><num> Number: 1 <title> Topic: t <desc> Description: the\nwhole question </top>")},
			Qrels: file("qrels.txt", "1 0 d 1"),
		},
		want: []golden.Case{{ID: "1", Question: "the whole question", Answerable: true, Relevant: one("d")}},
	},
	{
		name: "TREC as a table", from: TREC,
		in: Input{
			Files: []golden.File{file("topics.tsv", "1048585\twhat is paula deen's brother\n2\ttwo\twith a tab\n")},
			Qrels: file("qrels.txt", "1048585\t0\t7187155\t1\n2 0 d 3\n"),
		},
		want: []golden.Case{
			{ID: "1048585", Question: "what is paula deen's brother", Answerable: true, Relevant: one("7187155")},
			{ID: "2", Question: "two\twith a tab", Answerable: true, Relevant: []golden.Relevant{{ID: "d", Grade: 3}}},
		},
	},
	{
		name: "Ragas JSONL", from: Ragas,
		in: Input{Files: []golden.File{file("set.jsonl", `{"user_input": "who?", "reference": "they", "reference_contexts": ["a text"], "reference_context_ids": ["a.md", 7], "response": "x", "synthesizer_name": "single_hop", "persona_name": "dev"}
{"user_input": [{"type": "human", "content": "hi"}], "reference": "x"}
{"user_input": "who?", "reference": "they", "reference_context_ids": ["a.md", 7], "synthesizer_name": "single_hop"}
{"user_input": "who?", "reference": "others"}
`)}},
		want: []golden.Case{{Question: "who?", Answerable: true, ReferenceAnswer: "they", Tags: []string{"single_hop"}, Relevant: []golden.Relevant{{ID: "a.md", Grade: 1}, {ID: "7", Grade: 1}}}},
		dropped: []string{
			"sample of several turns: a case asks one question: 1 (#2)",
			"persona_name is no field of a case: 1 (#1)",
			"reference_contexts: texts, not ids; give the ids of the contexts as relevant ids: 1 (#1)",
			"response: what a system gave, not what is expected of it: 1 (#1)",
			"case that stands there twice: 1 (who?)",
			"case that asks what an earlier one asks, but expects something else; give both an id: 1 (who?)",
		},
	},
	{
		name: "Ragas CSV as pandas writes it", from: Ragas,
		in: Input{Files: []golden.File{file("set.csv", ",user_input,reference_contexts,reference,reference_context_ids\n0,\"a, b?\",\"['it\\'s', \"\"x\"\"]\",yes,\"['a.md', 'b''s.md']\"\n1,c?,,no,\"['a.md' 'b.md']\"\n")}},
		want: []golden.Case{
			{Question: "a, b?", Answerable: true, ReferenceAnswer: "yes", Relevant: []golden.Relevant{{ID: "a.md", Grade: 1}, {ID: "b", Grade: 1}, {ID: "s.md", Grade: 1}}},
			{Question: "c?", Answerable: true, ReferenceAnswer: "no", Relevant: []golden.Relevant{{ID: "a.md", Grade: 1}, {ID: "b.md", Grade: 1}}},
		},
		dropped: []string{"column 1 is no field of a case: 2 (#1, #2)", "reference_contexts: texts, not ids; give the ids of the contexts as relevant ids: 1 (#1)"},
	},
	{
		name: "Ragas before 0.2", from: Ragas,
		in:   Input{Files: []golden.File{file("set.json", `[{"question": "q", "ground_truths": ["g"], "contexts": ["t"], "answer": "a", "evolution_type": "simple"}]`)}},
		want: []golden.Case{{Question: "q", Answerable: true, ReferenceAnswer: "g", Tags: []string{"simple"}}},
		dropped: []string{
			"answer: what a system gave, not what is expected of it: 1 (#1)",
			"contexts: texts, not ids; give the ids of the contexts as relevant ids: 1 (#1)",
		},
	},
	{
		name: "promptfoo", from: Promptfoo,
		in: Input{Files: []golden.File{file("promptfooconfig.yaml", `
prompts: ["{{question}} {{context}}"]
defaultTest:
  vars: {language: en}
  assert: [{type: latency, threshold: 10}]
tests:
  - description: Money back
    vars: {question: "How do I get my money back?", expected: Within 30 days, context: a text, relevant_doc_ids: [a.md, 007], name: Ada}
    metadata: {category: billing, owner: ops}
    assert:
      - {type: contains, value: 30}
      - {type: "similar:cosine", value: "{{expected}} of {{ language }}"}
  - vars: {question: "Who won the war of 2090?"}
    assert: [{type: is-refusal}, {type: equals, value: file://x.txt}]
  - vars: {question: ["one?", "two?"]}
    assert: [{type: factuality, value: They did}]
  - file://more.yaml
`)}},
		want: []golden.Case{
			{Name: "Money back", Question: "How do I get my money back?", Answerable: true, ReferenceAnswer: "Within 30 days of en", Tags: []string{"billing"},
				Relevant: []golden.Relevant{{ID: "a.md", Grade: 1}, {ID: "007", Grade: 1}}, Metadata: map[string]any{"language": "en", "owner": "ops", "name": "Ada"}},
			{Question: "Who won the war of 2090?", Metadata: map[string]any{"language": "en"}},
			{Question: "one?", Answerable: true, ReferenceAnswer: "They did", Metadata: map[string]any{"language": "en"}},
			{Question: "two?", Answerable: true, ReferenceAnswer: "They did", Metadata: map[string]any{"language": "en"}},
		},
		dropped: []string{
			"assert contains is no reference answer: 1 (#1)",
			"assert latency is no reference answer: 3 (#1, #2, #3)",
			"assert equals whose value is no plain text: 1 (#2)",
			"test that names another file: import that one: 1 (#4)",
			"context: texts, not ids; give the ids of the contexts as relevant ids: 1 (#1)",
			"expected, for assert.similar gives reference_answer already: 1 (#1)",
		},
	},
	{
		name: "promptfoo, a list with one variable", from: Promptfoo,
		in: Input{Files: []golden.File{file("tests.json", `[{"vars": {"topic": "bananas"}}]`)}},
		want: []golden.Case{
			{Question: "bananas", Answerable: true},
		},
	},
	{
		name: "promptfoo with names of its own", from: Promptfoo, options: Options{Map: map[string]string{"question": "name", "relevant": "metadata.docs"}},
		in:   Input{Files: []golden.File{file("tests.yaml", `[{vars: {name: "q", type: x}, metadata: {docs: a.md}}]`)}},
		want: []golden.Case{{Question: "q", Answerable: true, Relevant: one("a.md"), Metadata: map[string]any{"type": "x"}}},
	},
	{
		name: "promptfoo with anchors", from: Promptfoo,
		in: Input{Files: []golden.File{file("tests.yml", `
- &base {vars: {question: base, answerable: True, &k extra: 0x10, *k : 1.50}, metadata: {kind: ~, "when": 2024-01-01, list: [1, a], deep: {on: yes, f: 1.5}}}
- {<<: [{vars: {question: ignored}}, *base], vars: {question: merged, answerable: false}}
- {<<: *base, description: same}
`)}},
		want: []golden.Case{
			{Question: "base", Answerable: true, Metadata: map[string]any{"extra": 1.5, "when": "2024-01-01", "list": []any{int64(1), "a"}, "deep": map[string]any{"on": "yes", "f": 1.5}}},
			{Question: "merged", Metadata: map[string]any{"when": "2024-01-01", "list": []any{int64(1), "a"}, "deep": map[string]any{"on": "yes", "f": 1.5}}},
		},
		dropped: []string{"case that asks what an earlier one asks, but expects something else; give both an id: 1 (base)"},
	},
	{
		name: "LangSmith", from: LangSmith,
		in: Input{Files: []golden.File{file("dataset.json", `[
{"id": "u1", "dataset_id": "d", "inputs": {"question": "q", "tenant": "a"}, "outputs": {"answer": "r", "relevant": [{"id": "a", "grade": 2}, {"id": "b", "grade": 0}]}, "metadata": {"dataset_split": ["base"], "zip": 1.5}},
{"id": "u2", "inputs": {"topic": "only one"}, "outputs": {"text": "r2"}},
{"id": "u3", "inputs": {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "and now?"}]}, "outputs": null}
]`)}},
		want: []golden.Case{
			{ID: "u1", Question: "q", Answerable: true, ReferenceAnswer: "r", Relevant: []golden.Relevant{{ID: "a", Grade: 2}}, Tags: []string{"base"}, Metadata: map[string]any{"tenant": "a", "zip": 1.5}},
			{ID: "u2", Question: "only one", Answerable: true, ReferenceAnswer: "r2"},
			{ID: "u3", Question: "and now?", Answerable: true, History: []golden.Turn{{Role: "user", Content: "hi"}, {Role: "assistant", Content: "hello"}}},
		},
		dropped: []string{"dataset_id: LangSmith's own: 1 (#1)", "relevant id with grade 0: 1 (b)"},
	},
	{
		name: "LangSmith with a name of its own for the only input", from: LangSmith, options: Options{Map: map[string]string{"question": "inputs.topic", "relevant": "outputs.sources"}},
		in:   Input{Files: []golden.File{file("dataset.jsonl", `{"inputs": {"topic": "q"}, "outputs": {"sources": "a.md"}}`)}},
		want: []golden.Case{{Question: "q", Answerable: true, Relevant: one("a.md")}},
	},
	{
		name: "CSV with columns of its own", from: CSV,
		options: Options{Map: map[string]string{"question": "Frage", "relevant": "Dokumente", "metadata.tenant": "Mandant", "id": "Nr"}, Separator: "|", Delimiter: ';'},
		in:      Input{Files: []golden.File{file("fragen.csv", "\ufeffNr;Frage;Dokumente;Mandant;Farbe;answerable;type\n007;Wer?;a.md | b.md;x;rot;;howto\n8;Wo?;;;;no;\n9;;c.md;;;;\n;;;;;;\n")}},
		want: []golden.Case{
			{ID: "007", Question: "Wer?", Answerable: true, Relevant: []golden.Relevant{{ID: "a.md", Grade: 1}, {ID: "b.md", Grade: 1}}, Tags: []string{"howto"}, Metadata: map[string]any{"tenant": "x"}},
			{ID: "8", Question: "Wo?"},
		},
		dropped: []string{"Farbe is no field of a case: 1 (#1)", "row with an empty question: 1 (#3)"},
	},
	{
		name: "TSV", from: CSV,
		in: Input{Files: []golden.File{file("a.tsv", "query\tmetadata\thistory\nq\t\"{\"\"a\"\": 1}\"\t\"[{\"\"role\"\": \"\"user\"\", \"\"content\"\": \"\"x\"\"}]\"\n")}},
		want: []golden.Case{
			{Question: "q", Answerable: true, Metadata: map[string]any{"a": int64(1)}, History: []golden.Turn{{Role: "user", Content: "x"}}},
		},
	},
	{
		name: "a golden set", from: Golden,
		in:      Input{Files: []golden.File{file("a.jsonl", `{"id": "b", "question": "q", "relevant": "x", "colour": 1}`), file("b.yaml", "- {id: a, question: r, relevant: y}")}},
		want:    []golden.Case{{ID: "a", Question: "r", Answerable: true, Relevant: one("y")}, {ID: "b", Question: "q", Answerable: true, Relevant: one("x")}},
		dropped: []string{`a.jsonl:1: case "b": colour: is not a field of a case, and is ignored: 1`},
	},
}

func TestImport(t *testing.T) {
	for _, test := range importTests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Import(test.from, test.in, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Cases, cmpopts.IgnoreFields(golden.Case{}, "Digest")); diff != "" {
				t.Errorf("cases (-want +got):\n%s", diff)
			}
			var dropped []string
			for _, d := range got.Dropped {
				dropped = append(dropped, d.String())
			}
			if diff := cmp.Diff(test.dropped, dropped); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			checkRoundTrip(t, got)
		})
	}
}

// checkRoundTrip holds what is written to what was imported, in both formats.
func checkRoundTrip(t *testing.T, m *Imported) {
	t.Helper()
	var digest string
	for _, format := range Formats {
		data, set, err := m.Encode(format)
		if err != nil {
			t.Fatal(err)
		}
		if again := mustRead(t, "x."+string(format), data); again.Digest != set.Digest {
			t.Errorf("%s is read as %s, and was to be %s", format, again.Digest, set.Digest)
		}
		if digest != "" && digest != set.Digest {
			t.Errorf("the two formats differ:\n%s", data)
		}
		digest = set.Digest
		if len(set.Cases) != len(m.Cases) {
			t.Fatalf("%d cases, want %d", len(set.Cases), len(m.Cases))
		}
		byQuestion := map[string]golden.Case{}
		for _, c := range set.Cases {
			byQuestion[c.ID+"\x00"+c.Question], byQuestion["\x00"+c.Question] = c, c
		}
		for _, c := range m.Cases {
			got := byQuestion[c.ID+"\x00"+c.Question]
			if c.ID == "" {
				got.ID = ""
			}
			if diff := cmp.Diff(c, got, cmpopts.IgnoreFields(golden.Case{}, "Digest")); diff != "" {
				t.Errorf("%s (-imported +read):\n%s", format, diff)
			}
		}
	}
}

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zw.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestImportUnpacks(t *testing.T) {
	in := Input{
		Files: []golden.File{{Name: "queries.jsonl.gz", Data: gzipped(t, `{"_id": "1", "text": "q"}`)}},
		Qrels: golden.File{Name: "test.tsv.gz", Data: gzipped(t, "1\td\t1")},
	}
	got, err := Import(BEIR, in, Options{})
	if err != nil || len(got.Cases) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
}

func TestImportSaysWhatIsWrong(t *testing.T) {
	query := file("q.jsonl", `{"_id": "1", "text": "q"}`)
	judged := file("qrels", "1 0 d 1")
	for _, test := range []struct {
		name    string
		from    Source
		in      Input
		options Options
		want    []string
	}{
		{"BEIR: no JSON, no text", BEIR, Input{Files: []golden.File{file("q.jsonl", "{\n{\"_id\": \"x\"}\n[]\n")}, Qrels: judged}, Options{},
			[]string{"3 problems", "q.jsonl:1: is not JSON", `q.jsonl:2: case "x": must have "_id" and "text"`, "q.jsonl:3: must be a JSON object"}},
		{"BEIR: half a character", BEIR, Input{Files: []golden.File{file("q.jsonl", `{"_id": "1", "text": "\ud83d"}`)}, Qrels: judged}, Options{}, []string{"half of a character"}},
		{"qrels: columns, grades", BEIR, Input{Files: []golden.File{query}, Qrels: file("qrels", "query-id corpus-id score\n1 d\n1 d one\n1 0 d NaN\n\td\t1\n")}, Options{},
			[]string{"4 problems", "qrels:2: has 2 columns", `qrels:3: has the grade "one"`, `qrels:4: has the grade "NaN"`, "qrels:5: has an empty id"}},
		{"qrels: the first line is no header", BEIR, Input{Files: []golden.File{query}, Qrels: file("qrels", "1 0 d 1x\n")}, Options{}, []string{`qrels:1: has the grade "1x"`}},
		{"nothing left", BEIR, Input{Files: []golden.File{query}, Qrels: file("qrels", "2 0 d 1")}, Options{}, []string{"q.jsonl: no case is left; left out: query without qrels: 1 (1)"}},
		{"no qrels", BEIR, Input{Files: []golden.File{query}, Qrels: file("qrels", "  \n")}, Options{}, []string{"qrels: is empty"}},
		{"Latin-1", CSV, Input{Files: []golden.File{file("a.csv", "question\ncaf\xe9\n")}}, Options{}, []string{"a.csv: is not UTF-8", "iconv -f latin1"}},
		{"UTF-16", CSV, Input{Files: []golden.File{file("a.csv", "\xff\xfeq\x00")}}, Options{}, []string{"a.csv: is UTF-16"}},
		{"gzip by no name", CSV, Input{Files: []golden.File{file("a.csv", "\x1f\x8b")}}, Options{}, []string{"add .gz to the name"}},
		{"no gzip", CSV, Input{Files: []golden.File{file("a.csv.gz", "question")}}, Options{}, []string{"is not gzip"}},
		{"gzip that is cut", CSV, Input{Files: []golden.File{file("a.csv.gz", string(gzipped(t, "question\nq\n")[:15]))}}, Options{}, []string{"is damaged gzip"}},
		{"gzip that blows up", CSV, Input{Files: []golden.File{{Name: "a.csv.gz", Data: gzipped(t, strings.Repeat(" ", maxUnpacked+1))}}}, Options{}, []string{"unpacks to more than 64 MiB"}},
		{"TREC: no topics", TREC, Input{Files: []golden.File{file("t", "hello\n")}, Qrels: judged}, Options{}, []string{"t:1: is neither <top>"}},
		{"TREC: XML", TREC, Input{Files: []golden.File{file("t", `<topics><topic number="1">`)}, Qrels: judged}, Options{}, []string{"t: is XML of <topic>"}},
		{"TREC: no number", TREC, Input{Files: []golden.File{file("t", "\n<top><title>x</top>")}, Qrels: judged}, Options{}, []string{"t:2: is a topic without <num>"}},
		{"Ragas: ending", Ragas, Input{Files: []golden.File{file("a.parquet", "PAR1")}}, Options{}, []string{"name it .json, .jsonl, .csv or .tsv"}},
		{"Ragas: columns of pandas", Ragas, Input{Files: []golden.File{file("a.json", `{"user_input": {"0": "q"}}`)}}, Options{}, []string{"a.json: must be a list of objects", "orient='records'"}},
		{"Ragas: wrong kinds", Ragas, Input{Files: []golden.File{file("a.json", `[{"user_input": {"a": 1}}, 7, {"user_input": "q", "reference_context_ids": [true], "reference": false}, {"reference": "r"}]`)}}, Options{},
			[]string{"5 problems", "case #1: user_input: must be text, is a map", "case #2: must be an object, is a number", "case #3: reference: must be text, is true or false",
				"case #3: reference_context_ids: must be a list of texts, has true or false in it", "case #4: has no question; say which name it has with question=NAME. There is reference"}},
		{"CSV: rows and cells", CSV, Input{Files: []golden.File{file("a.csv", "question,relevant\na,b,c\n")}}, Options{}, []string{"a.csv:2: has 3 cells, but the first row has 2", "',' what stands between"}},
		{"CSV: a quote", CSV, Input{Files: []golden.File{file("a.csv", "question\n\"a\"b\n")}}, Options{}, []string{"a.csv:2: is no table"}},
		{"CSV: a column twice", CSV, Input{Files: []golden.File{file("a.csv", "q,q\n1,2\n")}}, Options{}, []string{"a.csv:1: q: is the name of two columns"}},
		{"CSV: no such column", CSV, Input{Files: []golden.File{file("a.csv", "question\nx\n")}}, Options{Map: map[string]string{"relevant": "Docs"}}, []string{"a.csv: Docs: is nowhere in the file, and was to be relevant"}},
		{"CSV: no such field", CSV, Input{Files: []golden.File{file("a.csv", "question\nx\n")}}, Options{Map: map[string]string{"colour": "c"}}, []string{`a case has no field "colour": use id, name`}},
		{"CSV: answerable, history, metadata", CSV, Input{Files: []golden.File{file("a.csv", "question,answerable,history,metadata\nq,maybe,hi,[]\n")}}, Options{},
			[]string{"3 problems", `answerable: must be true or false, is "maybe"`, "history: must be a list of {role, content}", "metadata: must be a map"}},
		{"LangSmith: grade", LangSmith, Input{Files: []golden.File{file("a.json", `[{"inputs": {"question": "q"}, "outputs": {"relevant": [{"id": "a", "grade": -1}]}}]`)}}, Options{}, []string{"outputs.relevant: must be ids, or {id, grade}"}},
		{"promptfoo: tests elsewhere", Promptfoo, Input{Files: []golden.File{file("a.yaml", "tests: file://t.csv")}}, Options{}, []string{"a.yaml: tests: names another file"}},
		{"promptfoo: no tests", Promptfoo, Input{Files: []golden.File{file("a.yaml", "prompts: [x]")}}, Options{}, []string{"a.yaml: must be a promptfoo configuration"}},
		{"promptfoo: no YAML", Promptfoo, Input{Files: []golden.File{file("a.yaml", "a: b: c")}}, Options{}, []string{"a.yaml: is not YAML"}},
		{"promptfoo: a bomb", Promptfoo, Input{Files: []golden.File{file("a.yaml", bomb)}}, Options{}, []string{"a.yaml: holds too many values"}},
		{"promptfoo: an alias of itself", Promptfoo, Input{Files: []golden.File{file("a.yaml", "&a [*a]")}}, Options{}, []string{"a.yaml: "}},
		{"promptfoo: large", Promptfoo, Input{Files: []golden.File{file("a.yaml", strings.Repeat("# x\n", maxYAMLBytes/4+1))}}, Options{}, []string{"is over 8 MiB of YAML"}},
		{"golden: problems of its own", Golden, Input{Files: []golden.File{file("a.yaml", "- id: x\n")}}, Options{}, []string{`a.yaml:1: case "x": question: is missing`}},
		{"two files", CSV, Input{Files: []golden.File{judged, judged}}, Options{}, []string{"one file is needed, there are 2"}},
		{"another source", "deepeval", Input{Files: []golden.File{judged}}, Options{}, []string{`unknown source "deepeval"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Import(test.from, test.in, test.options)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

const bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
	"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"

// TestEncodeChecks: what no golden set may have is found before it is written.
func TestEncodeChecks(t *testing.T) {
	m, err := Import(CSV, Input{Files: []golden.File{file("a.csv", "id,question\n1,a\n1,b\n")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = m.Encode(golden.YAML)
	if e, ok := errors.AsType[*golden.Error](err); !ok || e.Problems[0].File != "" || e.Problems[0].Line != 0 || e.Problems[0].Case != "1" {
		t.Errorf("error %v; want a problem of case 1, and no file that is not there", err)
	}
}

func TestListCell(t *testing.T) {
	for cell, want := range map[string][]string{
		`['a', "b's", 'c\'d\\e\n\x41\u00e9\U0001F600\q']`: {"a", "b's", "c'd\\e\nAé😀\\q"},
		`["x", 7]`:             {"x", "7"},
		`[1, 2]`:               {"1", "2"},
		"['a'\n 'b']":          {"a", "b"},
		`[]`:                   nil,
		`['\xZZ']`:             {`\xZZ`},
		`['\U00110000']`:       {`\U00110000`},
		`[']', ',']`:           {"]", ","},
		`['a',]`:               {"a"},
		`[1.5, 'x']`:           {"1.5", "x"},
		` ['surrounded'] `:     {"surrounded"},
		`['a', "mixed \" up"]`: {"a", `mixed " up`},
	} {
		if got, ok := listCell(cell); !ok || !cmp.Equal(got, want, cmpopts.EquateEmpty()) {
			t.Errorf("listCell(%s) = %q, %v; want %q", cell, got, ok, want)
		}
	}
	for _, cell := range []string{"", "a", "[a, b]", "['a", "['a' b]", "[{}]", "[nan x]", `['a\']`, "]["} {
		if got, ok := listCell(cell); ok {
			t.Errorf("listCell(%s) = %q, want none", cell, got)
		}
	}
}

func fuzzImport(f *testing.F, from Source, name string) {
	for _, test := range importTests {
		if test.from == from {
			f.Add(test.in.Files[0].Data, test.in.Qrels.Data)
		}
	}
	f.Add([]byte("[{}]"), []byte("1 0 d 1"))
	f.Fuzz(func(t *testing.T, data, judged []byte) {
		in := Input{Files: []golden.File{{Name: name, Data: data}}, Qrels: golden.File{Name: "qrels", Data: judged}}
		got, err := Import(from, in, Options{})
		if (got == nil) == (err == nil) {
			t.Fatalf("%v, %v", got, err)
		}
		if err != nil {
			if e, ok := errors.AsType[*golden.Error](err); ok && (e.Total < 1 || len(e.Problems) == 0) {
				t.Fatalf("an error without problems: %#v", e)
			}
			return
		}
		yaml, set, err := got.Encode(golden.YAML)
		if err != nil {
			return
		}
		_, again, err := got.Encode(golden.JSONL)
		if err != nil || again.Digest != set.Digest || len(set.Cases) != len(got.Cases) {
			t.Fatalf("as JSONL it is another set: %v\n%s", err, yaml)
		}
	})
}

func FuzzBEIR(f *testing.F)      { fuzzImport(f, BEIR, "queries.jsonl") }
func FuzzTREC(f *testing.F)      { fuzzImport(f, TREC, "topics.txt") }
func FuzzRagas(f *testing.F)     { fuzzImport(f, Ragas, "set.jsonl") }
func FuzzRagasJSON(f *testing.F) { fuzzImport(f, Ragas, "set.json") }
func FuzzRagasCSV(f *testing.F)  { fuzzImport(f, Ragas, "set.csv") }
func FuzzPromptfoo(f *testing.F) { fuzzImport(f, Promptfoo, "promptfooconfig.yaml") }
func FuzzLangSmith(f *testing.F) { fuzzImport(f, LangSmith, "set.json") }
func FuzzCSV(f *testing.F)       { fuzzImport(f, CSV, "set.csv") }

func FuzzListCell(f *testing.F) {
	f.Add(`['a', "b", 1]`)
	f.Add(`['\x4']`)
	f.Fuzz(func(t *testing.T, s string) {
		if items, ok := listCell(s); ok && !strings.HasPrefix(strings.TrimSpace(s), "[") {
			t.Fatalf("%q is the list %q", s, items)
		}
	})
}
