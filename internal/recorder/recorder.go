// Package recorder writes a run into the history while it goes, so that a
// process that takes the run over need not ask its finished cases again. A
// store that fails stops no run: what could not be written is tried again, and
// what was given up is counted.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/score"
)

const (
	// batchSize is how many cases are written at once, batchDelay how long a case waits for others.
	batchSize  = 1000
	batchDelay = time.Second
	// maxWaiting is how many bytes of cases wait for a store that fails, about;
	// what comes after is not kept.
	maxWaiting = 32 << 20
	// finishWithin is how long the end of a run waits for the store.
	finishWithin = 20 * time.Second
	// attemptWithin bounds one write.
	attemptWithin = 10 * time.Second
)

// Store is what runs are written to: a *history.Store.
type Store interface {
	PutRun(ctx context.Context, run history.Run) error
	PutCases(ctx context.Context, runUID string, cases []history.Case) error
	Checkpoint(ctx context.Context, runUID string) (map[string]history.Case, error)
	Run(ctx context.Context, uid string) (history.Run, error)
}

// Loss is what of a run did not get into the history.
type Loss struct {
	// Cases that were given up.
	Cases int
	// Run is true where the run's own row could not be written.
	Run bool
	// Err is why, the last error of the store.
	Err error
}

// Any says whether anything was lost.
func (l Loss) Any() bool { return l.Cases > 0 || l.Run }

// Message says it for people.
func (l Loss) Message() string {
	what := fmt.Sprintf("%d cases", l.Cases)
	if l.Run {
		what = "the run and " + what
	}
	return fmt.Sprintf("%s could not be written: %v", what, l.Err)
}

// Recorder writes one run.
type Recorder struct {
	store    Store
	columns  []score.Metric
	position map[string]int
	wake     chan struct{}
	closing  chan struct{}
	done     chan Loss

	mu      sync.Mutex
	run     history.Run // as it goes on
	pending []history.Case
	bytes   int
	lost    int
}

// New makes the recorder of a run over these cases, whose metrics are columns.
func New(store Store, run history.Run, cases []golden.Case, columns []score.Metric) *Recorder {
	r := &Recorder{
		store: store, run: run, columns: columns, position: make(map[string]int, len(cases)),
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan Loss, 1),
	}
	for i := range cases {
		r.position[cases[i].ID] = i
	}
	return r
}

// Resume gives what an earlier process has kept of the run, and the version of
// the corpus that it saw last. Of a run that the store does not know there is nothing.
func (r *Recorder) Resume(ctx context.Context) (map[string]eval.Finished, string, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptWithin)
	defer cancel()
	kept, err := r.store.Run(ctx, r.run.UID)
	if errors.Is(err, history.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read run %s from the history: %w", r.run.Name, err)
	}
	cases, err := r.store.Checkpoint(ctx, r.run.UID)
	if err != nil {
		return nil, "", fmt.Errorf("read the cases of run %s from the history: %w", r.run.Name, err)
	}
	finished := make(map[string]eval.Finished, len(cases))
	for id, c := range cases {
		finished[id] = finishedOf(&c)
	}
	r.run.CorpusVersion = kept.CorpusVersion
	return finished, kept.CorpusVersion, nil
}

// finishedOf is what a checkpoint says of a case.
func finishedOf(c *history.Case) eval.Finished {
	f := eval.Finished{
		Digest: c.Digest, Outcome: c.Outcome, Message: c.Message, Rank: c.Rank, Metrics: c.Metrics, Latency: seconds(c.LatencySeconds), Called: c.Called,
		Verdict: c.Verdict, Relevance: c.Relevance, Usage: c.Usage,
	}
	if c.AnswerSeconds != nil {
		f.AnswerLatency = seconds(*c.AnswerSeconds)
	}
	if c.Answer != nil {
		f.Answer = &eval.AnswerResult{Latency: f.AnswerLatency}
	}
	return f
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Start begins to write, in the background, until Finish.
func (r *Recorder) Start() { go func() { r.done <- r.write() }() }

// Observe takes in a case that has ended. It never waits for the store.
func (r *Recorder) Observe(c eval.CaseResult) {
	row := r.row(c)
	size := sizeOf(&row)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.CorpusVersion != "" {
		r.run.CorpusVersion = c.CorpusVersion
	}
	if r.bytes+size > maxWaiting && len(r.pending) > 0 {
		r.lost++
		return
	}
	r.pending, r.bytes = append(r.pending, row), r.bytes+size
	if len(r.pending) >= batchSize {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// Finish writes what is left, then the run as it came out, and says what was
// lost. Where final is nil, the run goes on in another process.
func (r *Recorder) Finish(final *history.Run) Loss {
	if final != nil {
		r.mu.Lock()
		r.run = *final
		r.mu.Unlock()
	}
	close(r.closing)
	return <-r.done
}

func (r *Recorder) row(c eval.CaseResult) history.Case {
	h := history.Case{
		ID: c.Case.ID, Digest: c.Case.Digest, Question: c.Case.Question, Position: r.position[c.Case.ID], Tags: c.Case.Tags,
		Outcome: c.Outcome, Message: c.Message, Rank: c.Rank, Called: c.Called, LatencySeconds: c.Latency.Seconds(),
		History: c.Case.History, ReferenceAnswer: c.Case.ReferenceAnswer, Unanswerable: !c.Case.Answerable,
		Metrics: c.Keep(r.columns).Metrics, Verdict: c.Verdict, Relevance: c.Relevance, Usage: c.Usage,
	}
	if c.Answer != nil {
		h.Answer = &history.Answer{Text: c.Answer.Text, Contexts: c.Answer.Contexts}
	}
	if c.Answer != nil || c.AnswerLatency > 0 {
		took := c.AnswerLatency.Seconds()
		h.AnswerSeconds = &took
	}
	for _, rel := range c.Case.Relevant {
		h.Relevant = append(h.Relevant, history.Relevant{ID: rel.ID, Grade: rel.Grade})
	}
	for i, item := range c.Retrieved {
		h.Retrieved = append(h.Retrieved, history.Retrieved{Rank: i + 1, ID: item.ID, Score: item.Score, Relevant: item.Relevant, Text: item.Text})
	}
	return h
}

// sizeOf is about what a row takes in memory.
func sizeOf(c *history.Case) int {
	const row, item = 512, 96
	size := row + len(c.Question) + len(c.Message) + item*len(c.Metrics) + item*len(c.Relevant)
	for i := range c.Retrieved {
		size += item + len(c.Retrieved[i].ID) + len(c.Retrieved[i].Text)
	}
	size += len(c.ReferenceAnswer)
	for i := range c.History {
		size += item + len(c.History[i].Content)
	}
	if c.Answer != nil {
		size += len(c.Answer.Text)
		for _, text := range c.Answer.Contexts {
			size += item + len(text)
		}
	}
	if c.Verdict != nil {
		size += len(c.Verdict.Reason)
	}
	if c.Relevance != nil {
		size += len(c.Relevance.Reasoning)
	}
	return size
}
