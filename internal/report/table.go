package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// TableOptions say how a table is written.
type TableOptions struct {
	// Color allows colour codes.
	Color bool
	// Width of the terminal in columns; 0: 100.
	Width int
}

// Bounds of the table: the JSON document has everything.
const (
	defaultWidth  = 100
	minExcerpt    = 20
	maxNameWidth  = 40
	maxTableWorst = 10
	maxTags       = 16
)

// style is an SGR code of ECMA-48; empty for none.
type style string

const (
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// printer keeps the first error of many small writes.
type printer struct {
	w     *bufio.Writer
	color bool
	begun bool
	err   error
}

func (p *printer) print(text string) {
	if p.err == nil {
		_, p.err = p.w.WriteString(text)
	}
}

func (p *printer) printf(format string, args ...any) { p.print(fmt.Sprintf(format, args...)) }

// gap separates what follows from what stands above it, where something does.
func (p *printer) gap() {
	if p.begun {
		p.print("\n")
	}
	p.begun = true
}

func (p *printer) styled(s style, text string) {
	if !p.color || s == "" || text == "" {
		p.print(text)
		return
	}
	p.print("\x1b[" + string(s) + "m" + text + "\x1b[0m")
}

// WriteTable writes the run for people: metrics with interval and number of
// cases, tags, worst cases, coverage and outcomes, objectives, verdict. What
// matters most comes last: on a terminal, the first lines have scrolled away.
func WriteTable(w io.Writer, d *Document, o TableOptions) error {
	p := &printer{w: bufio.NewWriter(w), color: o.Color}
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	d.tableMetrics(p)
	d.tableTags(p)
	d.tableComparison(p)
	d.tableWorst(p, o.Width)
	facts := &grid{}
	for _, fact := range d.facts() {
		facts.add(cell{fact[0], bold}, cell{text: fact[1]})
	}
	p.gap()
	facts.write(p)
	d.tableObjectives(p)
	p.gap()
	p.print(printable(d.Run.Suite))
	if d.Run.Endpoint != "" {
		p.print(" at " + printable(d.Run.Endpoint))
	}
	p.print(": ")
	p.styled(verdictStyle(d.Verdict), string(d.Verdict))
	p.printf(" (%s)\n%s\n", d.Reason, printable(d.Message))
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// Headline gives suite, verdict, reason and message on one line.
func (d *Document) Headline() string {
	return printable(fmt.Sprintf("%s: %s (%s): %s", d.Run.Suite, d.Verdict, d.Reason, d.Message))
}

func (p *printer) heading(text string) {
	p.gap()
	p.styled(bold, text)
	p.print("\n")
}

func headings(texts ...string) []cell {
	cells := plain(texts...)
	for i := range cells {
		cells[i].style = bold
	}
	return cells
}

func (d *Document) tableObjectives(p *printer) {
	if len(d.Objectives) == 0 {
		return
	}
	p.heading("OBJECTIVES")
	g := &grid{}
	for _, o := range d.Objectives {
		g.add(cell{string(o.Outcome), outcomeStyle(o.Outcome)}, cell{text: printable(o.Message)})
	}
	g.write(p)
}

func (d *Document) tableMetrics(p *printer) {
	g := &grid{}
	g.add(headings("METRIC", "VALUE", "95 % INTERVAL", "CASES")...)
	for _, m := range d.overall() {
		g.add(plain(m.Name, score.Format(m.Value), interval(m), strconv.Itoa(m.Count))...)
	}
	if len(g.rows) > 1 {
		p.gap()
		g.write(p)
	}
}

func (d *Document) tableTags(p *printer) {
	rows, more := d.tagRows()
	if len(rows) == 0 {
		return
	}
	g := &grid{}
	names := d.headlines()
	head := []string{"TAG"}
	for _, name := range names {
		head = append(head, strings.ToUpper(name))
	}
	g.add(headings(append(head, "CASES")...)...)
	for _, row := range rows {
		row[0] = cut(row[0], maxNameWidth)
		g.add(plain(row...)...)
	}
	p.gap()
	g.write(p)
	if more > 0 {
		p.printf("and %d more tags: -o json has every tag\n", more)
	}
}

// tableComparison shows what moved since the baseline, and which cases.
func (d *Document) tableComparison(p *printer) {
	c := d.Comparison
	if c == nil {
		return
	}
	p.heading("AGAINST THE BASELINE " + sideName(c.Base))
	p.begun = false
	comparisonMetrics(p, c, "")
	comparisonTags(p, c)
	comparisonCases(p, "WORSE", red, c.Worse[:min(len(c.Worse), maxTableWorst)], c.WorseCount)
	comparisonCases(p, "BETTER", green, c.Better[:min(len(c.Better), maxTableWorst)], c.BetterCount)
	p.gap()
	p.print(printable(c.Message) + "\n")
}

func (d *Document) tableWorst(p *printer, columns int) {
	worst := d.worstCases()
	if len(worst) == 0 {
		return
	}
	p.heading("WORST CASES")
	g := &grid{}
	g.add(headings("RANK", "CASE", "OUTCOME", "QUESTION")...)
	used := [3]int{len("RANK"), len("CASE"), len("OUTCOME")}
	shown := worst[:min(len(worst), maxTableWorst)]
	for _, c := range shown {
		used[1], used[2] = max(used[1], width(cut(printable(c.ID), maxNameWidth))), max(used[2], width(c.Outcome))
	}
	excerpt := max(minExcerpt, columns-used[0]-used[1]-used[2]-3*columnGap)
	for _, c := range shown {
		g.add(plain(rank(c), cut(printable(c.ID), maxNameWidth), c.Outcome, cut(printable(c.Question), excerpt))...)
	}
	g.write(p)
	if more := len(worst) - len(shown); more > 0 {
		p.printf("and %d more: -o json lists every case\n", more)
	}
}

// tagRows gives tag, headline metrics and number of cases for the first tags,
// and how many tags it leaves out.
func (d *Document) tagRows() (rows [][]string, more int) {
	names := d.headlines()
	for _, m := range d.Metrics {
		// Every tag has an error rate, and it is over all of the tag's cases.
		if m.Tag == "" || m.Name != score.ErrorRate {
			continue
		}
		if len(rows) == maxTags {
			more++
			continue
		}
		row := []string{printable(m.Tag)}
		for _, name := range names {
			value := "–"
			if mean, ok := d.metric(name, m.Tag); ok {
				value = score.Format(mean.Value)
			}
			row = append(row, value)
		}
		rows = append(rows, append(row, strconv.Itoa(m.Count)))
	}
	return rows, more
}

// headlines are the metrics that tags are compared by.
func (d *Document) headlines() []string {
	names := []string{"hit_rate@" + strconv.Itoa(d.Settings.PrimaryK), "mrr"}
	if d.Settings.Judge != nil {
		names = append(names, score.Accuracy, score.HallucinationRate)
	}
	return append(names, score.ErrorRate)
}

func (d *Document) worstCases() []Case {
	byID := make(map[string]Case, len(d.Cases))
	for _, c := range d.Cases {
		byID[c.ID] = c
	}
	var worst []Case
	for _, id := range d.worst {
		if c, ok := byID[id]; ok {
			worst = append(worst, c)
		}
	}
	return worst
}

// facts are name and text of what stands below the tables.
func (d *Document) facts() [][2]string {
	var facts [][2]string
	if said := d.Coverage.text(); said != "" {
		facts = append(facts, [2]string{"COVERAGE", said})
	}
	if e := d.Evidence; e != nil {
		facts = append(facts, [2]string{"EVIDENCE", fmt.Sprintf("found: %d right, %d wrong; not found: %d right, %d wrong", e.HitRight, e.HitWrong, e.MissRight, e.MissWrong)})
	}
	if j := d.Settings.Judge; j != nil {
		facts = append(facts, [2]string{"JUDGE", judgeName(j) + d.usage()})
	}
	var outcomes []string
	for _, outcome := range slices.Sorted(maps.Keys(d.Outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", outcome, d.Outcomes[outcome]))
	}
	if n := d.notAsked(); n > 0 {
		outcomes = append(outcomes, fmt.Sprintf("not asked %d", n))
	}
	if len(outcomes) > 0 {
		facts = append(facts, [2]string{"OUTCOMES", strings.Join(outcomes, ", ")})
	}
	for _, c := range d.Cases {
		if c.Outcome != eval.Scored {
			facts = append(facts, [2]string{"FIRST FAILURE", printable(c.ID + ": " + c.Message)})
			break
		}
	}
	facts = append(facts, [2]string{"SETTINGS", fmt.Sprintf("topK %d, unit %s", d.Settings.TopK, d.Settings.Unit)})
	if took := d.duration(); took > 0 {
		facts = append(facts, [2]string{"DURATION", took.String()})
	}
	return facts
}

// judgeName says who judged.
func judgeName(j *judge.Identity) string { return printable(j.Provider + " " + j.Model) }

// stageCoverage is the coverage of a stage that was due.
type stageCoverage struct {
	name  string
	ratio float64
}

// stages gives the coverage of those that were due, in their order.
func (c Coverage) stages() []stageCoverage {
	var due []stageCoverage
	for _, stage := range []struct {
		name  score.Stage
		ratio *float64
	}{{score.RetrievalStage, c.Retrieval}, {score.AnswerStage, c.Answer}, {score.JudgeStage, c.Judge}} {
		if stage.ratio != nil {
			due = append(due, stageCoverage{string(stage.name), *stage.ratio})
		}
	}
	return due
}

// text lists the stages' coverage.
func (c Coverage) text() string {
	stages := c.stages()
	said := make([]string, len(stages))
	for i, stage := range stages {
		said[i] = stage.name + " " + score.Format(stage.ratio)
	}
	return strings.Join(said, ", ")
}

// usage is what the judge cost; empty where it cost nothing, as without a model.
func (d *Document) usage() string {
	u := d.Usage
	if u == nil {
		return ""
	}
	return fmt.Sprintf(": calls %d, tokens %d in and %d out, known from earlier runs %d", u.Calls, u.PromptTokens, u.CompletionTokens, u.CacheHits)
}

func (d *Document) duration() time.Duration {
	took := d.Run.CompletionTime.Sub(d.Run.StartTime)
	if took >= time.Minute {
		return took.Round(time.Second)
	}
	return took.Round(time.Millisecond)
}

func interval(m Metric) string {
	if m.Low == nil || m.High == nil {
		return ""
	}
	return score.Format(*m.Low) + " – " + score.Format(*m.High)
}

// rank of the first relevant result; a dash where none was found.
func rank(c Case) string {
	if c.Rank == 0 {
		return "–"
	}
	return strconv.Itoa(c.Rank)
}

func verdictStyle(v score.Verdict) style {
	switch v {
	case score.Passed:
		return green
	case score.Inconclusive:
		return yellow
	}
	return red
}

func outcomeStyle(o score.ObjectiveOutcome) style {
	switch o {
	case score.Met:
		return green
	case score.Missed:
		return red
	}
	return yellow
}
