package goldentool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// rules say how a source's names are understood.
type rules struct {
	// aliases are names of fields beyond those of golden sets.
	aliases map[string]string
	// dropped are names that are left out, with the reason.
	dropped map[string]string
	// metadata says that what has no place else is metadata; the prefix is cut off.
	metadata func(name string) (key string, ok bool)
	// cells says that values are the cells of a table.
	cells bool
}

const metadataPrefix = "metadata."

// mappable are the fields that Options.Map may name, beside metadata.KEY.
var mappable = []string{"id", "name", "question", "relevant", "reference_answer", "tags", "answerable"}

func checkMap(names map[string]string) error {
	for _, field := range slices.Sorted(maps.Keys(names)) {
		if key, ok := strings.CutPrefix(field, metadataPrefix); ok && key != "" {
			continue
		}
		if !slices.Contains(mappable, field) {
			return fmt.Errorf("a case has no field %q: use %s or metadata.KEY", field, strings.Join(mappable, ", "))
		}
	}
	return nil
}

// mapped says whether Options.Map has the name.
func (m *importer) mapped(name string) bool {
	for _, mapped := range m.options.Map {
		if mapped == name {
			return true
		}
	}
	return false
}

// checkMapped notes every name of Options.Map that no record has.
func (m *importer) checkMapped(file string, all []record) {
	for _, field := range slices.Sorted(maps.Keys(m.options.Map)) {
		name := m.options.Map[field]
		if !slices.ContainsFunc(all, func(r record) bool { return slices.Contains(r.names, name) }) {
			m.problem(golden.Problem{File: file, Field: name, Message: "is nowhere in the file, and was to be " + field})
		}
	}
}

// addAll makes cases of records.
func (m *importer) addAll(file string, all []record, r rules) {
	m.checkMapped(file, all)
	for i := range all {
		m.addRecord(&all[i], r)
	}
}

func (m *importer) addRecord(rec *record, r rules) {
	before := m.problems.Total
	b := builder{m: m, rec: rec, rules: r, c: golden.Case{Answerable: true}}
	b.build()
	switch {
	case m.problems.Total > before:
	case strings.TrimSpace(b.c.Question) == "":
		if m.options.Map["question"] == "" && !b.asked {
			rec.problem(m, "", "has no question; say which name it has with question=NAME. There is %s", strings.Join(rec.names, ", "))
			return
		}
		m.dropped.add("row with an empty question", rec.label())
	default:
		m.cases = append(m.cases, b.c)
	}
}

// builder makes a case of a record.
type builder struct {
	m     *importer
	rec   *record
	rules rules
	c     golden.Case
	asked bool // something gave the question, if an empty one
	given map[string]string
}

func (b *builder) build() {
	b.given = map[string]string{}
	mapped := map[string]bool{}
	for _, field := range slices.Sorted(maps.Keys(b.m.options.Map)) {
		name := b.m.options.Map[field]
		mapped[name] = true
		b.asked = b.asked || field == "question" && slices.Contains(b.rec.names, name)
		b.set(field, name, b.rec.fields[name])
	}
	for _, name := range b.rec.names {
		if !mapped[name] {
			b.usual(name, b.rec.fields[name])
		}
	}
}

// usual finds the field of a name that is not mapped.
func (b *builder) usual(name string, value any) {
	field, known := b.rules.aliases[name]
	if !known {
		field, known = golden.FieldOf(name)
	}
	if known && b.m.options.Map[field] != "" {
		known = false
	}
	b.asked = b.asked || known && field == "question"
	if value == nil || value == "" {
		return
	}
	if reason, drop := b.rules.dropped[name]; drop {
		b.m.dropped.add(name+": "+reason, b.rec.label())
		return
	}
	if known {
		b.set(field, name, value)
		return
	}
	if b.rules.metadata != nil {
		if key, ok := b.rules.metadata(name); ok {
			b.setMetadata(key, value)
			return
		}
	}
	b.m.dropped.add(name+" is no field of a case", b.rec.label())
}

func (b *builder) set(field, name string, value any) {
	if value == nil || value == "" {
		return
	}
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		b.setMetadata(key, value)
		return
	}
	if first := b.given[field]; first != "" && field != "tags" {
		b.m.dropped.add(fmt.Sprintf("%s, for %s gives %s already", name, first, field), b.rec.label())
		return
	}
	b.given[field] = name
	switch field {
	case "id":
		b.c.ID = strings.TrimSpace(b.text(name, value))
	case "name":
		b.c.Name = strings.TrimSpace(b.text(name, value))
	case "question":
		b.c.Question = b.text(name, value)
	case "reference_answer":
		b.c.ReferenceAnswer = b.text(name, value)
	case "relevant":
		b.relevant(name, value)
	case "tags":
		b.c.Tags = append(b.c.Tags, b.texts(name, value)...)
	case "answerable":
		b.answerable(name, value)
	case "history":
		b.history(name, value)
	case "metadata":
		b.metadata(name, value)
	}
}

// text reads a text, also out of a list of one.
func (b *builder) text(name string, value any) string {
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0]
	}
	s, ok := textOf(value)
	if !ok {
		b.rec.problem(b.m, name, "must be text, is %s", kindOf(value))
	}
	return s
}

// texts reads a list of texts. A cell holds one in the way of Python or JSON, or
// with separators.
func (b *builder) texts(name string, value any) []string {
	if s, ok := value.(string); ok {
		if items, isList := listCell(s); isList {
			return items
		}
		if b.rules.cells {
			var items []string
			separator := b.m.options.Separator
			if separator == "" {
				separator = ";"
			}
			for item := range strings.SplitSeq(s, separator) {
				if item = strings.TrimSpace(item); item != "" {
					items = append(items, item)
				}
			}
			return items
		}
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var items []string
	for _, item := range list {
		s, ok := textOf(item)
		if !ok {
			b.rec.problem(b.m, name, "must be a list of texts, has %s in it", kindOf(item))
			continue
		}
		items = append(items, s)
	}
	return items
}

func (b *builder) relevant(name string, value any) {
	list, _ := value.([]any)
	seen := map[string]bool{}
	add := func(id string, grade float64) {
		switch {
		case grade == 0:
			b.m.dropped.add("relevant id with grade 0", id)
		case seen[id]:
			b.m.dropped.add("relevant id that a case has twice", id)
		default:
			seen[id] = true
			b.c.Relevant = append(b.c.Relevant, golden.Relevant{ID: id, Grade: grade})
		}
	}
	if slices.ContainsFunc(list, func(v any) bool { _, isMap := v.(map[string]any); return isMap }) {
		for _, item := range list {
			id, grade, ok := gradedID(item)
			if !ok {
				b.rec.problem(b.m, name, "must be ids, or {id, grade} with a grade of at least 0")
				return
			}
			add(id, grade)
		}
		return
	}
	for _, id := range b.texts(name, value) {
		add(id, 1)
	}
}

// gradedID reads an id or {id, grade}.
func gradedID(v any) (id string, grade float64, ok bool) {
	if id, ok = textOf(v); ok {
		return id, 1, true
	}
	fields, _ := v.(map[string]any)
	if id, ok = textOf(fields["id"]); !ok {
		return "", 0, false
	}
	if fields["grade"] == nil {
		return id, 1, true
	}
	text, _ := textOf(fields["grade"])
	switch number := goldenNumber(text).(type) {
	case int64:
		grade = float64(number)
	case float64:
		grade = number
	default:
		return "", 0, false
	}
	return id, grade, grade >= 0
}

func (b *builder) answerable(name string, value any) {
	text, _ := textOf(value)
	if is, ok := value.(bool); ok {
		text = fmt.Sprint(is)
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "1":
	case "false", "no", "0":
		b.c.Answerable = false
	default:
		b.rec.problem(b.m, name, "must be true or false, is %q", short(text))
	}
}

func (b *builder) history(name string, value any) {
	turns, ok := readTurns(b.fromCell(value))
	if !ok {
		b.rec.problem(b.m, name, "must be a list of {role, content}")
		return
	}
	b.c.History = turns
}

func (b *builder) metadata(name string, value any) {
	fields, ok := b.fromCell(value).(map[string]any)
	if !ok {
		b.rec.problem(b.m, name, "must be a map")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		b.setMetadata(key, fields[key])
	}
}

func (b *builder) setMetadata(key string, value any) {
	if b.c.Metadata == nil {
		b.c.Metadata = map[string]any{}
	}
	b.c.Metadata[key] = goldenValue(value)
}

// fromCell reads the JSON that stands in a cell.
func (b *builder) fromCell(value any) any {
	if s, ok := value.(string); ok && b.rules.cells {
		if v, err := jsonValue([]byte(s)); err == nil {
			return v
		}
	}
	return value
}

// readTurns reads a conversation.
func readTurns(v any) (turns []golden.Turn, ok bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		role, hasRole := fields["role"].(string)
		content, hasContent := fields["content"].(string)
		if !hasRole || !hasContent {
			return nil, false
		}
		turns = append(turns, golden.Turn{Role: role, Content: content})
	}
	return turns, true
}
