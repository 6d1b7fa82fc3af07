package retriever

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/assay-dev/assay/internal/mapping"
)

// What the preset Assay's mappings say, in Go: a run makes these calls by the
// thousand, and most time would go into building values for CEL. A reply that is
// anything but plain is left to CEL, which then says what is wrong with it, so
// that there is one place for that; tests hold both to the same results.

func plainRequest(question string, topK int) ([]byte, error) {
	quoted, err := mapping.EncodeJSON(question)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, len(quoted)+32)
	body = append(body, `{"query":`...)
	body = append(body, quoted...)
	body = append(body, `,"top_k":`...)
	body = strconv.AppendInt(body, int64(topK), 10)
	return append(body, '}'), nil
}

// plainResults reads {"results": [{"id", "text", "score", "document",
// "metadata"}]} from UTF-8. Not ok: let CEL read it.
func plainResults(body []byte) (results []Result, ok bool) {
	s := scanner{rest: body}
	found := false
	ok = s.object(func(key []byte) bool {
		if string(key) != "results" {
			return s.skip()
		}
		if found {
			return false
		}
		found = true
		results, ok = s.results()
		return ok
	})
	if s.space(); !ok || !found || len(s.rest) > 0 {
		return nil, false
	}
	return results, true
}

// scanner walks over JSON. Each of its methods is false where the JSON is wrong,
// or unusual.
type scanner struct {
	rest []byte
	// scratch holds a text while its escapes are read.
	scratch []byte
}

func (s *scanner) results() ([]Result, bool) {
	if !s.take('[') {
		return nil, false
	}
	results := make([]Result, 0, 10)
	if s.take(']') {
		return results, true
	}
	for {
		r, ok := s.result()
		if !ok || len(results) == maxResults {
			return nil, false
		}
		results = append(results, r)
		if s.take(']') {
			return results, true
		}
		if !s.take(',') {
			return nil, false
		}
	}
}

func (s *scanner) result() (Result, bool) {
	var r Result
	var seen [5]bool
	once := func(i int) bool {
		again := seen[i]
		seen[i] = true
		return !again
	}
	ok := s.object(func(key []byte) (ok bool) {
		switch string(key) {
		case "id":
			r.ID, ok = s.id()
			return ok && r.ID != "" && once(0)
		case "document":
			if s.null() {
				return once(1)
			}
			r.Document, ok = s.id()
			return ok && r.Document != "" && once(1)
		case "text":
			if s.null() {
				return once(2)
			}
			r.Text, ok = s.text()
			return ok && once(2)
		case "score":
			if s.null() {
				return once(3)
			}
			number, ok := s.number()
			if !ok {
				return false
			}
			score, err := strconv.ParseFloat(string(number), 64)
			r.Score = &score
			return err == nil && once(3)
		case "metadata":
			if s.null() {
				return once(4)
			}
			r.Metadata, ok = s.metadata()
			return ok && once(4)
		}
		return s.skip()
	})
	return r, ok && seen[0]
}

// object reads an object; field reads the value of a key.
func (s *scanner) object(field func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		s.space()
		key, escaped, ok := s.quoted()
		if !ok || escaped || !s.take(':') {
			return false
		}
		s.space()
		if !field(key[1 : len(key)-1]) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) id() (string, bool) {
	if len(s.rest) > 0 && s.rest[0] == '"' {
		return s.text()
	}
	text, ok := s.number()
	if !ok {
		return "", false
	}
	if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return strconv.FormatInt(i, 10), true
	}
	if u, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		return strconv.FormatUint(u, 10), true
	}
	return "", false
}

func (s *scanner) text() (string, bool) {
	quoted, escaped, ok := s.quoted()
	if !ok {
		return "", false
	}
	inside := quoted[1 : len(quoted)-1]
	if !escaped {
		return string(inside), true
	}
	return s.unescape(inside)
}

// unescape reads the escapes of a JSON string. Half a surrogate pair becomes
// U+FFFD, as encoding/json has it.
func (s *scanner) unescape(inside []byte) (string, bool) {
	text := s.scratch[:0]
	for {
		i := bytes.IndexByte(inside, '\\')
		if i < 0 {
			text = append(text, inside...)
			s.scratch = text
			return string(text), true
		}
		text = append(text, inside[:i]...)
		escape := inside[i+1]
		inside = inside[i+2:]
		if escape != 'u' {
			i := strings.IndexByte(`"\/bfnrt`, escape)
			if i < 0 {
				return "", false
			}
			text = append(text, "\"\\/\b\f\n\r\t"[i])
			continue
		}
		r, ok := hex4(inside)
		if !ok {
			return "", false
		}
		inside = inside[4:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if bytes.HasPrefix(inside, []byte(`\u`)) {
				if second, ok := hex4(inside[2:]); ok {
					pair = utf16.DecodeRune(r, second)
				}
			}
			if r = pair; r != utf8.RuneError {
				inside = inside[6:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

// quoted gives a string with its quotes, and whether it holds an escape.
func (s *scanner) quoted() (quoted []byte, escaped, ok bool) {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil, false, false
	}
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			quoted, s.rest = s.rest[:i+1], s.rest[i+1:]
			return quoted, escaped, true
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// number gives a number's text.
func (s *scanner) number() ([]byte, bool) {
	rest := s.rest
	digits := func() bool {
		n := 0
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		rest = rest[n:]
		return n > 0
	}
	skip := func(of string) bool {
		found := len(rest) > 0 && strings.IndexByte(of, rest[0]) >= 0
		if found {
			rest = rest[1:]
		}
		return found
	}
	skip("-")
	if !skip("0") && !digits() {
		return nil, false
	}
	if skip(".") && !digits() {
		return nil, false
	}
	if skip("eE") {
		if skip("+-"); !digits() {
			return nil, false
		}
	}
	text := s.rest[:len(s.rest)-len(rest)]
	s.rest = rest
	return text, true
}

func (s *scanner) null() bool {
	if len(s.rest) >= 4 && string(s.rest[:4]) == "null" {
		s.rest = s.rest[4:]
		return true
	}
	return false
}

func (s *scanner) metadata() (map[string]any, bool) {
	value, depth, ok := s.value()
	if !ok || depth >= mapping.MaxDepth {
		return nil, false
	}
	v, err := mapping.DecodeJSON(value)
	if err != nil {
		return nil, false
	}
	m, ok := v.(map[string]any)
	return m, ok
}

func (s *scanner) skip() bool {
	value, _, ok := s.value()
	return ok && json.Valid(value)
}

// value gives the text of the value that comes next, which may still be wrong
// inside, and how deep its brackets nest.
func (s *scanner) value() (text []byte, depth int, ok bool) {
	whole := s.rest
	open := 0
	for len(s.rest) > 0 {
		switch c := s.rest[0]; c {
		case '"':
			if _, _, ok := s.quoted(); !ok {
				return nil, 0, false
			}
			if open == 0 {
				return whole[:len(whole)-len(s.rest)], depth, true
			}
			continue
		case '{', '[':
			open++
			if depth = max(depth, open); depth > 1000 {
				return nil, 0, false
			}
		case '}', ']':
			if open--; open == 0 {
				s.rest = s.rest[1:]
				return whole[:len(whole)-len(s.rest)], depth, true
			}
		}
		if open == 0 && (s.rest[0] == ',' || s.rest[0] == '}' || s.rest[0] == ']') || open < 0 {
			text = whole[:len(whole)-len(s.rest)]
			return text, depth, len(text) > 0
		}
		s.rest = s.rest[1:]
	}
	return nil, 0, false
}

func (s *scanner) space() {
	for len(s.rest) > 0 {
		switch s.rest[0] {
		case ' ', '\t', '\r', '\n':
			s.rest = s.rest[1:]
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}
