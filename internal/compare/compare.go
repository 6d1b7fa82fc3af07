// Package compare sets a run against another: the difference of every metric on
// the cases that both have, how far chance explains it, the cases that got worse
// and better, the bounds on a drop, and whether the labels still fit. It is pure:
// no clock, no I/O, and the same two runs always give the same numbers.
//
// Compare gives a Comparison, Judge decides the bounds on it, StaleLabels looks
// for ids that changed under the labels, and Document is a comparison for JSON.
package compare

import (
	"cmp"
	"slices"
)

// Scored is the outcome of a case that no stage failed for.
const Scored = "Scored"

// Case is what a run knows of one case.
type Case struct {
	// ID pairs a case with itself in the other run.
	ID string
	// Digest of what is asked and expected; a case with another is another case.
	Digest string
	Tags   []string
	// Outcome is Scored, or how the first stage that failed ended; empty where the
	// case was never asked.
	Outcome string
	// Rank of the first relevant result; 0 where there is none.
	Rank int
	// Values by the name of their metric. What is absent, or no finite number, has
	// no value. The names of the latencies hold the seconds of the case's own call.
	Values map[string]float64
	// Retrieved ids as they were scored, best first.
	Retrieved []string
	// Relevant ids; empty where retrieval was not due for the case.
	Relevant []string
	// Texts of Retrieved, or digests of them on both sides; empty where there are none.
	Texts []string
}

// Side is one of the two runs.
type Side struct {
	// Run is its name for people, UID its key.
	Run, UID string
	// Revision of the target that it measured.
	Revision string
	// GoldenSetDigest and EvaluationDigest say what was asked, and how.
	GoldenSetDigest, EvaluationDigest string
	TopK                              int
	// Unit is Chunk where it is empty, Tokenizer Whitespace.
	Unit, Tokenizer string
	// Judge is the fingerprint of the judge's identity; empty where nobody judged.
	Judge string
	// Total is how many cases the golden set has, where Cases has only those that
	// ended; 0: as many as Cases.
	Total int
	Cases []Case
}

// Options of a comparison.
type Options struct {
	// Relative are the suite's bounds on a drop: the p-values of what they bound
	// are corrected for one another.
	Relative []Relative
	// MaxCases is how many cases that got worse, and how many that got better, are
	// given; 0: 20.
	MaxCases int
}

const defaultMaxCases = 20

// The reasons of a comparison.
const (
	// ReasonComparable is a comparison that leaves out nothing.
	ReasonComparable = "Comparable"
	// ReasonNothingInCommon and ReasonTooFewInCommon are golden sets with no, or
	// fewer than half of, their cases in common.
	ReasonNothingInCommon = "NothingInCommon"
	ReasonTooFewInCommon  = "TooFewInCommon"
	// ReasonSettingsChanged is another topK, unit or tokenizer, ReasonJudgeChanged
	// another judge: what rests on them is not compared.
	ReasonSettingsChanged = "SettingsChanged"
	ReasonJudgeChanged    = "JudgeChanged"
)

// Comparison is one run, the head, against another, the base.
type Comparison struct {
	Base, Head Side
	// Comparable says that there are deltas: enough cases are the same, and asked
	// in the same way.
	Comparable bool
	// Reason is one CamelCase word; Comparable where nothing is left out.
	Reason string
	// Message for people names the numbers.
	Message string
	// Total is how many cases the head's golden set has, Common how many of them
	// the base has unchanged.
	Total, Common int
	// Added, Edited and Removed count the cases that only the head has, that both
	// have in different versions, and that only the base has.
	Added, Edited, Removed int
	// GoldenSetChanged and RevisionChanged say what moved between the two.
	GoldenSetChanged, RevisionChanged bool
	// Differences are the settings that keep metrics from being compared.
	Differences []Difference
	// Deltas of all cases, then of each tag in order; within, metrics in the order
	// of a run's.
	Deltas []Delta
	// Worse and Better are the cases that changed most, the greatest change first,
	// at most as many as the options say.
	Worse, Better []Change
	// WorseCount and BetterCount count them all, SameCount the other common cases.
	WorseCount, BetterCount, SameCount int

	// have says where each side has values on the common cases, by metric and tag.
	have map[key]presence
}

// key names a metric over the cases of a tag.
type key struct{ metric, tag string }

// presence counts the common cases in which each side has a value.
type presence struct{ base, head int }

// pair is one case in both runs.
type pair struct{ base, head *Case }

// Compare sets the head against the base, on the cases that have the same id and
// digest in both. The order of the cases does not matter.
func Compare(base, head Side, o Options) *Comparison {
	c := &Comparison{Base: base, Head: head}
	pairs := c.pair()
	groups := groupByTag(pairs, readColumns(pairs))
	c.have = presences(groups)
	columns := c.sameSettings(groups[0].columns)
	c.decideComparable()
	if !c.Comparable {
		return c
	}
	for _, g := range groups {
		g.columns = columns
		c.Deltas = append(c.Deltas, g.deltas()...)
	}
	c.correct(o.Relative)
	c.changes(pairs, columns, cmp.Or(o.MaxCases, defaultMaxCases))
	return c
}

// pair finds the common cases, in the order of their ids, and counts the others.
func (c *Comparison) pair() []pair {
	before := byID(c.Base.Cases)
	seen := make(map[string]bool, len(c.Head.Cases))
	pairs := make([]pair, 0, len(c.Head.Cases))
	for i := range c.Head.Cases {
		now := &c.Head.Cases[i]
		if seen[now.ID] {
			continue
		}
		seen[now.ID] = true
		switch was, ok := before[now.ID]; {
		case !ok:
			c.Added++
		case was.Digest != now.Digest:
			c.Edited++
		default:
			pairs = append(pairs, pair{was, now})
		}
	}
	for id := range before {
		if !seen[id] {
			c.Removed++
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.head.ID, b.head.ID) })
	c.Common, c.Total = len(pairs), max(len(seen), c.Head.Total)
	c.GoldenSetChanged = c.Added+c.Edited+c.Removed > 0
	if was, is := c.Base.GoldenSetDigest, c.Head.GoldenSetDigest; was != "" && is != "" {
		c.GoldenSetChanged = was != is
	}
	c.RevisionChanged = c.Base.Revision != c.Head.Revision
	return pairs
}

// byID indexes cases; of two with one id, the first counts.
func byID(cases []Case) map[string]*Case {
	index := make(map[string]*Case, len(cases))
	for i := range cases {
		if index[cases[i].ID] == nil {
			index[cases[i].ID] = &cases[i]
		}
	}
	return index
}
