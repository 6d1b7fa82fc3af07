package golden

import "testing"

func TestFieldOf(t *testing.T) {
	for name, want := range map[string]string{
		"question": "question", "user_input": "question", "_id": "id", "title": "name", "source_doc": "relevant",
		"ground_truth": "reference_answer", "category": "tags", "answerable": "answerable", "history": "history", "metadata": "metadata",
		"reference_contexts": "", "colour": "", "": "",
	} {
		if got, known := FieldOf(name); got != want || known != (want != "") {
			t.Errorf("FieldOf(%q) = %q, %v; want %q", name, got, known, want)
		}
	}
}
