package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// readJSON reads a list of labels, or {labels: […]}.
func (r *labelReader) readJSON(data []byte) {
	v, line, err := jsonValue(data, 1)
	if err != nil {
		hint := ""
		if first, _, _ := bytes.Cut(data, []byte("\n")); json.Valid(first) {
			hint = "; if every line is a label, name the file .jsonl"
		}
		r.problem(line, "", "is not JSON: %s%s", err, hint)
		return
	}
	r.top(&v)
}

// readJSONL reads a label a line; a line that is no JSON does not hide the others.
func (r *labelReader) readJSONL(data []byte) {
	for line := 1; len(data) > 0; line++ {
		var row []byte
		row, data, _ = bytes.Cut(data, []byte("\n"))
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		v, _, err := jsonValue(row, line)
		if err != nil {
			r.lost(line, "is not JSON: %s; every line must be one whole JSON object", err)
			continue
		}
		r.add(&v)
	}
}

// jsonValue reads the one value of some JSON that begins at a line, and gives
// the line of the mistake beside an error.
func jsonValue(data []byte, first int) (v value, line int, err error) {
	d := jsonDecoder{dec: json.NewDecoder(bytes.NewReader(data)), data: data, line: first}
	d.dec.UseNumber()
	v, err = d.value(0)
	if err == nil {
		if _, end := d.dec.Token(); end == nil {
			err = errors.New("something follows after its end")
		} else if !errors.Is(end, io.EOF) {
			err = end
		}
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d.goTo(syntax.Offset - 1)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends too early")
		d.goTo(int64(len(bytes.TrimRight(data, " \t\r\n"))))
	}
	return v, d.line, err
}

// jsonDecoder reads tokens, and knows their lines.
type jsonDecoder struct {
	dec  *json.Decoder
	data []byte
	at   int64
	line int
}

// goTo counts lines up to an offset. It does not go back.
func (d *jsonDecoder) goTo(offset int64) {
	if offset = min(offset, int64(len(d.data))); offset > d.at {
		d.line += bytes.Count(d.data[d.at:offset], []byte("\n"))
		d.at = offset
	}
}

func (d *jsonDecoder) value(depth int) (v value, err error) {
	token, err := d.dec.Token()
	if err != nil {
		return v, err
	}
	d.goTo(d.dec.InputOffset())
	v.line = d.line
	switch t := token.(type) {
	case bool:
		v.kind, v.truth = kindBool, t
	case json.Number:
		v.kind, v.text = kindNumber, t.String()
	case string:
		v.kind, v.text = kindText, t
	case json.Delim:
		if depth == maxDepth {
			return v, errTooDeep
		}
		return d.inside(v, t, depth)
	}
	return v, nil
}

// inside reads a list or an object to its end.
func (d *jsonDecoder) inside(v value, open json.Delim, depth int) (value, error) {
	v.kind = kindList
	if open == '{' {
		v.kind = kindObject
	}
	for d.dec.More() {
		if open == '{' {
			key, err := d.dec.Token()
			if err != nil {
				return v, err
			}
			name, _ := key.(string)
			v.keys = append(v.keys, name)
		}
		item, err := d.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
	}
	_, err := d.dec.Token()
	return v, err
}
