package goldentool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
)

// Source is whose files a golden set is made of.
type Source string

// The sources of golden sets.
const (
	BEIR      Source = "beir"
	TREC      Source = "trec"
	Ragas     Source = "ragas"
	Promptfoo Source = "promptfoo"
	LangSmith Source = "langsmith"
	CSV       Source = "csv"
	// Golden is a golden set as it is, to be written in another format.
	Golden Source = "golden"
)

// Sources in the order in which help texts name them.
var Sources = []Source{BEIR, TREC, Ragas, Promptfoo, LangSmith, CSV, Golden}

// WithQrels says whether the source keeps its relevance judgements in a file of
// their own.
func (s Source) WithQrels() bool { return s == BEIR || s == TREC }

// Input is what a golden set is made of. A file whose name ends in .gz is
// unpacked.
type Input struct {
	// Files with the questions; exactly one, but for the source Golden.
	Files []golden.File
	// Qrels of BEIR and TREC.
	Qrels golden.File
}

// Options say how the files are to be understood.
type Options struct {
	// Map gives the name that a field of a case has in the source, by the field:
	// {"question": "Prompt"}. Fields are those of golden.FieldOf, history excepted,
	// and metadata.KEY. What is not mapped is found by its usual names.
	Map map[string]string
	// Separator stands between the items of a list in a cell; by default ";".
	Separator string
	// Delimiter stands between the cells of a table; by default that of the file's
	// ending.
	Delimiter rune
	// TopicField of a TREC topic is its question: title, the default, desc or narr.
	TopicField string
}

// Imported is what came of other files.
type Imported struct {
	// Cases in the order of the source. The id is empty where the source has none.
	Cases []golden.Case
	// Dropped says what became no part of a case.
	Dropped []Dropped
}

// Dropped is something of the source that is in no case.
type Dropped struct {
	// What it is and why it is left out.
	What  string
	Count int
	// Examples are the first few.
	Examples []string
}

// String gives it for people: "query without a relevant document: 3 (q1, q2, q3)".
func (d Dropped) String() string {
	text := fmt.Sprintf("%s: %d", d.What, d.Count)
	if len(d.Examples) == 0 {
		return text
	}
	list := strings.Join(d.Examples, ", ")
	if d.Count > len(d.Examples) {
		list += ", …"
	}
	return text + " (" + list + ")"
}

// Import reads the files of another tool. Mistakes in them come all at once, as
// a *golden.Error.
func Import(from Source, in Input, o Options) (*Imported, error) {
	if from == Golden {
		return importGolden(in.Files)
	}
	if len(in.Files) != 1 {
		return nil, fmt.Errorf("import from %s: one file is needed, there are %d", from, len(in.Files))
	}
	if err := checkMap(o.Map); err != nil {
		return nil, err
	}
	m := &importer{options: o}
	switch file := in.Files[0]; from {
	case BEIR:
		m.beir(file, in.Qrels)
	case TREC:
		m.trec(file, in.Qrels)
	case Ragas:
		m.ragas(file)
	case Promptfoo:
		m.promptfoo(file)
	case LangSmith:
		m.langsmith(file)
	case CSV:
		m.csv(file)
	default:
		return nil, fmt.Errorf("unknown source %q", from)
	}
	if m.problems.Total > 0 {
		return nil, &m.problems
	}
	m.dropRepeats()
	if len(m.cases) == 0 {
		return nil, fmt.Errorf("%s: no case is left%s", in.Files[0].Name, m.dropped.because())
	}
	return &Imported{Cases: m.cases, Dropped: m.dropped.list()}, nil
}

func importGolden(files []golden.File) (*Imported, error) {
	set, err := golden.Read(files...)
	if err != nil {
		return nil, err
	}
	out := &Imported{Cases: set.Cases}
	for _, w := range set.Warnings {
		out.Dropped = append(out.Dropped, Dropped{What: w.String(), Count: 1})
	}
	return out, nil
}

// Encode writes the cases and checks that they are a golden set, which it gives
// as it will be read.
func (m *Imported) Encode(format golden.Format) ([]byte, *golden.Set, error) {
	data, err := Write(m.Cases, format)
	if err != nil {
		return nil, nil, err
	}
	set, err := golden.Read(golden.File{Name: "set." + string(format), Data: data})
	if err != nil {
		// Nothing is written yet: the case says where to look, no line does.
		return nil, nil, unplaced(err)
	}
	return data, set, nil
}

// importer gathers the cases of a source.
type importer struct {
	options  Options
	cases    []golden.Case
	dropped  dropLog
	problems golden.Error
}

func (m *importer) problem(p golden.Problem) {
	const most = 1000
	m.problems.Total++
	if len(m.problems.Problems) < most {
		m.problems.Problems = append(m.problems.Problems, p)
	}
}

// dropRepeats leaves out cases without an id that ask what an earlier one asks:
// both would get the same id.
func (m *importer) dropRepeats() {
	seen := map[string]*golden.Case{}
	m.cases = slices.DeleteFunc(m.cases, func(c golden.Case) bool {
		if c.ID != "" {
			return false
		}
		key := c.Question + "\x00" + flow(exactNumber(c.Metadata))
		first, repeated := seen[key]
		switch {
		case !repeated:
			seen[key] = &c
		case sameCase(first, &c):
			m.dropped.add("case that stands there twice", short(c.Question))
		default:
			m.dropped.add("case that asks what an earlier one asks, but expects something else; give both an id", short(c.Question))
		}
		return repeated
	})
}

func sameCase(a, b *golden.Case) bool {
	x, errX := Write([]golden.Case{*a}, golden.JSONL)
	y, errY := Write([]golden.Case{*b}, golden.JSONL)
	return errX == nil && errY == nil && string(x) == string(y)
}

// dropLog counts what is left out, by what it is.
type dropLog struct {
	byWhat map[string]*Dropped
	order  []*Dropped
}

// maxExamples is how many examples are named of what is left out.
const maxExamples = 3

func (l *dropLog) add(what, example string) {
	d := l.byWhat[what]
	if d == nil {
		if l.byWhat == nil {
			l.byWhat = map[string]*Dropped{}
		}
		d = &Dropped{What: what}
		l.byWhat[what] = d
		l.order = append(l.order, d)
	}
	d.Count++
	if len(d.Examples) < maxExamples && example != "" {
		d.Examples = append(d.Examples, example)
	}
}

func (l *dropLog) list() []Dropped {
	list := make([]Dropped, len(l.order))
	for i, d := range l.order {
		list[i] = *d
	}
	return list
}

func (l *dropLog) because() string {
	if len(l.order) == 0 {
		return ", for there was none"
	}
	parts := make([]string, len(l.order))
	for i, d := range l.order {
		parts[i] = d.String()
	}
	return "; left out: " + strings.Join(parts, "; ")
}

// short cuts a text for a message.
func short(s string) string {
	const most = 60
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
