package golden

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// caseDecoder turns a node into a case.
type caseDecoder struct {
	r        *reader
	c        Case
	given    [fieldCount]string // the first name that gave the field
	nameUsed bool               // it was name, not title, that gave Name
	idField  string
	warnings []Problem
}

func (d *caseDecoder) warn(line int, field, message string) {
	d.warnings = append(d.warnings, Problem{File: d.r.file, Line: line, Field: shorten(field), Message: message})
}

func (d *caseDecoder) decode(n *node) {
	if n.kind != object {
		d.r.wrongType(n, "", "a map of fields, with at least a question")
		return
	}
	for i := range n.keys {
		d.decodeField(n.keys[i], &n.items[i])
	}
	d.c.Tags = slices.Compact(slices.Sorted(slices.Values(d.c.Tags)))
	d.chooseID()
	d.check(n)
}

func (d *caseDecoder) decodeField(k key, v *node) {
	f, known := names[k.name]
	switch {
	case !known:
		d.warn(k.line, k.name, "is not a field of a case, and is ignored")
		return
	case f == fieldContexts:
		d.warn(k.line, k.name, "holds texts, not ids, and is ignored: give the ids of the contexts as relevant or reference_context_ids")
		return
	case v.kind == null:
		return
	}
	switch f {
	case fieldID:
		d.text(f, k, v, &d.c.ID, maxIDBytes)
		if v.kind == text && strings.TrimSpace(v.text) == "" {
			d.c.ID = ""
			d.r.problem(v.line, k.name, "is empty: give the case an id, or leave the field out")
		}
	case fieldName:
		d.text(f, k, v, &d.c.Name, maxIDBytes)
		d.nameUsed = d.nameUsed || k.name == "name"
	case fieldQuestion:
		d.text(f, k, v, &d.c.Question, maxQuestionBytes)
	case fieldReference:
		d.text(f, k, onlyItem(v), &d.c.ReferenceAnswer, maxReferenceBytes)
	case fieldRelevant:
		d.relevant(k, v)
	case fieldTags:
		d.tags(k, v)
	case fieldAnswerable:
		var ok bool
		if d.c.Answerable, ok = v.asBool(); !ok {
			d.r.wrongType(v, k.name, "true or false")
		}
	case fieldHistory:
		d.history(k, v)
	case fieldMetadata:
		d.metadata(k, v)
	}
}

// claim notes that k gives the field. It returns the name that gave it before.
func (d *caseDecoder) claim(f field, k key) (before string) {
	before = d.given[f]
	if before == "" {
		d.given[f] = k.name
	}
	return before
}

func (d *caseDecoder) differs(k key, before string) {
	d.r.problem(k.line, k.name, "differs from %s of the same case, which means the same field: keep one", before)
}

func (d *caseDecoder) text(f field, k key, v *node, to *string, limit int) {
	before := d.claim(f, k)
	s, ok := v.asText()
	switch {
	case !ok:
		d.r.wrongType(v, k.name, "text")
	case len(s) > limit:
		d.r.problem(v.line, k.name, "has %d bytes, the limit is %d: shorten it", len(s), limit)
	case before == "":
		*to = s
	case s != *to:
		d.differs(k, before)
	}
}

// onlyItem takes the one item out of a list of one: AutoRAG lists answers and
// groups ids. More than one would need a rule for which counts.
func onlyItem(v *node) *node {
	if v.kind == list && len(v.items) == 1 {
		return &v.items[0]
	}
	return v
}

func (d *caseDecoder) relevant(k key, v *node) {
	before := d.claim(fieldRelevant, k)
	found, ok := d.relevantList(k.name, v)
	switch {
	case !ok:
	case before == "":
		d.c.Relevant = found
	case !sameRelevant(d.c.Relevant, found):
		d.differs(k, before)
	}
}

// relevantList reads ids with their grades, without grade 0, each once.
func (d *caseDecoder) relevantList(name string, v *node) (ids []Relevant, ok bool) {
	items := []node{*v}
	if v.kind == list {
		items = v.items
	}
	if len(items) > maxRelevant {
		d.r.problem(v.line, name, "has %d ids, the limit is %d: keep the most relevant ones", len(items), maxRelevant)
		return nil, false
	}
	ok = true
	at := make(map[string]int, len(items))
	for i := range items {
		r, good := d.relevantItem(name, i, &items[i])
		if !good {
			ok = false
			continue
		}
		id := norm.NFC.String(r.ID)
		switch j, repeated := at[id]; {
		case r.Grade == 0:
		case repeated:
			ids[j].Grade = max(ids[j].Grade, r.Grade)
		default:
			at[id] = len(ids)
			ids = append(ids, r)
		}
	}
	return ids, ok
}

func (d *caseDecoder) relevantItem(name string, i int, v *node) (r Relevant, ok bool) {
	r.Grade = 1
	label := func() string { return fmt.Sprintf("%s[%d]", name, i) }
	v = onlyItem(v)
	id := v
	if v.kind == object {
		id = &node{line: v.line}
		for j, k := range v.keys {
			switch k.name {
			case "id":
				id = &v.items[j]
			case "grade":
				if !d.grade(label()+".grade", &v.items[j], &r.Grade) {
					return r, false
				}
			default:
				d.warn(k.line, name+"[]."+k.name, "is not a field of a relevant id, and is ignored")
			}
		}
	}
	r.ID, ok = id.asText()
	switch {
	case v.kind == object && id.kind == null:
		d.r.problem(v.line, label(), "has no id: write {id: …, grade: …}")
		return r, false
	case v.kind == list:
		d.r.problem(v.line, label(), "must be one id, is a list of %d: every id stands by itself", len(v.items))
		return r, false
	case !ok:
		d.r.wrongType(id, label(), "an id, or {id, grade}")
	case strings.TrimSpace(r.ID) == "":
		d.r.problem(id.line, label(), "is an empty id: write the id, or remove it")
		return r, false
	case len(r.ID) > maxIDBytes:
		d.r.problem(id.line, label(), "is an id of %d bytes, the limit is %d", len(r.ID), maxIDBytes)
		return r, false
	}
	d.warnOfList(id.line, name, r.ID)
	return r, ok
}

// warnOfList warns of a text that is a list to whoever wrote it: pandas writes
// one into a cell as ['a', 'b']. It is taken as it stands, and matches nothing.
func (d *caseDecoder) warnOfList(line int, field, value string) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") && strings.ContainsAny(value, `"',`) {
		d.warn(line, field, "looks like a list, and is taken as one text: write every item by itself, in CSV and TSV as a;b")
	}
}

// grade reads a grade; one that is null keeps the default.
func (d *caseDecoder) grade(label string, v *node, to *float64) bool {
	if v.kind == null {
		return true
	}
	g, ok := v.asFloat()
	switch {
	case !ok:
		d.r.wrongType(v, label, "a number of at least 0")
		return false
	case math.IsNaN(g), math.IsInf(g, 0), g < 0:
		d.r.problem(v.line, label, "must be a number of at least 0 (0: not relevant), is %s", shorten(v.text))
		return false
	}
	*to = g
	return true
}

// sameRelevant compares ids and grades, in any order.
func sameRelevant(a, b []Relevant) bool {
	normal := func(ids []Relevant) []Relevant {
		out := make([]Relevant, len(ids))
		for i, r := range ids {
			out[i] = Relevant{ID: norm.NFC.String(r.ID), Grade: r.Grade}
		}
		slices.SortFunc(out, func(x, y Relevant) int { return cmp.Compare(x.ID, y.ID) })
		return out
	}
	return slices.Equal(normal(a), normal(b))
}

func (d *caseDecoder) tags(k key, v *node) {
	items := []node{*v}
	if v.kind == list {
		items = v.items
	}
	if len(d.c.Tags)+len(items) > maxTags {
		d.r.problem(v.line, k.name, "gives the case more than %d tags: keep fewer", maxTags)
		return
	}
	for i := range items {
		tag, ok := items[i].asText()
		switch {
		case !ok:
			d.r.wrongType(&items[i], k.name, "a tag or a list of tags")
		case strings.TrimSpace(tag) == "":
			d.r.problem(items[i].line, k.name, "has an empty tag: write the tag, or remove it")
		case utf8.RuneCountInString(tag) > maxTagChars:
			d.r.problem(items[i].line, k.name, "has a tag of %d characters, the limit is %d: %s", utf8.RuneCountInString(tag), maxTagChars, quote(tag))
		default:
			d.warnOfList(items[i].line, k.name, tag)
			d.c.Tags = append(d.c.Tags, norm.NFC.String(tag))
		}
	}
}

func (d *caseDecoder) history(k key, v *node) {
	if v.kind != list {
		d.r.wrongType(v, k.name, "a list of {role, content}")
		return
	}
	if len(v.items) > maxTurns {
		d.r.problem(v.line, k.name, "has %d turns, the limit is %d: keep the last ones", len(v.items), maxTurns)
		return
	}
	size := 0
	for i := range v.items {
		turn := d.turn(fmt.Sprintf("%s[%d]", k.name, i), k.name, &v.items[i])
		size += len(turn.Role) + len(turn.Content)
		d.c.History = append(d.c.History, turn)
	}
	if size > maxHistoryBytes {
		d.r.problem(v.line, k.name, "has %d bytes of text, the limit is %d: keep the last turns", size, maxHistoryBytes)
	}
}

func (d *caseDecoder) turn(label, name string, v *node) (t Turn) {
	if v.kind != object {
		d.r.wrongType(v, label, "{role, content}")
		return t
	}
	found := 0
	for i, k := range v.keys {
		var to *string
		switch k.name {
		case "role":
			to = &t.Role
		case "content":
			to = &t.Content
		default:
			d.warn(k.line, name+"[]."+k.name, "is not a field of a turn, and is ignored")
			continue
		}
		found++
		s, ok := v.items[i].asText()
		if !ok {
			d.r.wrongType(&v.items[i], label+"."+k.name, "text")
		}
		*to = s
	}
	if found < 2 {
		d.r.problem(v.line, label, "must have role and content")
	}
	return t
}

// chooseID takes the name as id where no other stands.
func (d *caseDecoder) chooseID() {
	d.idField = d.given[fieldID]
	if d.idField == "" && d.nameUsed && strings.TrimSpace(d.c.Name) != "" {
		d.idField = "name"
		d.c.ID, d.c.Name = d.c.Name, ""
	}
}

// check looks at the case as a whole.
func (d *caseDecoder) check(n *node) {
	switch asked := d.given[fieldQuestion]; {
	case asked == "":
		d.r.problem(n.line, "question", "is missing: a case needs a question (or query, stack_trace, user_input)")
	case strings.TrimSpace(d.c.Question) == "":
		d.emptyQuestion(n, asked)
	}
	if len(d.c.Relevant) == 0 && d.c.ReferenceAnswer == "" && d.c.Answerable {
		d.warn(n.line, "", "has neither a relevant id nor a reference answer: it can only be judged for groundedness, and is not asked without an answer service; write the ids that answer it, or answerable: false where none does")
	}
}

// emptyQuestion reports a question of nothing, unless it is empty here because
// something else was wrong with it.
func (d *caseDecoder) emptyQuestion(n *node, name string) {
	for i, k := range n.keys {
		if v := &n.items[i]; k.name == name {
			if s, ok := v.asText(); ok && strings.TrimSpace(s) == "" {
				d.r.problem(v.line, name, "is empty: write what is to be asked")
			}
		}
	}
}
