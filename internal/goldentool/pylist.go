package goldentool

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// listCell reads a list that was written into a cell: as JSON, as Python writes a
// list (['a', 'b']) or as NumPy does (['a' 'b']). It is false for any other text.
func listCell(s string) (items []string, ok bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "[") || !strings.HasSuffix(s, "]") {
		return nil, false
	}
	if v, err := jsonValue([]byte(s)); err == nil {
		list, _ := v.([]any)
		for _, item := range list {
			text, isText := textOf(item)
			if !isText {
				return nil, false
			}
			items = append(items, text)
		}
		return items, true
	}
	rest := strings.TrimSpace(s[1 : len(s)-1])
	for rest != "" {
		var item string
		if item, rest, ok = pythonItem(rest); !ok {
			return nil, false
		}
		items = append(items, item)
		rest = strings.TrimSpace(rest)
		if after, comma := strings.CutPrefix(rest, ","); comma {
			rest = strings.TrimSpace(after)
		} else if rest != "" && rest[0] != '\'' && rest[0] != '"' {
			return nil, false
		}
	}
	return items, true
}

// pythonItem reads a string literal, or a number, at the start of s.
func pythonItem(s string) (item, rest string, ok bool) {
	quote := s[0]
	if quote != '\'' && quote != '"' {
		end := strings.IndexAny(s, ", \t\n")
		if end < 0 {
			end = len(s)
		}
		_, err := strconv.ParseFloat(s[:end], 64)
		return s[:end], s[end:], err == nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return b.String(), s[i+1:], true
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(s):
			return "", "", false
		default:
			i++
			i += pythonEscape(&b, s[i:])
		}
	}
	return "", "", false
}

// pythonEscape writes what the escape at the start of s, behind its backslash,
// stands for, and gives how many bytes it has beyond its first.
func pythonEscape(b *strings.Builder, s string) (more int) {
	switch s[0] {
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case '\\', '\'', '"':
		b.WriteByte(s[0])
	case 'x', 'u', 'U':
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
		if len(s) > digits {
			if r, err := strconv.ParseUint(s[1:1+digits], 16, 32); err == nil && utf8.ValidRune(rune(r)) {
				b.WriteRune(rune(r))
				return digits
			}
		}
		b.WriteString(`\` + s[:1])
	default: // Python keeps what is no escape
		b.WriteByte('\\')
		b.WriteByte(s[0])
	}
	return 0
}
