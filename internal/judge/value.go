package judge

import (
	"math"
	"strconv"
	"strings"
)

// kind is what a value is, of a reply or of a file of labels.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindText
	kindList
	kindObject
	kindWord // that JSON does not know: NaN, None, yes
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "a list", "an object", "a bare word"}[k]
}

// value is one value of a reply, or of a file of labels.
type value struct {
	kind kind
	// text of a string, or of a number or word as it stands.
	text  string
	truth bool
	items []value
	// keys of an object; the values are the items.
	keys []string
	// line counts from 1; 0 in a reply.
	line int
}

// field gives a member of an object, nil where there is none. Once is false
// where the object has it twice, and may so say two things.
func (v *value) field(name string) (found *value, once bool) {
	for i, key := range v.keys {
		if key != name {
			continue
		}
		if found != nil {
			return found, false
		}
		found = &v.items[i]
	}
	return found, true
}

// whole reads a whole number, or a text that is one: 4, 4.0, "4".
func (v *value) whole() (n int, ok bool) {
	s := strings.TrimSpace(v.text)
	if v.kind != kindNumber && v.kind != kindText || !jsonNumber.MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return int(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<31
}

// describe shows a value that should have been another.
func (v *value) describe() string {
	const shown = 40
	switch v.kind {
	case kindText:
		return "the text " + strconv.Quote(cut(clean(v.text), shown))
	case kindNumber, kindWord:
		return cut(v.text, shown)
	}
	return v.kind.String()
}
