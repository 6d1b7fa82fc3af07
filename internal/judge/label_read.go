package judge

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assay-dev/assay/internal/golden"
)

const (
	maxLabels = 10_000
	// maxLabelBytes bounds all files of a set together, unpacked.
	maxLabelBytes = 64 << 20
	// maxLabelProblems bounds how many problems are kept; the rest are counted.
	maxLabelProblems = 1_000
	// maxLabelContexts bounds the contexts of a label.
	maxLabelContexts = 1_000
)

// ReadLabels reads files as one set of labelled verdicts. The ending of a name
// picks the format, see golden.Endings: a YAML or JSON file is a list of
// labels, or a map with the list under labels; a line of JSONL is a label; the
// first row of CSV and TSV names the fields, contexts and history are JSON in
// their cells. What is wrong comes all at once, as a *golden.Error.
func ReadLabels(files ...golden.File) (*LabelSet, error) {
	r := &labelReader{ids: map[string]string{}, warned: map[string]bool{}, left: maxLabelBytes}
	for _, f := range files {
		r.readFile(f)
	}
	if r.count == 0 && r.wrong.Total == 0 {
		r.file = ""
		if len(files) == 1 {
			r.file = files[0].Name
		}
		r.problem(0, "", "has no labels: write at least one with question, answer, and correct or grounded")
	}
	if r.wrong.Total > 0 {
		return nil, &r.wrong
	}
	return &LabelSet{Labels: r.labels, Digest: LabelsDigest(r.labels), Warnings: r.warnings}, nil
}

// labelReader gathers the labels of all files.
type labelReader struct {
	wrong    golden.Error
	warnings []golden.Problem
	warned   map[string]bool // by file and field
	labels   []Label
	ids      map[string]string // where an id stands
	count    int               // labels seen, good or not
	left     int               // bytes that may still be read

	file   string
	inFile int
	// id of the label that is read, for its problems.
	id string
}

func (r *labelReader) problem(line int, field, format string, args ...any) {
	r.wrong.Total++
	if len(r.wrong.Problems) < maxLabelProblems {
		r.wrong.Problems = append(r.wrong.Problems, golden.Problem{
			File: r.file, Line: line, Case: r.id, Field: cut(field, maxQuotedBytes), Message: fmt.Sprintf(format, args...),
		})
	}
}

func (r *labelReader) warn(line int, field, message string) {
	if key := r.file + "\x00" + field; !r.warned[key] && len(r.warned) < maxLabelProblems {
		r.warned[key] = true
		r.warnings = append(r.warnings, golden.Problem{File: r.file, Line: line, Field: cut(field, maxQuotedBytes), Message: message})
	}
}

func (r *labelReader) readFile(f golden.File) {
	r.file, r.inFile, r.id = f.Name, 0, ""
	format, ok := golden.FormatOf(f.Name)
	if !ok {
		r.problem(0, "", "has an ending that says no format: name it %s", golden.Endings)
		return
	}
	data := f.Data
	if strings.HasSuffix(strings.ToLower(f.Name), ".gz") {
		var err error
		if data, err = unzip(data, r.left); err != nil {
			r.problem(0, "", "is not gzip, as its ending .gz says, or is damaged: %s", err)
			return
		}
	}
	if r.left -= len(data); r.left < 0 {
		r.problem(0, "", "brings the labels to more than %d MiB: use fewer", maxLabelBytes>>20)
		return
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if line := badLine(data); line > 0 {
		r.problem(line, "", "is not UTF-8: if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`")
		return
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return
	}
	switch format {
	case golden.YAML:
		r.readYAML(data)
	case golden.JSON:
		r.readJSON(data)
	case golden.JSONL:
		r.readJSONL(data)
	case golden.CSV:
		r.readCSV(data, ',')
	case golden.TSV:
		r.readCSV(data, '\t')
	}
}

// unzip undoes gzip, up to one byte more than the limit.
func unzip(data []byte, limit int) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(zr, int64(limit)+1))
}

// lost is a label that its format kept from being read.
func (r *labelReader) lost(line int, format string, args ...any) {
	r.inFile++
	r.count++
	r.id = fmt.Sprintf("#%d", r.inFile)
	r.problem(line, "", format, args...)
	r.id = ""
}

// badLine gives the first line that is not UTF-8, 0 where all are.
func badLine(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return 1 + bytes.Count(data[:i], []byte("\n"))
		}
		i += size
	}
	return 0
}

// top reads a whole file of YAML or JSON: a list, or a map with labels.
func (r *labelReader) top(v *value) {
	if v.kind == kindObject {
		labels, once := v.field("labels")
		if labels == nil || !once {
			r.problem(v.line, "", "must be a list of labels, or a map with the list under labels, once")
			return
		}
		for i, key := range v.keys {
			if key != "labels" {
				r.warn(v.items[i].line, key, "is not known beside labels, and is ignored")
			}
		}
		v = labels
	}
	if v.kind != kindList {
		r.problem(v.line, "", "must be a list of labels, is %s", v.describe())
		return
	}
	for i := range v.items {
		r.add(&v.items[i])
	}
}

// add takes one label over.
func (r *labelReader) add(v *value) {
	r.inFile++
	r.count++
	r.id = fmt.Sprintf("#%d", r.inFile)
	defer func() { r.id = "" }()
	if r.count > maxLabels {
		if r.count == maxLabels+1 {
			r.problem(v.line, "", "the set has more than %d labels: use fewer", maxLabels)
		}
		return
	}
	before := r.wrong.Total
	d := labelDecoder{r: r, v: v, label: Label{Answerable: true}}
	d.decode()
	if r.wrong.Total == before {
		r.labels = append(r.labels, d.label)
	}
}

// labelDecoder turns a value into a label.
type labelDecoder struct {
	r     *labelReader
	v     *value
	label Label
}

// unread are fields that a set for people has, and that say nothing here.
var unread = []string{"reason", "abstained", "tags", "metadata"}

func (d *labelDecoder) decode() {
	if d.v.kind != kindObject {
		d.r.problem(d.v.line, "", "must be a map of fields, is %s", d.v.describe())
		return
	}
	d.text("id", &d.label.ID)
	if d.label.ID != "" {
		d.r.id = d.label.ID
		d.claimID()
	}
	asked := d.text("question", &d.label.Question)
	answered := d.text("answer", &d.label.Answer)
	d.text("reference_answer", &d.label.Reference)
	d.contexts()
	d.history()
	if answerable := d.truth("answerable"); answerable != nil {
		d.label.Answerable = *answerable
	}
	d.label.Correct, d.label.Grounded = d.truth("correct"), d.truth("grounded")
	d.unknown()

	line := d.v.line
	switch {
	case !asked:
		d.r.problem(line, "question", "is missing: write the question that was asked")
	case blank(d.label.Question):
		d.r.problem(line, "question", "is empty: write the question that was asked")
	}
	if !answered {
		d.r.problem(line, "answer", "is missing: write the answer that was given, which may be empty")
	}
	if !d.has("correct") && !d.has("grounded") {
		d.r.problem(line, "", "has neither correct nor grounded: write what a person says of the answer")
	}
}

// given finds a field; nil where it is left out, null, or given twice.
func (d *labelDecoder) given(name string) *value {
	found, once := d.v.field(name)
	if !once {
		d.r.problem(found.line, name, "is given twice in one label: keep one")
		return nil
	}
	if found == nil || found.kind == kindNull {
		return nil
	}
	return found
}

// has says whether a field is there, right or wrong.
func (d *labelDecoder) has(name string) bool {
	found, _ := d.v.field(name)
	return found != nil && found.kind != kindNull
}

// text reads a field, and says whether it was there.
func (d *labelDecoder) text(name string, to *string) bool {
	found := d.given(name)
	if found == nil {
		return d.has(name)
	}
	s, ok := found.asText()
	if !ok {
		d.r.problem(found.line, name, "must be text, is %s", found.describe())
	}
	*to = s
	return true
}

func (d *labelDecoder) truth(name string) *bool {
	found := d.given(name)
	if found == nil {
		return nil
	}
	s := strings.TrimSpace(found.text)
	switch {
	case found.kind == kindBool:
		return new(found.truth)
	case found.kind == kindText && strings.EqualFold(s, "true"):
		return new(true)
	case found.kind == kindText && strings.EqualFold(s, "false"):
		return new(false)
	}
	d.r.problem(found.line, name, "must be true or false, is %s", found.describe())
	return nil
}

func (d *labelDecoder) contexts() {
	found := d.given("contexts")
	if found == nil {
		return
	}
	items := []value{*found}
	if found.kind == kindList {
		items = found.items
	}
	if len(items) > maxLabelContexts {
		d.r.problem(found.line, "contexts", "has %d texts, the limit is %d", len(items), maxLabelContexts)
		return
	}
	for i := range items {
		s, ok := items[i].asText()
		if !ok {
			d.r.problem(items[i].line, fmt.Sprintf("contexts[%d]", i), "must be text, is %s", items[i].describe())
		}
		d.label.Contexts = append(d.label.Contexts, s)
	}
}

func (d *labelDecoder) history() {
	found := d.given("history")
	if found == nil {
		return
	}
	if found.kind != kindList {
		d.r.problem(found.line, "history", "must be a list of {role, content}, is %s", found.describe())
		return
	}
	for i := range found.items {
		turn := &found.items[i]
		role, _ := turn.field("role")
		content, _ := turn.field("content")
		if role == nil || content == nil || role.kind != kindText || content.kind != kindText {
			d.r.problem(turn.line, fmt.Sprintf("history[%d]", i), "must be {role, content}, both of them text")
			continue
		}
		d.label.History = append(d.label.History, golden.Turn{Role: role.text, Content: content.text})
	}
}

func (d *labelDecoder) unknown() {
	for i, key := range d.v.keys {
		switch key {
		case "id", "question", "answer", "reference_answer", "contexts", "history", "answerable", "correct", "grounded":
		default:
			if !slices.Contains(unread, key) {
				d.r.warn(d.v.items[i].line, key, "is not a field of a label, and is ignored")
			}
		}
	}
}

func (d *labelDecoder) claimID() {
	if first, taken := d.r.ids[d.label.ID]; taken {
		d.r.problem(d.v.line, "id", "duplicate id, first used at %s: give each label its own", first)
		return
	}
	d.r.ids[d.label.ID] = fmt.Sprintf("%s:%d", d.r.file, d.v.line)
}

// asText gives what may stand for text: in YAML and CSV also true and 007, by
// their source.
func (v *value) asText() (string, bool) {
	switch v.kind {
	case kindText, kindNumber:
		return v.text, true
	case kindBool:
		return v.text, v.text != ""
	}
	return "", false
}

var errTooDeep = errors.New("is nested too deep")
