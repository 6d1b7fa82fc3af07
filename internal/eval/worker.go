package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// worker takes one case at a time through the stages of the run.
type worker struct {
	parties  Parties
	spec     score.Spec
	scorer   *score.Scorer
	steps    []step
	keepText bool
	around   func(ctx context.Context, c *golden.Case) (context.Context, func(CaseResult, bool))
	redact   func(text string) string
	// endRun cancels the run that the worker works for.
	endRun context.CancelCauseFunc

	// Space that the next case reuses.
	relevant []score.Relevant
	items    []score.Item
}

// step is a call that a case needs, with what is made of its reply.
type step struct {
	stage score.Stage
	do    func(ctx context.Context, f *inFlight) error
}

// inFlight is a case on its way, with the texts that one step leaves to the next.
type inFlight struct {
	ended
	results  []retriever.Result
	answer   string
	contexts []string
}

// ended is a case that came to an end, or a call that counts for nothing else.
type ended struct {
	index  int
	result CaseResult
	// asked is false where the run ended while the case was in flight.
	asked bool
	// stop is why no other case should be asked any more; nil: they should.
	stop  *Stop
	calls calls
}

// calls is how many requests were made.
type calls struct{ retriever, answer int64 }

func (c calls) add(o calls) calls { return calls{c.retriever + o.retriever, c.answer + o.answer} }

func newWorker(plan Plan, parties Parties, scorer *score.Scorer, endRun context.CancelCauseFunc) *worker {
	w := &worker{parties: parties, spec: plan.Score, scorer: scorer, keepText: plan.KeepText, around: plan.Around, redact: plan.Redact, endRun: endRun}
	if w.redact == nil {
		w.redact = func(text string) string { return text }
	}
	if parties.Retriever != nil {
		w.steps = append(w.steps, step{score.RetrievalStage, w.retrieve})
	}
	if plan.Score.Answer {
		w.steps = append(w.steps, step{score.AnswerStage, w.getAnswer})
	}
	if plan.Score.Judge {
		w.steps = append(w.steps, step{score.JudgeStage, w.grade}, step{score.JudgeStage, w.gradeContexts})
	}
	return w
}

// ask takes a case through the stages until one fails. Of the replies, ids and
// numbers are taken, and texts where the plan asks for them: whoever observes the
// case may hand them on, but nobody here keeps them, for they would make the run
// grow with the corpus.
//
// In a run of retrieval alone, a case that is not due has nothing that a list
// could be scored against, so no call is made for it.
func (w *worker) ask(ctx context.Context, index int, c *golden.Case) ended {
	f := &inFlight{ended: ended{index: index, asked: true, result: CaseResult{Case: c, Outcome: Scored}}}
	if !w.spec.Answer && !c.Due() {
		return f.ended
	}
	f.result.Called = true
	if w.around != nil {
		within, done := w.around(ctx, c)
		ctx = within
		defer func() { done(f.result, f.asked) }()
	}
	for _, s := range w.steps {
		err := survive(func() error { return s.do(ctx, f) })
		if err == nil {
			continue
		}
		f.fail(s.stage, err)
		f.result.Message = w.redact(f.result.Message)
		if f.stop != nil {
			w.endRun(f.stop)
		} else if ctx.Err() != nil {
			f.asked = false // the run ended under it: no fault of the stage's
		}
		break
	}
	return f.ended
}

// warm makes a call whose reply is thrown away.
func (w *worker) warm(ctx context.Context, c *golden.Case) ended {
	f := &inFlight{ended: ended{result: CaseResult{Case: c}}}
	// Whether it fails is of no account, and the case will tell in its turn.
	_ = survive(func() error { return w.steps[0].do(ctx, f) })
	return ended{calls: f.calls}
}

// survive turns a panic into an error: a bug behind one reply must cost one case,
// not the operator.
func survive(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handling the reply panicked: %v", p)
		}
	}()
	return do()
}

// fail says how a stage ended that failed.
func (e *ended) fail(stage score.Stage, err error) {
	r := &e.result
	r.Outcome, r.Message = outcome(stage, ""), err.Error()
	var ungraded *judge.Error
	switch call := failedCall(err); {
	case stage == score.JudgeStage && errors.As(err, &ungraded):
		r.Outcome, r.Message = outcome(stage, string(ungraded.Outcome)), ungraded.Message
		if ungraded.EndsRun {
			e.stop = &Stop{Reason: r.Outcome, Message: r.Message}
		}
	case stage != score.JudgeStage && call.Outcome != "":
		r.Outcome, r.Message = outcome(stage, string(call.Outcome)), call.Message
	}
}

// failedCall is what an error says of a call; zero where it is of another kind.
func failedCall(err error) retriever.Error {
	var call *retriever.Error
	if errors.As(err, &call) {
		return *call
	}
	return retriever.Error{}
}

// retrieve gets the list of a case and scores it.
func (w *worker) retrieve(ctx context.Context, f *inFlight) error {
	r := &f.result
	reply, err := w.parties.Retriever.Retrieve(ctx, r.Case, w.spec.TopK)
	if err != nil {
		failed := failedCall(err)
		f.calls.retriever += int64(failed.Attempts)
		r.Latency = failed.Latency
		return err
	}
	f.calls.retriever += int64(reply.Attempts)
	r.CorpusVersion = strings.Clone(w.redact(reply.CorpusVersion))
	r.Latency = reply.Latency
	w.score(r, reply.Results)
	// What lies beyond topK is no part of the answer either.
	f.results = reply.Results[:min(len(reply.Results), w.spec.TopK)]
	return nil
}

// getAnswer gets the answer to a case, and the list with it where the service
// retrieves by itself.
func (w *worker) getAnswer(ctx context.Context, f *inFlight) error {
	r := &f.result
	reply, err := w.parties.Answerer.Answer(ctx, r.Case, w.spec.TopK, f.results)
	if err != nil {
		failed := failedCall(err)
		f.calls.answer += int64(failed.Attempts)
		r.AnswerLatency = failed.Latency
		return err
	}
	f.calls.answer += int64(reply.Attempts)
	r.AnswerLatency = reply.Latency
	if w.parties.Retriever == nil {
		r.CorpusVersion = strings.Clone(w.redact(reply.CorpusVersion))
		w.score(r, reply.Results)
	}
	w.scorer.ScoreAnswer(reference(r.Case), reply.Answer, r.Values)
	reply.Answer = w.redact(reply.Answer)
	for i, text := range reply.Contexts {
		reply.Contexts[i] = w.redact(text)
	}
	r.Answer = &AnswerResult{Latency: reply.Latency, Attempts: reply.Attempts}
	if w.keepText {
		r.Answer.Text, r.Answer.Contexts = strings.Clone(reply.Answer), clones(reply.Contexts)
	}
	f.results, f.answer, f.contexts = nil, reply.Answer, reply.Contexts
	return nil
}

// grade has the answer judged.
func (w *worker) grade(ctx context.Context, f *inFlight) error {
	r := &f.result
	verdict, usage, err := w.parties.Judge.Grade(ctx, judge.Input{
		Question: r.Case.Question, History: r.Case.History, Reference: reference(r.Case), Answerable: r.Case.Answerable,
		Contexts: f.contexts, Answer: f.answer,
	})
	r.Usage = r.Usage.Add(usage)
	if err != nil {
		return err
	}
	verdict.Reason = strings.Clone(verdict.Reason)
	r.Verdict = &verdict
	w.scoreVerdict(r)
	return nil
}

// gradeContexts has the contexts judged, where there are any.
func (w *worker) gradeContexts(ctx context.Context, f *inFlight) error {
	r := &f.result
	if !w.spec.Relevance || !anyText(f.contexts) {
		return nil
	}
	relevance, usage, err := w.parties.Judge.Relevance(ctx, r.Case.Question, r.Case.History, f.contexts)
	r.Usage = r.Usage.Add(usage)
	if err != nil {
		return err
	}
	relevance.Reasoning = strings.Clone(relevance.Reasoning)
	r.Relevance = &relevance
	w.scorer.ScoreRelevance(relevance.Average, r.Values)
	return nil
}

func (w *worker) scoreVerdict(r *CaseResult) {
	g := score.Graded{Answerable: r.Case.Answerable, Grounded: r.Verdict.Grounded, Abstained: r.Verdict.Abstained}
	if reference(r.Case) != "" {
		g.Correct = r.Verdict.Correct
	}
	w.scorer.ScoreVerdict(g, r.Values)
}

// score fills in rank, values and the scored list, and takes secrets out of the
// texts. They are set together at the
// end, so that a panic leaves none of them behind.
func (w *worker) score(r *CaseResult, results []retriever.Result) {
	w.relevant = w.relevant[:0]
	if r.Case.Due() {
		for _, rel := range r.Case.Relevant {
			w.relevant = append(w.relevant, score.Relevant{ID: rel.ID, Grade: rel.Grade})
		}
	}
	w.items = w.items[:0]
	for i := range results {
		res := &results[i]
		res.Text = w.redact(res.Text)
		w.items = append(w.items, score.Item{ID: res.ID, Document: res.Document})
	}
	values := w.scorer.NewValues()
	rank := w.scorer.Score(w.relevant, w.items, values)

	ranked := w.scorer.Ranked()
	retrieved := make([]Retrieved, len(ranked))
	var scores []float64
	for i, k := range ranked {
		// Ids and scores are copied: they may be part of a whole reply.
		retrieved[i] = Retrieved{ID: strings.Clone(w.redact(w.scorer.Unit().Identity(w.items[k.Index]))), Relevant: k.Relevant}
		retrieved[i].TextDigest = TextDigest(results[k.Index].Text)
		if w.keepText {
			retrieved[i].Text = strings.Clone(results[k.Index].Text)
		}
		if s := results[k.Index].Score; s != nil {
			if scores == nil {
				scores = make([]float64, len(ranked))
			}
			scores[i] = *s
			retrieved[i].Score = &scores[i]
		}
	}
	clear(w.items)
	r.Rank, r.Values, r.Retrieved = rank, values, retrieved
}

// reference of a case; empty where it is white space alone.
func reference(c *golden.Case) string {
	if strings.TrimSpace(c.ReferenceAnswer) == "" {
		return ""
	}
	return c.ReferenceAnswer
}

// anyText says whether a context says something.
func anyText(contexts []string) bool {
	for _, c := range contexts {
		if strings.TrimSpace(c) != "" {
			return true
		}
	}
	return false
}

func clones(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.Clone(s)
	}
	return out
}
