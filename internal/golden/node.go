package golden

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// kind is what a value of a file is, whatever the format.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "a list", "a map"}[k]
}

// node is a value of a file: what YAML, JSON and CSV have in common.
type node struct {
	kind kind
	// source is true where the format has no text of its own kind (YAML, CSV):
	// true and 007 may then be meant as text.
	source bool
	line   int
	// text of a scalar as the file has it.
	text string
	// items of a list, or the values of an object.
	items []node
	// keys of an object, each once.
	keys []key
}

type key struct {
	name string
	line int
}

var (
	coreInt   = regexp.MustCompile(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	coreFloat = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// plainKind tells what a plain YAML scalar is by the core schema of YAML 1.2:
// yes, 1_000, 2024-01-01 and 1:30 are text.
// https://yaml.org/spec/1.2.2/#103-core-schema
func plainKind(s string) kind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return boolean
	}
	if strings.IndexByte("+-.0123456789", s[0]) >= 0 && (coreInt.MatchString(s) || coreFloat.MatchString(s)) {
		return number
	}
	return text
}

// asText gives the text of a scalar, where it may stand for text: the decimal
// text of a number, and in YAML and CSV whatever the source says.
func (n *node) asText() (string, bool) {
	switch n.kind {
	case text, number:
		return n.text, true
	case boolean:
		return n.text, n.source
	default:
		return "", false
	}
}

// asBool reads true or false in the spellings of the core schema.
func (n *node) asBool() (value, ok bool) {
	return strings.EqualFold(n.text, "true"), n.kind == boolean
}

// asFloat reads a number; one that does not fit is infinite.
func (n *node) asFloat() (float64, bool) {
	if n.kind != number {
		return 0, false
	}
	switch s := strings.ToLower(n.text); {
	case strings.HasSuffix(s, ".nan"):
		return math.NaN(), true
	case strings.HasSuffix(s, ".inf"):
		return math.Inf(1 - 2*strings.Count(s, "-")), true
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0o"):
		i, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return math.Inf(1), true
		}
		return float64(i), true
	default:
		f, _ := strconv.ParseFloat(s, 64) // out of range gives an infinity
		return f, true
	}
}

// asInt reads a number that is written as an integer of 64 bits.
func (n *node) asInt() (value int64, isInt, fits bool) {
	if n.kind != number || !coreInt.MatchString(n.text) {
		return 0, false, false
	}
	base := 10
	if strings.HasPrefix(n.text, "0x") || strings.HasPrefix(n.text, "0o") {
		base = 0
	}
	value, err := strconv.ParseInt(n.text, base, 64)
	return value, true, err == nil
}
