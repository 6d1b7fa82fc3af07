package stored

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
)

// ErrUnreadable is a run whose document is not what this version writes, or none.
var ErrUnreadable = errors.New("the stored document cannot be read")

// Document gives a run without its cases. One that is open, or has measured
// nothing, has no metrics.
func Document(run history.Run) (*report.Document, error) {
	d := &report.Document{}
	if len(run.Document) > 0 {
		if err := json.Unmarshal(run.Document, d); err != nil {
			return nil, fmt.Errorf("run %s: %w: %w", run.UID, ErrUnreadable, err)
		}
	}
	// The row says which run it is and how it ended; the document may be older.
	d.Run.UID, d.Run.Name, d.Run.Namespace, d.Run.Suite = run.UID, run.Name, run.Namespace, run.Suite
	d.Run.Trigger, d.Run.Endpoint, d.Run.Revision = run.Trigger, run.Endpoint, run.Revision
	d.Run.GoldenSetDigest, d.Run.CorpusVersion = run.GoldenSetDigest, run.CorpusVersion
	d.Run.StartTime, d.Run.CompletionTime = run.StartTime, ptr.Deref(run.CompletionTime, d.Run.CompletionTime)
	d.Settings.EvaluationDigest = cmp.Or(run.EvaluationDigest, d.Settings.EvaluationDigest)
	d.Verdict, d.Reason, d.Message, d.Total = score.Verdict(run.Verdict), run.Reason, run.Message, run.Total
	d.Cases, d.Next = nil, ""
	d.Normalize()
	return d, nil
}

// Case gives a case. Numbers that JSON cannot write are left out.
func Case(c *history.Case) report.Case {
	d := report.Case{
		ID: c.ID, Digest: c.Digest, Question: c.Question, History: c.History, ReferenceAnswer: c.ReferenceAnswer,
		Tags: append([]string{}, c.Tags...), Outcome: c.Outcome, Message: c.Message,
		Relevant:  make([]golden.Relevant, len(c.Relevant)),
		Rank:      c.Rank,
		Metrics:   make(map[string]float64, len(c.Metrics)),
		Retrieved: make([]report.Retrieved, len(c.Retrieved)),
		Verdict:   c.Verdict, Relevance: c.Relevance,
		AnswerLatencySeconds: finite(c.AnswerSeconds),
	}
	if c.Unanswerable {
		d.Answerable = ptr.To(false)
	}
	for i, r := range c.Relevant {
		d.Relevant[i] = golden.Relevant(r)
	}
	for name, value := range c.Metrics {
		if finite(&value) != nil {
			d.Metrics[name] = value
		}
	}
	for i, r := range c.Retrieved {
		d.Retrieved[i] = report.Retrieved{Rank: r.Rank, ID: r.ID, Score: finite(r.Score), Relevant: r.Relevant, Text: r.Text}
	}
	if c.Called {
		d.LatencySeconds = finite(&c.LatencySeconds)
	}
	// An answer whose text is not kept is not an empty one.
	if a := c.Answer; a != nil && a.Text != "" {
		d.Answer, d.Contexts = &a.Text, a.Contexts
	}
	return d
}

// finite gives a number that JSON can write, or nil.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}
