package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

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
	// ReferenceMissing says, for people, why there is no Reference though one is
	// named; else empty.
	ReferenceMissing string
	// Texts gives digests of the texts that some cases of a run retrieved, by case
	// and in the order of its list; the run is Base, or this one where an interrupted
	// process asked the cases. It is called once the cases have ended, and only where
	// relevant ids have vanished. Nil, and what it leaves out: there are none.
	Texts func(ctx context.Context, run string, cases []string) map[string][]string
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
func (t *tally) compare(ctx context.Context, open func(metric, tag string) (reason, message string)) (c compared) {
	b := t.plan.Baseline
	head := t.head()
	if stale, ok := t.staleLabels(ctx, head); ok {
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

// staleLabels says whether the labels no longer fit. Texts are loaded only where
// they can tell more: that most runs are compared without them keeps a history
// from being read whole after each.
func (t *tally) staleLabels(ctx context.Context, head compare.Side) (compare.Stale, bool) {
	b := t.plan.Baseline
	if b == nil || b.Base == nil {
		return compare.StaleLabels(nil, head)
	}
	stale, ok := compare.StaleLabels(b.Base, head)
	if b.Texts == nil {
		return stale, ok
	}
	cases := compare.Vanished(*b.Base, head)
	if ok { // what is left to find are the nearest ids
		cases = cases[:0]
		for _, n := range stale.Nearest {
			cases = append(cases, n.Case)
		}
	}
	base, loaded := t.withTexts(ctx, *b.Base, cases)
	if !loaded {
		return stale, ok
	}
	head, _ = t.withTexts(ctx, head, cases)
	return compare.StaleLabels(&base, head)
}

// withTexts gives a run with the texts of those of the cases that lack them, and
// says whether any of the cases has some.
func (t *tally) withTexts(ctx context.Context, s compare.Side, cases []string) (compare.Side, bool) {
	wanted := make(map[string]bool, len(cases))
	for _, id := range cases {
		wanted[id] = true
	}
	var lacking []string
	known := false
	for i := range s.Cases {
		switch c := &s.Cases[i]; {
		case !wanted[c.ID]:
		case c.Texts != nil:
			known = true
		case len(c.Retrieved) > 0:
			lacking = append(lacking, c.ID)
		}
	}
	if len(lacking) == 0 {
		return s, known
	}
	texts := t.plan.Baseline.Texts(ctx, s.UID, lacking)
	s.Cases = slices.Clone(s.Cases)
	for i := range s.Cases {
		if c := &s.Cases[i]; wanted[c.ID] && c.Texts == nil {
			c.Texts = texts[c.ID]
			known = known || c.Texts != nil
		}
	}
	return s, known
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
	was := ranksBefore(c)
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

// ranksBefore are the ranks in the base of the cases that are the same in both
// runs.
func ranksBefore(c *compare.Comparison) map[string]int {
	now := make(map[string]string, len(c.Head.Cases))
	for i := range c.Head.Cases {
		now[c.Head.Cases[i].ID] = c.Head.Cases[i].Digest
	}
	was := make(map[string]int, len(now))
	for i := range c.Base.Cases {
		if b := &c.Base.Cases[i]; now[b.ID] == b.Digest {
			was[b.ID] = b.Rank
		}
	}
	return was
}

// TextDigest tells a retrieved text apart from others, whatever its white space
// and however its letters are composed: 16 hexadecimal digits of a SHA-256. It is
// empty where there is no text.
func TextDigest(text string) string {
	plain := make([]byte, 0, len(text))
	for word := range strings.FieldsSeq(norm.NFC.String(text)) {
		if len(plain) > 0 {
			plain = append(plain, ' ')
		}
		plain = append(plain, word...)
	}
	if len(plain) == 0 {
		return ""
	}
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:8])
}
