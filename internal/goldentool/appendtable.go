package goldentool

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// appendTable puts rows under the columns that a table has. A field without a
// column is an error: nothing of a case is left out.
func appendTable(data []byte, cases []golden.Case, comma rune) ([]byte, error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	reader.Comma = comma
	head, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("the file needs a first row that names its columns, such as id, question, relevant: %w", err)
	}
	columns := make([]string, len(head))
	taken := map[string]bool{}
	for i, name := range head {
		// Of several columns for one field, the first is written.
		if field, known := golden.FieldOf(strings.TrimSpace(name)); known && !taken[field] {
			columns[i], taken[field] = field, true
		}
	}
	out := ended(data)
	for i := range cases {
		row, err := rowOf(&cases[i], columns)
		if err != nil {
			return nil, err
		}
		line, err := tableLine(row, comma)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), newline(data)...)
	}
	return out, nil
}

// tableLine gives a row without its end: the writer would end lines within a cell
// as it ends rows.
func tableLine(row []string, comma rune) (string, error) {
	var b strings.Builder
	writer := csv.NewWriter(&b)
	writer.Comma = comma
	if err := writer.Write(row); err != nil {
		return "", fmt.Errorf("write the row: %w", err)
	}
	writer.Flush()
	return strings.TrimSuffix(b.String(), "\n"), writer.Error()
}

// rowOf gives the cells of a case.
func rowOf(c *golden.Case, columns []string) ([]string, error) {
	cells, err := cellsOf(c)
	if err != nil {
		return nil, err
	}
	row := make([]string, len(columns))
	for i, field := range columns {
		row[i] = cells[field]
		delete(cells, field)
	}
	for _, field := range []string{"id", "name", "question", "relevant", "reference_answer", "tags", "answerable", "history", "metadata"} {
		if cells[field] != "" {
			return nil, fmt.Errorf("the file has no column for %s: add it to the first row and a cell to every other, or keep the set as YAML (assay golden import --from golden)", field)
		}
	}
	return row, nil
}

// cellsOf gives the cells by field; those of empty fields are left out.
func cellsOf(c *golden.Case) (map[string]string, error) {
	cells := map[string]string{"id": c.ID, "name": c.Name, "question": c.Question, "reference_answer": c.ReferenceAnswer}
	ids := make([]string, 0, len(c.Relevant))
	for _, r := range c.Relevant {
		if r.Grade != 1 {
			return nil, fmt.Errorf("a table has no place for the grade of %s: keep the set as YAML (assay golden import --from golden), or leave the grade out", r.ID)
		}
		ids = append(ids, r.ID)
	}
	for field, items := range map[string][]string{"relevant": ids, "tags": c.Tags} {
		for _, item := range items {
			if strings.Contains(item, ";") || strings.TrimSpace(item) != item {
				return nil, fmt.Errorf("a table cannot hold %q under %s, for it splits cells at ; and cuts spaces: keep the set as YAML (assay golden import --from golden)", item, field)
			}
		}
		cells[field] = strings.Join(items, ";")
	}
	if !c.Answerable {
		cells["answerable"] = "false"
	}
	for field, value := range map[string]any{"history": c.History, "metadata": exactNumbers(c.Metadata)} {
		text, err := encode(value)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", field, err)
		}
		if string(text) != "null" {
			cells[field] = string(text)
		}
	}
	return cells, nil
}
