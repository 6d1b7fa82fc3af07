package golden

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// Read reads files as one golden set, in the order given; ids are unique over
// all of them. What is wrong comes all at once, as an *Error.
//
// The ending of a file's name picks the format, see [Endings]. A YAML or JSON
// file is a list of cases, or a map with the list under cases; a line of JSONL
// is a case; the first row of CSV and TSV names the fields, its list cells are split at ;
// and cells of history and metadata are JSON.
func Read(files ...File) (*Set, error) {
	r := &reader{places: map[string]place{}, unpackLeft: maxUnpackedBytes}
	for _, f := range files {
		r.readFile(f)
		if r.full {
			break
		}
	}
	if r.count == 0 && r.log.total == 0 {
		r.file = ""
		if len(files) == 1 {
			r.file = files[0].Name
		}
		r.problem(0, "", "has no cases: write at least one case with a question")
	}
	if err := r.log.err(); err != nil {
		return nil, err
	}
	slices.SortFunc(r.cases, func(a, b Case) int { return cmp.Compare(a.ID, b.ID) })
	return &Set{Cases: r.cases, Digest: setDigest(r.cases), Warnings: r.warnings.list()}, nil
}

// reader gathers the cases of all files.
type reader struct {
	log        problemLog
	warnings   warningLog
	cases      []Case
	places     map[string]place // by the case's id in NFC
	count      int              // cases seen, good or not
	full       bool             // the set has too many cases; nothing more is read
	unpackLeft int

	// Of the file that is read now:
	file      string
	inFile    int    // cases seen
	badLine   int    // first line with a byte that is not UTF-8
	badLines  int    // how many such lines; 0 once they are reported
	breaks    bool   // some line breaks are hidden from the YAML library
	caseField string // field of the case that is read, for problems within its value
}

// place is where a case stands.
type place struct {
	file    string
	line    int
	derived bool // its id is from what it asks
}

func (p place) String() string { return fmt.Sprintf("%s:%d", oneLine(p.file), p.line) }

func (r *reader) problem(line int, field, format string, args ...any) {
	r.log.add(Problem{File: r.file, Line: line, Field: shorten(field), Message: fmt.Sprintf(format, args...)})
}

func (r *reader) wrongType(v *node, field, want string) {
	what := v.kind.String()
	if v.kind == text {
		what += " " + quote(v.text)
	}
	r.problem(v.line, field, "must be %s, is %s", want, what)
}

func (r *reader) readFile(f File) {
	r.file, r.inFile, r.badLine, r.badLines = f.Name, 0, 0, 0
	format, ok := FormatOf(f.Name)
	if !ok {
		r.problem(0, "", "has an ending that says no format: name it %s", Endings)
		return
	}
	data := f.Data
	if isGzip(f.Name) {
		var err error
		if data, err = unpack(data, r.unpackLeft); err != nil {
			r.problem(0, "", "%s", err)
			return
		}
		r.unpackLeft -= len(data)
	}
	data, err := plainText(data)
	if err != nil {
		r.problem(0, "", "%s", err)
		return
	}
	data, r.badLine, r.badLines = markBadBytes(data)
	if len(bytes.TrimSpace(data)) > 0 {
		r.parse(format, data)
	}
	if r.badLines > 0 {
		r.reportBadBytes("")
	}
}

func (r *reader) parse(format Format, data []byte) {
	switch format {
	case YAML:
		r.readYAML(data)
	case JSON:
		r.readJSON(data)
	case JSONL:
		r.readJSONL(data)
	case CSV:
		r.readCSV(data, ',')
	case TSV:
		r.readCSV(data, '\t')
	}
}

// reportBadBytes reports once a file that is not UTF-8: a file in another
// encoding is so on every line.
func (r *reader) reportBadBytes(field string) {
	also := ""
	if r.badLines > 1 {
		also = fmt.Sprintf(" (nor are %d other lines)", r.badLines-1)
	}
	r.problem(r.badLine, field, "is not UTF-8%s: if it is Latin-1, convert it with `iconv -f latin1 -t utf-8`", also)
	r.badLines = 0
}

// unknownTopKey warns of a key beside cases.
func (r *reader) unknownTopKey(k key) {
	r.warnings.add(Problem{File: r.file, Line: k.line, Field: shorten(k.name), Message: "is not known beside cases, and is ignored"})
}

// casesNeeded reports a file that is neither a list nor a map with cases.
func (r *reader) casesNeeded(line int, hint string) {
	r.problem(line, "", "must be a list of cases, or a map with the list under cases%s", hint)
}

// mark is a point in the problems of a reader: what comes after it belongs to
// the case that is read.
type mark struct{ stored, total int }

func (r *reader) mark() mark {
	r.caseField = ""
	return mark{len(r.log.problems), r.log.total}
}

// addCase takes a case over from its node. Problems since m are the case's.
func (r *reader) addCase(n *node, m mark) {
	r.inFile++
	if r.count == maxCases {
		r.full = true
		r.problem(n.line, "", "the set has more than 100,000 cases: leave cases out, or split it over several suites")
		return
	}
	r.count++
	d := caseDecoder{r: r, c: Case{Answerable: true}}
	d.decode(n)
	if r.badLines > 0 {
		if field, found := badField(n); found {
			r.reportBadBytes(field)
		}
	}
	label := d.c.ID
	if label == "" {
		label = fmt.Sprintf("#%d", r.inFile)
	}
	derived := d.c.ID == "" && r.log.total == m.total
	if derived {
		d.c.ID = derivedID(&d.c)
	}
	if d.c.ID != "" {
		r.claimID(&d.c, place{r.file, n.line, derived}, d.idField)
	}
	for i := m.stored; i < len(r.log.problems); i++ {
		r.log.problems[i].Case = label
	}
	for _, w := range d.warnings {
		w.Case = label
		r.warnings.add(w)
	}
	if r.log.total == m.total {
		d.c.Digest = caseDigest(&d.c)
		r.cases = append(r.cases, d.c)
	}
}

// claimID holds ids unique over all files. Ids that differ only in how their
// letters are composed look the same to people, and count as the same.
func (r *reader) claimID(c *Case, at place, field string) {
	id := norm.NFC.String(c.ID)
	first, taken := r.places[id]
	switch {
	case !taken:
		r.places[id] = at
	case at.derived && first.derived:
		r.problem(at.line, "", "duplicate id: the case at %s has the same question and metadata, and neither has an id: give both an id, or remove one", first)
	default:
		r.problem(at.line, field, "duplicate id, first used at %s: give each case its own", first)
	}
}

// badField finds the field of a case that holds bytes that are not UTF-8.
func badField(n *node) (string, bool) {
	for i := range n.keys {
		if hasBadByte(n.keys[i].name) || holdsBadByte(&n.items[i]) {
			return n.keys[i].name, true
		}
	}
	return "", n.kind != object && holdsBadByte(n)
}

func holdsBadByte(n *node) bool {
	if hasBadByte(n.text) {
		return true
	}
	for i := range n.keys {
		if hasBadByte(n.keys[i].name) {
			return true
		}
	}
	return slices.ContainsFunc(n.items, func(item node) bool { return holdsBadByte(&item) })
}

// objectBuilder puts an object together and finds keys that come twice.
type objectBuilder struct {
	n     node
	index map[string]int // once there are many keys
}

// find returns where the object has the key, or -1.
func (b *objectBuilder) find(name string) int {
	if b.index != nil {
		if i, ok := b.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(b.n.keys, func(k key) bool { return k.name == name })
}

func (b *objectBuilder) add(k key, v node) {
	const some, many = 8, 16
	if b.n.keys == nil {
		b.n.keys, b.n.items = make([]key, 0, some), make([]node, 0, some)
	}
	b.n.keys = append(b.n.keys, k)
	b.n.items = append(b.n.items, v)
	if b.index != nil {
		b.index[k.name] = len(b.n.keys) - 1
	} else if len(b.n.keys) == many {
		b.index = make(map[string]int, 2*many)
		for i := range b.n.keys {
			b.index[b.n.keys[i].name] = i
		}
	}
}

// addOnce adds a key, or reports that it is there already. Top is true for the
// fields of a case themselves.
func (r *reader) addOnce(b *objectBuilder, k key, v node, top bool) {
	i := b.find(k.name)
	switch {
	case i < 0:
		b.add(k, v)
	case top:
		r.problem(k.line, k.name, "is given twice in one case, first on line %d: keep one", b.n.keys[i].line)
	default:
		r.problem(k.line, r.caseField, "has the key %s twice, first on line %d: keep one", quote(k.name), b.n.keys[i].line)
	}
}
