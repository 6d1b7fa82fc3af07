package golden

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestYAMLScalarsAreSourceText(t *testing.T) {
	for _, s := range []string{
		"007", "1.10", "9007199254740993", "0x1F", "0o17", "1_000", "1e3", ".5", "+1", "-0", ".inf",
		"2024-01-01", "2001-12-14t21:59:43.10-05:00", "12:30", "yes", "no", "on", "Off", "true", "False", "y",
		"=", "a<<b", "nUll", "규정.md",
	} {
		c := mustRead(t, file("f.yaml",
			"- id: "+s, "  name: "+s, "  question: "+s, "  relevant: ["+s+", {id: x"+s+"}]", "  reference: "+s, "  tags: "+s)).Cases[0]
		want := Case{ID: s, Name: s, Question: s, Relevant: []Relevant{{s, 1}, {"x" + s, 1}}, ReferenceAnswer: s, Tags: []string{s}, Answerable: true}
		if diff := cmp.Diff(want, c, noDigest); diff != "" {
			t.Error(diff)
		}
	}
}

func TestYAMLTypedFields(t *testing.T) {
	for source, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "FALSE": false, "!!bool true": true} {
		if got := mustRead(t, file("f.yaml", "- {question: q, answerable: "+source+"}")).Cases[0].Answerable; got != want {
			t.Errorf("answerable %s is %t", source, got)
		}
	}
	for source, want := range map[string]float64{"2": 2, "2.5": 2.5, "1e1": 10, "0x10": 16, "0o10": 8, "+3": 3, "010": 10, ".5": 0.5, "5.": 5} {
		if got := mustRead(t, file("f.yaml", "- {question: q, relevant: [{id: x, grade: "+source+"}]}")).Cases[0].Relevant[0].Grade; got != want {
			t.Errorf("grade %s is %v, want %v", source, got, want)
		}
	}
}

// The core schema of YAML 1.2.
func TestYAMLMetadata(t *testing.T) {
	for source, want := range map[string]any{
		"null": nil, "~": nil, "": nil, "Null": nil, "'null'": "null", "nUll": "nUll",
		"true": true, "False": false, "'true'": "true", "yes": "yes", "no": "no", "on": "on",
		"1": int64(1), "-1": int64(-1), "+1": int64(1), "007": int64(7), "0o17": int64(15), "0x1f": int64(31),
		"9223372036854775807": int64(9223372036854775807), "9007199254740993": int64(9007199254740993),
		"'1'": "1", `"1"`: "1", "1_000": "1_000", "0b1": "0b1", "-0x1": "-0x1",
		"100000000000000000000": 1e20, "-0": int64(0), "-0.0": 0.0,
		"1.0": 1.0, "1.": 1.0, ".5": 0.5, "1e3": 1000.0, "-1.5E-1": -0.15, "1.10": 1.1, "1.2.3": "1.2.3", ".": ".", "+": "+", "-.": "-.",
		"2024-01-01": "2024-01-01", "12:30": "12:30", "text": "text",
		"!!str 1": "1", "!!int 1": int64(1), "!!float 1.5": 1.5, "!!null ~": nil, "!!bool true": true,
		"[1, a, [], {}]": []any{int64(1), "a", []any{}, map[string]any{}},
		"{1: a, b: {c: 2}}": map[string]any{
			"1": "a", "b": map[string]any{"c": int64(2)},
		},
		"|\n      1":  "1\n",
		">-\n      1": "1",
	} {
		set := mustRead(t, file("f.yaml", "- question: q", "  metadata:", "    k: "+source, ""))
		if diff := cmp.Diff(map[string]any{"k": want}, set.Cases[0].Metadata); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
}

func TestYAMLAliasesAndMergeKeys(t *testing.T) {
	set := mustRead(t, file("f.yaml",
		"defaults: &d {tags: [x], metadata: &m {tenant: a, lang: en}}",
		"other: &o {tags: [y], reference: r}",
		"cases:",
		"- &one {id: a, <<: *d, question: q, relevant: &r [x, y]}",
		"- {<<: [*d, *o], question: q, relevant: *r, id: b, metadata: {<<: *m, lang: ko}}",
		"- {<<: *one, id: c}",
		"- {<<: [{question: p}, *one], id: d}",
	))
	rel := []Relevant{{"x", 1}, {"y", 1}}
	want := []Case{
		{ID: "a", Question: "q", Relevant: rel, Tags: []string{"x"}, Metadata: map[string]any{"tenant": "a", "lang": "en"}, Answerable: true},
		{ID: "b", Question: "q", Relevant: rel, Tags: []string{"x"}, Metadata: map[string]any{"tenant": "a", "lang": "ko"}, ReferenceAnswer: "r", Answerable: true},
		{ID: "c", Question: "q", Relevant: rel, Tags: []string{"x"}, Metadata: map[string]any{"tenant": "a", "lang": "en"}, Answerable: true},
		{ID: "d", Question: "p", Relevant: rel, Tags: []string{"x"}, Metadata: map[string]any{"tenant": "a", "lang": "en"}, Answerable: true},
	}
	if diff := cmp.Diff(want, set.Cases, noDigest); diff != "" {
		t.Error(diff)
	}
}

// bomb writes levels of lists of ten aliases each.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 lol\n")
	for i := 1; i <= levels; i++ {
		alias := fmt.Sprintf("*a%d", i-1)
		fmt.Fprintf(&b, "a%d: &a%d [%s%s]\n", i, i, strings.Repeat(alias+",", 9), alias)
	}
	return b.String()
}

func TestYAMLAliasBombs(t *testing.T) {
	const expands = "its YAML aliases expand to more than 64 MiB: write the values out where they are needed"
	maps := "- &m0 {id: a}\n"
	for i := 1; i < 40; i++ {
		maps += fmt.Sprintf("- &m%d {<<: [*m%d, *m%d]}\n", i, i-1, i-1)
	}
	chain := "a0: &a0 [x]\n"
	for i := 1; i < 30; i++ {
		chain += fmt.Sprintf("a%d: &a%d %s*a%d%s\n", i, i, strings.Repeat("[", 90), i-1, strings.Repeat("]", 90))
	}
	big := strings.Repeat("x", 1<<20)
	wide := strings.Repeat("  - [*a]\n", (2<<20)/9)
	for name, tt := range map[string]struct {
		data string
		want string
	}{
		"lists":      {bomb(9) + "cases: [*a9]\n", ":8: " + expands},
		"not used":   {bomb(30) + "cases: [{question: q}]\n", ":8: " + expands},
		"merge keys": {maps, ":20: " + expands},
		"one text":   {"big: &b " + big + "\ncases: [" + strings.Repeat("*b,", 200) + "]\n", ":2: " + expands},
		"2 MiB":      {"a: &a [1,2,3,4,5,6,7,8,9]\ncases:\n" + wide, ":3: " + expands},
		"cycle":      {"- &a {question: q, metadata: {k: [*a]}}\n", ":1: the YAML alias *a stands inside what it stands for: remove it"},
		"high":       {chain + "cases: []", ":14: is nested more than 1000 levels deep"},
		"high and deep": {"a: &a " + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "\nb: " + strings.Repeat("[", 600) + "*a" + strings.Repeat("]", 600),
			":1: is nested more than 1000 levels deep"},
		"deep": {"cases: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ":1: is nested more than 1000 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{"f.yaml" + tt.want}, lines(problems(t, File{"f.yaml", []byte(tt.data)}))); diff != "" {
				t.Error(diff)
			}
		})
	}
	mustRead(t, File{"f.yaml", []byte(bomb(4) + "cases: [{question: q, x: *a4}]\n")})
}

func TestYAMLProblems(t *testing.T) {
	for name, tt := range map[string]struct {
		lines []string
		want  []string
	}{
		"syntax":         {[]string{"- id: a", "  question: q", "  tags: [x", "- id: b"}, []string{"f.yaml:3: is not YAML: did not find expected ',' or ']'"}},
		"tab":            {[]string{"- id: a", "\tquestion: q"}, []string{"f.yaml:2: is not YAML: found a tab character that violates indentation"}},
		"indentation":    {[]string{"- id: a", "  question: q", "", "- id: b", "  question: q", " x: y", "- id: c"}, []string{"f.yaml:6: is not YAML: did not find expected '-' indicator"}},
		"quote":          {[]string{"cases:", "- id: a", "  question: 'it's'", "  tags: x"}, []string{"f.yaml:3: is not YAML: did not find expected key"}},
		"colon":          {[]string{"- id: a", "  question: why: this"}, []string{`f.yaml:2: is not YAML: mapping values are not allowed in this context; put a text with ": " in it into quotes`}},
		"first line":     {[]string{"a: b: c"}, []string{`f.yaml:1: is not YAML: mapping values are not allowed in this context; put a text with ": " in it into quotes`}},
		"control":        {[]string{"- id: a", "  question: \x01", "- id: b"}, []string{"f.yaml:2: is not YAML: control characters are not allowed"}},
		"unknown alias":  {[]string{"- question: q", "- question: *a", "- question: q"}, []string{"f.yaml:2: is not YAML: unknown anchor 'a' referenced"}},
		"text":           {[]string{"hello"}, []string{"f.yaml:1: must be a list of cases, or a map with the list under cases"}},
		"one case":       {[]string{"question: q"}, []string{"f.yaml:1: must be a list of cases, or a map with the list under cases; a single case goes into a list too"}},
		"cases is a map": {[]string{"cases:", "  a: {question: q}"}, []string{"f.yaml:2: cases: must be a list of cases, is a map"}},
		"cases twice":    {[]string{"cases: [{question: q}]", "cases: []"}, []string{"f.yaml:2: cases: is given twice, first on line 1: keep one"}},
		"documents":      {[]string{"- question: q", "---", "- question: p"}, []string{"f.yaml:3: holds a second YAML document: put all cases into one list, without --- between them"}},
		"key twice":      {[]string{"- id: a", "  question: q", "  metadata:", "    k: 1", "    k: 2"}, []string{`f.yaml:5: case "a": metadata: has the key "k" twice, first on line 4: keep one`}},
		"key is a list":  {[]string{"- id: a", "  question: q", "  [b]: c"}, []string{`f.yaml:3: case "a": question: a key must be text, is a list or a map`}},
		"tag":            {[]string{"- id: a", "  question: !secret q"}, []string{`f.yaml:2: case "a": question: has the YAML tag !secret, which has no meaning here: remove it`}},
		"binary":         {[]string{"- id: a", "  question: !!binary cQ=="}, []string{`f.yaml:2: case "a": question: has the YAML tag !!binary, which has no meaning here: remove it`}},
		"tagged map":     {[]string{"- id: a", "  question: q", "  metadata: !x {}"}, []string{`f.yaml:3: case "a": metadata: has the YAML tag !x, which has no meaning here: remove it`}},
		"tagged list":    {[]string{"- id: a", "  question: q", "  tags: !!set [x]"}, []string{`f.yaml:3: case "a": tags: has the YAML tag !!set, which has no meaning here: remove it`}},
		"false tag":      {[]string{"- id: a", "  question: q", "  metadata: {k: !!int x}"}, []string{`f.yaml:3: case "a": metadata: has the YAML tag !!int, but is text`}},
		"merge of text":  {[]string{"- id: a", "  question: q", "  <<: x"}, []string{`f.yaml:3: case "a": <<: must be a map or a list of maps`}},
		"merge of texts": {[]string{"- id: a", "  question: q", "  <<: [x]"}, []string{`f.yaml:3: case "a": <<: must be a map or a list of maps`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(problems(t, file("f.yaml", tt.lines...)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestYAMLEmptyDocumentsDoNotCount(t *testing.T) {
	set := mustRead(t, file("f.yaml", "---", "# first", "---", "- question: q", "---", ""))
	if len(set.Cases) != 1 {
		t.Errorf("%d cases, want 1", len(set.Cases))
	}
}
