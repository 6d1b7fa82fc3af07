package goldentool

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// qrels are relevance judgements: the relevant ids of a query, in the order of
// the file, by the query's id.
type qrels struct {
	relevant map[string][]golden.Relevant
	// judged are all queries that the file names, those without a relevant
	// document too.
	judged map[string]bool
	order  []string
}

// readQrels reads "query 0 document grade" of TREC, and "query document grade" of
// BEIR with its row of names.
// https://trec.nist.gov/data/qrels_eng/
// https://github.com/beir-cellar/beir/wiki/Load-your-custom-dataset
func (m *importer) readQrels(f golden.File) *qrels {
	q := &qrels{relevant: map[string][]golden.Relevant{}, judged: map[string]bool{}}
	data, ok := m.open(f)
	if !ok {
		return q
	}
	seen := map[[2]string]int{}
	first := true
	for n, line := range lines(data) {
		query, document, grade, err := parseQrel(line)
		if err != nil && first && isHeader(line) {
			first = false
			continue
		}
		first = false
		if err != nil {
			m.problem(golden.Problem{File: f.Name, Line: n, Message: err.Error()})
			continue
		}
		if !q.judged[query] {
			q.judged[query] = true
			q.order = append(q.order, query)
		}
		if grade <= 0 {
			m.dropped.add("document that was judged not relevant (grade 0 or below)", query+" "+document)
			continue
		}
		key := [2]string{query, document}
		if i, repeated := seen[key]; repeated {
			r := &q.relevant[query][i]
			r.Grade = max(r.Grade, grade)
			m.dropped.add("document that was judged twice for a query; the higher grade counts", query+" "+document)
			continue
		}
		seen[key] = len(q.relevant[query])
		q.relevant[query] = append(q.relevant[query], golden.Relevant{ID: document, Grade: grade})
	}
	return q
}

// parseQrel reads a line. Between tabs an id may have spaces.
func parseQrel(line string) (query, document string, grade float64, err error) {
	var cells []string
	if strings.Contains(line, "\t") {
		for cell := range strings.SplitSeq(line, "\t") {
			cells = append(cells, strings.TrimSpace(cell))
		}
	} else {
		cells = strings.Fields(line)
	}
	switch len(cells) {
	case 3:
		query, document = cells[0], cells[1]
	case 4:
		query, document = cells[0], cells[2]
	default:
		return "", "", 0, fmt.Errorf("has %d columns: a judgement is query, document and grade, with TREC's second column or without it", len(cells))
	}
	grade, err = strconv.ParseFloat(cells[len(cells)-1], 64)
	switch {
	case err != nil || math.IsNaN(grade) || math.IsInf(grade, 0):
		return "", "", 0, fmt.Errorf("has the grade %q, which is no number", cells[len(cells)-1])
	case query == "" || document == "":
		return "", "", 0, fmt.Errorf("has an empty id")
	}
	return query, document, grade, nil
}

// isHeader tells a row of names from a judgement with a mistake in it.
func isHeader(line string) bool {
	cells := strings.Fields(strings.ToLower(line))
	return len(cells) >= 3 && !strings.ContainsAny(cells[len(cells)-1], "0123456789")
}

// judged gives the query its relevant ids, and says whether it has any. A query
// without them cannot be scored.
func (m *importer) judged(q *qrels, c *golden.Case) bool {
	c.Relevant = q.relevant[c.ID]
	switch {
	case len(c.Relevant) > 0:
		return true
	case q.judged[c.ID]:
		m.dropped.add("query whose documents were all judged not relevant", c.ID)
	default:
		m.dropped.add("query without qrels", c.ID)
	}
	return false
}

// unasked counts the judgements of queries that are not there.
func (m *importer) unasked(q *qrels, asked map[string]bool) {
	for _, query := range q.order {
		if !asked[query] {
			m.dropped.add("query of the qrels that is not among the queries", query)
		}
	}
}
