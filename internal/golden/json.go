package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// readJSON reads a list of cases, or {cases: [...]}.
func (r *reader) readJSON(data []byte) {
	if offset, err := checkJSON(data); err != nil {
		hint := ""
		if first, _, _ := bytes.Cut(data, []byte("\n")); json.Valid(first) {
			hint = "; if every line is a case, name the file .jsonl"
		}
		r.problem(1+bytes.Count(data[:offset], []byte("\n")), "", "is not JSON: %s%s", err, hint)
		return
	}
	w := jsonWalker{r: r, data: data, line: 1}
	w.space()
	start := w.line
	switch w.data[w.pos] {
	case '[':
		w.cases()
	case '{':
		if !w.topObject() {
			r.casesNeeded(start, "; a single case goes into a list too")
		}
	default:
		r.casesNeeded(start, "")
	}
}

// readJSONL reads a case a line; a line that is no JSON does not hide the others.
func (r *reader) readJSONL(data []byte) {
	for line := 1; len(data) > 0 && !r.full; line++ {
		var row []byte
		row, data, _ = bytes.Cut(data, []byte("\n"))
		row = bytes.TrimSpace(row)
		if len(row) == 0 {
			continue
		}
		m := r.mark()
		if _, err := checkJSON(row); err != nil {
			r.inFile++
			r.log.add(Problem{File: r.file, Line: line, Case: fmt.Sprintf("#%d", r.inFile),
				Message: fmt.Sprintf("is not JSON: %s; every line must be one whole JSON object", err)})
			continue
		}
		w := jsonWalker{r: r, data: row, line: line}
		n := w.value(0)
		r.addCase(&n, m)
	}
}

// checkJSON returns what is wrong with JSON, and where.
func checkJSON(data []byte) (offset int, err error) {
	if json.Valid(data) {
		return 0, nil
	}
	err = json.Unmarshal(data, new(json.RawMessage))
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = min(max(int(syntax.Offset)-1, 0), len(data))
	}
	return offset, err
}

// jsonWalker turns JSON that is known to be valid into nodes with lines.
// encoding/json gives no lines, drops repeated keys and turns half a surrogate
// pair into U+FFFD, all without a word.
type jsonWalker struct {
	r      *reader
	data   []byte
	pos    int
	line   int
	values int // of the case that is read
}

// room counts a value of the case, and says whether the case may have it. One
// with too many is read to its end, without keeping more.
func (w *jsonWalker) room() bool {
	w.values++
	if w.values == maxValues+1 {
		w.r.problem(w.line, w.r.caseField, "brings the case to more than 100,000 values: keep only what is asked and expected")
	}
	return w.values <= maxValues
}

// space goes to the next byte that is no white space.
func (w *jsonWalker) space() {
	for w.pos < len(w.data) {
		switch w.data[w.pos] {
		case '\n':
			w.line++
		case ' ', '\t', '\r':
		default:
			return
		}
		w.pos++
	}
}

// next goes to the next element before end, and past end where there is none.
func (w *jsonWalker) next(end byte) bool {
	w.space()
	if w.data[w.pos] == ',' {
		w.pos++
		w.space()
	}
	if w.data[w.pos] == end {
		w.pos++
		return false
	}
	return true
}

// cases reads the list that starts here.
func (w *jsonWalker) cases() {
	w.pos++
	for w.next(']') {
		m := w.r.mark()
		n := w.value(0)
		w.r.addCase(&n, m)
		if w.r.full {
			return
		}
	}
}

// topObject reads {cases: [...]}, and says whether cases was there.
func (w *jsonWalker) topObject() bool {
	found := 0
	w.pos++
	for w.next('}') {
		k := w.key()
		w.r.caseField = k.name
		switch {
		case k.name != "cases":
			w.r.unknownTopKey(k)
			w.value(1)
		case found > 0:
			w.r.problem(k.line, "cases", "is given twice, first on line %d: keep one", found)
			return true
		case w.data[w.pos] == '[':
			found = k.line
			w.cases()
			if w.r.full {
				return true
			}
		default:
			found = k.line
			if v := w.value(1); v.kind != null {
				w.r.wrongType(&v, "cases", "a list of cases")
			}
		}
	}
	return found > 0
}

// key reads a key and goes to its value.
func (w *jsonWalker) key() key {
	k := key{line: w.line}
	k.name = w.quoted(true)
	w.space()
	w.pos++ // the colon
	w.space()
	return k
}

// value reads the value that starts here; depth is 0 for a case.
func (w *jsonWalker) value(depth int) node {
	n := node{line: w.line}
	if depth == 0 {
		w.values = 0
	}
	switch w.data[w.pos] {
	case '{':
		b := objectBuilder{n: n}
		b.n.kind = object
		w.pos++
		for w.next('}') {
			k := w.key()
			if depth == 0 {
				w.r.caseField = k.name
			}
			if v := w.value(depth + 1); w.room() {
				w.r.addOnce(&b, k, v, depth == 0)
			}
		}
		return b.n
	case '[':
		n.kind = list
		w.pos++
		for w.next(']') {
			if v := w.value(depth + 1); w.room() {
				n.items = append(n.items, v)
			}
		}
		return n
	case '"':
		n.kind, n.text = text, w.quoted(false)
		return n
	}
	start := w.pos
	for w.pos < len(w.data) && bytes.IndexByte([]byte(",]} \t\r\n"), w.data[w.pos]) < 0 {
		w.pos++
	}
	n.text = string(w.data[start:w.pos])
	switch n.text {
	case "null":
		n.kind = null
	case "true", "false":
		n.kind = boolean
	default:
		n.kind = number
	}
	return n
}

// quoted reads the string that starts here.
func (w *jsonWalker) quoted(isKey bool) string {
	start, escaped := w.pos, false
	for w.pos++; w.data[w.pos] != '"'; w.pos++ {
		if w.data[w.pos] == '\\' {
			escaped = true
			w.pos++
		}
	}
	w.pos++
	raw := w.data[start+1 : w.pos-1]
	if !escaped {
		if isKey {
			if name, ok := interned[string(raw)]; ok {
				return name
			}
		}
		return string(raw)
	}
	var s string
	if err := json.Unmarshal(w.data[start:w.pos], &s); err != nil {
		w.r.problem(w.line, w.r.caseField, "is not JSON: %s", err)
	}
	if half := halfSurrogate(raw); half != "" {
		w.r.problem(w.line, w.r.caseField, `has %s, which is half of a character: write both halves, or the character itself`, half)
	}
	return s
}

// halfSurrogate finds an escaped surrogate that has no partner.
func halfSurrogate(raw []byte) string {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		if r := escapedRune(raw[i-1:]); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, escapedRune(raw[i+5:])) == utf8.RuneError {
				return string(raw[i-1 : i+5])
			}
			i += 6
		}
		i += 4
	}
	return ""
}

// escapedRune reads \uXXXX at the start of raw, or gives 0.
func escapedRune(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
