package compare

import (
	"cmp"
	"fmt"
	"slices"
)

// Likeness is what two ids have in common.
type Likeness string

// The ways in which ids are alike, the best first.
const (
	SameText    Likeness = "same text"
	SameName    Likeness = "same name"
	NearestName Likeness = "nearest name"
)

// Nearest is a relevant id that was not retrieved and the retrieved one that it
// may have become.
type Nearest struct {
	// Case by its id.
	Case                string
	Relevant, Retrieved string
	Likeness            Likeness
}

// String says it for people.
func (n Nearest) String() string {
	return fmt.Sprintf("case %s wants %s, nearest retrieved is %s (%s)", short(n.Case), short(n.Relevant), short(n.Retrieved), n.Likeness)
}

// Limits of the search, so that the largest lists and ids take no time to speak
// of; ids are alike at their end.
const (
	maxRelevant  = 10
	maxRetrieved = 100
	maxRunes     = 128
)

// nearest names the ids for up to ten cases without a hit: those that had one in
// the baseline first, then in the order of their ids.
func (l *labels) nearest() []Nearest {
	before := map[string]*Case{}
	for _, p := range l.pairs {
		if len(foundIn(p.base)) > 0 {
			before[p.head.ID] = p.base
		}
	}
	var open []*Case
	for i := range l.head.Cases {
		c := &l.head.Cases[i]
		if c.Rank == 0 && len(c.Relevant) > 0 && len(c.Retrieved) > 0 && len(foundIn(c)) == 0 {
			open = append(open, c)
		}
	}
	slices.SortFunc(open, func(a, b *Case) int {
		if had := cmp.Compare(hits(before[b.ID]), hits(before[a.ID])); had != 0 {
			return had
		}
		return cmp.Compare(a.ID, b.ID)
	})
	var all []Nearest
	for _, c := range open[:min(len(open), maxNearest)] {
		all = append(all, nearestIn(c, before[c.ID]))
	}
	return all
}

func hits(c *Case) int {
	if c == nil {
		return 0
	}
	return 1
}

// nearestIn finds the closest of a case's relevant and retrieved ids. What the
// case was in the baseline gives the texts of relevant ids; it may be nil.
func nearestIn(c, before *Case) Nearest {
	best, highest := Nearest{Case: c.ID}, likeness{close: -1}
	for _, relevant := range c.Relevant[:min(len(c.Relevant), maxRelevant)] {
		was, end := textOf(before, relevant), ending(relevant)
		for i, id := range c.Retrieved[:min(len(c.Retrieved), maxRetrieved)] {
			how := likeness{kind: NearestName, close: closeness(end, ending(id))}
			switch {
			case sameText(was, text(c, i)):
				how.kind = SameText
			case commonEnding(nfc(relevant), nfc(id)) != "":
				how.kind = SameName
			}
			if how.above(highest) {
				best.Relevant, best.Retrieved, best.Likeness, highest = relevant, id, how.kind, how
			}
		}
	}
	return best
}

// textOf finds the text of an id in a case's list.
func textOf(c *Case, id string) string {
	if c == nil {
		return ""
	}
	i := slices.IndexFunc(c.Retrieved, func(r string) bool { return nfc(r) == nfc(id) })
	if i < 0 {
		return ""
	}
	return text(c, i)
}

// likeness of two ids: its kind, then how close they are, from 0 to 1.
type likeness struct {
	kind  Likeness
	close float64
}

func (l likeness) above(other likeness) bool {
	order := map[Likeness]int{SameText: 2, SameName: 1}
	a, b := order[l.kind], order[other.kind]
	return a > b || a == b && l.close > other.close
}

// ending of an id that is looked at.
func ending(id string) []rune {
	r := []rune(nfc(id))
	return r[max(0, len(r)-maxRunes):]
}

// closeness is the share of the letters that stay: by edit distance
// (Levenshtein 1966), or by the common suffix where that is more.
func closeness(a, b []rune) float64 {
	longest := max(len(a), len(b))
	if longest == 0 {
		return 1
	}
	suffix := 0
	for suffix < min(len(a), len(b)) && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	return max(float64(suffix)/float64(max(len(a), 1)), 1-float64(editDistance(a, b))/float64(longest))
}

func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// short cuts a long id for a message.
func short(id string) string {
	const most = 120
	r := []rune(id)
	if len(r) <= most {
		return id
	}
	return "…" + string(r[len(r)-most+1:])
}
