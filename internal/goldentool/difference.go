package goldentool

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Difference is how a relevant id is written otherwise than a retrieved one.
type Difference string

// The differences, in the order of how sure they make it that the two ids mean
// the same.
const (
	// Encoding: the same but for URL-encoding.
	Encoding Difference = "Encoding"
	// LetterCase: the same but for upper and lower case.
	LetterCase Difference = "LetterCase"
	// Slashes: the same but for slashes at the ends, ./ or backslashes.
	Slashes Difference = "Slashes"
	// Prefix: one has more in front, such as a folder or a bucket.
	Prefix Difference = "Prefix"
	// Suffix: one has more behind, such as the number of a chunk.
	Suffix Difference = "Suffix"
	// PrefixAndSuffix: both.
	PrefixAndSuffix Difference = "PrefixAndSuffix"
	// OtherName: only letters in common.
	OtherName Difference = "OtherName"
)

// Nearest is a retrieved id that a relevant one may be meant to be.
type Nearest struct {
	ID   string     `json:"id"`
	Kind Difference `json:"kind"`
	// Message says, for people, what the retrieved id has otherwise.
	Message string `json:"message"`

	// close compares those of the same rank: the larger, the more alike.
	close float64
}

// rank puts what is surely the same before what has the same name, and that
// before what looks alike.
func (n Nearest) rank() int {
	switch n.Kind {
	case OtherName:
		return 0
	case Prefix, Suffix, PrefixAndSuffix:
		return 1
	}
	return 2
}

// parts of an id: the name in the middle is what stays when the index is built
// otherwise. "s3://kb/docs/Guide.md#3" is s3://kb/docs/ + guide + .md + #3.
type parts struct {
	front, name, ending, back string
}

var (
	// chunk is what marks a part of a document at the end of its id.
	chunk = regexp.MustCompile(`(?i)(?:[#?|].*|::.*|[-_:./ ]+(?:chunk|part|page|section|sec|p)[-_:. ]*\d+)$`)
	// number may be such a mark, or tell documents apart: doc_001.
	number = regexp.MustCompile(`[-_:]\d+$`)
	// ending is a file's.
	ending = regexp.MustCompile(`\.[a-zA-Z][a-zA-Z0-9]{0,4}$`)
)

// takeApart finds the parts of an id. Numbered takes a bare number at its end for
// that of a chunk.
func takeApart(id string, numbered bool) parts {
	id = plainID(id)
	stem := cutEnd(id, chunk)
	if numbered {
		stem = cutEnd(stem, number)
	}
	stem = strings.TrimRight(stem, "/")
	name := cutEnd(stem, ending)
	at := strings.LastIndexByte(name, '/') + 1
	return parts{front: name[:at], name: strings.ToLower(name[at:]), ending: stem[len(name):], back: id[len(stem):]}
}

// cutEnd cuts off what matches at the end of an id.
func cutEnd(id string, what *regexp.Regexp) string {
	from := max(0, len(id)-maxTail)
	if at := what.FindStringIndex(id[from:]); at != nil {
		return id[:from+at[0]]
	}
	return id
}

// namesOf are the names that an id may be found by.
func namesOf(id string) []string {
	names := []string{takeApart(id, false).name}
	if bare := takeApart(id, true).name; bare != names[0] {
		names = append(names, bare)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// plainID undoes what does not change which document is meant.
func plainID(id string) string { return slashed(decoded(norm.NFC.String(id))) }

func decoded(id string) string {
	if plain, err := url.PathUnescape(id); err == nil {
		return norm.NFC.String(plain)
	}
	return id
}

func slashed(id string) string {
	id = strings.ReplaceAll(id, `\`, "/")
	return strings.Trim(strings.TrimPrefix(id, "./"), "/")
}

// compareIDs says how a relevant and a retrieved id differ.
func compareIDs(relevant, retrieved string) Nearest {
	a, b := norm.NFC.String(relevant), norm.NFC.String(retrieved)
	n := Nearest{ID: retrieved, close: closeness(tail(a), tail(b))}
	switch {
	case decoded(a) == decoded(b):
		n.Kind, n.Message = Encoding, "is the same, URL-encoded otherwise"
	case strings.EqualFold(a, b):
		n.Kind, n.Message = LetterCase, "is the same in other letter case"
	case strings.EqualFold(plainID(a), plainID(b)):
		n.Kind, n.Message = Slashes, "is the same with other slashes, letter case or URL-encoding"
	default:
		// Two numbers tell two documents apart; one alone may be that of a chunk.
		whole, other := takeApart(a, false), takeApart(b, false)
		_ = n.affixes(whole, other) || n.affixes(takeApart(a, true), other) || n.affixes(whole, takeApart(b, true))
	}
	return n
}

// affixes finds what one id has around the name that both share, and says whether
// they share one.
func (n *Nearest) affixes(relevant, retrieved parts) bool {
	n.Kind, n.Message = OtherName, "looks most alike"
	if relevant.name != retrieved.name || relevant.name == "" {
		return false
	}
	n.Kind = ""
	wantFront, gotFront := withoutCommon(relevant.front, retrieved.front)
	var said []string
	if wantFront != gotFront {
		n.Kind = Prefix
		said = append(said, change(wantFront, gotFront, "in front"))
	}
	if relevant.ending != retrieved.ending {
		relevant.back, retrieved.back = relevant.ending+relevant.back, retrieved.ending+retrieved.back
	}
	// Of several with the same name, the one that takes the smallest change.
	n.close = -float64(len(wantFront) + len(gotFront))
	if relevant.back != retrieved.back {
		n.close -= float64(len(relevant.back) + len(retrieved.back))
		n.Kind = map[Difference]Difference{"": Suffix, Prefix: PrefixAndSuffix}[n.Kind]
		said = append(said, change(relevant.back, retrieved.back, "behind"))
	}
	if n.Kind == "" { // only the letters of a common folder differ
		n.Kind, said = LetterCase, []string{"is the same in other letter case"}
	}
	n.Message = strings.Join(said, ", and ")
	return true
}

func change(want, got, where string) string {
	switch {
	case want == "":
		return fmt.Sprintf("has %q %s", got, where)
	case got == "":
		return fmt.Sprintf("lacks %q %s", want, where)
	}
	return fmt.Sprintf("has %q %s instead of %q", got, where, want)
}

// withoutCommon cuts the folders that two paths have in common off their ends.
func withoutCommon(a, b string) (string, string) {
	for {
		i, j := strings.LastIndexByte(strings.TrimSuffix(a, "/"), '/')+1, strings.LastIndexByte(strings.TrimSuffix(b, "/"), '/')+1
		if a == "" || b == "" || !strings.EqualFold(a[i:], b[j:]) {
			return a, b
		}
		a, b = a[:i], b[:j]
	}
}

// maxTail bounds what of an id is searched and compared letter by letter: ids are
// alike at their end.
const maxTail = 64

func tail(id string) []rune {
	r := []rune(id)
	return r[max(0, len(r)-maxTail):]
}

// closeness is the share of the letters that stay, by edit distance (Levenshtein
// 1966).
func closeness(a, b []rune) float64 {
	longest := max(len(a), len(b))
	if longest == 0 {
		return 1
	}
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
	return 1 - float64(row[len(b)])/float64(longest)
}
