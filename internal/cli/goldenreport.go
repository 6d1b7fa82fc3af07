package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/assay-dev/assay/internal/goldentool"
)

// checkDocument is what assay golden check -o json writes.
type checkDocument struct {
	// Problems keep the set from being used: the first 1,000 of ProblemCount.
	Problems     []problemDocument `json:"problems"`
	ProblemCount int               `json:"problemCount"`
	Warnings     []problemDocument `json:"warnings"`
	// Set is left out where it has a problem.
	Set *goldentool.Summary `json:"set,omitempty"`
	// Retriever is left out where it was not asked.
	Retriever *retrieverDocument `json:"retriever,omitempty"`
}

type problemDocument struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Case    string `json:"case,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`

	text string
}

// retrieverDocument is what the retriever says of a set.
type retrieverDocument struct {
	TopK int    `json:"topK"`
	Unit string `json:"unit"`
	// Questions were due, Answered are those that got a list.
	Questions int `json:"questions"`
	Answered  int `json:"answered"`
	// Failed counts the others by how they ended, and Failure is the first one.
	Failed  map[string]int `json:"failed"`
	Failure string         `json:"failure,omitempty"`
	goldentool.Result
}

func newCheckDocument() *checkDocument {
	return &checkDocument{Problems: []problemDocument{}, Warnings: []problemDocument{}}
}

// write gives the document for people.
func (d *checkDocument) write(w io.Writer) error {
	var b strings.Builder
	for _, p := range d.Problems {
		b.WriteString(p.text + "\n")
	}
	if more := d.ProblemCount - len(d.Problems); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	for _, p := range d.Warnings {
		b.WriteString("warning: " + p.text + "\n")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	if d.ProblemCount > 0 {
		fmt.Fprintf(&b, "PROBLEMS    %d: no suite can use this set\n", d.ProblemCount)
	}
	if s := d.Set; s != nil {
		writeSummary(&b, s)
	}
	if d.Retriever != nil {
		d.Retriever.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSummary(b *strings.Builder, s *goldentool.Summary) {
	fmt.Fprintf(b, "CASES       %d: %d with relevant ids, %d with a reference answer, %d not answerable\n", s.Cases, s.Due, s.WithReference, s.Unanswerable)
	const most = 16
	tags := make([]string, 0, most)
	for _, t := range s.Tags[:min(len(s.Tags), most)] {
		tags = append(tags, fmt.Sprintf("%s %d", t.Tag, t.Cases))
	}
	switch {
	case len(tags) == 0:
		tags = append(tags, "none")
	case len(s.Tags) > most:
		tags = append(tags, fmt.Sprintf("and %d more", len(s.Tags)-most))
	}
	fmt.Fprintf(b, "TAGS        %s\n", strings.Join(tags, ", "))
	fmt.Fprintf(b, "DIGEST      %s\n", s.Digest)
}

// maxShown is how many ids a terminal shows; JSON has all.
const maxShown = 50

func (r *retrieverDocument) write(b *strings.Builder) {
	fmt.Fprintf(b, "ASKED       %d of %s, top %d, unit %s\n", r.Answered, counted(r.Questions, "question"), r.TopK, r.Unit)
	fmt.Fprintf(b, "FOUND       %d of %s, in any list\n", r.Found, counted(r.RelevantIDs, "relevant id"))
	for _, outcome := range slices.Sorted(maps.Keys(r.Failed)) {
		fmt.Fprintf(b, "%s: %s\n", outcome, counted(r.Failed[outcome], "question"))
	}
	if r.Failure != "" {
		fmt.Fprintf(b, "first: %s\n", r.Failure)
	}
	if len(r.NeverFound) == 0 {
		return
	}
	b.WriteString("\nNEVER FOUND\n")
	for _, n := range r.NeverFound[:min(len(r.NeverFound), maxShown)] {
		writeNeverFound(b, n)
	}
	if more := len(r.NeverFound) - maxShown; more > 0 {
		fmt.Fprintf(b, "and %d more; -o json has all\n", more)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(b, "\n%s: %s.\n", counted(d.Count, "id"), hints[d.Kind])
	}
}

func writeNeverFound(b *strings.Builder, n goldentool.NeverFound) {
	const most = 3
	cases := n.Cases[:min(len(n.Cases), most)]
	more := ""
	if len(n.Cases) > most {
		more = fmt.Sprintf(" and %d more", len(n.Cases)-most)
	}
	fmt.Fprintf(b, "%s (%s%s)\n", n.ID, strings.Join(cases, ", "), more)
	if len(n.Nearest) == 0 {
		b.WriteString("    nothing was retrieved\n")
	}
	for _, near := range n.Nearest {
		fmt.Fprintf(b, "    %s  %s\n", near.ID, near.Message)
	}
}

// hints say, for what many ids have in common, what mends it.
var hints = map[goldentool.Difference]string{
	goldentool.Encoding:        "the retriever URL-encodes otherwise: write the ids as it does, or mend them in retriever.results",
	goldentool.LetterCase:      "the retriever writes other letter case: write the ids as it does, or mend them in retriever.results",
	goldentool.Slashes:         "the retriever writes other slashes: write the ids as it does, or mend them in retriever.results",
	goldentool.Prefix:          "the retriever has another prefix: write the ids with it, or cut it off in retriever.results",
	goldentool.Suffix:          "the retriever has another suffix: if that is a chunk's, use scoring.unit Document and give results their document, or write the ids of chunks",
	goldentool.PrefixAndSuffix: "the retriever has another prefix and suffix: write the ids as it does, or cut both off in retriever.results; chunks become documents with scoring.unit Document",
}
