package goldentool

import (
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// langsmith reads the examples of a dataset: {"inputs": {…}, "outputs": {…},
// "metadata": {…}}.
// https://docs.langchain.com/langsmith/example-data-format
func (m *importer) langsmith(f golden.File) {
	r := rules{
		aliases: map[string]string{
			"inputs.question": "question", "inputs.query": "question", "inputs.input": "question", "inputs.user_input": "question",
			"outputs.answer": "reference_answer", "outputs.output": "reference_answer", "outputs.expected": "reference_answer", "outputs.expected_answer": "reference_answer",
			"outputs.reference": "reference_answer", "outputs.reference_answer": "reference_answer", "outputs.ground_truth": "reference_answer",
			"outputs.relevant": "relevant", "outputs.relevant_doc_ids": "relevant", "outputs.source_doc": "relevant",
			"outputs.retrieval_gt": "relevant", "outputs.expected_files": "relevant", "outputs.reference_context_ids": "relevant",
			"metadata.dataset_split": "tags", "split": "tags", "metadata.tags": "tags", "metadata.category": "tags", "metadata.type": "tags", "inputs.history": "history",
		},
		dropped: map[string]string{},
		metadata: func(name string) (string, bool) {
			for _, prefix := range []string{metadataPrefix, "inputs."} {
				if key, ok := strings.CutPrefix(name, prefix); ok {
					return key, true
				}
			}
			return "", false
		},
	}
	for _, name := range []string{"created_at", "modified_at", "dataset_id", "source_run_id", "attachments", "attachment_urls", "runs"} {
		r.dropped[name] = "LangSmith's own"
	}
	all := m.records(f)
	for i, rec := range all {
		all[i] = newRecord(rec.file, rec.line, rec.number, m.flattened(rec.fields))
	}
	m.addAll(f.Name, all, r)
}

// flattened gives what stands in inputs, outputs and metadata a name of its own:
// inputs.question. Messages become question and history.
func (m *importer) flattened(fields map[string]any) map[string]any {
	flat := map[string]any{}
	for name, value := range fields {
		inner, isMap := value.(map[string]any)
		if !isMap || name != "inputs" && name != "outputs" && name != "metadata" {
			flat[name] = value
			continue
		}
		for key, v := range inner {
			if turns, ok := readTurns(v); ok && key == "messages" && name == "inputs" && len(turns) > 0 {
				last := len(turns) - 1
				flat["inputs.question"] = turns[last].Content
				flat["inputs.history"] = v.([]any)[:last]
				continue
			}
			flat[name+"."+key] = v
		}
		// One input, or one output, needs no name that is known.
		if only, usual := map[string]string{"inputs": "inputs.question", "outputs": "outputs.answer"}[name]; usual && len(inner) == 1 {
			for key, v := range inner {
				if _, isText := v.(string); isText && !m.mapped(name+"."+key) {
					delete(flat, name+"."+key)
					flat[only] = v
				}
			}
		}
	}
	return flat
}
