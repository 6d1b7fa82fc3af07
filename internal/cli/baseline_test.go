package cli

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
)

// Another retriever: q1 is found later, q3 not at all, and q2 sooner.
var worse = lists{
	"how do I install it": {"x.md", "install.md"},
	"설치는 어떻게 하나요":         {"guide.md"},
	"who wrote it":        {"install.md"},
}

const drop = `objectives: [{metric: hit_rate@5, maxDrop: "0.40"}, {metric: mrr, min: "0.10"}]`

// saved is the document of a run of the suite, as a file.
func saved(t *testing.T, answers lists, more ...string) string {
	t.Helper()
	s := newStub(t, answers)
	out := assay(t, "", "run", "-o", "json", "-f", file(t, "suite.yaml", suiteYAML(s.URL, append([]string{`objectives: [{metric: mrr, min: "0.10"}]`}, more...)...)+goldenYAML))
	out.want(t, 0, `"verdict": "Passed"`, "docs-bot: Passed")
	return file(t, "before.json", out.stdout)
}

func TestRunAgainstABaseline(t *testing.T) {
	before := saved(t, found)
	document, err := report.Read(readAll(t, before))
	if err != nil {
		t.Fatal(err)
	}
	name := document.Run.Name
	for test, tc := range map[string]struct {
		answers lists
		spec    []string
		args    []string
		code    int
		stdout  []string
		stderr  string
	}{
		"no drop": {found, []string{drop}, []string{"--baseline", before}, 0,
			[]string{"hit_rate@5 stayed at 1.0000 (on 3 cases, p 1), meets maxDrop 0.40", "AGAINST THE BASELINE " + name, "compared with " + name + " on 3 of 3 cases"}, ""},
		"as much as it may": {worse, []string{drop}, []string{"--baseline", before}, 0, []string{
			"hit_rate@5 fell from 1.0000 to 0.6667 (on 3 cases, p 0.5), meets maxDrop 0.40", "-0.3333",
			"WORSE\nRANK  WAS  CASE  OUTCOME\n–     1    q3    Scored\n2     1    q1    Scored\n", "BETTER\nRANK  WAS  CASE  OUTCOME\n1     2    q2    Scored\n"}, ""},
		"more than it may": {worse, []string{strings.Replace(drop, "0.40", "0.3333", 1)}, []string{"--baseline", before}, 1,
			[]string{"docs-bot: Failed (ObjectivesMissed)", "0.33333 worse, more than maxDrop 0.3333"}, "warning: maxDrop 0.3333 of hit_rate@5 is less than what one of its 3 cases weighs"},
		"not proven": {worse, []string{strings.Replace(drop, "0.40", "0.34", 1), `baseline: {minConfidence: "0.95"}`}, []string{"--baseline", before}, 0,
			[]string{"meets maxDrop 0.34"}, ""},
		"not proven, and more than it may": {worse, []string{strings.Replace(drop, "0.40", "0.1", 1), `baseline: {minConfidence: "0.95"}`}, []string{"--baseline", before}, 0,
			[]string{"Unproven", "but not proven at minConfidence 0.95"}, "warning: maxDrop 0.1 of hit_rate@5"},
		"from standard input": {found, []string{drop}, []string{"--baseline", "-"}, 0, []string{"compared with " + name}, ""},
		"no baseline given":   {worse, []string{drop}, nil, 0, []string{"hit_rate@5 is not compared, which passes: there is no baseline: give the document of an earlier run with --baseline"}, ""},
		"no baseline given, and it must not pass": {worse, []string{drop, `baseline: {onNotComparable: Inconclusive}`}, nil, 2,
			[]string{"docs-bot: Inconclusive (NoBaseline)", "give the document of an earlier run with --baseline"}, ""},
		"in Markdown": {worse, []string{drop}, []string{"--baseline", before, "-o", "markdown"}, 0, []string{
			"\nAgainst the baseline `" + name + "`: compared with " + name + " on 3 of 3 cases\n", "| Metric | Tag | Baseline | Now | Delta | 95 % interval | p | Cases |\n",
			"| `hit_rate@5` |  | 1.0000 | 0.6667 | -0.3333 |", "<summary>Cases: 2 worse, 1 better</summary>", "| worse | `q3` | – | 1 | Scored |\n", "| better | `q2` | 1 | 2 | Scored |\n", "| `mrr` | `howto` | 1.0000 | 0.5000 | -0.5000 |"}, "docs-bot: Passed"},
		"another topK":   {worse, []string{drop}, []string{"--baseline", before, "--top-k", "5"}, 0, []string{"topK was 10 in " + name + " and is 5"}, ""},
		"a plan of it":   {worse, []string{drop}, []string{"--baseline", before, "--plan"}, 0, []string{"maxDrop 0.40", "Nothing was sent."}, ""},
		"of other cases": {worse, []string{drop, `goldenSet: {tags: [korean]}`}, []string{"--baseline", before}, 0, []string{"compared with " + name + " on 1 of 1 case"}, "of its 1 case weighs"},
	} {
		t.Run(test, func(t *testing.T) {
			s := newStub(t, tc.answers)
			text := suiteYAML(s.URL, tc.spec...)
			if strings.Contains(text, "goldenSet: {tags") { // in place of the line that every suite has
				text = strings.Replace(text, "  goldenSet: {tags: [korean]}\n", "", 1)
				text = strings.Replace(text, "key: golden.yaml}}", "key: golden.yaml}, tags: [korean]}", 1)
			}
			stdin := ""
			if strings.Contains(strings.Join(tc.args, " "), "--baseline -") {
				stdin = string(readAll(t, before))
			}
			out := assay(t, stdin, append([]string{"run", "-f", file(t, "suite.yaml", text+goldenYAML)}, tc.args...)...)
			for _, want := range tc.stdout {
				out.want(t, tc.code, want, tc.stderr)
			}
		})
	}
}

func TestABaselineInTheDocument(t *testing.T) {
	before := saved(t, found)
	s := newStub(t, worse)
	out := assay(t, "", "run", "-o", "json", "--baseline", before, "-f", file(t, "suite.yaml", suiteYAML(s.URL, drop)+goldenYAML))
	d, err := report.Read([]byte(out.stdout))
	if err != nil {
		t.Fatal(err)
	}
	c := d.Comparison
	if c == nil || !c.Comparable || c.Head.Name != d.Run.Name || c.Head.UID != d.Run.UID || c.WorseCount != 2 || c.BetterCount != 1 || len(c.Metrics) == 0 {
		t.Errorf("comparison is %+v", c)
	}
	if o := d.Objectives[0]; o.Bound != "maxDrop 0.40" || o.Outcome != score.Met || o.Value == nil {
		t.Errorf("objective is %+v", o)
	}
	// The document of a comparison is a baseline like any other.
	after := file(t, "after.json", out.stdout)
	assay(t, "", "run", "--baseline", after, "-f", file(t, "suite.yaml", suiteYAML(s.URL, drop)+goldenYAML)).want(t, 0, "stayed at 0.6667", "")
}

// Texts are in the document: by them a result is known under another id.
func TestABaselineKnowsTexts(t *testing.T) {
	answering := func(rename func(id string) string) *stub {
		return newStubFunc(t, func(w http.ResponseWriter, _ *http.Request, query string) {
			id := found[query][0]
			_ = json.NewEncoder(w).Encode(map[string]any{"results": []map[string]string{{"id": rename(id), "text": "the text of " + id}}})
		})
	}
	same := func(id string) string { return id }
	chunked := func(id string) string {
		return map[string]string{"install.md": "chunk-1", "x.md": "x.md", "authors.md": "authors.md"}[id]
	}
	for name, tc := range map[string]struct {
		spec   string
		code   int
		stdout string
	}{
		"kept":     {"suspend: false", 2, "case q1 wants install.md, nearest retrieved is chunk-1 (same text)"},
		"not kept": {"history: {storeContent: false}", 1, "hit_rate@5 fell from 0.6667 to 0.3333"},
	} {
		t.Run(name, func(t *testing.T) {
			before := assay(t, "", "run", "-o", "json", "-f", file(t, "suite.yaml", suiteYAML(answering(same).URL, objective, tc.spec)+goldenYAML))
			before.want(t, 0, `"verdict": "Passed"`, "docs-bot: Passed")
			assay(t, before.stdout, "run", "--baseline", "-", "-f", file(t, "suite.yaml", suiteYAML(answering(chunked).URL, strings.Replace(drop, "0.40", "0.3", 1), tc.spec)+goldenYAML)).
				want(t, tc.code, tc.stdout, "warning: maxDrop 0.3")
		})
	}
}

func TestABaselineThatDidNotPass(t *testing.T) {
	s := newStub(t, half)
	manifests := file(t, "suite.yaml", suiteYAML(s.URL, objective)+goldenYAML)
	out := assay(t, "", "run", "-o", "json", "-f", manifests)
	assay(t, "", "run", "-f", manifests, "--baseline", file(t, "failed.json", out.stdout)).
		want(t, 1, "AGAINST THE BASELINE", "warning: the run of --baseline did not pass (Failed): in a cluster it would be no baseline\n")
}

func TestWhatIsNoBaseline(t *testing.T) {
	s := newStub(t, found)
	manifests := file(t, "suite.yaml", suiteYAML(s.URL, drop)+goldenYAML)
	whole := string(readAll(t, saved(t, found)))
	for name, tc := range map[string]struct{ file, stderr string }{
		"no file":        {filepath.Join(t.TempDir(), "none.json"), "error: --baseline: reading the run document: "},
		"nothing":        {file(t, "b.json", ""), "this is no JSON"},
		"garbage":        {file(t, "b.json", "\x00\xff{{{"), "this is no JSON"},
		"a list":         {file(t, "b.json", "[1, 2]"), "this is no run document"},
		"another object": {file(t, "b.json", `{"kind": "EvalSuite"}`), "this is no run document: run.suite or settings.evaluationDigest is missing"},
		"a cut one":      {file(t, "b.json", whole[:len(whole)/2]), "this is no JSON"},
		"two of them":    {file(t, "b.json", whole+whole), "there is more behind the run document"},
		"a page":         {file(t, "b.json", strings.Replace(whole, "{", `{"next": "x",`, 1)), "is a page of run "},
		"both from one":  {"-", "-f - and --baseline - are both standard input: give one of them a file"},
	} {
		t.Run(name, func(t *testing.T) {
			from := manifests
			if tc.file == "-" {
				from = "-"
			}
			assay(t, whole, "run", "-f", from, "--baseline", tc.file).want(t, 3, "", tc.stderr)
		})
	}
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

// Whatever bytes a document is damaged in, the command ends with a verdict or says
// what is wrong.
func TestADamagedBaseline(t *testing.T) {
	s := newStub(t, found)
	manifests := file(t, "suite.yaml", suiteYAML(s.URL, drop)+goldenYAML)
	whole := readAll(t, saved(t, found))
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "b.json")
	for range 40 {
		damaged := append([]byte{}, whole...)
		for range 1 + rng.IntN(6) {
			damaged[rng.IntN(len(damaged))] = byte(rng.IntN(256))
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		out := assay(t, "", "run", "-f", manifests, "--baseline", path)
		if out.code == exitError && !strings.HasPrefix(out.stderr, "error: --baseline: ") || out.code < 0 || out.code > exitError {
			t.Fatalf("exit code %d: %s", out.code, out.stderr)
		}
	}
}

func readAll(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
