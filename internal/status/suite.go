package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/suite"
)

// maxResults is how many results a suite's status carries.
const maxResults = 10

// Reasons of a suite's conditions. The reasons of Stalled are those of package suite.
const (
	ReasonSucceeded    = "Succeeded"
	ReasonRetrying     = "Retrying"
	ReasonPassed       = "Passed"
	ReasonMissed       = "ObjectivesMissed"
	ReasonNoResult     = "NotYetEvaluated"
	ReasonOtherRev     = "RevisionNotEvaluated"
	ReasonOtherSet     = "GoldenSetNotEvaluated"
	ReasonOtherSpec    = "SpecNotEvaluated"
	ReasonExpired      = "Expired"
	ReasonUndecided    = "Inconclusive"
	ReasonRunError     = "RunError"
	ReasonNoObjectives = "NoObjectives"
	// Of JudgeTrusted.
	ReasonNotCalibrated = "NotCalibrated"
	ReasonTooFewLabels  = "TooFewLabels"
	ReasonAgrees        = "Agrees"
	ReasonDisagrees     = "Disagrees"
	// Of BaselineComparable.
	ReasonNoBaseline = "NoBaseline"
	ReasonComparable = "Comparable"
)

// GoldenSummary is what a suite's status says of its golden set.
type GoldenSummary struct {
	Digest      string
	Cases, Tags int
	// Calls and Tokens are what a full run takes; Tokens is 0 without a model.
	Calls, Tokens int64
}

// SuiteFacts is what a suite's status is made of.
type SuiteFacts struct {
	// Stall is why the suite cannot be run as it stands; nil where it can.
	Stall *suite.Error
	// Golden is the golden set; nil where it could not be read.
	Golden *GoldenSummary
	// EvaluationDigest of the suite as it is; empty where what it refers to could
	// not be read, so that it is not known.
	EvaluationDigest string
	// Targets are the workloads whose revision a verdict holds for; nil for a suite
	// without any.
	Targets *Targets
	// Runs are the suite's finished runs that still exist.
	Runs []*v1alpha1.EvalRun
	Now  time.Time
}

// Suite folds the facts into the suite's status. It keeps what earlier runs
// left there, since their objects may be gone. The schedule's fields are not
// its business.
func Suite(s *v1alpha1.EvalSuite, f SuiteFacts) {
	st := &s.Status
	st.ObservedGeneration = ptr.To(s.Generation)
	if f.EvaluationDigest != "" {
		st.EvaluationDigest = f.EvaluationDigest
	}
	if g := f.Golden; g != nil {
		st.GoldenSet = &v1alpha1.GoldenSetStatus{Digest: g.Digest, Cases: ptr.To(int32(g.Cases)), Tags: ptr.To(int32(g.Tags))}
		st.Plan = &v1alpha1.Plan{Calls: ptr.To(g.Calls)}
		if g.Tokens > 0 {
			st.Plan.EstimatedTokens = ptr.To(g.Tokens)
		}
	}
	setTargets(s, f)
	foldRuns(s, f)
	setReadiness(s, f)
	setPassing(s, f)
	takeJudge(s, f)
	takeBaseline(s, f)
	takeCondition(s, f, v1alpha1.ConditionHistoryStored)
	takeCondition(s, f, v1alpha1.ConditionJudgeTrusted)
	takeCondition(s, f, v1alpha1.ConditionBaselineComparable)
	kept := []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionPassing, v1alpha1.ConditionHistoryStored}
	if s.Spec.Judge != nil {
		kept = append(kept, v1alpha1.ConditionJudgeTrusted)
		always(s, f, v1alpha1.ConditionJudgeTrusted, ReasonNotCalibrated, "no run has held the judge against labelled verdicts yet")
	}
	if s.Spec.Baseline.Policy != v1alpha1.BaselineNone {
		kept = append(kept, v1alpha1.ConditionBaselineComparable)
		always(s, f, v1alpha1.ConditionBaselineComparable, ReasonNoBaseline, "no run has been compared with a baseline yet")
	}
	keepOnly(&st.Conditions, kept...)
}

// NextExpiry is when the suite's condition Passing changes by itself; zero
// where it does not.
func NextExpiry(s *v1alpha1.EvalSuite, now time.Time) time.Time {
	var next time.Time
	for _, r := range s.Status.Results {
		if at := r.ExpiresAt.Time; at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

func foldRuns(s *v1alpha1.EvalSuite, f SuiteFacts) {
	st := &s.Status
	results := slices.Clone(st.Results)
	for _, run := range f.Runs {
		ended := run.Status.CompletionTime
		if run.Status.Verdict == "" || ended == nil {
			continue
		}
		full := suite.OptionsOf(&run.Spec).Full()
		if full && run.Status.Verdict == v1alpha1.VerdictPassed && (st.LastPassTime == nil || ended.After(st.LastPassTime.Time)) {
			st.LastPassTime = metaTime(&ended.Time)
		}
		if full && scored(run) && newer(run, st.LastRun) {
			st.LastRun = lastRun(run)
			st.HitRate, st.MRR = run.Status.HitRate, run.Status.MRR
			st.Accuracy, st.HallucinationRate = run.Status.Accuracy, run.Status.HallucinationRate
		}
		// A named endpoint's result counts for that endpoint, where all cases were asked.
		if run.Status.GoldenSetDigest != "" && suite.OptionsOf(&run.Spec).Whole() {
			results = append(results, resultOf(run))
		}
	}
	results = newestPerKey(results)
	st.Results = bounded(results, today(s, f.revision(), own(results)))
	maxAge := time.Duration(s.Spec.Gate.MaxAgeSeconds) * time.Second
	for i := range st.Results {
		st.Results[i].ExpiresAt = metav1.NewTime(st.Results[i].Time.Add(maxAge).Truncate(time.Second))
	}
}

// scored says whether the run's numbers speak of the suite: it was not stopped
// half-way, and something was scored.
func scored(run *v1alpha1.EvalRun) bool {
	switch reason := run.Status.Reason; {
	case reason == ReasonCanceled, reason == ReasonReplaced, reason == ReasonSuiteChanged,
		reason == schedule.ReasonSuperseded, reason == schedule.ReasonRevisionChanged:
		return false
	case reason != "" && reason == run.Annotations[v1alpha1.AnnotationCancel]:
		return false
	}
	return run.Status.Verdict != v1alpha1.VerdictError && (run.Status.MRR != "" || run.Status.HallucinationRate != "")
}

// newer orders as the results are ordered: by time, and in one instant by name.
func newer(run *v1alpha1.EvalRun, last *v1alpha1.LastRun) bool {
	if last == nil || last.CompletionTime == nil {
		return true
	}
	return cmp.Or(run.Status.CompletionTime.Compare(last.CompletionTime.Time), cmp.Compare(run.Name, last.Name)) > 0
}

func lastRun(run *v1alpha1.EvalRun) *v1alpha1.LastRun {
	st := &run.Status
	l := &v1alpha1.LastRun{
		Name:            run.Name,
		UID:             string(run.UID),
		Trigger:         run.Spec.Trigger,
		Revision:        st.Revision,
		GoldenSetDigest: st.GoldenSetDigest,
		Verdict:         st.Verdict,
		StartTime:       st.StartTime,
		CompletionTime:  st.CompletionTime,
		Coverage:        st.Coverage,
		Objectives:      st.Objectives,
		Evidence:        st.Evidence,
	}
	for _, m := range st.Metrics {
		l.Metrics = append(l.Metrics, v1alpha1.SuiteMetric{Name: m.Name, Tag: m.Tag, Value: m.Value, Count: m.Count, Delta: m.Delta, ReferenceDelta: m.ReferenceDelta})
	}
	return l
}

func resultOf(run *v1alpha1.EvalRun) v1alpha1.Result {
	st := &run.Status
	return v1alpha1.Result{
		Run:              run.Name,
		Time:             ptr.Deref(st.CompletionTime, metav1.MicroTime{}),
		Trigger:          run.Spec.Trigger,
		Endpoint:         run.Spec.Endpoint,
		Revision:         st.Revision,
		GoldenSetDigest:  st.GoldenSetDigest,
		EvaluationDigest: st.SuiteEvaluationDigest,
		CorpusVersion:    st.CorpusVersion,
		Verdict:          st.Verdict,
		Reason:           st.Reason,
		Message:          Truncate(st.Message, 1024),
		HitRate:          st.HitRate,
		MRR:              st.MRR,
		Accuracy:         st.Accuracy,

		HallucinationRate: st.HallucinationRate,
		TemplateHashes:    st.TemplateHashes,
		Images:            st.Images,
	}
}

type resultKey struct{ evaluation, golden, revision, endpoint, corpus string }

func keyOf(r *v1alpha1.Result) resultKey {
	return resultKey{r.EvaluationDigest, r.GoldenSetDigest, r.Revision, r.Endpoint, r.CorpusVersion}
}

// newestPerKey keeps the newest result of each key, newest first. Of two that
// ended in one instant the name decides, so that every pass comes to the same; of
// a result and its run, the result, which comes first.
func newestPerKey(results []v1alpha1.Result) []v1alpha1.Result {
	slices.SortStableFunc(results, func(a, b v1alpha1.Result) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(b.Run, a.Run))
	})
	seen := map[resultKey]bool{}
	return slices.DeleteFunc(results, func(r v1alpha1.Result) bool {
		k := keyOf(&r)
		known := seen[k]
		seen[k] = true
		return known
	})
}

// bounded drops the oldest results beyond ten. What Passing rests on stays,
// however many runs of canaries have come since: the newest result of the
// suite's own URL, and the one of today's key.
func bounded(results []v1alpha1.Result, key resultKey) []v1alpha1.Result {
	newest := slices.IndexFunc(results, func(r v1alpha1.Result) bool { return r.Endpoint == "" })
	for i := len(results) - 1; i >= 0 && len(results) > maxResults; i-- {
		if i != newest && keyOf(&results[i]) != key {
			results = slices.Delete(results, i, i+1)
		}
	}
	return results
}

// own gives the results of the suite's own URL.
func own(results []v1alpha1.Result) []v1alpha1.Result {
	return slices.DeleteFunc(slices.Clone(results), func(r v1alpha1.Result) bool { return r.Endpoint != "" })
}

// today is the key that a verdict has to be about: the suite as it is, the
// golden set as it was read last, the revision that runs now, and the index
// that the newest result of the suite's own URL was measured on.
func today(s *v1alpha1.EvalSuite, revision string, results []v1alpha1.Result) resultKey {
	k := resultKey{evaluation: s.Status.EvaluationDigest, revision: revision}
	if set := s.Status.GoldenSet; set != nil {
		k.golden = set.Digest
	}
	if len(results) > 0 {
		k.corpus = results[0].CorpusVersion
	}
	return k
}

// setReadiness sets Ready, Reconciling and Stalled as kstatus reads them: a
// user's mistake stalls, an outage is being worked on.
func setReadiness(s *v1alpha1.EvalSuite, f SuiteFacts) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonSucceeded}
	reconciling := metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionFalse, Reason: ReasonSucceeded, Message: "nothing is left to do"}
	stalled := metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: ReasonSucceeded, Message: "nothing is in the way"}
	switch {
	case f.Stall == nil:
		ready.Message = "the suite is accepted"
		if g := f.Golden; g != nil {
			ready.Message = fmt.Sprintf("the suite is accepted; cases: %d, calls a run: %d", g.Cases, g.Calls)
		}
	case f.Stall.Transient:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, f.Stall.Reason, f.Stall.Message
		reconciling.Status, reconciling.Reason, reconciling.Message = metav1.ConditionTrue, ReasonRetrying, f.Stall.Message
	default:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, f.Stall.Reason, f.Stall.Message
		stalled.Status, stalled.Reason, stalled.Message = metav1.ConditionTrue, f.Stall.Reason, f.Stall.Message
	}
	for _, c := range []metav1.Condition{ready, reconciling, stalled} {
		c.ObservedGeneration = s.Generation
		set(&s.Status.Conditions, metav1.NewTime(f.Now), c)
	}
}

func setPassing(s *v1alpha1.EvalSuite, f SuiteFacts) {
	c := passing(s, f)
	c.Type = v1alpha1.ConditionPassing
	c.ObservedGeneration = s.Generation
	set(&s.Status.Conditions, metav1.NewTime(f.Now), c)
}

// passing reads the newest result for today's key.
func passing(s *v1alpha1.EvalSuite, f SuiteFacts) metav1.Condition {
	if len(s.Spec.Objectives) == 0 {
		return unknown(ReasonNoObjectives, "the suite has no objectives, so nothing can pass or fail: add spec.objectives")
	}
	results := own(s.Status.Results)
	if len(results) == 0 {
		return unknown(ReasonNoResult, "no run of the whole golden set against the suite's own URL has ended yet%s", f.waits())
	}
	if why := f.notKnown(); why != "" {
		return unknown(ReasonOtherRev, "%s", why)
	}
	key := today(s, f.revision(), results)
	i := slices.IndexFunc(results, func(r v1alpha1.Result) bool { return keyOf(&r) == key })
	if i < 0 {
		c := notEvaluated(results, key)
		c.Message += f.waits()
		return c
	}
	r := results[i]
	switch {
	case !r.ExpiresAt.After(f.Now):
		return unknown(ReasonExpired, "run %s (%s) ended at %s, and its verdict held until %s: start a run with the annotation %s, give the suite a spec.schedule, or raise spec.gate.maxAgeSeconds",
			r.Run, r.Verdict, stamp(r.Time.Time), stamp(r.ExpiresAt.Time), v1alpha1.AnnotationRunNow)
	case r.Verdict == v1alpha1.VerdictPassed:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonPassed, Message: fmt.Sprintf("run %s: %s", r.Run, r.Message)}
	case r.Verdict == v1alpha1.VerdictFailed:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonMissed, Message: fmt.Sprintf("run %s: %s", r.Run, r.Message)}
	case r.Verdict == v1alpha1.VerdictError:
		return unknown(ReasonRunError, "run %s: %s: %s", r.Run, r.Reason, r.Message)
	}
	return unknown(ReasonUndecided, "run %s: %s: %s", r.Run, r.Reason, r.Message)
}

// notEvaluated says what the newest result is about that is not so now. It is
// one of the three that it names, for today's index is the newest result's.
func notEvaluated(results []v1alpha1.Result, key resultKey) metav1.Condition {
	newest := results[0]
	yet := "has been measured by no run that has ended"
	if slices.ContainsFunc(results, func(r v1alpha1.Result) bool {
		k := keyOf(&r)
		k.corpus = key.corpus
		return k == key
	}) {
		yet += " since the index changed"
	}
	switch {
	case newest.EvaluationDigest != key.evaluation:
		return unknown(ReasonOtherSpec, "the suite as it is now %s: the newest, %s, was of an earlier spec", yet, newest.Run)
	case newest.GoldenSetDigest != key.golden:
		return unknown(ReasonOtherSet, "the golden set as it is now %s: the newest, %s, was of an earlier one", yet, newest.Run)
	}
	return unknown(ReasonOtherRev, "the revision that runs now, %s, %s: the newest, %s, was of revision %s", key.revision, yet, newest.Run, newest.Revision)
}

func unknown(reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// takeJudge takes over how far the judge agrees with people, from the run that
// ended last and found it out.
func takeJudge(s *v1alpha1.EvalSuite, f SuiteFacts) {
	if s.Spec.Judge == nil || s.Spec.Judge.Calibration == nil {
		s.Status.Judge = nil
		return
	}
	if last := newestWith(f.Runs, func(run *v1alpha1.EvalRun) bool { return run.Status.Judge != nil }); last != nil {
		s.Status.Judge = last.Status.Judge
	}
}

// takeBaseline names the run that the next one is compared with. A run that is
// gone from the API stays named while no other takes its place.
func takeBaseline(s *v1alpha1.EvalSuite, f SuiteFacts) {
	st := &s.Status
	switch s.Spec.Baseline.Policy {
	case v1alpha1.BaselineNone:
		st.Baseline = nil
	case v1alpha1.BaselinePinned:
		if st.Baseline == nil || st.Baseline.RunName != s.Spec.Baseline.RunName {
			st.Baseline = &v1alpha1.BaselineStatus{RunName: s.Spec.Baseline.RunName}
		}
		if i := slices.IndexFunc(f.Runs, func(run *v1alpha1.EvalRun) bool { return run.Name == s.Spec.Baseline.RunName }); i >= 0 {
			st.Baseline = baseline(f.Runs[i])
		}
	default:
		last := newestWith(f.Runs, func(run *v1alpha1.EvalRun) bool {
			return run.Status.Verdict == v1alpha1.VerdictPassed && suite.OptionsOf(&run.Spec).Full()
		})
		// One that passed after all of these, and is gone, is named already.
		if last != nil && (st.Baseline == nil || st.LastPassTime == nil || !last.Status.CompletionTime.Truncate(time.Second).Before(st.LastPassTime.Time)) {
			st.Baseline = baseline(last)
		}
	}
}

func baseline(run *v1alpha1.EvalRun) *v1alpha1.BaselineStatus {
	return &v1alpha1.BaselineStatus{RunName: run.Name, GoldenSetDigest: run.Status.GoldenSetDigest, Revision: run.Status.Revision}
}

// takeCondition takes over what the run that ended last says. Where no run is
// left to say it, it stays as it was.
func takeCondition(s *v1alpha1.EvalSuite, f SuiteFacts, kind string) {
	last := newestWith(f.Runs, func(run *v1alpha1.EvalRun) bool {
		return meta.FindStatusCondition(run.Status.Conditions, kind) != nil
	})
	if last == nil {
		return
	}
	c := *meta.FindStatusCondition(last.Status.Conditions, kind)
	c.Message = "run " + last.Name + ": " + c.Message
	c.ObservedGeneration = s.Generation
	set(&s.Status.Conditions, metav1.NewTime(f.Now), c)
}

// always sets a condition that applies and that nobody has set yet.
func always(s *v1alpha1.EvalSuite, f SuiteFacts, kind, reason, message string) {
	if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
		c.ObservedGeneration = s.Generation
		return
	}
	c := unknown(reason, "%s", message)
	c.Type, c.ObservedGeneration = kind, s.Generation
	set(&s.Status.Conditions, metav1.NewTime(f.Now), c)
}

// newestWith finds the run that ended last of those that a test holds for; of two
// that ended in one instant, the one that comes last by name.
func newestWith(runs []*v1alpha1.EvalRun, has func(*v1alpha1.EvalRun) bool) *v1alpha1.EvalRun {
	var last *v1alpha1.EvalRun
	for _, run := range runs {
		if run.Status.Verdict == "" || run.Status.CompletionTime == nil || !has(run) {
			continue
		}
		if last == nil || cmp.Or(run.Status.CompletionTime.Compare(last.Status.CompletionTime.Time), cmp.Compare(run.Name, last.Name)) > 0 {
			last = run
		}
	}
	return last
}
