package goldentool

import (
	"maps"

	"github.com/assay-dev/assay/internal/golden"
)

// ragas reads the samples of an EvaluationDataset or of a generated test set.
// https://docs.ragas.io/en/stable/concepts/components/eval_sample/
func (m *importer) ragas(f golden.File) {
	format, _ := golden.FormatOf(f.Name)
	r := rules{
		aliases: map[string]string{
			"synthesizer_name": "tags",
			// Names that Ragas had before 0.2.
			"evolution_type": "tags", "ground_truths": "reference_answer",
		},
		dropped: maps.Clone(textsNotIDs),
		cells:   format == golden.CSV || format == golden.TSV,
	}
	const measured = "what a system gave, not what is expected of it"
	for _, name := range []string{"response", "answer", "retrieved_contexts", "retrieved_context_ids", "multi_responses"} {
		r.dropped[name] = measured
	}
	all := m.records(f)
	single := all[:0]
	for _, rec := range all {
		if _, conversation := rec.fields["user_input"].([]any); conversation {
			m.dropped.add("sample of several turns: a case asks one question", rec.label())
			continue
		}
		single = append(single, rec)
	}
	m.addAll(f.Name, single, r)
}
