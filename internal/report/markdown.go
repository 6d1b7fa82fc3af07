package report

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/score"
)

// markdownExcerpt is how many columns of a question stand in a table.
const markdownExcerpt = 80

// WriteMarkdown writes the run as a comment on a pull request: verdict,
// objectives and headline metrics, and, folded, all metrics, tags and worst cases.
func WriteMarkdown(w io.Writer, d *Document) error {
	p := &printer{w: bufio.NewWriter(w)}
	p.printf("### Assay: %s **%s**\n\n", code(d.Run.Namespace+"/"+d.Run.Suite), d.Verdict)
	if d.Run.Endpoint != "" {
		p.printf("Endpoint %s. ", code(d.Run.Endpoint))
	}
	p.printf("%s: %s\n", d.Reason, escape(d.Message))
	if len(d.Objectives) > 0 {
		p.table([]string{"Outcome", "Objective", "Tag", "Bound", "Measured"}, "---", "---", "---", "---", "---")
		for _, o := range d.Objectives {
			outcome := string(o.Outcome)
			if o.Outcome != score.Met {
				outcome = "**" + outcome + "**"
			}
			p.row(outcome, code(o.Metric), code(o.Tag), o.Bound, escape(o.Message))
		}
	}
	p.markdownMetrics(d)
	p.markdownComparison(d)
	p.markdownTags(d)
	p.markdownWorst(d)
	p.print("\n")
	var facts []string
	for _, fact := range d.facts() {
		facts = append(facts, strings.ToLower(fact[0])+" "+fact[1])
	}
	p.printf("%s\n", escape(strings.Join(facts, " · ")))
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// markdownMetrics shows the headline numbers and folds the others.
func (p *printer) markdownMetrics(d *Document) {
	var headlines []Metric
	for _, name := range d.headlines() {
		if m, ok := d.metric(name, ""); ok {
			headlines = append(headlines, m)
		}
	}
	p.metricTable(headlines)
	if all := d.overall(); len(all) > len(headlines) {
		p.print("\n<details><summary>All metrics</summary>\n")
		p.metricTable(all)
		p.print("\n</details>\n")
	}
}

// markdownComparison shows how the headline numbers moved since the baseline, and
// folds the tags that did and the cases.
func (p *printer) markdownComparison(d *Document) {
	c := d.Comparison
	if c == nil {
		return
	}
	p.printf("\nAgainst the baseline %s: %s\n", code(c.Base.Name), escape(c.Message))
	p.deltaTable(d, c.Metrics, func(m compare.DocumentMetric) bool { return m.Tag == "" })
	moved := func(m compare.DocumentMetric) bool { return m.Tag != "" && m.Delta != 0 }
	if n := len(c.Worse) + len(c.Better); n > 0 || slices.ContainsFunc(c.Metrics, moved) {
		p.printf("\n<details><summary>Cases: %d worse, %d better</summary>\n", c.WorseCount, c.BetterCount)
		p.deltaTable(d, c.Metrics, moved)
		p.changeTable(c.Worse, c.Better)
		p.print("\n</details>\n")
	}
}

// deltaTable shows the headline metrics that are picked.
func (p *printer) deltaTable(d *Document, metrics []compare.DocumentMetric, pick func(compare.DocumentMetric) bool) {
	headlines, rows := d.headlines(), 0
	for _, m := range metrics {
		if !pick(m) || !slices.Contains(headlines, m.Name) {
			continue
		}
		if rows++; rows == 1 {
			p.table([]string{"Metric", "Tag", "Baseline", "Now", "Delta", "95 % interval", "p", "Cases"}, "---", "---", "---:", "---:", "---:", "---:", "---:", "---:")
		}
		if rows > maxTagRows {
			return
		}
		p.row(code(m.Name), code(m.Tag), score.Format(m.Baseline), score.Format(m.Value), signed(m.Delta), deltaInterval(m), pValue(m), strconv.Itoa(m.Count))
	}
}

// changeTable lists the cases that got worse, then those that got better.
func (p *printer) changeTable(worse, better []compare.DocumentCase) {
	if len(worse)+len(better) == 0 {
		return
	}
	p.table([]string{"", "Case", "Rank", "Was", "Outcome"}, "---", "---", "---:", "---:", "---")
	for _, group := range []struct {
		name  string
		cases []compare.DocumentCase
	}{{"worse", worse}, {"better", better}} {
		for _, c := range group.cases {
			p.row(group.name, code(c.ID), rankText(c.Rank), rankText(c.BaselineRank), escape(changedOutcome(c)))
		}
	}
}

func (p *printer) metricTable(metrics []Metric) {
	if len(metrics) == 0 {
		return
	}
	p.table([]string{"Metric", "Value", "95 % interval", "Cases"}, "---", "---:", "---:", "---:")
	for _, m := range metrics {
		p.row(code(m.Name), score.Format(m.Value), interval(m), strconv.Itoa(m.Count))
	}
}

func (p *printer) markdownTags(d *Document) {
	rows, more := d.tagRows()
	if len(rows) == 0 {
		return
	}
	p.print("\n<details><summary>By tag</summary>\n")
	head, rule := []string{"Tag"}, []string{"---"}
	for _, name := range d.headlines() {
		head, rule = append(head, code(name)), append(rule, "---:")
	}
	p.table(append(head, "Cases"), append(rule, "---:")...)
	for _, row := range rows {
		row[0] = code(row[0])
		p.row(row...)
	}
	if more > 0 {
		p.printf("\nand %d more tags\n", more)
	}
	p.print("\n</details>\n")
}

func (p *printer) markdownWorst(d *Document) {
	worst := d.worstCases()
	if len(worst) == 0 {
		return
	}
	p.print("\n<details><summary>Worst cases</summary>\n")
	p.table([]string{"Rank", "Case", "Outcome", "Question", "Relevant"}, "---:", "---", "---", "---", "---")
	for _, c := range worst {
		p.row(rank(c), code(c.ID), c.Outcome, code(cut(printable(c.Question), markdownExcerpt)), relevantIDs(c))
	}
	p.print("\n</details>\n")
}

// relevantIDs names the first few ids that would have been right.
func relevantIDs(c Case) string {
	const few = 3
	var ids []string
	for _, r := range c.Relevant[:min(len(c.Relevant), few)] {
		ids = append(ids, code(cut(printable(r.ID), markdownExcerpt)))
	}
	if more := len(c.Relevant) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ids, " ")
}

// table begins a table; rules say how its columns are aligned.
func (p *printer) table(head []string, rules ...string) {
	p.print("\n")
	p.row(head...)
	p.row(rules...)
}

func (p *printer) row(cells ...string) { p.print("| " + strings.Join(cells, " | ") + " |\n") }

// code is a code span, in which neither mentions nor markup work. Its fence is
// longer than any run of backticks in the text, and a bar would end a cell.
func code(text string) string {
	text = printable(text)
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

var markdownEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "|", `\|`, "<", "&lt;", "~", `\~`)

// mention is an @ that is not inside a word, as it is in hit_rate@5.
var mention = regexp.MustCompile(`(^|[^0-9A-Za-z_])@`)

// escape keeps text outside a code span from being read as markup.
func escape(text string) string {
	return mention.ReplaceAllString(markdownEscaper.Replace(printable(text)), "$1&#64;")
}
