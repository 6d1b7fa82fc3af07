package goldentool

import (
	"github.com/assay-dev/assay/internal/golden"
)

// beir reads queries.jsonl, a line {"_id", "text", "metadata"} a query.
func (m *importer) beir(queries, judgements golden.File) {
	q := m.readQrels(judgements)
	data, ok := m.open(queries)
	if !ok {
		return
	}
	asked := map[string]bool{}
	for n, line := range lines(data) {
		fields, err := object([]byte(line))
		if err != nil {
			m.problem(golden.Problem{File: queries.Name, Line: n, Message: err.Error()})
			continue
		}
		id, hasID := textOf(fields["_id"])
		question, hasText := textOf(fields["text"])
		if !hasID || !hasText {
			m.problem(golden.Problem{File: queries.Name, Line: n, Case: id, Message: `must have "_id" and "text", as queries.jsonl of BEIR has`})
			continue
		}
		asked[id] = true
		c := golden.Case{ID: id, Question: question, Answerable: true}
		if metadata, ok := fields["metadata"].(map[string]any); ok && len(metadata) > 0 {
			c.Metadata = goldenMap(metadata)
		}
		if m.judged(q, &c) {
			m.cases = append(m.cases, c)
		}
	}
	m.unasked(q, asked)
}
