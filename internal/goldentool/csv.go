package goldentool

import "github.com/assay-dev/assay/internal/golden"

// csv reads a table whose columns have names of their own.
func (m *importer) csv(f golden.File) {
	data, ok := m.open(f)
	if !ok {
		return
	}
	delimiter := ','
	if format, _ := golden.FormatOf(f.Name); format == golden.TSV {
		delimiter = '\t'
	}
	m.addAll(f.Name, m.table(f.Name, data, delimiter), rules{cells: true, dropped: textsNotIDs})
}

// textsNotIDs are fields that hold what a relevant document says. Only its id
// tells whether it was found.
var textsNotIDs = map[string]string{
	"reference_contexts": "texts, not ids; give the ids of the contexts as relevant ids",
	"contexts":           "texts, not ids; give the ids of the contexts as relevant ids",
	"context":            "texts, not ids; give the ids of the contexts as relevant ids",
}
