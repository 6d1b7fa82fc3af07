package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Encode writes the body of a request: what the SDK makes of its parameters, with
// the suite's own fields merged in, every text as literal UTF-8. An object is
// merged into an object; any other value replaces what stands there.
func Encode(params json.Marshaler, extra map[string]any) ([]byte, error) {
	body, err := params.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if len(extra) > 0 {
		if body, err = merge(body, extra); err != nil {
			return nil, fmt.Errorf("merge extraBody into the request: %w", err)
		}
	}
	return literal(body), nil
}

// merge keeps what it does not touch byte for byte, for the order of a schema's
// properties is the order in which a model writes them.
func merge(base json.RawMessage, extra map[string]any) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(base, &fields); err != nil {
		return nil, err
	}
	for name, value := range extra {
		under, isObject := value.(map[string]any)
		var merged json.RawMessage
		var err error
		if isObject && bytes.HasPrefix(fields[name], []byte("{")) {
			merged, err = merge(fields[name], under)
		} else {
			merged, err = json.Marshal(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fields[name] = merged
	}
	return json.Marshal(fields)
}

// literal writes the \u escapes of a JSON document as the characters that they
// stand for, all but those that JSON cannot hold otherwise. The SDKs escape some
// that need it not; tokenisers see six characters in place of one.
func literal(body []byte) []byte {
	if !bytes.Contains(body, []byte(`\u`)) {
		return body
	}
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		at := bytes.IndexByte(body, '\\')
		if at < 0 || at+1 == len(body) {
			return append(out, body...)
		}
		out = append(out, body[:at]...)
		body = body[at:]
		r, size := escaped(body)
		if size == 0 {
			out, body = append(out, body[:2]...), body[2:]
			continue
		}
		if r < ' ' || r == '"' || r == '\\' || utf16.IsSurrogate(r) {
			out = append(out, body[:size]...)
		} else {
			out = utf8.AppendRune(out, r)
		}
		body = body[size:]
	}
	return out
}

// escaped reads one \u escape, or the two of a surrogate pair; size 0: it is none.
func escaped(text []byte) (r rune, size int) {
	r, ok := unit(text)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := unit(text[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

func unit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range text[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
