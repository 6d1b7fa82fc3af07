package judge

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// words is what a text consists of to the lexical judge, each once.
type words struct {
	// all of them: words, numbers, and pairs of Korean, Chinese and Japanese
	// characters.
	all map[string]bool
	// numbers among them.
	numbers map[string]bool
	// characters of Korean, Chinese and Japanese, wherever they stand.
	characters map[string]bool
}

// wordsOf takes a text apart. Words that say nothing by themselves are left
// out, unless the text has no others. docs/lexical-judge.md has the definition.
func wordsOf(s string) words {
	w := words{all: map[string]bool{}, numbers: map[string]bool{}, characters: map[string]bool{}}
	var empty []string
	rest := []rune(strings.ToLower(norm.NFKC.String(s)))
	for len(rest) > 0 {
		var token string
		switch r := rest[0]; {
		case unicode.IsDigit(r):
			token, rest = takeNumber(rest)
			w.all[token], w.numbers[token] = true, true
			continue
		case isCJK(r):
			run := take(rest, isCJK)
			rest = rest[len(run):]
			for _, r := range run {
				w.characters[string(r)] = true
			}
			for _, pair := range pairs(run) {
				if emptyWords[pair] {
					empty = append(empty, pair)
				} else {
					w.all[pair] = true
				}
			}
			continue
		case unicode.IsLetter(r):
			run := take(rest, isWordRune)
			rest = rest[len(run):]
			token = apostrophes.Replace(string(run))
		default:
			rest = rest[1:]
			continue
		}
		if emptyWords[token] {
			empty = append(empty, token)
		} else {
			w.all[token] = true
		}
	}
	if len(w.all) == 0 {
		for _, token := range empty {
			w.all[token] = true
		}
	}
	return w
}

// apostrophes are set in more than one way, or left out.
var apostrophes = strings.NewReplacer("'", "", "’", "")

// take gives the runes that s begins with, as long as is holds.
func take(s []rune, is func(rune) bool) []rune {
	for i, r := range s {
		if !is(r) {
			return s[:i]
		}
	}
	return s
}

// takeNumber reads digits with their decimal point; the commas between groups
// of three digits are dropped: 1,000.5 is 1000.5.
func takeNumber(s []rune) (number string, rest []rune) {
	var b strings.Builder
	for {
		digits := take(s, unicode.IsDigit)
		b.WriteString(string(digits))
		s = s[len(digits):]
		switch {
		case len(s) > 1 && s[0] == '.' && unicode.IsDigit(s[1]):
			b.WriteByte('.')
		case len(s) > 1 && s[0] == ',' && len(take(s[1:], unicode.IsDigit)) == 3:
		default:
			return b.String(), s
		}
		s = s[1:]
	}
}

// pairs gives every two neighbours. Particles and endings are so a small part
// of a Korean word, and not another word.
func pairs(run []rune) []string {
	if len(run) == 1 {
		return []string{string(run)}
	}
	found := make([]string, len(run)-1)
	for i := range found {
		found[i] = string(run[i : i+2])
	}
	return found
}

func isWordRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\'' || r == '’') && !isCJK(r)
}

func isCJK(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー')
}

// share gives how many of w's words are also in o, of how many. A character
// that stands alone in w, as in 14일, may be part of a word in o: 14일이며.
func (w words) share(o words) (found, of int) {
	for word := range w.all {
		if o.all[word] || o.characters[word] {
			found++
		}
	}
	return found, len(w.all)
}

// lacks gives the least number of w that o does not have; empty: it has all.
func (w words) lacks(o words) string {
	least := ""
	for number := range w.numbers {
		if !o.numbers[number] && (least == "" || number < least) {
			least = number
		}
	}
	return least
}

// citation is a mark in an answer that counts and asserts nothing: [1], [2, 3],
// and the number at the beginning of a list's line.
var citation = regexp.MustCompile(`\[[0-9]+(?:\s*[,–-]\s*[0-9]+)*\]|(?m:^\s*[0-9]+[.)]\s)`)

// withoutCitations takes the marks of citations and lists out of an answer.
func withoutCitations(answer string) string { return citation.ReplaceAllString(answer, " ") }

// emptyWords are frequent and say nothing by themselves: function words in
// English, and pairs of characters that are endings in Korean. No word that
// denies is among them.
var emptyWords = setOf(`
a an the this that these those it its
is are was were be been being am do does did has have had
of in on at to from for with by as into about
and or but if then than so
i you he she we they me my your our their
what which who whom whose when where why how
can could will would shall should may might must
니다 습니 합니 입니 됩니 에서 으로 하는 하고 있는 있습 해야 무엇 인가 가요 나요 까요 어떻 떻게
`)

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
