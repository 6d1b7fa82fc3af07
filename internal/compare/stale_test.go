package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// corpusRun is a run over a corpus of 40 documents in 4 folders, each with one
// question; a case's list is its document and the four that follow.
func corpusRun(run string) Side {
	s := side(run)
	for i := range 40 {
		c := ranked(at(i), 1)
		c.Relevant = []string{page(i)}
		for j := range 5 {
			c.Retrieved = append(c.Retrieved, page((i+j)%40))
			c.Texts = append(c.Texts, fmt.Sprintf("The text of page %d.", (i+j)%40))
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

func page(i int) string { return fmt.Sprintf("docs/%c/page-%02d.md", 'a'+i/10, i) }

// renamed gives a run over the same corpus whose ids were changed.
func renamed(s Side, rename func(id string) string) Side {
	return change(s, func(_ int, c *Case) {
		for i, id := range c.Retrieved {
			c.Retrieved[i] = rename(id)
		}
	})
}

// change gives a run whose cases were changed, with ranks to match.
func change(s Side, do func(i int, c *Case)) Side {
	s.Run = "after"
	s.Cases = slices.Clone(s.Cases)
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Retrieved, c.Texts = slices.Clone(c.Retrieved), slices.Clone(c.Texts)
		do(i, c)
		c.Rank = 0
		for rank, id := range c.Retrieved {
			if slices.Contains(c.Relevant, id) && c.Rank == 0 {
				c.Rank = rank + 1
			}
		}
	}
	return s
}

func withoutTexts(s Side) Side {
	return change(s, func(_ int, c *Case) { c.Texts = nil })
}

// rechunked is the id that a chunk gets from another splitter: nothing of the old
// one.
func rechunked(id string) string { return fmt.Sprintf("chunk-%x", id) }

func movedTo(prefix string) func(string) string {
	return func(id string) string { return strings.Replace(id, "docs/", prefix, 1) }
}

// movedPart moves the first folders only.
func movedPart(folders string) func(string) string {
	return func(id string) string {
		if strings.ContainsRune(folders, rune(id[5])) {
			return "kb/" + id
		}
		return id
	}
}

func TestStaleLabels(t *testing.T) {
	before := corpusRun("before")
	for _, test := range []struct {
		name    string
		base    *Side
		head    Side
		stale   bool
		message string
	}{
		{"the same", &before, corpusRun("after"), false, ""},
		{"re-chunked: every id is another", &before, renamed(before, rechunked), true, "0 of 40 ids that were retrieved now were retrieved in the baseline run before, less than 5 %: the ids of the corpus changed, and the golden set's relevant ids no longer fit: label the cases anew"},
		{"re-chunked, texts not kept", &before, withoutTexts(renamed(before, rechunked)), true, "0 of 40 ids"},
		{"moved: another prefix", &before, renamed(before, movedTo("kb/v2/docs/")), true, "0 of 40 ids"},
		{"half of it moved", &before, withoutTexts(renamed(before, movedPart("ab"))), true, "20 of 20 relevant ids that are not retrieved any more come back under another id, with the same text or the same base name as in the baseline run before"},
		{"half of it under other names with the same text", &before, renamed(before, func(id string) string {
			if id < "docs/c" {
				return rechunked(id)
			}
			return id
		}), true, "20 of 20 relevant ids"},
		{"half of it under other names without texts", &before, withoutTexts(renamed(before, func(id string) string {
			if id < "docs/c" {
				return rechunked(id)
			}
			return id
		})), false, ""},

		// Failures like any other.
		{"a bad retriever: wrong ids that exist", &before, change(before, func(i int, c *Case) {
			for j := range c.Retrieved {
				c.Retrieved[j] = page((i + 11 + j) % 40)
			}
		}), false, ""},
		{"a bad retriever: the same list for all", &before, change(before, func(i int, c *Case) {
			for j := range c.Retrieved {
				c.Retrieved[j] = page(j)
			}
		}), false, ""},
		{"a bad retriever: noise beside known ids", &before, change(before, func(i int, c *Case) {
			c.Retrieved = []string{page((i + 7) % 40), fmt.Sprintf("noise/%d", i), fmt.Sprintf("noise/x%d", i)}
		}), false, ""},
		{"relevant ids that are gone, and nothing in their place", &before, change(before, func(i int, c *Case) {
			if i < 15 {
				c.Retrieved, c.Texts = c.Retrieved[1:], c.Texts[1:]
				for j := range c.Retrieved {
					c.Retrieved[j] = page(20 + j)
				}
			}
		}), false, ""},
		{"nothing retrieved", &before, change(before, func(_ int, c *Case) { c.Retrieved = nil }), false, ""},
		{"another file of the same name", &before, change(before, func(i int, c *Case) {
			if i < 15 {
				c.Retrieved[0] = fmt.Sprintf("archive/page-%02d.md", i+60)
			}
		}), false, ""},
		{"other neighbours, and the relevant ones still found", &before, change(before, func(i int, c *Case) {
			for j := range 50 {
				c.Retrieved = append(c.Retrieved, fmt.Sprintf("new/%d/%d", i, j))
			}
		}), false, ""},

		// Without a baseline.
		{"no baseline, and no hit", nil, renamed(before, rechunked), true, "none of 40 cases has a hit, nor is another relevant id retrieved, and no baseline has one"},
		{"no baseline, and one hit", nil, change(renamed(before, rechunked), func(i int, c *Case) {
			if i == 7 {
				c.Retrieved[4] = page(7)
			}
		}), false, ""},
		{"no baseline, no hit, and ids that are labels", nil, change(before, func(i int, c *Case) { c.Retrieved = []string{page((i + 1) % 40)} }), false, ""},
		{"no baseline, and nothing retrieved", nil, change(before, func(_ int, c *Case) { c.Retrieved = nil }), false, ""},
		{"no baseline, and no labels", nil, change(before, func(_ int, c *Case) { c.Relevant = nil }), false, ""},
		{"a baseline of another unit", unit(before, "Document"), renamed(before, rechunked), true, "none of 40 cases has a hit"},
		{"a baseline of the same unit, by its default", unit(before, "Chunk"), renamed(before, rechunked), true, "0 of 40 ids"},
		{"a baseline without lists", lists(before, nil), renamed(before, rechunked), true, "none of 40 cases has a hit"},
		{"a baseline that found nothing in the same ids", lists(before, []string{"x", "y"}), change(before, func(_ int, c *Case) { c.Retrieved = []string{"x", "y"} }), false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, stale := StaleLabels(test.base, test.head)
			if stale != test.stale {
				t.Fatalf("stale is %t: %+v", stale, s)
			}
			if !stale {
				if diff := cmp.Diff(Stale{}, s); diff != "" {
					t.Error(diff)
				}
				return
			}
			if !strings.HasPrefix(s.Message, test.message) {
				t.Errorf("message %q, want at its beginning %q", s.Message, test.message)
			}
			if !strings.HasPrefix(s.Message, s.Summary+"; case ") || strings.Contains(s.Summary, "nearest") {
				t.Errorf("summary %q", s.Summary)
			}
			if len(s.Nearest) != 10 {
				t.Errorf("%d cases are named", len(s.Nearest))
			}
			for _, n := range s.Nearest {
				if !strings.Contains(s.Message, n.String()) {
					t.Errorf("the message does not say %q", n)
				}
			}
		})
	}
}

func unit(s Side, unit string) *Side {
	s.Unit = unit
	return &s
}

// lists puts one list of ids in the place of every case's.
func lists(s Side, ids []string) *Side {
	s = change(s, func(_ int, c *Case) { c.Retrieved = slices.Clone(ids) })
	return &s
}

// The boundary: exactly 5 % of the ids is not less than 5 %.
func TestStaleShare(t *testing.T) {
	before := corpusRun("before")
	for known, want := range map[int]bool{1: true, 2: false} { // of 40
		head := renamed(before, func(id string) string {
			if id < page(known) {
				return id
			}
			return rechunked(id)
		})
		head = withoutTexts(head)
		s, stale := StaleLabels(&before, head)
		if stale != want {
			t.Errorf("%d of 40 known: stale is %t", known, stale)
		}
		if stale && s.Known != known {
			t.Errorf("%d known, want %d", s.Known, known)
		}
	}
}

// A third of what is gone has moved, the others are lost: most decides.
func TestStaleNeedsMost(t *testing.T) {
	before := corpusRun("before")
	for back, want := range map[int]bool{5: false, 6: true} { // of 10
		head := change(before, func(i int, c *Case) {
			for j, id := range c.Retrieved {
				if n := slices.IndexFunc(before.Cases, func(c Case) bool { return c.Relevant[0] == id }); n < back {
					c.Retrieved[j] = "kb/" + id
				} else if n < 10 {
					c.Retrieved[j], c.Texts[j] = page(30), "The text of page 30."
				}
			}
		})
		s, stale := StaleLabels(&before, head)
		if stale != want {
			t.Errorf("%d of 10 came back: stale is %t (%+v)", back, stale, s)
		}
		if stale && (s.Vanished != 10 || s.Back != back) {
			t.Errorf("%d of %d came back", s.Back, s.Vanished)
		}
	}
}

// A name that many ids have says nothing, unless the folder goes with it.
func TestStaleNames(t *testing.T) {
	for _, test := range []struct {
		name  string
		known []string
		id    string
		other string
		want  bool
	}{
		{"the base name", []string{"docs/install.md", "docs/setup.md"}, "docs/install.md", "kb/install.md", true},
		{"into the root", []string{"docs/install.md"}, "docs/install.md", "install.md", true},
		{"out of the root", []string{"install.md"}, "install.md", "docs/install.md", true},
		{"below a slash", []string{"/docs/install.md"}, "/docs/install.md", "/kb/docs/install.md", true},
		{"an index in every folder", []string{"docs/a/index.md", "docs/b/index.md"}, "docs/a/index.md", "docs/c/index.md", false},
		{"an index with its folder", []string{"docs/a/index.md", "docs/b/index.md"}, "docs/a/index.md", "kb/a/index.md", true},
		{"a chunk's number", []string{"install/3", "setup/3"}, "install/3", "upgrade/3", false},
		{"another chunk of the document", []string{"install.md#3"}, "install.md#3", "install.md#9", false},
		{"the end of a name", []string{"docs/install.md"}, "docs/install.md", "docs/reinstall.md", false},
		{"an address", []string{"https://a.example/docs/install/", "https://a.example/docs/"}, "https://a.example/docs/install/", "https://b.example/install/", true},
		{"nothing but slashes", []string{"//"}, "//", "/", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := labels{vanished: map[string]bool{test.id: true}, then: ids{retrieved: map[string]bool{}}}
			for _, id := range test.known {
				l.then.retrieved[id] = true
			}
			if got := l.knownNames().renamed(test.id, test.other); got != test.want {
				t.Errorf("%s became %s: %t", test.id, test.other, got)
			}
		})
	}
}

func TestSameText(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"One text.", "One text.", true}, {"One  text.\n", " One\ttext.", true}, {"caf\u00e9", "cafe\u0301", true},
		{"One text.", "Another.", false}, {"", "", false}, {" ", " ", false}, {" ", "\n", false}, {"One", "", false},
	} {
		if got := sameText(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: %t", test.a, test.b, got)
		}
	}
}

// Ids that the golden set names fit, retrieved before or not: here a retriever
// gives every question the pages of questions that never had a hit.
func TestStaleLabelsAreNotRetrieved(t *testing.T) {
	before := change(corpusRun("before"), func(i int, c *Case) {
		c.Retrieved, c.Texts = c.Retrieved[:1], nil
		if i >= 20 {
			c.Retrieved = []string{page(i - 20)}
		}
	})
	head := change(before, func(i int, c *Case) { c.Retrieved = []string{page(20 + (i+7)%20)} })
	if s, stale := StaleLabels(&before, head); stale {
		t.Error(s.Message)
	}
	// Of other ids, the same lists are stale.
	if _, stale := StaleLabels(&before, renamed(head, rechunked)); !stale {
		t.Error("other ids are not stale")
	}
}

// A label with the text of one that vanished was there all the time.
func TestStaleLabelsWithTheSameText(t *testing.T) {
	list := func(id string) ([]string, []string) { return []string{id}, []string{"The same words."} }
	before, head := side("before"), side("after")
	for i := range 30 {
		c := Case{ID: at(i), Digest: "d", Outcome: Scored, Relevant: []string{page(i), page(i + 1)}}
		c.Retrieved, c.Texts = list(page(i))
		before.Cases = append(before.Cases, c)
		if i == 29 {
			c.Retrieved, c.Texts = list(page(30))
		}
		head.Cases = append(head.Cases, c)
	}
	if s, stale := StaleLabels(&before, head); stale {
		t.Error(s.Message)
	}
}

// An edited case has other labels, and says nothing of the old ones.
func TestStaleLabelsOfEditedCases(t *testing.T) {
	before := corpusRun("before")
	head := change(renamed(before, rechunked), func(i int, c *Case) {
		if i < 8 {
			c.Digest, c.Relevant = "edited", []string{rechunked(page(i))}
		}
	})
	if _, stale := StaleLabels(&before, head); !stale {
		t.Error("the first cases that were labelled anew hide that the others are stale")
	}
}

// Chunks of the very documents that the set names: the unit is what is wrong.
func TestStaleLabelsThatNameDocuments(t *testing.T) {
	chunks := func(retrieved string) Side {
		return side("first",
			Case{ID: "one", Digest: "d", Outcome: Scored, Relevant: []string{"one.md"}, Retrieved: []string{"one.md#2"}},
			Case{ID: "two", Digest: "d", Outcome: Scored, Relevant: []string{"two.md"}, Retrieved: []string{retrieved}},
		)
	}
	for retrieved, want := range map[string]string{
		"two.md#1":    "set scoring.unit: Document",
		"kb/two.md#1": "label the cases anew",
	} {
		if s, stale := StaleLabels(nil, chunks(retrieved)); !stale || !strings.Contains(s.Message, want) {
			t.Errorf("%s: %v, %q, want %q", retrieved, stale, s.Message, want)
		}
	}
}

func TestNearest(t *testing.T) {
	before := side("before", Case{
		ID: "text", Digest: "d", Outcome: Scored, Rank: 1, Relevant: []string{"old/one.md#1"}, Retrieved: []string{"old/one.md#1"}, Texts: []string{"Some  words."},
	})
	head := side("after",
		Case{ID: "text", Digest: "d", Outcome: Scored, Relevant: []string{"old/one.md#1"}, Retrieved: []string{"zzz", "old/one.md#2"}, Texts: []string{"Some words.", "Other words."}},
		Case{ID: "name", Digest: "d", Outcome: Scored, Relevant: []string{"old/two.md", "old/three.md"}, Retrieved: []string{"kb/v2/archive/three.md", "old/two.mdx"}},
		Case{ID: "like", Digest: "d", Outcome: Scored, Relevant: []string{"guide/four.md#chunk-3"}, Retrieved: []string{"other", "guide/four.md#c0017", "another"}},
		Case{ID: "failed", Digest: "d", Outcome: "RetrieverTimeout", Relevant: []string{"old/five.md"}},
		Case{ID: "unlabelled", Digest: "d", Outcome: Scored, Retrieved: []string{"a"}},
		Case{ID: "", Digest: "d", Outcome: Scored, Relevant: []string{""}, Retrieved: []string{strings.Repeat("long/", 200)}},
	)
	s, stale := StaleLabels(&before, head)
	want := []Nearest{
		{"text", "old/one.md#1", "zzz", SameText}, // the one that had a hit comes first
		{"", "", strings.Repeat("long/", 200), NearestName},
		{"like", "guide/four.md#chunk-3", "guide/four.md#c0017", NearestName},
		{"name", "old/three.md", "kb/v2/archive/three.md", SameName},
	}
	if diff := cmp.Diff(want, s.Nearest); !stale || diff != "" {
		t.Errorf("stale is %t: %s", stale, diff)
	}
	if want := "case text wants old/one.md#1, nearest retrieved is zzz (same text)"; !strings.Contains(s.Message, want) {
		t.Errorf("message %q", s.Message)
	}
	if len(s.Message) > 2000 || !strings.Contains(s.Message, "…") {
		t.Errorf("a message of %d bytes", len(s.Message))
	}
}

func TestClosenessProperties(t *testing.T) {
	id := rapid.StringOfN(rapid.SampledFrom([]rune("abc/#가.")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		share := closeness([]rune(a), []rune(b))
		if !isProbability(share) || (share == 1) != (a == b) && a != "" && len(a) >= len(b) {
			t.Errorf("closeness of %q and %q is %v", a, b, share)
		}
		if editDistance([]rune(a), []rune(b)) != editDistance([]rune(b), []rune(a)) {
			t.Error("the distance depends on the direction")
		}
	})
	if got := closeness([]rune("3-install.md"), []rune("some-very-long-prefix-install.md")); got != 11.0/12 {
		t.Errorf("of twelve letters eleven end the other id, and the closeness is %v", got)
	}
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"가나", "가다", 1}} {
		if got := editDistance([]rune(test.a), []rune(test.b)); got != test.want {
			t.Errorf("%q to %q takes %d edits, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestVanished(t *testing.T) {
	before := corpusRun("before")
	firstTen := make([]string, 10)
	for i := range firstTen {
		firstTen[i] = at(i)
	}
	for name, test := range map[string]struct {
		base, head Side
		want       []string
	}{
		"the same":       {before, corpusRun("after"), nil},
		"a folder moved": {before, renamed(before, movedPart("a")), firstTen},
		"found for other cases": {before, change(before, func(i int, c *Case) {
			if i < 10 {
				c.Retrieved = c.Retrieved[1:] // the case before has it, but for the first
			}
		}), nil},
		"found for nobody": {before, change(before, func(i int, c *Case) {
			c.Retrieved = slices.DeleteFunc(c.Retrieved, func(id string) bool { return id == page(3) })
		}), []string{at(3)}},
		"another version of the case": {before, change(before, func(i int, c *Case) {
			c.Retrieved = slices.DeleteFunc(c.Retrieved, func(id string) bool { return id == page(3) || id == page(4) })
			if i == 3 {
				c.Digest = "edited"
			}
		}), []string{at(4)}},
		"another unit":          {*unit(before, "Document"), renamed(before, rechunked), nil},
		"a base without a hit":  {*lists(before, []string{"x"}), renamed(before, rechunked), nil},
		"nothing was retrieved": {before, change(before, func(_ int, c *Case) { c.Retrieved = nil }), caseIDs(before)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Vanished(test.base, test.head)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func caseIDs(s Side) []string {
	var all []string
	for i := range s.Cases {
		all = append(all, s.Cases[i].ID)
	}
	return all
}
