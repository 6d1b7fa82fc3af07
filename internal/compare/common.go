package compare

import (
	"cmp"
	"fmt"
	"strings"
)

// decideComparable says whether the runs can be compared, and why.
func (c *Comparison) decideComparable() {
	name := cmp.Or(c.Base.Run, "the baseline")
	switch {
	case c.Common == 0:
		c.Reason = ReasonNothingInCommon
		c.Message = fmt.Sprintf("none of %s is the same in %s", cases(c.Total), name)
	case 2*c.Common < c.Total:
		c.Reason = ReasonTooFewInCommon
		c.Message = fmt.Sprintf("only %d of %s are the same in %s: at least %d must be", c.Common, cases(c.Total), name, (c.Total+1)/2)
	case len(c.Differences) > 0 && c.Differences[0].Setting == "topK":
		c.Reason = ReasonSettingsChanged
		c.Message = fmt.Sprintf("topK was %d in %s and is %d: numbers of two different list lengths are not compared", c.Base.TopK, name, c.Head.TopK)
	default:
		c.Comparable = true
		c.Reason = ReasonComparable
		c.Message = fmt.Sprintf("compared with %s on %d of %s", name, c.Common, cases(c.Total))
	}
	said := []string{c.Message}
	if c.Comparable {
		for _, d := range c.Differences {
			said = append(said, d.String())
		}
		if len(c.Differences) > 0 {
			c.Reason = ReasonSettingsChanged
			if c.Differences[0].Setting == judgeSetting {
				c.Reason = ReasonJudgeChanged
			}
		}
	}
	if moved := c.moved(); moved != "" {
		said = append(said, moved)
	}
	c.Message = strings.Join(said, "; ")
}

// moved tells a changed golden set from a changed pipeline.
func (c *Comparison) moved() string {
	counts := fmt.Sprintf("%d added, %d edited, %d removed", c.Added, c.Edited, c.Removed)
	switch {
	case c.GoldenSetChanged && c.RevisionChanged && c.Comparable:
		return fmt.Sprintf("golden set (%s) and revision changed together: the means of the two runs differ for both, the deltas over the unchanged cases for the revision alone", counts)
	case c.GoldenSetChanged && c.RevisionChanged:
		return fmt.Sprintf("golden set (%s) and revision changed together: what the revision changed cannot be told", counts)
	case c.GoldenSetChanged:
		return fmt.Sprintf("the golden set changed: %s", counts)
	}
	return ""
}

func cases(n int) string {
	if n == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", n)
}
