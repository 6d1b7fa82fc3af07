package status

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/suite"
)

const (
	// maxTags is how many tags' metrics a status carries.
	maxTags = 16
	// maxWorst is how many cases a status names.
	maxWorst = 20
	// maxCorpusVersion is how many bytes of a corpus version a status carries.
	maxCorpusVersion = 256
)

// Reasons of a run's conditions before it has ended.
const (
	ReasonSuiteNotFound = "SuiteNotFound"
	ReasonQueued        = "Queued"
	ReasonRunning       = "Running"
)

// Reasons of the condition HistoryStored.
const (
	ReasonStored      = "Stored"
	ReasonStoreFailed = "StoreFailed"
)

// Progress is how far a run is.
type Progress struct{ Total, Done, Errored int }

// Waiting says why a run has not begun.
func Waiting(run *v1alpha1.EvalRun, reason, message string, now time.Time) {
	open(run, reason, message, now)
}

// Started says that a run has begun, and with what. done is how many cases an
// interrupted process has asked already.
func Started(run *v1alpha1.EvalRun, p *suite.Prepared, done int, now time.Time) {
	s := &run.Status
	s.StartTime = ptr.To(metav1.NewMicroTime(now))
	s.Revision = p.Revision
	s.TemplateHashes, s.Images = evidenceOf(p.Targets)
	s.SuiteEvaluationDigest = p.EvaluationDigest
	s.GoldenSetDigest = p.GoldenSetDigest
	s.Attempts = ptr.To(ptr.Deref(s.Attempts, 0) + 1)
	Advanced(run, Progress{Total: len(p.Plan.Cases), Done: done}, now)
}

// evidenceOf are the template hashes and images of what is measured.
func evidenceOf(targets []report.Target) (hashes, images []string) {
	for _, t := range targets {
		if t.TemplateHash != "" {
			hashes = append(hashes, t.TemplateHash)
		}
		images = append(images, t.Images...)
	}
	slices.Sort(hashes)
	slices.Sort(images)
	return slices.Compact(hashes), shortened(slices.Compact(images))
}

// Advanced says how far a run is.
func Advanced(run *v1alpha1.EvalRun, p Progress, now time.Time) {
	setProgress(&run.Status, p)
	open(run, ReasonRunning, fmt.Sprintf("%d of %d cases are done, %d of them failed", p.Done, p.Total, p.Errored), now)
}

func setProgress(s *v1alpha1.EvalRunStatus, p Progress) {
	s.Progress = &v1alpha1.Progress{
		Total:   ptr.To(int32(p.Total)),
		Done:    ptr.To(int32(p.Done)),
		Errored: ptr.To(int32(p.Errored)),
	}
	s.ProgressText = fmt.Sprintf("%d/%d", p.Done, p.Total)
}

func open(run *v1alpha1.EvalRun, reason, message string, now time.Time) {
	s := &run.Status
	s.ObservedGeneration = ptr.To(run.Generation)
	t := metav1.NewTime(now)
	set(&s.Conditions, t, metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse, ObservedGeneration: run.Generation, Reason: reason, Message: message})
	set(&s.Conditions, t, metav1.Condition{Type: v1alpha1.ConditionPassed, Status: metav1.ConditionUnknown, ObservedGeneration: run.Generation, Reason: reason, Message: message})
}

// Verdict ends a run with a verdict that no metric led to: it was cancelled
// before it began, or could not begin.
func Verdict(run *v1alpha1.EvalRun, verdict v1alpha1.Verdict, reason, message string, now time.Time) {
	s := &run.Status
	t := metav1.NewTime(now)
	s.ObservedGeneration = ptr.To(run.Generation)
	s.Verdict = verdict
	s.Reason = reason
	s.Message = Truncate(message, maxMessage)
	s.CompletionTime = ptr.To(metav1.NewMicroTime(now))
	if s.StartTime != nil {
		s.Duration = max(now.Sub(s.StartTime.Time), 0).Round(time.Second).String()
	}
	passed := map[v1alpha1.Verdict]metav1.ConditionStatus{
		v1alpha1.VerdictPassed: metav1.ConditionTrue,
		v1alpha1.VerdictFailed: metav1.ConditionFalse,
	}[verdict]
	if passed == "" {
		passed = metav1.ConditionUnknown
	}
	set(&s.Conditions, t, metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, ObservedGeneration: run.Generation, Reason: string(verdict), Message: message})
	set(&s.Conditions, t, metav1.Condition{Type: v1alpha1.ConditionPassed, Status: passed, ObservedGeneration: run.Generation, Reason: reason, Message: message})
	keepOnly(&s.Conditions, v1alpha1.ConditionComplete, v1alpha1.ConditionPassed, v1alpha1.ConditionBaselineComparable, v1alpha1.ConditionJudgeTrusted, v1alpha1.ConditionHistoryStored)
}

// Stored says whether everything of a run is in the history; lost says what is
// not, and why, and is empty where all of it is.
func Stored(run *v1alpha1.EvalRun, lost string, now time.Time) {
	c := metav1.Condition{Type: v1alpha1.ConditionHistoryStored, Status: metav1.ConditionTrue, ObservedGeneration: run.Generation,
		Reason: ReasonStored, Message: "everything of the run is in the history"}
	if lost != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, ReasonStoreFailed, lost
	}
	set(&run.Status.Conditions, metav1.NewTime(now), c)
}

// Finished writes what a run measured, and its verdict.
func Finished(run *v1alpha1.EvalRun, p *suite.Prepared, result *eval.Result, now time.Time) {
	s := &run.Status
	setProgress(s, Progress{Total: result.Total, Done: result.Done, Errored: result.Errored})
	s.CorpusVersion = corpusVersion(result.CorpusVersion)
	s.HitRate = headline(result.Summary, suite.PrimaryMetric(p.PrimaryK))
	s.MRR = headline(result.Summary, "mrr")
	s.Accuracy = headline(result.Summary, score.Accuracy)
	s.HallucinationRate = headline(result.Summary, score.HallucinationRate)
	s.Coverage = coverage(result.Summary)
	s.Evidence = evidence(result.Summary.Evidence)
	s.Judge = p.Calibrated()
	s.Metrics = metrics(result, p.Plan.Objectives)
	if result.Comparison != nil {
		s.BaselineRun = result.Comparison.Base.Run
	}
	if b := p.Plan.Baseline; b != nil {
		setComparable(&s.Conditions, b, result.Comparison, run.Generation, now)
	}
	s.Objectives = objectives(result.Decision.Objectives)
	s.Outcomes = outcomes(result.Outcomes)
	s.WorstCases = worst(result.Worst)
	s.Usage = usage(p, result)
	if p.Judge != nil {
		setTrust(&s.Conditions, s.Judge, result.Trust.Untrusted, run.Generation, now)
	}
	d := result.Decision
	Verdict(run, v1alpha1.Verdict(d.Verdict), d.Reason, d.Message, now)
}

// corpusVersion shortens a long version so that two that differ stay two: a
// verdict holds for one of them.
func corpusVersion(v string) string {
	if len(v) <= maxCorpusVersion {
		return v
	}
	sum := sha256.Sum256([]byte(v))
	digest := hex.EncodeToString(sum[:])
	return Truncate(v, maxCorpusVersion-len(digest)) + digest
}

func headline(s score.Summary, name string) string {
	if m, ok := s.Mean(name, ""); ok {
		return score.Format(m.Value)
	}
	return ""
}

func coverage(s score.Summary) *v1alpha1.Coverage {
	c := v1alpha1.Coverage{}
	for stage, field := range map[score.Stage]*string{
		score.RetrievalStage: &c.Retrieval, score.AnswerStage: &c.Answer, score.JudgeStage: &c.Judge,
	} {
		if ratio, due := s.Coverage(stage, "").Ratio(); due {
			*field = score.Format(ratio)
		}
	}
	if c == (v1alpha1.Coverage{}) {
		return nil
	}
	return &c
}

func evidence(e *score.Evidence) *v1alpha1.Evidence {
	if e == nil {
		return nil
	}
	return &v1alpha1.Evidence{
		HitRight: ptr.To(int32(e.HitRight)), HitWrong: ptr.To(int32(e.HitWrong)),
		MissRight: ptr.To(int32(e.MissRight)), MissWrong: ptr.To(int32(e.MissWrong)),
	}
}

// usage counts the calls of the stages that the run has.
func usage(p *suite.Prepared, result *eval.Result) *v1alpha1.Usage {
	u := &v1alpha1.Usage{}
	if p.Parties.Retriever != nil || p.Parties.Answerer == nil {
		u.RetrieverCalls = ptr.To(result.RetrieverCalls)
	}
	if p.Parties.Answerer != nil {
		u.AnswerCalls = ptr.To(result.AnswerCalls)
	}
	if p.Parties.Judge != nil {
		j := result.Usage
		u.JudgeCalls, u.PromptTokens, u.CompletionTokens, u.CacheHits = ptr.To(j.Calls), ptr.To(j.PromptTokens), ptr.To(j.CompletionTokens), ptr.To(j.CacheHits)
	}
	return u
}

// setTrust says whether the judge agrees with people; failed says why that could
// not be found out.
func setTrust(conditions *[]metav1.Condition, j *v1alpha1.JudgeStatus, failed string, generation int64, now time.Time) {
	c := metav1.Condition{Type: v1alpha1.ConditionJudgeTrusted, Status: metav1.ConditionUnknown, ObservedGeneration: generation, Reason: ReasonNotCalibrated}
	switch {
	case j == nil && failed != "":
		c.Message = failed
	case j == nil:
		c.Message = "the judge was held against no labelled verdicts: give judge.calibration some"
	case j.Trust == string(judge.Trusted):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonAgrees, j.Message
	case j.Trust == string(judge.Untrusted):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, ReasonDisagrees, j.Message
	default:
		c.Reason, c.Message = ReasonTooFewLabels, j.Message
	}
	set(conditions, metav1.NewTime(now), c)
}

// metrics gives the means over all cases and over those of up to 16 tags:
// first the tags that an objective names, then those with the most cases.
func metrics(result *eval.Result, objectives []score.Objective) []v1alpha1.RunMetric {
	s := result.Summary
	keep := statusTags(s, objectives)
	var list []v1alpha1.RunMetric
	for _, m := range s.Means {
		if m.Tag != "" && !keep[m.Tag] {
			continue
		}
		item := v1alpha1.RunMetric{
			Name:  m.Name,
			Tag:   ptr.To(m.Tag),
			Value: score.Format(m.Value),
			Count: ptr.To(int32(m.Count)),
		}
		if m.Low != nil && m.High != nil {
			item.Low, item.High = score.Format(*m.Low), score.Format(*m.High)
		}
		against(&item, result, m)
		list = append(list, item)
	}
	return list
}

// against says how a metric stands against the baseline and the reference.
func against(item *v1alpha1.RunMetric, result *eval.Result, m score.Mean) {
	if d, ok := deltaOf(result.Comparison, m); ok {
		item.Baseline, item.Delta = score.Format(d.Base), score.Format(d.Delta)
		if d.Low != nil && d.High != nil {
			item.DeltaLow, item.DeltaHigh = score.Format(*d.Low), score.Format(*d.High)
		}
		if p := d.PValue(); p != nil {
			item.PValue = score.Format(*p)
		}
		if d.SmallestDrop != nil {
			item.SmallestDrop = score.Format(*d.SmallestDrop)
		}
	}
	if d, ok := deltaOf(result.ReferenceComparison, m); ok {
		item.ReferenceDelta = score.Format(d.Delta)
	}
}

func deltaOf(c *compare.Comparison, m score.Mean) (compare.Delta, bool) {
	if c == nil {
		return compare.Delta{}, false
	}
	return c.Delta(m.Name, m.Tag)
}

// setComparable says whether the run could be compared with its baseline.
func setComparable(conditions *[]metav1.Condition, b *eval.Baseline, c *compare.Comparison, generation int64, now time.Time) {
	condition := metav1.Condition{Type: v1alpha1.ConditionBaselineComparable, Status: metav1.ConditionUnknown, ObservedGeneration: generation,
		Reason: ReasonNoBaseline, Message: b.Policy.Missing}
	switch {
	case b.Policy.Lost:
		condition.Reason = compare.ReasonBaselineLost
	case c != nil && c.Reason == compare.ReasonComparable:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, ReasonComparable, c.Message
	case c != nil:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, c.Reason, c.Message
	}
	if b.ReferenceMissing != "" {
		condition.Message = fmt.Sprintf("%s; there is no drift to report: %s", condition.Message, b.ReferenceMissing)
	}
	set(conditions, metav1.NewTime(now), condition)
}

func statusTags(s score.Summary, objectives []score.Objective) map[string]bool {
	named := map[string]bool{}
	for _, o := range objectives {
		named[o.Tag] = true
	}
	tags := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Cases)), func(t string) bool { return t == "" })
	slices.SortStableFunc(tags, func(a, b string) int {
		if named[a] != named[b] {
			if named[a] {
				return -1
			}
			return 1
		}
		return cmp.Compare(s.Cases[b], s.Cases[a])
	})
	keep := map[string]bool{}
	for _, t := range tags[:min(len(tags), maxTags)] {
		keep[t] = true
	}
	return keep
}

func objectives(list []score.ObjectiveResult) []v1alpha1.ObjectiveResult {
	out := make([]v1alpha1.ObjectiveResult, len(list))
	for i, o := range list {
		out[i] = v1alpha1.ObjectiveResult{
			Metric:  o.Metric,
			Tag:     o.Tag,
			Bound:   o.Bound,
			Outcome: v1alpha1.ObjectiveOutcome(o.Outcome),
			Message: Truncate(o.Message, 1024),
		}
		if o.Value != nil {
			out[i].Value = score.Format(*o.Value)
		}
	}
	return out
}

func outcomes(counts map[string]int) []v1alpha1.OutcomeCount {
	var list []v1alpha1.OutcomeCount
	for _, t := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, v1alpha1.OutcomeCount{Type: t, Count: ptr.To(int32(counts[t]))})
	}
	return list
}

func worst(cases []eval.WorstCase) []v1alpha1.WorstCase {
	var list []v1alpha1.WorstCase
	for _, c := range cases[:min(len(cases), maxWorst)] {
		w := v1alpha1.WorstCase{ID: Truncate(c.ID, 1024), Outcome: c.Outcome}
		if c.Rank > 0 {
			w.Rank = ptr.To(int32(c.Rank))
		}
		if c.BaselineRank > 0 {
			w.BaselineRank = ptr.To(int32(c.BaselineRank))
		}
		list = append(list, w)
	}
	return list
}
