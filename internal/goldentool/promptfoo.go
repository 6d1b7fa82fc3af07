package goldentool

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// referenceAsserts are assertions whose value is what a right answer says; for
// others, such as contains or llm-rubric, it is not.
// https://www.promptfoo.dev/docs/configuration/expected-outputs/
var referenceAsserts = map[string]bool{
	"factuality": true, "model-graded-factuality": true, "similar": true, "equals": true, "context-recall": true,
	"rouge-n": true, "bleu": true, "gleu": true, "meteor": true, "levenshtein": true,
}

// varsPrefix stands before a variable whose name is also that of a field.
const varsPrefix = "vars."

// promptfooRules: what a template is given beside the question is metadata.
func promptfooRules() rules {
	r := rules{
		aliases: map[string]string{
			"input": "question", "prompt": "question", "message": "question", "expected": "reference_answer", "answer": "reference_answer",
			"description": "name", "metadata.tags": "tags", "metadata.category": "tags", "metadata.type": "tags",
			"assert.is-refusal": "answerable",
		},
		dropped: maps.Clone(textsNotIDs),
		metadata: func(name string) (string, bool) {
			return strings.TrimPrefix(strings.TrimPrefix(name, metadataPrefix), varsPrefix), !strings.HasPrefix(name, "assert.")
		},
	}
	for name := range referenceAsserts {
		r.aliases["assert."+name] = "reference_answer"
	}
	return r
}

// promptfoo reads the tests of a configuration, or a list of tests.
func (m *importer) promptfoo(f golden.File) {
	data, ok := m.open(f)
	if !ok {
		return
	}
	v, err := yamlValue(data)
	if err != nil {
		m.problem(golden.Problem{File: f.Name, Message: err.Error()})
		return
	}
	tests, isList := v.([]any)
	var usual map[string]any
	if top, isMap := v.(map[string]any); isMap {
		if _, named := top["tests"].(string); named {
			m.problem(golden.Problem{File: f.Name, Field: "tests", Message: "names another file: import that one"})
			return
		}
		tests, isList = top["tests"].([]any)
		usual, _ = top["defaultTest"].(map[string]any)
		if top["scenarios"] != nil {
			m.dropped.add("scenarios: only tests are read", "")
		}
	}
	if !isList {
		m.problem(golden.Problem{File: f.Name, Message: "must be a promptfoo configuration with a list of tests, or such a list"})
		return
	}
	var all []record
	for i, item := range tests {
		test, isMap := item.(map[string]any)
		if !isMap {
			m.dropped.add("test that names another file: import that one", fmt.Sprintf("#%d", i+1))
			continue
		}
		all = append(all, m.promptfooTest(f.Name, i+1, test, usual)...)
	}
	m.addAll(f.Name, all, promptfooRules())
}

// promptfooTest makes a record of a test; several where its question is a list,
// for promptfoo asks each.
func (m *importer) promptfooTest(file string, number int, test, usual map[string]any) []record {
	vars := map[string]any{}
	for _, from := range []map[string]any{usual, test} {
		own, _ := from["vars"].(map[string]any)
		maps.Copy(vars, own)
	}
	fields := map[string]any{}
	for name, value := range vars {
		fields[m.varName(name)] = value
	}
	question := m.questionOf(fields)
	if description := test["description"]; description != nil {
		fields["description"] = description
	}
	for _, from := range []map[string]any{usual, test} {
		metadata, _ := from["metadata"].(map[string]any)
		for key, value := range metadata {
			fields[metadataPrefix+key] = value
		}
	}
	for _, from := range []map[string]any{test, usual} {
		asserts, _ := from["assert"].([]any)
		for _, a := range asserts {
			m.promptfooAssert(fields, vars, a, fmt.Sprintf("#%d", number))
		}
	}
	questions, several := fields[question].([]any)
	if !several {
		return []record{newRecord(file, 0, number, fields)}
	}
	var all []record
	for _, q := range questions {
		one := maps.Clone(fields)
		one[question] = q
		all = append(all, newRecord(file, 0, number, one))
	}
	return all
}

// varName keeps a variable apart from a field of the same name that it does not
// mean: a template's name or type is not the case's.
func (m *importer) varName(name string) string {
	if m.mapped(name) {
		return name
	}
	switch field, _ := golden.FieldOf(name); field {
	case "question", "relevant", "reference_answer", "answerable":
		return name
	case "":
		if name != "description" {
			return name
		}
	}
	return varsPrefix + name
}

// questionOf finds the variable that is asked, and gives the only one of a test
// the name of a question.
func (m *importer) questionOf(fields map[string]any) string {
	if name := m.options.Map["question"]; name != "" {
		return name
	}
	aliases := promptfooRules().aliases
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if field, _ := golden.FieldOf(name); field == "question" || aliases[name] == "question" {
			return name
		}
	}
	if len(fields) == 1 {
		for name, value := range fields {
			delete(fields, name)
			fields["question"] = value
		}
	}
	return "question"
}

// promptfooAssert takes over what an assertion says of the answer.
func (m *importer) promptfooAssert(fields, vars map[string]any, a any, label string) {
	assert, _ := a.(map[string]any)
	kind, _ := assert["type"].(string)
	// similar:cosine and the like say how it is measured.
	family, _, _ := strings.Cut(kind, ":")
	switch {
	case kind == "is-refusal":
		fields["assert.is-refusal"] = false
		return
	case !referenceAsserts[family]:
		m.dropped.add("assert "+kind+" is no reference answer", label)
		return
	}
	value, isText := textOf(assert["value"])
	value = rendered(value, vars)
	switch {
	case !isText || value == "" || strings.HasPrefix(value, "file://") || strings.Contains(value, "{{"):
		m.dropped.add("assert "+kind+" whose value is no plain text", label)
	case fields["assert."+family] != nil:
		m.dropped.add("second assert "+kind, label)
	default:
		fields["assert."+family] = value
	}
}

var variable = regexp.MustCompile(`\{\{\s*([\w.-]+)\s*\}\}`)

// rendered puts variables into a template that has nothing but their names.
func rendered(s string, vars map[string]any) string {
	return variable.ReplaceAllStringFunc(s, func(found string) string {
		if value, ok := textOf(vars[variable.FindStringSubmatch(found)[1]]); ok {
			return value
		}
		return found
	})
}
