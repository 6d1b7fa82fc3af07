package judge

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxDepth bounds the nesting of a reply; a verdict has two levels.
	maxDepth = 8
	// stepsPerByte bounds the work on a reply, for every brace of its prose may
	// begin an object that turns out to be none.
	stepsPerByte = 16
	minSteps     = 4096
)

// parser reads JSON, and forgives what models get wrong: trailing commas,
// comments, raw line breaks in strings, True and False. It stops at the first
// value that is more than that.
type parser struct {
	src string
	pos int
	// steps that are left; none are left where a reply is built to take long.
	steps int
}

// more says whether there is a byte to look at, and counts the look.
func (p *parser) more() bool {
	p.steps--
	return p.pos < len(p.src) && p.steps > 0
}

// at takes c where it comes next.
func (p *parser) at(c byte) bool {
	if p.more() && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// space goes over white space and comments.
func (p *parser) space() {
	for p.more() {
		switch rest := p.src[p.pos:]; {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.pos++
		case strings.HasPrefix(rest, "//"):
			p.skip(rest, 2, "\n")
		case strings.HasPrefix(rest, "/*"):
			p.skip(rest, 2, "*/")
		default:
			return
		}
	}
}

// skip goes behind end, which is looked for from the given offset on.
func (p *parser) skip(rest string, from int, end string) {
	length := len(rest)
	if i := strings.Index(rest[from:], end); i >= 0 {
		length = from + i + len(end)
	}
	p.pos += length
	p.steps -= length
}

// value reads the value that begins here; false where it is none, or not whole.
func (p *parser) value(depth int) (v value, ok bool) {
	if depth > maxDepth || !p.more() {
		return v, false
	}
	switch p.src[p.pos] {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		v.kind = kindText
		v.text, ok = p.quoted()
		return v, ok
	}
	return p.word()
}

func (p *parser) object(depth int) (v value, ok bool) {
	v.kind = kindObject
	p.pos++
	for {
		p.space()
		if p.at('}') {
			return v, true
		}
		if !p.more() || p.src[p.pos] != '"' {
			return v, false
		}
		key, whole := p.quoted()
		p.space()
		if !whole || !p.at(':') {
			return v, false
		}
		p.space()
		item, whole := p.value(depth + 1)
		if !whole {
			return v, false
		}
		v.keys, v.items = append(v.keys, key), append(v.items, item)
		if !p.next('}') {
			return v, false
		}
	}
}

func (p *parser) list(depth int) (v value, ok bool) {
	v.kind = kindList
	p.pos++
	for {
		p.space()
		if p.at(']') {
			return v, true
		}
		item, whole := p.value(depth + 1)
		if !whole {
			return v, false
		}
		v.items = append(v.items, item)
		if !p.next(']') {
			return v, false
		}
	}
}

// next goes over the comma behind an element; none is needed before end.
func (p *parser) next(end byte) bool {
	p.space()
	return p.at(',') || p.more() && p.src[p.pos] == end
}

// quoted reads the string that begins here.
func (p *parser) quoted() (s string, ok bool) {
	var b strings.Builder
	for p.pos++; p.more(); {
		switch c := p.src[p.pos]; c {
		case '"':
			p.pos++
			return strings.ToValidUTF8(b.String(), "\uFFFD"), true
		case '\\':
			if !p.escape(&b) {
				return "", false
			}
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return "", false
}

// escapes of JSON that stand for one byte.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads the escape that begins here. One that JSON does not know, as of
// a regular expression in a reason, stays as it stands.
func (p *parser) escape(b *strings.Builder) bool {
	p.pos++
	if !p.more() {
		return false
	}
	c := p.src[p.pos]
	if c == 'u' {
		if r, ok := hexRune(p.src[p.pos+1:]); ok {
			p.pos += 5
			b.WriteRune(p.pair(r))
			return true
		}
	}
	if plain, known := escapes[c]; known {
		b.WriteByte(plain)
		p.pos++
		return true
	}
	b.WriteByte('\\')
	return true
}

// pair joins a surrogate with the one that follows it.
func (p *parser) pair(r rune) rune {
	if !utf16.IsSurrogate(r) {
		return r
	}
	if rest := p.src[p.pos:]; strings.HasPrefix(rest, `\u`) {
		low, _ := hexRune(rest[2:])
		if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
			p.pos += 6
			return whole
		}
	}
	return utf8.RuneError
}

// hexRune reads the four hexadecimal digits of an escape.
func hexRune(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}

var jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)

// word reads a number, true, false, null, or what a model puts in their place.
func (p *parser) word() (v value, ok bool) {
	start := p.pos
	for p.more() && isWordByte(p.src[p.pos]) {
		p.pos++
	}
	v.text = p.src[start:p.pos]
	switch {
	case v.text == "":
		return v, false
	case v.text == "null":
		v.kind = kindNull
	case strings.EqualFold(v.text, "true"), strings.EqualFold(v.text, "false"):
		v.kind, v.truth = kindBool, strings.EqualFold(v.text, "true")
	case jsonNumber.MatchString(v.text):
		v.kind = kindNumber
	default:
		v.kind = kindWord
	}
	return v, true
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.' || c == '_'
}
