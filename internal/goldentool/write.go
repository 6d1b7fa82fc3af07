// Package goldentool makes golden sets and looks after them: it reads those of
// other tools, writes them, appends cases to a file without disturbing what
// stands in it, and finds the relevant ids that no retrieval ever brings up. It
// is pure: bytes in, bytes out.
package goldentool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/assay-dev/assay/internal/golden"
)

// Formats that a set is written in.
var Formats = []golden.Format{golden.YAML, golden.JSONL}

// Write gives cases as a file of a golden set, in their order. A case without an
// id is written without one. What is written is read back by golden.Read as the
// same cases.
func Write(cases []golden.Case, format golden.Format) ([]byte, error) {
	var b bytes.Buffer
	for i := range cases {
		switch format {
		case golden.YAML:
			writeYAML(&b, &cases[i], 0)
		case golden.JSONL:
			if err := writeJSON(&b, &cases[i]); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("write a golden set as %s: use yaml or jsonl", format)
		}
	}
	return b.Bytes(), nil
}

// written is a case as it stands in JSON.
type written struct {
	ID              string         `json:"id,omitempty"`
	Name            string         `json:"name,omitempty"`
	Title           string         `json:"title,omitempty"`
	Question        string         `json:"question"`
	Relevant        []any          `json:"relevant,omitempty"`
	ReferenceAnswer string         `json:"reference_answer,omitempty"`
	Tags            []string       `json:"tags,omitempty"`
	Answerable      *bool          `json:"answerable,omitempty"`
	History         []golden.Turn  `json:"history,omitempty"`
	Metadata        map[string]any `json:"metadata,omitempty"`
}

type graded struct {
	ID    string      `json:"id"`
	Grade json.Number `json:"grade"`
}

// writeJSON writes a case on a line.
func writeJSON(b *bytes.Buffer, c *golden.Case) error {
	w := written{
		ID: c.ID, Question: c.Question, ReferenceAnswer: c.ReferenceAnswer,
		Tags: c.Tags, History: c.History, Metadata: exactNumbers(c.Metadata),
	}
	// A name alone would be taken for the id.
	if c.ID == "" {
		w.Title = c.Name
	} else {
		w.Name = c.Name
	}
	for _, r := range c.Relevant {
		if r.Grade == 1 {
			w.Relevant = append(w.Relevant, r.ID)
		} else {
			w.Relevant = append(w.Relevant, graded{r.ID, json.Number(shortest(r.Grade))})
		}
	}
	if !c.Answerable {
		w.Answerable = &c.Answerable
	}
	text, err := encode(w)
	if err != nil {
		return fmt.Errorf("write case %q: %w", c.ID, err)
	}
	b.Write(text)
	b.WriteByte('\n')
	return nil
}

// encode gives JSON that people can read, without \u003c for <, and that can stand
// in YAML: what cannot be seen is escaped.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !bytes.ContainsFunc(text, func(r rune) bool { return !readable(r) }) {
		return text, nil
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		switch {
		case readable(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes(), nil
}

// exactNumbers writes the float 1 as 1.0, or it would be read as an integer.
func exactNumbers(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	exact, _ := exactNumber(m).(map[string]any)
	return exact
}

func exactNumber(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = exactNumber(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = exactNumber(value)
		}
		return out
	case float64:
		text := shortest(v)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	}
	return v
}

func shortest(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
