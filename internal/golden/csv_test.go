package golden

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCSVCells(t *testing.T) {
	set := mustRead(t, file("f.csv",
		" id ,query,expected_files,tags,category,answerable,title,metadata,,note",
		`007,"a, ""b""","x.md ; y;z.md",t;u,v,TRUE,true,"{""k"": [1, null]}",0,`,
		`1.10,q,,,, false ,,,,`,
		``,
		`,,,,,,,,,`,
		`yes,q,a.md,,,,,,,`, ``))
	want := []Case{
		{ID: "007", Question: `a, "b"`, Relevant: []Relevant{{"x.md", 1}, {"y", 1}, {"z.md", 1}}, Tags: []string{"t", "u", "v"},
			Name: "true", Metadata: map[string]any{"k": []any{int64(1), nil}}, Answerable: true},
		{ID: "1.10", Question: "q"},
		{ID: "yes", Question: "q", Relevant: []Relevant{{"a.md", 1}}, Answerable: true},
	}
	if diff := cmp.Diff(want, set.Cases, noDigest); diff != "" {
		t.Error(diff)
	}
	warnings := []string{
		`f.csv:2: case "007": column 9: is not a field of a case, and is ignored (also: 1.10, yes)`,
		`f.csv:2: case "007": note: is not a field of a case, and is ignored (also: 1.10, yes)`,
	}
	if diff := cmp.Diff(warnings, lines(set.Warnings)); diff != "" {
		t.Error(diff)
	}
}

// TestListsWithinText: a list in a spelling that is not this format's would
// otherwise be an id that no retriever returns, and a score of 0.
func TestListsWithinText(t *testing.T) {
	set := mustRead(t,
		file("f.csv", "id,question,relevant,tags",
			`a,q,"[""x.md"", ""y.md""]",`,
			`b,q,"['x.md', 'y.md']","['t', 'u']"`,
			`c,q,[slug]/x.md;[1],`),
		file("g.yaml", `- {id: d, question: q, relevant: "['x.md']"}`))
	want := []string{
		`f.csv:2: case "a": relevant: looks like a list, and is taken as one text: write every item by itself, in CSV and TSV as a;b (also: b)`,
		`f.csv:3: case "b": tags: looks like a list, and is taken as one text: write every item by itself, in CSV and TSV as a;b`,
		`g.yaml:1: case "d": relevant: looks like a list, and is taken as one text: write every item by itself, in CSV and TSV as a;b`,
	}
	if diff := cmp.Diff(want, lines(set.Warnings)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Relevant{{"['x.md', 'y.md']", 1}}, set.Cases[1].Relevant); diff != "" {
		t.Errorf("an id is not taken as it stands:\n%s", diff)
	}
}

func TestTSVKeepsCommas(t *testing.T) {
	c := mustRead(t, file("f.tsv", "qid\tquestion\trelevant", "a\tone, two\tx;y")).Cases[0]
	if c.Question != "one, two" || len(c.Relevant) != 2 {
		t.Errorf("question %q, relevant %v", c.Question, c.Relevant)
	}
}

func TestCSVProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		lines []string
		want  []string
	}{
		"another separator": {[]string{"id;question", "a;q", "b;q"},
			[]string{`f.csv:1: the first row must name the columns, one of them question (or query, stack_trace, user_input); it has "id;question"`}},
		"no header": {[]string{"a,What is it?"},
			[]string{`f.csv:1: the first row must name the columns, one of them question (or query, stack_trace, user_input); it has "a,What is it?"`}},
		"column twice": {[]string{"id,question,id", "a,q,b"}, []string{"f.csv:1: id: is the name of two columns: keep one"}},
		"cells": {[]string{"id,question", "a,Who, me?", "b", "c,q", "d,"},
			[]string{
				`f.csv:2: case #1: has 3 cells, but the first row has 2: put a cell that holds a ',' or a line break into double quotes`,
				`f.csv:3: case #2: has 1 cells, but the first row has 2: put a cell that holds a ',' or a line break into double quotes`,
				`f.csv:5: case "d": question: is missing: a case needs a question (or query, stack_trace, user_input)`,
			}},
		"bare quote": {[]string{"id,question", `a,what is "x"?`, `b,`},
			[]string{
				`f.csv:2: a cell has a double quote in it but is not quoted: put the cell into double quotes, and write "" for each quote in it`,
				`f.csv:3: case "b": question: is missing: a case needs a question (or query, stack_trace, user_input)`,
			}},
		"open quote": {[]string{"id,question", `a,q`, `b,"q`, `c,q`},
			[]string{`f.csv:3: a quoted cell does not end where it should: write "" for each double quote in it, and close it`}},
		"open header": {[]string{`id,"question`, `a,q`},
			[]string{`f.csv:1: a quoted cell does not end where it should: write "" for each double quote in it, and close it`}},
		"line after a long cell": {[]string{"id,question,answerable", "a,\"one", "two\",maybe"},
			[]string{`f.csv:3: case "a": answerable: must be true or false, is text "maybe"`}},
		"empty id": {[]string{"id,question,relevant", "a,q,x;;y"}, []string{`f.csv:2: case "a": relevant[1]: is an empty id: write the id, or remove it`}},
		"metadata": {[]string{"id,question,metadata", "a,q,tenant=b"},
			[]string{`f.csv:2: case "a": metadata: must be JSON within its cell, for example {"tenant": "a"}, is "tenant=b"`}},
		"duplicate": {[]string{"id,question", "a,q", "a,r"}, []string{`f.csv:3: case "a": id: duplicate id, first used at f.csv:2: give each case its own`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(problems(t, file("f.csv", tt.lines...)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
