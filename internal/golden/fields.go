package golden

// field is a field of a case, whatever name the file uses.
type field uint8

const (
	fieldID field = iota
	fieldName
	fieldQuestion
	fieldRelevant
	fieldReference
	fieldTags
	fieldAnswerable
	fieldHistory
	fieldMetadata
	fieldContexts
	fieldCount
)

// names maps every name that a file may use to its field.
var names = map[string]field{
	"id": fieldID, "query_id": fieldID, "qid": fieldID, "_id": fieldID,
	"name": fieldName, "title": fieldName,
	"question": fieldQuestion, "query": fieldQuestion, "stack_trace": fieldQuestion, "user_input": fieldQuestion,
	"relevant": fieldRelevant, "expected_files": fieldRelevant, "relevant_doc_ids": fieldRelevant,
	"source_doc": fieldRelevant, "reference_context_ids": fieldRelevant, "retrieval_gt": fieldRelevant,
	"reference_answer": fieldReference, "ground_truth": fieldReference, "reference": fieldReference,
	"expected_answer": fieldReference, "generation_gt": fieldReference,
	"tags": fieldTags, "type": fieldTags, "category": fieldTags,
	"answerable":         fieldAnswerable,
	"history":            fieldHistory,
	"metadata":           fieldMetadata,
	"reference_contexts": fieldContexts,
}

// canonical names of the fields that a case keeps.
var canonical = [fieldCount]string{
	fieldID: "id", fieldName: "name", fieldQuestion: "question", fieldRelevant: "relevant", fieldReference: "reference_answer",
	fieldTags: "tags", fieldAnswerable: "answerable", fieldHistory: "history", fieldMetadata: "metadata",
}

// FieldOf gives the field of a case that a file may also call by name: question
// for user_input. It is false for a name that no field has, and for one that is
// known only to be ignored.
func FieldOf(name string) (field string, known bool) {
	f, known := names[name]
	if !known || canonical[f] == "" {
		return "", false
	}
	return canonical[f], true
}

// interned holds the names of fields once, however many cases use them.
var interned = func() map[string]string {
	m := make(map[string]string, len(names)+4)
	for name := range names {
		m[name] = name
	}
	for _, name := range []string{"grade", "role", "content", "cases"} {
		m[name] = name
	}
	return m
}()
