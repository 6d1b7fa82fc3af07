package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/assay-dev/assay/internal/score"
)

// ReasonLabelsStale is a run whose golden set names ids that the corpus no longer
// has.
const ReasonLabelsStale = score.ReasonLabelsStale

const (
	// staleShare: with fewer than one in so many of the ids known, they are others.
	staleShare = 20
	// maxNearest is how many cases are named.
	maxNearest = 10
)

// Stale says that the labels no longer fit, and by what that was seen.
type Stale struct {
	// Summary for people says what was seen; Message names the nearest ids, too.
	Summary, Message string
	// Retrieved is how many different ids were retrieved now, Known how many of
	// them the baseline run retrieved too.
	Retrieved, Known int
	// Vanished is how many relevant ids the baseline run found and nothing
	// retrieves now, Back how many of those came back under another id.
	Vanished, Back int
	// Nearest names, for up to ten cases, a relevant id and the retrieved one that
	// it may have become.
	Nearest []Nearest
}

// StaleLabels says whether the head's bad numbers come of ids that changed under
// its labels, as after a new chunking or another path, and not of its retriever.
// That is so only
//
//   - with fewer than 5 % of all ids retrieved now among those of the baseline
//     run, or
//   - with most relevant ids that vanished back under the same text or the same
//     base name, in the list of the same case and as an id that is new;
//   - without a baseline, with no hit in any case.
//
// Everything short of it is a failure like any other: an index that gives nothing
// is no other index. So an id that the golden
// set itself names counts as known, for a label that is retrieved fits; and with
// a baseline, labels of which most are still found are none that no longer fit.
//
// The base is nil where there is no baseline. One of another unit, or that found
// no relevant id on the common cases, counts as none.
func StaleLabels(base *Side, head Side) (Stale, bool) {
	l := labels{now: idsOf(head.Cases), head: head}
	if !l.compareWith(base) {
		return l.withoutBaseline()
	}
	if s, ok := l.otherIDs(); ok {
		return s, true
	}
	return l.cameBack()
}

// Vanished names, in order, the common cases with a relevant id that the base
// found and that nothing retrieves now: those whose texts, in both runs, StaleLabels
// goes by.
func Vanished(base, head Side) []string {
	l := labels{now: idsOf(head.Cases), head: head}
	if !l.compareWith(&base) {
		return nil
	}
	var cases []string
	for _, p := range l.pairs {
		if slices.ContainsFunc(foundIn(p.base), func(id string) bool { return l.vanished[id] }) {
			cases = append(cases, p.head.ID)
		}
	}
	return cases
}

// ids of the cases of a run, in NFC.
type ids struct{ retrieved, relevant map[string]bool }

func idsOf(cases []Case) ids {
	all := ids{retrieved: map[string]bool{}, relevant: map[string]bool{}}
	for i := range cases {
		for _, id := range cases[i].Retrieved {
			all.retrieved[nfc(id)] = true
		}
		for _, id := range cases[i].Relevant {
			all.relevant[nfc(id)] = true
		}
	}
	return all
}

// labels is what there is to know about the labels of a run.
type labels struct {
	head Side
	now  ids
	// base is nil where it counts as none; then are its ids.
	base *Side
	then ids
	// pairs of the same cases in both.
	pairs []pair
	// known are the ids that the base retrieved and those that the pairs name as
	// relevant. A label that was edited since may be the first to fit new ids.
	known map[string]bool
	// found are the relevant ids that the base retrieved for their own case,
	// vanished those of them that nothing retrieves now.
	found, vanished map[string]bool
}

// compareWith takes in a baseline, and says whether it tells anything.
func (l *labels) compareWith(base *Side) bool {
	if base == nil || base.unit() != l.head.unit() {
		return false
	}
	l.then = idsOf(base.Cases)
	l.pairs = (&Comparison{Base: *base, Head: l.head}).pair()
	l.known = maps.Clone(l.then.retrieved)
	l.found, l.vanished = map[string]bool{}, map[string]bool{}
	for _, p := range l.pairs {
		for _, id := range p.head.Relevant {
			l.known[nfc(id)] = true
		}
		for _, id := range foundIn(p.base) {
			l.found[id] = true
			if !l.now.retrieved[id] {
				l.vanished[id] = true
			}
		}
	}
	if len(l.found) == 0 {
		return false
	}
	l.base = base
	return true
}

// foundIn lists the relevant ids that a case's list has.
func foundIn(c *Case) []string {
	var found []string
	for _, id := range c.Retrieved {
		id = nfc(id)
		if slices.ContainsFunc(c.Relevant, func(r string) bool { return nfc(r) == id }) {
			found = append(found, id)
		}
	}
	return found
}

// withoutBaseline goes by hits alone: no baseline tells what was found, though it
// may tell that the ids are the same.
func (l *labels) withoutBaseline() (Stale, bool) {
	due := 0
	for i := range l.head.Cases {
		c := &l.head.Cases[i]
		if c.Rank > 0 || len(foundIn(c)) > 0 {
			return Stale{}, false
		}
		if len(c.Relevant) > 0 && len(c.Retrieved) > 0 {
			due++
		}
	}
	s := Stale{Retrieved: len(l.now.retrieved), Known: overlap(l.now.retrieved, l.then.retrieved)}
	if due == 0 || !few(s.Known, s.Retrieved) || !few(overlap(l.now.retrieved, l.now.relevant), s.Retrieved) {
		return Stale{}, false
	}
	return l.tell(s, fmt.Sprintf("none of %s has a hit, nor is another relevant id retrieved, and no baseline has one: the golden set's relevant ids do not fit the corpus", cases(due))), true
}

// otherIDs is the first rule: hardly any id is known.
func (l *labels) otherIDs() (Stale, bool) {
	s := Stale{Retrieved: len(l.now.retrieved), Known: overlap(l.now.retrieved, l.then.retrieved), Vanished: len(l.vanished)}
	if !few(overlap(l.now.retrieved, l.known), s.Retrieved) || 2*len(l.vanished) <= len(l.found) {
		return Stale{}, false
	}
	return l.tell(s, fmt.Sprintf("%d of %d ids that were retrieved now were retrieved in %s, less than 5 %%: the ids of the corpus changed, and the golden set's relevant ids no longer fit",
		s.Known, s.Retrieved, l.baseName())), true
}

// cameBack is the second rule: most of what vanished is there under a new id.
func (l *labels) cameBack() (Stale, bool) {
	names := l.knownNames()
	back := map[string]bool{}
	for _, p := range l.pairs {
		for i, id := range p.base.Retrieved {
			id = nfc(id)
			if l.vanished[id] && !back[id] && l.isBack(id, text(p.base, i), p.head, names) {
				back[id] = true
			}
		}
	}
	s := Stale{Retrieved: len(l.now.retrieved), Known: overlap(l.now.retrieved, l.then.retrieved), Vanished: len(l.vanished), Back: len(back)}
	if 2*s.Back <= s.Vanished {
		return Stale{}, false
	}
	return l.tell(s, fmt.Sprintf("%d of %d relevant ids that are not retrieved any more come back under another id, with the same text or the same base name as in %s: the golden set's relevant ids no longer fit",
		s.Back, s.Vanished, l.baseName())), true
}

// isBack says whether a vanished id is among the new ids of a case, under another
// name.
func (l *labels) isBack(id, was string, c *Case, names nameCounts) bool {
	for i, other := range c.Retrieved {
		other = nfc(other)
		if !l.known[other] && (names.renamed(id, other) || sameText(was, text(c, i))) {
			return true
		}
	}
	return false
}

// nameCounts counts the ids of the baseline by every ending, from the base name
// up: "b/c" and "c" of "a/b/c".
type nameCounts map[string]int

// knownNames counts the endings of the ids that may be asked for: those whose
// base name a vanished id has.
func (l *labels) knownNames() nameCounts {
	wanted := map[string]bool{}
	for id := range l.vanished {
		wanted[baseName(id)] = true
	}
	counts := nameCounts{}
	for id := range l.then.retrieved {
		if !wanted[baseName(id)] {
			continue
		}
		path := strings.TrimRight(id, "/")
		counts[path]++
		for i := range len(path) {
			if path[i] == '/' {
				counts[path[i+1:]]++
			}
		}
	}
	return counts
}

// renamed says whether two ids end in the same name, and no other id of the
// baseline does: every folder may have an index.md, and every document a chunk 3.
func (n nameCounts) renamed(id, other string) bool {
	ending := commonEnding(id, other)
	return ending != "" && n[ending] == 1
}

// commonEnding is the longest ending of whole path elements that two ids share.
// An address may end in a slash.
func commonEnding(a, b string) string {
	a, b = strings.TrimRight(a, "/"), strings.TrimRight(b, "/")
	ending := ""
	for i := 1; i <= len(a) && i <= len(b) && a[len(a)-i] == b[len(b)-i]; i++ {
		if (i == len(a) || a[len(a)-i-1] == '/') && (i == len(b) || b[len(b)-i-1] == '/') {
			ending = a[len(a)-i:]
		}
	}
	return ending
}

// baseName is the last element of a path.
func baseName(id string) string {
	id = strings.TrimRight(id, "/")
	return id[strings.LastIndexByte(id, '/')+1:]
}

// sameText compares texts but for white space and the way that letters are
// composed. No text is the same as none.
func sameText(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return strings.TrimSpace(a) != ""
	}
	plain := func(s string) string { return strings.Join(strings.Fields(norm.NFC.String(s)), " ") }
	a = plain(a)
	return a != "" && a == plain(b)
}

// text of a retrieved item, empty where none was kept.
func text(c *Case, i int) string {
	if i >= len(c.Texts) {
		return ""
	}
	return c.Texts[i]
}

// few says whether a part is below the share at which ids count as known.
func few(part, whole int) bool { return part*staleShare < whole }

func overlap(a, b map[string]bool) int {
	n := 0
	for id := range a {
		if b[id] {
			n++
		}
	}
	return n
}

func nfc(id string) string { return norm.NFC.String(id) }

func (l *labels) baseName() string {
	if l.base.Run == "" {
		return "the baseline run"
	}
	return "the baseline run " + l.base.Run
}

// chunksOfWanted says whether every nearest id is that of a part of the relevant
// document: docs/guide.md#3 of docs/guide.md.
func chunksOfWanted(nearest []Nearest) bool {
	return len(nearest) > 0 && !slices.ContainsFunc(nearest, func(n Nearest) bool {
		return !strings.HasPrefix(n.Retrieved, n.Relevant+"#")
	})
}

// tell adds the nearest ids and the message to what was seen.
func (l *labels) tell(s Stale, seen string) Stale {
	s.Nearest = l.nearest()
	s.Summary = seen + ": label the cases anew, or keep ids as they were"
	if chunksOfWanted(s.Nearest) {
		s.Summary = seen + ": what is retrieved are parts of the documents that the golden set names: set scoring.unit: Document"
	}
	said := []string{s.Summary}
	for _, n := range s.Nearest {
		said = append(said, n.String())
	}
	s.Message = strings.Join(said, "; ")
	return s
}
