package goldentool

import (
	"slices"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/report"
)

// FromRun gives the case of a run document as a golden set has it, without its
// name. It is whole unless the golden set gave it metadata, which a run document
// does not keep, or texts are not kept.
func FromRun(c *report.Case) (gc golden.Case, whole bool) {
	gc = golden.Case{
		ID: c.ID, Question: c.Question, Relevant: slices.Clone(c.Relevant), ReferenceAnswer: c.ReferenceAnswer,
		Tags: slices.Clone(c.Tags), Answerable: c.Answerable == nil || *c.Answerable, History: slices.Clone(c.History),
	}
	// The digest covers the metadata.
	data, err := Write([]golden.Case{gc}, golden.JSONL)
	if err != nil {
		return gc, false
	}
	set, err := golden.Read(golden.File{Name: newCase, Data: data})
	return gc, err == nil && set.Cases[0].Digest == c.Digest
}

// Failing lists, in order, the cases of a run that did not come out well: no
// relevant id was found, a call failed, the answer is wrong or made up.
func Failing(d *report.Document) []string {
	var ids []string
	for i := range d.Cases {
		c := &d.Cases[i]
		answerable := c.Answerable == nil || *c.Answerable
		missed := answerable && len(c.Relevant) > 0 && c.Rank == 0
		wrong := c.Verdict != nil && (!c.Verdict.Grounded || c.Verdict.Correct != nil && !*c.Verdict.Correct)
		if missed || wrong || c.Outcome != eval.Scored {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
