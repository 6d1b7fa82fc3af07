package goldentool

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// record is a row of a table, or an object of a list.
type record struct {
	file string
	// line is 0 where it is not known.
	line   int
	number int
	// names in the order of the table, or sorted.
	names  []string
	fields map[string]any
}

func (r *record) problem(m *importer, field, format string, args ...any) {
	m.problem(golden.Problem{File: r.file, Line: r.line, Case: r.label(), Field: field, Message: fmt.Sprintf(format, args...)})
}

func (r *record) label() string { return fmt.Sprintf("#%d", r.number) }

func newRecord(file string, line, number int, fields map[string]any) record {
	return record{file: file, line: line, number: number, names: slices.Sorted(maps.Keys(fields)), fields: fields}
}

// records reads a file of JSON, JSON Lines, CSV or TSV by the ending of its name.
func (m *importer) records(f golden.File) []record {
	data, ok := m.open(f)
	if !ok {
		return nil
	}
	switch format, _ := golden.FormatOf(f.Name); format {
	case golden.JSON:
		return m.jsonRecords(f.Name, data)
	case golden.JSONL:
		return m.jsonLines(f.Name, data)
	case golden.CSV:
		return m.table(f.Name, data, ',')
	case golden.TSV:
		return m.table(f.Name, data, '\t')
	}
	m.problem(golden.Problem{File: f.Name, Message: "has an ending that says no format: name it .json, .jsonl, .csv or .tsv"})
	return nil
}

func (m *importer) jsonLines(name string, data []byte) []record {
	var all []record
	for n, line := range lines(data) {
		fields, err := object([]byte(line))
		if err != nil {
			m.problem(golden.Problem{File: name, Line: n, Message: err.Error()})
			continue
		}
		all = append(all, newRecord(name, n, len(all)+1, fields))
	}
	return all
}

// jsonRecords reads a list of objects, which may be the samples or examples of a
// map.
func (m *importer) jsonRecords(name string, data []byte) []record {
	v, err := jsonValue(data)
	if err != nil {
		m.problem(golden.Problem{File: name, Message: err.Error()})
		return nil
	}
	list, ok := v.([]any)
	if top, isMap := v.(map[string]any); isMap {
		for _, key := range []string{"samples", "examples", "data"} {
			if inner, isList := top[key].([]any); isList && !ok {
				list, ok = inner, true
			}
		}
	}
	if !ok {
		m.problem(golden.Problem{File: name, Message: "must be a list of objects; pandas writes one with to_json(orient='records')"})
		return nil
	}
	var all []record
	for i, item := range list {
		fields, isObject := item.(map[string]any)
		if !isObject {
			m.problem(golden.Problem{File: name, Case: fmt.Sprintf("#%d", i+1), Message: "must be an object, is " + kindOf(item)})
			continue
		}
		all = append(all, newRecord(name, 0, i+1, fields))
	}
	return all
}

// table reads rows of cells under a row of names. An empty cell is left out.
func (m *importer) table(name string, data []byte, delimiter rune) []record {
	if m.options.Delimiter != 0 {
		delimiter = m.options.Delimiter
	}
	reader := csv.NewReader(bytes.NewReader(data))
	reader.Comma = delimiter
	reader.FieldsPerRecord = -1 // counted here, to say what to do
	var head []string
	var all []record
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			line := 0
			if parse, ok := errors.AsType[*csv.ParseError](err); ok {
				line, err = parse.StartLine, parse.Err
			}
			m.problem(golden.Problem{File: name, Line: line, Message: fmt.Sprintf("is no table: %s; is %q what stands between the cells?", err, delimiter)})
			return nil
		}
		line, _ := reader.FieldPos(0)
		switch {
		case head == nil:
			if head = m.head(name, row); head == nil {
				return nil
			}
		case strings.Join(row, "") == "":
		case len(row) != len(head):
			m.problem(golden.Problem{File: name, Line: line, Message: fmt.Sprintf("has %d cells, but the first row has %d; is %q what stands between the cells?", len(row), len(head), delimiter)})
		default:
			r := record{file: name, line: line, number: len(all) + 1, names: head, fields: make(map[string]any, len(head))}
			for i, cell := range row {
				if cell != "" {
					r.fields[head[i]] = cell
				}
			}
			all = append(all, r)
		}
	}
}

// head reads the names of the columns; nil where they are unusable.
func (m *importer) head(name string, row []string) []string {
	const most = 1000
	head := make([]string, len(row))
	for i, cell := range row {
		head[i] = strings.TrimSpace(cell)
		if head[i] == "" { // pandas writes its index under no name
			head[i] = fmt.Sprintf("column %d", i+1)
		}
		if slices.Contains(head[:i], head[i]) {
			m.problem(golden.Problem{File: name, Line: 1, Field: head[i], Message: "is the name of two columns: keep one"})
			return nil
		}
		if i == most {
			m.problem(golden.Problem{File: name, Line: 1, Message: fmt.Sprintf("has more than %d columns", most)})
			return nil
		}
	}
	return head
}
