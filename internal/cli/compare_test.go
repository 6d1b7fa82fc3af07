package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/compare"
)

func TestCompareTwoRuns(t *testing.T) {
	before, after := saved(t, found), saved(t, worse)
	got := assay(t, "", "compare", before, after)
	for _, text := range []string{
		"\nWORSE\nRANK  WAS  CASE  OUTCOME\n–     1    q3    Scored\n2     1    q1    Scored\n",
		"\nBETTER\nRANK  WAS  CASE  OUTCOME\n1     2    q2    Scored\n",
		"CASES  3 of 3 in common: 2 worse, 1 better, 0 the same\n",
		"on 3 of 3 cases\n",
	} {
		got.want(t, 0, text, "")
	}
	if got, want := rowOf(got.stdout, "hit_rate@5"), "hit_rate@5 1.0000 0.6667 -0.3333 -1.0000 – 0.0000 0.5000 3"; got != want {
		t.Errorf("the metric's row is %q, want %q", got, want)
	}
	var d compare.Document
	if err := json.Unmarshal([]byte(assay(t, "", "compare", before, after, "-o", "json", "--cases", "1").stdout), &d); err != nil {
		t.Fatal(err)
	}
	if !d.Comparable || d.Common != 3 || d.WorseCount != 2 || len(d.Worse) != 1 || d.Worse[0].ID != "q3" || len(d.Better) != 1 || d.Base.Name == d.Head.Name {
		t.Errorf("the document is %+v", d)
	}
	// Either of them may come from standard input.
	assay(t, string(readAll(t, before)), "compare", "-", after).want(t, 0, "2 worse, 1 better", "")
	assay(t, string(readAll(t, after)), "compare", before, "-").want(t, 0, "2 worse, 1 better", "")
	assay(t, "", "compare", before, before).want(t, 0, "0 worse, 0 better, 3 the same", "")
}

// rowOf is the row of a table that begins with a word, its columns one space apart.
func rowOf(table, word string) string {
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == word {
			return strings.Join(fields, " ")
		}
	}
	return ""
}

func TestCompareRefuses(t *testing.T) {
	good := saved(t, found)
	whole := string(readAll(t, good))
	for name, test := range map[string]struct {
		args   []string
		stderr string
	}{
		"nothing":            {nil, "accepts 2 arg(s), received 0"},
		"one":                {[]string{good}, "accepts 2 arg(s), received 1"},
		"a format":           {[]string{good, good, "-o", "junit"}, `unknown output format "junit": use table or json`},
		"no cases":           {[]string{good, good, "--cases", "0"}, "--cases is 0: give a number of at least 1"},
		"garbage for a flag": {[]string{good, good, "--cases", "many"}, "see assay compare --help"},
		"both from one":      {[]string{"-", "-"}, "only one of the two runs can come from standard input"},
		"no base":            {[]string{filepath.Join(t.TempDir(), "none.json"), good}, "error: reading the run document: "},
		"no head":            {[]string{good, file(t, "h.json", "\x00\xff")}, "this is no JSON"},
		"no document":        {[]string{file(t, "b.json", `{"kind": "EvalSuite"}`), good}, "this is no run document"},
		"a page":             {[]string{good, file(t, "h.json", strings.Replace(whole, "{", `{"next": "x",`, 1))}, "is a page of it, which another follows: get the whole run"},
		"two documents":      {[]string{good, file(t, "h.json", whole+whole)}, "there is more behind the run document"},
	} {
		t.Run(name, func(t *testing.T) {
			assay(t, "", append([]string{"compare"}, test.args...)...).want(t, 3, "", test.stderr)
		})
	}
}
