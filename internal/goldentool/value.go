package goldentool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonValue reads one JSON value; numbers stay as they are written.
func jsonValue(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is not JSON: something follows after its end")
	}
	// The decoder writes U+FFFD for half a surrogate pair, without a word.
	if bytes.Contains(data, []byte(`\u`)) && !bytes.ContainsRune(data, utf8.RuneError) && !bytes.Contains(bytes.ToLower(data), []byte(`\ufffd`)) && holdsReplacement(v) {
		return nil, errors.New("is not JSON: it has half of a character, an escape such as \\ud83d alone")
	}
	return v, nil
}

func holdsReplacement(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, utf8.RuneError)
	case []any:
		for _, item := range v {
			if holdsReplacement(item) {
				return true
			}
		}
	case map[string]any:
		for key, value := range v {
			if holdsReplacement(key) || holdsReplacement(value) {
				return true
			}
		}
	}
	return false
}

// object reads one JSON object.
func object(data []byte) (map[string]any, error) {
	v, err := jsonValue(data)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("must be a JSON object")
	}
	return fields, nil
}

// textOf gives the text of a scalar that may stand for text: a number's is its
// decimal text.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// goldenMap gives values as golden.Case has them.
func goldenMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = goldenValue(value)
	}
	return out
}

func goldenValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return goldenMap(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = goldenValue(item)
		}
		return out
	case json.Number:
		return goldenNumber(v.String())
	}
	return v
}

// goldenNumber keeps a number that fits no type of JSON's as its text.
func goldenNumber(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(i, 10) == text {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || !json.Valid([]byte(text)) || !strings.ContainsAny(text, ".eE") {
		return text
	}
	if f == 0 {
		return 0.0 // not -0
	}
	return f
}

// kindOf names a value for a message.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "a map"
}
