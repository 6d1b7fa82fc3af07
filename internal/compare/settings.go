package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-dev/assay/internal/score"
)

// Difference is a setting that is not the same in both runs.
type Difference struct {
	// Setting is topK, unit, tokenizer or judge.
	Setting string
	// Base and Head are what it was and is; of a judge, its fingerprint.
	Base, Head string
	// Metrics that are not compared for it.
	Metrics []string
}

// setting is what numbers must have in common, and which of them.
type setting struct {
	name string
	of   func(Side) string
	// bears says whether a metric rests on it.
	bears func(score.Metric) bool
}

func (s Side) unit() string      { return cmp.Or(s.Unit, string(score.Chunk)) }
func (s Side) tokenizer() string { return cmp.Or(s.Tokenizer, string(score.Whitespace)) }

const judgeSetting = "judge"

// settings in the order in which they are named as the cause.
var settings = []setting{
	// How many results are asked for decides what every later stage gets to see,
	// and how long the call takes.
	{"topK", func(s Side) string { return strconv.Itoa(s.TopK) }, func(score.Metric) bool { return true }},
	{"unit", Side.unit, retrieval},
	{"tokenizer", Side.tokenizer, func(m score.Metric) bool { return m.Family == score.BLEU }},
	{judgeSetting, func(s Side) string { return s.Judge }, func(m score.Metric) bool { return m.Stage == score.JudgeStage }},
}

// retrieval says that a metric is computed from the ranked list.
func retrieval(m score.Metric) bool {
	return m.Stage == score.RetrievalStage && m.Family != score.LatencyP95
}

// sameSettings gives the columns that can be compared and notes, for the others,
// the setting that differs.
func (c *Comparison) sameSettings(columns []column) []column {
	columns = slices.Clone(columns)
	for _, s := range settings {
		was, is := s.of(c.Base), s.of(c.Head)
		// A verdict of nobody known is comparable with none.
		if was == is && (s.name != judgeSetting || is != "") {
			continue
		}
		d := Difference{Setting: s.name, Base: was, Head: is}
		columns = slices.DeleteFunc(columns, func(col column) bool {
			if !s.bears(col.metric) {
				return false
			}
			if slices.ContainsFunc(col.base, finite) && slices.ContainsFunc(col.head, finite) {
				d.Metrics = append(d.Metrics, col.metric.Name)
			}
			return true
		})
		if len(d.Metrics) > 0 {
			c.Differences = append(c.Differences, d)
		}
	}
	return columns
}

// String says what differs and what that leaves out.
func (d Difference) String() string {
	left := leftOut(d.Metrics)
	switch {
	case d.Setting != judgeSetting:
		return fmt.Sprintf("%s was %s and is %s: %s", d.Setting, d.Base, d.Head, left)
	case d.Base == "" || d.Head == "":
		return "it is not known who judged: " + left
	}
	return "the judge is another (provider, model, parameters or prompt): " + left
}

func leftOut(metrics []string) string {
	if len(metrics) == 1 {
		return metrics[0] + " is not compared"
	}
	return listed(metrics) + " are not compared"
}

// listed names a few and counts the others.
func listed(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// difference finds the setting for which a metric is not compared.
func (c *Comparison) difference(metric string) (Difference, bool) {
	i := slices.IndexFunc(c.Differences, func(d Difference) bool { return slices.Contains(d.Metrics, metric) })
	if i < 0 {
		return Difference{}, false
	}
	return c.Differences[i], true
}
