package history

import "github.com/assay-dev/assay/internal/golden"

// goldenColumns are the columns of eval_cases for what the golden set says of a
// case besides its question, null where there is nothing.
type goldenColumns struct {
	unanswerable     bool
	reference, turns *string
}

func goldenColumnsOf(c *Case) (out goldenColumns, err error) {
	out.unanswerable = c.Unanswerable
	if c.ReferenceAnswer != "" {
		text := clean(c.ReferenceAnswer)
		out.reference = &text
	}
	if len(c.History) > 0 {
		turns := make([]golden.Turn, len(c.History))
		for i, turn := range c.History {
			turns[i] = golden.Turn{Role: clean(turn.Role), Content: clean(turn.Content)}
		}
		out.turns, err = toJSON(turns)
	}
	return out, err
}

// columns to scan into.
func (g *goldenColumns) columns() []any { return []any{&g.unanswerable, &g.reference, &g.turns} }

// into puts what was scanned into a case.
func (g *goldenColumns) into(c *Case) error {
	c.Unanswerable = g.unanswerable
	if g.reference != nil {
		c.ReferenceAnswer = *g.reference
	}
	return fromJSON(g.turns, &c.History)
}

// goldenBytes is how many bytes of text that is.
func goldenBytes(c *Case) int {
	n := len(c.ReferenceAnswer)
	for _, turn := range c.History {
		n += len(turn.Role) + len(turn.Content)
	}
	return n
}
