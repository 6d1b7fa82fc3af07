// Package eval carries out one run: every case of a golden set through retriever,
// answer service, judge and scorer, with bounded fan-out.
//
// The stages of a case follow one another, and the first that fails ends it: its
// outcome is the case's, and what was measured before stays. Cases that an
// earlier process has finished are taken over and not asked again. Nothing of a
// text outlives its case, but for what is handed to the observer.
package eval

import (
	"context"
	"time"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// Scored is the outcome of a case that every stage succeeded for.
const Scored = "Scored"

// Reasons that a run is left open for, beside those of a Stop.
const (
	// ReasonCanceled is a context that ended without a Stop.
	ReasonCanceled = "Canceled"
	// ReasonCorpusChanged is an index that changed while it was asked.
	ReasonCorpusChanged = "CorpusChanged"
)

// Retriever answers a case with a ranked list. Its error is a *retriever.Error.
type Retriever interface {
	Retrieve(ctx context.Context, c *golden.Case, topK int) (*retriever.Reply, error)
}

// Answerer makes an answer of a case and the results that its retriever found;
// of these it is sent the first few. Where it retrieves by itself, results is
// nil. Its error is a *retriever.Error, whose outcome begins with Answer.
type Answerer interface {
	Answer(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error)
}

// Parties are whom a run asks.
type Parties struct {
	// Retriever is nil where the answer service retrieves by itself.
	Retriever Retriever
	// Answerer is nil in a run of retrieval alone.
	Answerer Answerer
	// Judge is nil where nobody judges.
	Judge judge.Judge
}

// Plan is what a run does.
type Plan struct {
	// Cases to ask.
	Cases []golden.Case
	// Score says which metrics are computed, and by that which stages the run has:
	// its Answer, Judge and Relevance. Its TopK is what is asked for.
	Score score.Spec
	// Objectives to decide on.
	Objectives []score.Objective
	// MinCoverage from 0 to 1.
	MinCoverage float64
	// Parallelism is how many cases are asked at once, at least 1.
	Parallelism int
	// Timeout of the whole run; 0 for none.
	Timeout time.Duration
	// WarmupRequests are made, unscored, before the first case: of the retriever,
	// or of an answer service that retrieves by itself.
	WarmupRequests int
	// Calibrate finds out, before the first case, whether the judge may be trusted;
	// nil for no such check. An error that is a *judge.Error and EndsRun ends the
	// run; with any other the judge is not trusted.
	Calibrate func(ctx context.Context) (Trust, error)
	// Baseline is what the run is compared with; nil where it is with nothing.
	Baseline *Baseline
	// Head names this run in a comparison: all of a compare.Side but what follows
	// from the rest of the plan.
	Head compare.Side
	// Check is asked, once all cases have ended, what else leaves the run open: that
	// a rollout came into it, say. Nil: nothing does. The context is not the run's,
	// which may have ended.
	Check func(ctx context.Context) []score.Undecided
	// Around, where it is not nil, hears of every case that calls are made for, as it
	// begins: they are made with the context that it gives. What it returns hears how
	// the case ended; asked is false where the run ended under it. It is called from
	// several goroutines at once.
	Around func(ctx context.Context, c *golden.Case) (context.Context, func(result CaseResult, asked bool))
	// KeepText hands texts to observe: those retrieved, the answer and its
	// contexts. They are never kept.
	KeepText bool
	// Redact takes secrets out of what services gave, before it is kept or shown to
	// another service. What is scored is what came. Nil: there are none.
	Redact func(text string) string
	// Finished are the cases, by id, that an interrupted process of the same run
	// has asked already. They are not asked again, unless they have changed since.
	Finished map[string]Finished
	// CorpusVersion is what the retriever reported to that process last.
	CorpusVersion string
}

// Trust is what a calibration says of the judge.
type Trust struct {
	// Untrusted says, for people, why its verdicts must decide no objective; empty:
	// they may.
	Untrusted string
	// Usage of the judge for finding out.
	Usage judge.Usage
}

// Finished is a case that an interrupted process has asked, as it was kept.
type Finished struct {
	// Digest of the case when it was asked.
	Digest  string
	Outcome string
	Message string
	Rank    int
	// Retrieved is the list as it was scored, without texts.
	Retrieved []Retrieved
	// Metrics by name, those that have a value for the case.
	Metrics map[string]float64
	// Latency and AnswerLatency as in CaseResult. Where the case has an Answer, its
	// latency stands in for a missing AnswerLatency.
	Latency, AnswerLatency time.Duration
	Called                 bool
	// Answer, Judge and Relevance are what the later stages came to; nil where
	// they did not run, or the case failed before them.
	Answer    *AnswerResult
	Verdict   *judge.Verdict
	Relevance *judge.Relevance
	// Usage of the judge for the case.
	Usage judge.Usage
}

// AnswerResult is how the answer stage came out for a case.
type AnswerResult struct {
	// Text and Contexts are there where the plan keeps texts. Contexts are those
	// that are judged; they are left out of a checkpoint.
	Text     string
	Contexts []string
	// Latency of the attempt that counted.
	Latency time.Duration
	// Attempts is how many requests were made.
	Attempts int
}

// Stop is the cause to cancel a run's context with, so that the verdict says
// why it ended: context.WithCancelCause, then cancel(&eval.Stop{…}).
type Stop struct {
	// Reason is one CamelCase word, such as Replaced.
	Reason string
	// Message for people.
	Message string
}

// Error gives the message.
func (s *Stop) Error() string { return s.Message }

// CaseResult is how one case came out.
type CaseResult struct {
	Case *golden.Case
	// Outcome is Scored, or how the first stage that failed ended: RetrieverTimeout,
	// AnswerHTTPError, JudgeMalformed.
	Outcome string
	// Message of the failure; empty for Scored.
	Message string
	// Rank of the first relevant result; 0 where there is none.
	Rank int
	// Values by metric of the result, NaN where one has none for the case; nil where
	// nothing was measured: no stage was due, or the first one failed.
	Values []float64
	// Retrieved is the list as it was scored: after the unit rule and the cut at
	// topK.
	Retrieved []Retrieved
	// Latency of the retriever's attempt that counted: the one that succeeded, or
	// the last.
	Latency time.Duration
	// AnswerLatency is that of the answer service's, also where the stage failed.
	AnswerLatency time.Duration
	// Called is false where no call was made, for the case is not due.
	Called bool
	// CorpusVersion that the reply told; empty where it told none.
	CorpusVersion string
	// Answer is nil where the stage did not run, or failed, or a stage before it did.
	Answer *AnswerResult
	// Verdict is nil where the judge did not run or gave none.
	Verdict *judge.Verdict
	// Relevance is nil where contexts are not graded, or there were none.
	Relevance *judge.Relevance
	// Usage of the judge for this case.
	Usage judge.Usage
}

// Retrieved is one scored result.
type Retrieved struct {
	// ID that it was compared by: its own, or in unit Document its document's.
	ID string
	// Score as the retriever gave it; nil where it gave none.
	Score *float64
	// Relevant is true at the first position of a relevant id.
	Relevant bool
	// Text as the retriever gave it, where the plan keeps texts.
	Text string
	// TextDigest tells the text apart from others; empty where there is no text.
	TextDigest string
}

// WorstCase is one case with a bad result.
type WorstCase struct {
	ID string
	// Rank of the first relevant result; 0 where none was found.
	Rank int
	// BaselineRank is the rank in the baseline; 0 where none was found there, or
	// there is no baseline.
	BaselineRank int
	// Outcome as in CaseResult.
	Outcome string
}

// Result is what a run came to.
type Result struct {
	// Metrics are the columns of every CaseResult's values.
	Metrics  []score.Metric
	Summary  score.Summary
	Decision score.Decision
	// Outcomes counts the cases that ended, by outcome. Cases that were never
	// asked are in none, but count against coverage.
	Outcomes map[string]int
	// Worst cases, at most 20: those not found, then those that failed, then those
	// that were answered wrong or made something up, then the lowest ranks.
	Worst []WorstCase
	// Comparison with the baseline, ReferenceComparison with the reference; nil where
	// there is none.
	Comparison, ReferenceComparison *compare.Comparison
	// Stale says that the labels no longer fit; nil where they do.
	Stale *compare.Stale
	// CorpusVersion that was reported last, by whoever retrieves; empty where it
	// reports none.
	CorpusVersion string
	// CorpusVersionChanged says that it was not the same throughout.
	CorpusVersionChanged bool
	// RetrieverCalls and AnswerCalls are how many requests were made, retries and
	// warm-up included.
	RetrieverCalls, AnswerCalls int64
	// Usage of the judge, calibration included.
	Usage judge.Usage
	// Trust as the calibration found it; zero without one.
	Trust Trust
	// Total is how many cases the run has, Done how many ended, Errored how many
	// of those failed.
	Total, Done, Errored int
}
