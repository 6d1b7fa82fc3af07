package report

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/score"
)

// A call that was refused says nothing of how long the work takes, in the base as
// in a run of today.
func TestWhichCallsOfASideAreTimed(t *testing.T) {
	d := &Document{}
	for _, outcome := range []string{eval.Scored, "RetrieverTimeout", "RetrieverUnreachable", "AnswerTimeout", "AnswerHTTPError", "JudgeTimeout"} {
		d.Cases = append(d.Cases, Case{ID: outcome, Outcome: outcome, LatencySeconds: ptr.To(0.5), AnswerLatencySeconds: ptr.To(2.0)})
	}
	d.Cases = append(d.Cases, Case{ID: "self-retrieving", Outcome: eval.Scored, LatencySeconds: ptr.To(0.0), AnswerLatencySeconds: ptr.To(2.0)}, Case{ID: "not called", Outcome: eval.Scored})
	got := map[string]string{}
	for _, c := range d.Side().Cases {
		var timed []string
		for _, name := range []string{score.LatencyP95, score.AnswerLatencyP95} {
			if _, ok := c.Values[name]; ok {
				timed = append(timed, strings.TrimSuffix(name, "_latency_p95_seconds"))
			}
		}
		got[c.ID] = strings.Join(timed, " ")
	}
	want := map[string]string{
		eval.Scored: "retrieval answer", "RetrieverTimeout": "retrieval", "RetrieverUnreachable": "", "AnswerTimeout": "retrieval answer", "AnswerHTTPError": "retrieval",
		"JudgeTimeout": "retrieval answer", "self-retrieving": "answer", "not called": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASideHasDigestsOfTexts(t *testing.T) {
	d := &Document{Cases: []Case{
		{ID: "with", Retrieved: []Retrieved{{ID: "a"}, {ID: "b", Text: "the text"}}},
		{ID: "without", Retrieved: []Retrieved{{ID: "a"}}},
	}}
	cases := d.Side().Cases
	if diff := cmp.Diff([]string{"", eval.TextDigest("the text")}, cases[0].Texts); diff != "" || cases[1].Texts != nil {
		t.Errorf("%s and %v", diff, cases[1].Texts)
	}
}

// A comparison may be with a document of anybody's: none of it is markup.
func TestAComparisonIsEscaped(t *testing.T) {
	d := Build(meta(), result(), nil)
	d.Comparison = &compare.Document{
		Base: compare.DocumentRun{Name: "a|b`c"}, Message: "compared with <img src=x> @everyone\x1b[2J", WorseCount: 1, BetterCount: 1,
		Metrics: []compare.DocumentMetric{{Name: "hit_rate@5", Value: 0.5, Baseline: 1, Delta: -0.5}, {Name: "hit_rate@5", Tag: "x|y", Delta: 0.25}},
		Worse:   []compare.DocumentCase{{ID: "q|1", Outcome: "Scored", BaselineOutcome: "<b>|Odd\x1b"}},
		Better:  []compare.DocumentCase{{ID: "q2", Rank: 1, Outcome: "Scored", BaselineOutcome: "Scored"}},
	}
	markdown := string(render(t, func(w io.Writer) error { return WriteMarkdown(w, d) }))
	for _, want := range []string{
		"\nAgainst the baseline `` a\\|b`c ``: compared with &lt;img src=x> &#64;everyone", "| `hit_rate@5` |  | 1.0000 | 0.5000 | -0.5000 |", "| `hit_rate@5` | `x\\|y` |",
		"<summary>Cases: 1 worse, 1 better</summary>", "| worse | `q\\|1` | – | – | Scored, was &lt;b>\\|Odd", "| better | `q2` | 1 | – | Scored |\n",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("Markdown lacks %q:\n%s", want, markdown)
		}
	}
	table := string(render(t, func(w io.Writer) error { return WriteTable(w, d, TableOptions{}) }))
	for _, text := range []string{markdown, table} {
		if strings.ContainsRune(text, '\x1b') {
			t.Errorf("a control character comes through:\n%q", text)
		}
	}
	// Where nothing could be compared, the message says why.
	d.Comparison = &compare.Document{Base: compare.DocumentRun{Name: "before"}, Message: "none of 4 cases is the same in before"}
	markdown = string(render(t, func(w io.Writer) error { return WriteMarkdown(w, d) }))
	if !strings.Contains(markdown, "\nAgainst the baseline `before`: none of 4 cases is the same in before\n") || strings.Contains(markdown, "worse") {
		t.Errorf("Markdown is\n%s", markdown)
	}
}

func TestATableShowsTheFirstChangesOfMany(t *testing.T) {
	d := Build(meta(), result(), nil)
	d.Comparison = &compare.Document{Base: compare.DocumentRun{Name: "before"}, WorseCount: 25, BetterCount: 2}
	for range 20 {
		d.Comparison.Worse = append(d.Comparison.Worse, compare.DocumentCase{ID: "worse", Outcome: "Scored", BaselineOutcome: "Scored"})
	}
	d.Comparison.Better = []compare.DocumentCase{{ID: "better", Rank: 1, BaselineRank: 3, Outcome: "Scored", BaselineOutcome: "Scored"}}
	table := string(render(t, func(w io.Writer) error { return WriteTable(w, d, TableOptions{}) }))
	if n := strings.Count(table, "  worse "); n != maxTableWorst || !strings.Contains(table, "and 15 more\n") || !strings.Contains(table, "1     3    better  Scored\n") || !strings.Contains(table, "and 1 more\n") {
		t.Errorf("%d cases in\n%s", n, table)
	}
}
