package goldentool

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/assay-dev/assay/internal/golden"
)

const (
	// maxNearest is how many ids are named beside one that is never found.
	maxNearest = 3
	// maxOwn is how many ids of a case's list are compared letter by letter.
	maxOwn = 20
	// maxLikened is for how many ids that is done: it takes time.
	maxLikened = 500
	// maxPool bounds the different retrieved ids that are kept to find names in.
	maxPool = 1_000_000
	// maxSameName bounds the ids of one name that are looked at: every folder may
	// have an index.md.
	maxSameName = 20
)

// NeverFound is a relevant id that is in no list that was retrieved.
type NeverFound struct {
	ID string `json:"id"`
	// Cases that it is relevant to, by their ids.
	Cases []string `json:"cases"`
	// Nearest are ids that were retrieved and that it may be meant to be, the most
	// alike first.
	Nearest []Nearest `json:"nearest"`
}

// Search gathers what a retriever gives for the cases of a set. An id that is in
// the list of any question is in the index, whatever its rank; one that is in
// none may be written otherwise there.
type Search struct {
	relevant map[string]*wanted // by id in NFC
	order    []*wanted
	pool     map[string]bool
	own      map[string][]string // by case
}

type wanted struct {
	id    string
	cases []string
	found bool
}

// NewSearch begins with the cases that a retriever is due for.
func NewSearch(cases []golden.Case) *Search {
	s := &Search{relevant: map[string]*wanted{}, pool: map[string]bool{}, own: map[string][]string{}}
	for i := range cases {
		c := &cases[i]
		if !c.Due() {
			continue
		}
		for _, r := range c.Relevant {
			id := norm.NFC.String(r.ID)
			w := s.relevant[id]
			if w == nil {
				w = &wanted{id: r.ID}
				s.relevant[id] = w
				s.order = append(s.order, w)
			}
			w.cases = append(w.cases, c.ID)
		}
	}
	return s
}

// Add takes in the ids that were retrieved for a case, best first.
func (s *Search) Add(caseID string, retrieved []string) {
	for _, id := range retrieved {
		if w := s.relevant[norm.NFC.String(id)]; w != nil {
			w.found = true
		}
		if len(s.pool) < maxPool {
			s.pool[id] = true
		}
	}
	s.own[caseID] = slices.Clone(retrieved[:min(len(retrieved), maxOwn)])
}

// Result is what a search came to.
type Result struct {
	// RelevantIDs are the different ids of the cases that got a list, Found how many
	// of them some list has.
	RelevantIDs int `json:"relevantIDs"`
	Found       int `json:"found"`
	// Retrieved are the different ids of all lists.
	Retrieved  int          `json:"retrieved"`
	NeverFound []NeverFound `json:"neverFound"`
	// Differences say what many ids have in common that are never found, the most
	// frequent first.
	Differences []DifferenceCount `json:"differences"`
}

// DifferenceCount is how many ids differ in one way from what is retrieved.
type DifferenceCount struct {
	Kind    Difference `json:"kind"`
	Count   int        `json:"count"`
	Example string     `json:"example"`
}

// Result looks for the ids that are never found, in the order of the set. A case
// that got no list is left out: of its ids nothing is known.
func (s *Search) Result() Result {
	r := Result{Retrieved: len(s.pool), NeverFound: []NeverFound{}, Differences: []DifferenceCount{}}
	names := s.byName()
	for _, w := range s.order {
		asked := slices.DeleteFunc(slices.Clone(w.cases), func(id string) bool { _, ok := s.own[id]; return !ok })
		switch {
		case w.found:
			r.RelevantIDs++
			r.Found++
		case len(asked) > 0:
			r.RelevantIDs++
			near := s.nearest(w.id, asked, names, len(r.NeverFound) < maxLikened)
			r.NeverFound = append(r.NeverFound, NeverFound{ID: w.id, Cases: asked, Nearest: near})
		}
	}
	r.Differences = countDifferences(r.NeverFound)
	return r
}

// byName sorts the retrieved ids by their name.
func (s *Search) byName() map[string][]string {
	names := map[string][]string{}
	for id := range s.pool {
		for _, name := range namesOf(id) {
			names[name] = append(names[name], id)
		}
	}
	for _, ids := range names {
		slices.Sort(ids)
	}
	return names
}

// nearest names the ids that are most like one that is never found: those of the
// same name in any list, then those of its first case's list that look alike.
func (s *Search) nearest(id string, cases []string, names map[string][]string, liken bool) []Nearest {
	var found []Nearest
	seen := map[string]bool{}
	consider := func(other string) {
		if !seen[other] {
			seen[other] = true
			found = append(found, compareIDs(id, other))
		}
	}
	most := maxNearest
	if liken {
		most = maxSameName
		for _, other := range s.own[cases[0]] {
			consider(other)
		}
	}
	for _, name := range namesOf(id) {
		same := names[name]
		for _, other := range same[:min(len(same), most)] {
			consider(other)
		}
	}
	slices.SortStableFunc(found, func(a, b Nearest) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(b.close, a.close))
	})
	return append([]Nearest{}, found[:min(len(found), maxNearest)]...)
}

func countDifferences(all []NeverFound) []DifferenceCount {
	counts := map[Difference]*DifferenceCount{}
	order := []*DifferenceCount{}
	for _, n := range all {
		if len(n.Nearest) == 0 || n.Nearest[0].Kind == OtherName {
			continue
		}
		first := n.Nearest[0]
		c := counts[first.Kind]
		if c == nil {
			c = &DifferenceCount{Kind: first.Kind, Example: first.Message}
			counts[first.Kind] = c
			order = append(order, c)
		}
		c.Count++
	}
	slices.SortStableFunc(order, func(a, b *DifferenceCount) int { return cmp.Compare(b.Count, a.Count) })
	out := make([]DifferenceCount, len(order))
	for i, c := range order {
		out[i] = *c
	}
	return out
}
