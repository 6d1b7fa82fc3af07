package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/score"
)

// Baseline is what a run is compared with.
type Baseline struct {
	// Base is the run that bounds on a drop are held against; nil where there is none.
	Base *compare.Side
	// Reference is a run that drift is reported against; nil where there is none. It
	// decides nothing.
	Reference *compare.Side
	// Policy says how bounds on a drop are decided; its Open is filled in here.
	Policy compare.Policy
}

// compared is how a run stands against its baseline.
type compared struct {
	baseline, reference *compare.Comparison
	relative            []score.RelativeResult
	stale               *compare.Stale
}

// compare sets the run against its baseline, where its plan has one. Cases that
// were never asked are no part of it.
func (t *tally) compare(open func(metric, tag string) (reason, message string)) (c compared) {
	b := t.plan.Baseline
	head := t.head()
	if stale, ok := compare.StaleLabels(t.base(), head); ok {
		c.stale = &stale
	}
	if b == nil {
		return c
	}
	var relative []compare.Relative
	for _, o := range t.plan.Objectives {
		relative = append(relative, compare.Relative{Metric: o.Metric, Tag: o.Tag, MaxDrop: o.MaxDrop})
	}
	if b.Base != nil {
		c.baseline = compare.Compare(*b.Base, head, compare.Options{Relative: relative, MaxCases: maxWorst})
	}
	if b.Reference != nil {
		c.reference = compare.Compare(*b.Reference, head, compare.Options{MaxCases: maxWorst})
	}
	policy := b.Policy
	policy.Open = open
	for _, r := range compare.Judge(relative, c.baseline, policy) {
		c.relative = append(c.relative, score.RelativeResult{ObjectiveResult: r.ObjectiveResult, Reason: r.Reason})
	}
	return c
}

func (t *tally) base() *compare.Side {
	if t.plan.Baseline == nil {
		return nil
	}
	return t.plan.Baseline.Base
}

// head is this run as one side of a comparison.
func (t *tally) head() compare.Side {
	s := t.plan.Head
	s.TopK, s.Unit = t.plan.Score.TopK, string(t.plan.Score.Unit)
	s.Total = len(t.plan.Cases)
	s.Cases = make([]compare.Case, 0, t.done)
	for i := range t.plan.Cases {
		if t.ends[i].outcome != "" {
			s.Cases = append(s.Cases, t.side(i))
		}
	}
	return s
}

func (t *tally) side(i int) compare.Case {
	c, sc := &t.plan.Cases[i], &t.scores[i]
	side := compare.Case{
		ID: c.ID, Digest: c.Digest, Tags: c.Tags, Outcome: t.ends[i].outcome, Rank: t.ends[i].rank,
		Retrieved: t.retrieved[i], Texts: t.texts[i], Values: make(map[string]float64, len(sc.Values)+2),
	}
	for j, v := range sc.Values {
		if !math.IsNaN(v) {
			side.Values[t.metrics[j].Name] = v
		}
	}
	if sc.Retrieval.Timed {
		side.Values[score.LatencyP95] = sc.Retrieval.Seconds
	}
	if sc.Answer.Timed {
		side.Values[score.AnswerLatencyP95] = sc.Answer.Seconds
	}
	if c.Due() {
		for _, r := range c.Relevant {
			side.Relevant = append(side.Relevant, r.ID)
		}
	}
	return side
}

// keepList keeps which ids a case retrieved, and what tells their texts apart.
func (t *tally) keepList(i int, list []Retrieved) {
	if len(list) == 0 {
		return
	}
	ids := make([]string, len(list))
	var texts []string
	for k, r := range list {
		ids[k] = r.ID
		if r.TextDigest != "" {
			if texts == nil {
				texts = make([]string, len(list))
			}
			texts[k] = r.TextDigest
		}
	}
	t.retrieved[i], t.texts[i] = ids, texts
}

// regressionsFirst puts the cases that got worse since the baseline before the
// others, and says what their rank was.
func regressionsFirst(worst []WorstCase, c *compare.Comparison) []WorstCase {
	if c == nil || !c.Comparable {
		return worst
	}
	was := map[string]int{}
	for i := range c.Base.Cases {
		was[c.Base.Cases[i].ID] = c.Base.Cases[i].Rank
	}
	var out []WorstCase
	seen := map[string]bool{}
	for _, change := range c.Worse {
		out = append(out, WorstCase{ID: change.ID, Rank: change.Rank, BaselineRank: change.BaseRank, Outcome: change.Outcome})
		seen[change.ID] = true
	}
	for _, w := range worst {
		if !seen[w.ID] {
			w.BaselineRank = was[w.ID]
			out = append(out, w)
		}
	}
	return slices.Clip(out[:min(len(out), maxWorst)])
}

// TextDigest tells a retrieved text apart from others, whatever white space is
// around it: 16 hexadecimal digits of its SHA-256. It is empty for no text.
func TextDigest(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
