package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/score"
)

// WriteComparison writes two runs side by side for people: what moved, with
// interval and p, by tag, and the cases that got worse and better with their
// ranks then and now.
func WriteComparison(w io.Writer, d *compare.Document, o TableOptions) error {
	p := &printer{w: bufio.NewWriter(w), color: o.Color}
	comparisonMetrics(p, d, "")
	comparisonTags(p, d)
	comparisonCases(p, "WORSE", red, d.Worse, d.WorseCount)
	comparisonCases(p, "BETTER", green, d.Better, d.BetterCount)
	p.gap()
	g := &grid{}
	g.add(cell{"BASE", bold}, cell{text: sideName(d.Base)})
	g.add(cell{"HEAD", bold}, cell{text: sideName(d.Head)})
	g.add(cell{"CASES", bold}, cell{text: fmt.Sprintf("%d of %d in common: %d worse, %d better, %d the same", d.Common, d.Total, d.WorseCount, d.BetterCount, d.SameCount)})
	for _, difference := range d.Differences {
		g.add(cell{"DIFFERS", bold}, cell{text: printable(fmt.Sprintf("%s: not compared: %s", differs(difference), strings.Join(difference.Metrics, ", ")))})
	}
	g.write(p)
	p.print("\n")
	p.print(printable(d.Message) + "\n")
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// differs says what a setting is and was. A judge is known by a fingerprint, which
// tells people nothing.
func differs(d compare.DocumentDifference) string {
	switch {
	case d.Setting != "judge":
		return fmt.Sprintf("%s: %s, was %s", d.Setting, d.Head, d.Base)
	case d.Head == "" || d.Base == "":
		return "judge: not known of both"
	}
	return "judge: another provider, model, prompt or parameters"
}

func sideName(r compare.DocumentRun) string {
	name := r.Name
	if r.Revision != "" && r.Revision != "none" {
		name += " of revision " + r.Revision
	}
	return printable(name)
}

func comparisonMetrics(p *printer, d *compare.Document, tag string) {
	g := &grid{}
	g.add(headings("METRIC", "BASE", "HEAD", "DELTA", "95 % INTERVAL", "P", "CASES")...)
	for _, m := range d.Metrics {
		if m.Tag != tag {
			continue
		}
		g.add(cell{text: m.Name}, cell{text: score.Format(m.Baseline)}, cell{text: score.Format(m.Value)}, cell{signed(m.Delta), movement(m)},
			cell{text: deltaInterval(m)}, cell{text: pValue(m)}, cell{text: strconv.Itoa(m.Count)})
	}
	if len(g.rows) > 1 {
		p.gap()
		g.write(p)
	}
}

// comparisonTags names what moved in a tag and by more than nothing, so that an
// average that stands still hides no group that fell.
func comparisonTags(p *printer, d *compare.Document) {
	g, more := &grid{}, 0
	g.add(headings("TAG", "METRIC", "BASE", "HEAD", "DELTA", "P", "CASES")...)
	for _, m := range d.Metrics {
		if m.Tag == "" || m.Delta == 0 || !headlineFamily(m.Name) {
			continue
		}
		if len(g.rows) > maxTagRows {
			more++
			continue
		}
		g.add(cell{text: cut(printable(m.Tag), maxNameWidth)}, cell{text: m.Name}, cell{text: score.Format(m.Baseline)}, cell{text: score.Format(m.Value)},
			cell{signed(m.Delta), movement(m)}, cell{text: pValue(m)}, cell{text: strconv.Itoa(m.Count)})
	}
	if len(g.rows) > 1 {
		p.gap()
		g.write(p)
	}
	if more > 0 {
		p.printf("and %d more: -o json has every tag\n", more)
	}
}

// maxTagRows is how many lines of tags a table has.
const maxTagRows = 48

// headlineFamily says whether a metric is one that tags are compared by.
func headlineFamily(name string) bool {
	m, err := score.ParseMetric(name)
	if err != nil {
		return false
	}
	switch m.Family {
	case score.HitRate, score.Accuracy, score.HallucinationRate:
		return true
	}
	return name == score.MRR
}

func comparisonCases(p *printer, title string, s style, cases []compare.DocumentCase, count int) {
	if len(cases) == 0 {
		return
	}
	p.gap()
	p.styled(s, title)
	p.print("\n")
	g := &grid{}
	g.add(headings("RANK", "WAS", "CASE", "OUTCOME")...)
	for _, c := range cases {
		g.add(plain(rankText(c.Rank), rankText(c.BaselineRank), cut(printable(c.ID), maxNameWidth), printable(changedOutcome(c)))...)
	}
	g.write(p)
	if more := count - len(cases); more > 0 {
		p.printf("and %d more\n", more)
	}
}

// changedOutcome is how a case ended, how it did before where that differs, and
// what the judge says otherwise.
func changedOutcome(c compare.DocumentCase) string {
	outcome := c.Outcome
	if c.BaselineOutcome != c.Outcome {
		outcome += ", was " + c.BaselineOutcome
	}
	return outcome + said(c.Metrics)
}

// said tells what the judge says otherwise than before.
func said(values []compare.DocumentValue) string {
	var parts []string
	for _, v := range values {
		switch v.Name {
		case score.Accuracy:
			parts = append(parts, map[bool]string{true: "now correct", false: "now wrong"}[v.Value > v.Baseline])
		case score.HallucinationRate:
			parts = append(parts, map[bool]string{true: "now not grounded", false: "now grounded"}[v.Value > v.Baseline])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func rankText(rank int) string {
	if rank == 0 {
		return "–"
	}
	return strconv.Itoa(rank)
}

func signed(v float64) string {
	text := score.Format(v)
	if v > 0 {
		return "+" + text
	}
	return text
}

func movement(m compare.DocumentMetric) style {
	switch {
	case m.Delta == 0:
		return ""
	case m.Delta > 0 != m.LowerIsBetter:
		return green
	}
	return red
}

func deltaInterval(m compare.DocumentMetric) string {
	if m.DeltaLow == nil || m.DeltaHigh == nil {
		return ""
	}
	return signed(*m.DeltaLow) + " – " + signed(*m.DeltaHigh)
}

func pValue(m compare.DocumentMetric) string {
	if m.PValue == nil {
		return ""
	}
	return score.Format(*m.PValue)
}
