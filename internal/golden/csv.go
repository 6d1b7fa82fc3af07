package golden

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// column is a column of a table; its name is the field.
type column struct {
	key
	field field
	known bool
}

// readCSV reads rows of cells under a row of field names.
func (r *reader) readCSV(data []byte, comma rune) {
	cr := csv.NewReader(bytes.NewReader(keepReturns(data)))
	cr.Comma = comma
	cr.FieldsPerRecord = -1 // counted here, to name the case
	cr.ReuseRecord = true
	var columns []column
	for !r.full {
		row, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			r.csvProblem(err)
			if columns == nil {
				return
			}
			r.inFile++
			continue
		}
		line, _ := cr.FieldPos(0)
		switch {
		case columns == nil:
			var ok bool
			if columns, ok = r.header(cr, row); !ok {
				return
			}
		case !slices.ContainsFunc(row, func(cell string) bool { return cell != "" }):
			// Spreadsheets export rows of nothing below the last one.
		case len(row) != len(columns):
			r.inFile++
			r.log.add(Problem{File: r.file, Line: line, Case: fmt.Sprintf("#%d", r.inFile), Message: fmt.Sprintf(
				"has %d cells, but the first row has %d: put a cell that holds a %q or a line break into double quotes", len(row), len(columns), comma)})
		default:
			m := r.mark()
			n := r.row(cr, columns, row)
			n.line = line
			r.addCase(&n, m)
		}
	}
}

// keepReturns doubles the carriage return of a line break within quotes, for
// csv.Reader drops one there, and a question is kept byte for byte.
func keepReturns(data []byte) []byte {
	if !bytes.Contains(data, []byte("\r\n")) {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/16)
	within := false
	for i, c := range data {
		if c == '"' {
			within = !within
		}
		if within && c == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

func (r *reader) csvProblem(err error) {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		r.problem(0, "", "cannot be read: %s", err)
		return
	}
	message := parse.Err.Error()
	switch {
	case errors.Is(parse.Err, csv.ErrBareQuote):
		message = `a cell has a double quote in it but is not quoted: put the cell into double quotes, and write "" for each quote in it`
	case errors.Is(parse.Err, csv.ErrQuote):
		message = `a quoted cell does not end where it should: write "" for each double quote in it, and close it`
	}
	r.problem(parse.StartLine, "", "%s", message)
}

// header reads the first row.
func (r *reader) header(cr *csv.Reader, row []string) ([]column, bool) {
	if len(row) > maxColumns {
		line, _ := cr.FieldPos(0)
		r.problem(line, "", "the first row has %d columns, the limit is %d: leave out those that are no field of a case", len(row), maxColumns)
		return nil, false
	}
	columns := make([]column, len(row))
	ok, asks := true, false
	for i, cell := range row {
		line, _ := cr.FieldPos(i)
		name := strings.TrimSpace(cell)
		if name == "" {
			name = fmt.Sprintf("column %d", i+1)
		}
		if slices.ContainsFunc(columns[:i], func(c column) bool { return c.name == name }) {
			r.problem(line, name, "is the name of two columns: keep one")
			ok = false
		}
		c := column{key: key{name: name}}
		c.field, c.known = names[name]
		asks = asks || c.known && c.field == fieldQuestion
		columns[i] = c
	}
	if !asks {
		line, _ := cr.FieldPos(0)
		r.problem(line, "", "the first row must name the columns, one of them question (or query, stack_trace, user_input); it has %s", quote(strings.Join(row, string(cr.Comma))))
		ok = false
	}
	return columns, ok
}

// row makes an object of a row; an empty cell is a field left out.
func (r *reader) row(cr *csv.Reader, columns []column, row []string) node {
	n := node{kind: object, keys: make([]key, len(row)), items: make([]node, len(row))}
	for i, cell := range row {
		line, _ := cr.FieldPos(i)
		n.keys[i] = key{columns[i].name, line}
		n.items[i] = r.cell(columns[i], cell, line)
	}
	return n
}

func (r *reader) cell(c column, cell string, line int) node {
	n := node{kind: text, source: true, line: line, text: cell}
	switch {
	case cell == "":
		return node{line: line}
	case !c.known:
		return n
	}
	switch c.field {
	case fieldRelevant, fieldTags:
		l := node{kind: list, line: line}
		for part := range strings.SplitSeq(cell, ";") {
			n.text = strings.TrimSpace(part)
			l.items = append(l.items, n)
			if len(l.items) > maxRelevant { // which is too many of either
				break
			}
		}
		return l
	case fieldAnswerable:
		n.text = strings.TrimSpace(cell)
		n.kind = plainKind(n.text)
		return n
	case fieldHistory, fieldMetadata:
		// A table has no lists of maps; these two are JSON within their cell.
		data := bytes.TrimSpace([]byte(cell))
		if !json.Valid(data) {
			r.problem(line, c.name, `must be JSON within its cell, for example {"tenant": "a"}, is %s`, quote(cell))
			return node{line: line}
		}
		r.caseField = c.name
		w := jsonWalker{r: r, data: data, line: line}
		return w.value(1)
	default:
		return n
	}
}
