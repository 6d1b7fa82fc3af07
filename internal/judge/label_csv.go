package judge

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// readCSV reads rows of cells under a row of field names.
func (r *labelReader) readCSV(data []byte, comma rune) {
	cr := csv.NewReader(bytes.NewReader(data))
	cr.Comma = comma
	cr.FieldsPerRecord = -1 // counted here, to name the label
	var names []string
	for {
		row, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			line := 0
			var parse *csv.ParseError
			if errors.As(err, &parse) {
				line, err = parse.StartLine, parse.Err
			}
			r.problem(line, "", `is not CSV: %s; put a cell with a double quote or a line break in it into double quotes, and write "" for each quote`, err)
			return
		}
		line, _ := cr.FieldPos(0)
		switch {
		case names == nil:
			names = row
			for i := range names {
				names[i] = strings.TrimSpace(names[i])
			}
		case strings.Join(row, "") == "":
			// Spreadsheets export rows of nothing below the last one.
		case len(row) != len(names):
			r.lost(line, "has %d cells, but the first row has %d: put a cell that holds a %q or a line break into double quotes", len(row), len(names), comma)
		default:
			v := tableRow(names, row, line)
			r.add(&v)
		}
	}
}

// tableRow makes an object of a row. An empty cell is a field that was left out,
// but for the answer, which may be empty.
func tableRow(names, row []string, line int) value {
	v := value{kind: kindObject, line: line}
	for i, name := range names {
		cell := value{kind: kindText, text: row[i], line: line}
		if row[i] == "" && name != "answer" {
			continue
		}
		if (name == "contexts" || name == "history") && strings.HasPrefix(strings.TrimSpace(row[i]), "[") {
			// What only looks like a list, such as a text that begins with [1], is a text.
			if parsed, _, err := jsonValue([]byte(row[i]), line); err == nil {
				parsed.line = line
				cell = parsed
			}
		}
		v.keys, v.items = append(v.keys, name), append(v.items, cell)
	}
	return v
}
