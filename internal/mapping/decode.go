package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// maxValues bounds the JSON values of a reply: one takes up to 200 bytes when it
// is decoded, though it may be 3 bytes long.
const maxValues = 400_000

// CheckBody says whether a body can be decoded at all: text in UTF-8, of no more
// values than there is memory for. It gives the body without a byte-order mark. A
// decoder would put U+FFFD where a byte is wrong, and an id would no longer be the
// one that was meant.
func CheckBody(body []byte) ([]byte, error) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New("the body is empty")
	}
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not UTF-8")
	}
	// No value takes less than two bytes.
	if len(body) > 2*maxValues && hasManyValues(body) {
		return nil, fmt.Errorf("the body holds more than %d JSON values; ask for fewer results or leave out fields that are not mapped", maxValues)
	}
	return body, nil
}

// hasManyValues says whether a JSON text holds more than maxValues values. Every
// one of them, the first apart, comes after a comma or a bracket that opens.
func hasManyValues(body []byte) bool {
	n := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case ',', '[', '{':
			if n++; n > maxValues {
				return true
			}
		case ']', '}':
			if i > 0 && body[i-1] == body[i]-2 {
				n-- // the bracket was not followed by a value
			}
		case '"':
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// DecodeJSON reads one JSON value, its integers as int64 or uint64.
func DecodeJSON(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the body is not JSON: it ends in the middle of a value")
		}
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the body is not JSON: something follows after the value")
	}
	return integers(v)
}

// integers puts numbers in place of the json.Numbers of a decoded value.
func integers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		for i := range v {
			if v[i], err = integers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key, item := range v {
			if v[key], err = integers(item); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// number reads a JSON number: an integer as int64 or, where it is too large for
// that, uint64; everything else as float64.
func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %.32s is out of range", text)
	}
	return f, nil
}

// EncodeJSON writes a value as UTF-8, never as \u escapes where it need not be.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
