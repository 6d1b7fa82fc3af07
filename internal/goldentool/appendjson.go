package goldentool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/assay-dev/assay/internal/golden"
)

// appendJSON puts cases before the bracket that closes the list.
func appendJSON(data []byte, cases []golden.Case) ([]byte, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))) == 0 {
		data = append(bytes.Clone(data), "[\n]\n"...)
	}
	start, end, err := casesOf(data)
	if err != nil {
		return nil, err
	}
	inner := data[start:end]
	body := bytes.TrimRight(inner, " \t\r\n")
	line := newline(data)
	// As the cases that are there: a line each, indented like the first, or all on
	// one line.
	lead, tail := " ", string(inner[len(body):])
	if first := bytes.TrimLeft(inner, " \t\r\n"); bytes.Contains(inner, []byte("\n")) {
		indent := "  "
		if at := bytes.LastIndexByte(inner[:len(inner)-len(first)], '\n'); at >= 0 && len(first) > 0 {
			indent = string(inner[at+1 : len(inner)-len(first)])
		}
		lead = line + indent
	}
	out := bytes.Clone(data[:start+len(body)])
	for i := range cases {
		text, err := Write(cases[i:i+1], golden.JSONL)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(body)) > 0 || i > 0 {
			out = append(out, ',')
			out = append(out, lead...)
		} else if lead != " " {
			out = append(out, lead...)
		}
		out = append(out, bytes.TrimSuffix(text, []byte("\n"))...)
	}
	out = append(out, tail...)
	return append(out, data[end:]...), nil
}

// casesOf finds the list of cases in valid JSON: from behind its opening bracket
// to its closing one.
func casesOf(data []byte) (start, end int, err error) {
	bom := len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))
	decoder := json.NewDecoder(bytes.NewReader(data[bom:]))
	depth, key, within := 0, "", false
	for {
		token, err := decoder.Token()
		if err != nil {
			return 0, 0, fmt.Errorf("find the list of cases: %w", err)
		}
		at := bom + int(decoder.InputOffset())
		switch token {
		case json.Delim('['):
			if depth == 0 || depth == 1 && key == "cases" {
				start, within = at, true
			}
			depth++
		case json.Delim('{'):
			if depth == 1 && !within {
				key = "" // the value of another key
			}
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
			if token == json.Delim(']') && within && (depth == 0 || depth == 1 && key == "cases") {
				return start, at - 1, nil
			}
		default:
			// Keys and values of the top map alternate; a value that is text may say
			// cases, but no list follows it.
			if s, ok := token.(string); ok && depth == 1 && !within {
				key = s
			}
		}
	}
}
