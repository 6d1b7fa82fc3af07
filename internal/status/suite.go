package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/suite"
)

// maxResults is how many results a suite's status carries.
const maxResults = 10

// Reasons of a suite's conditions. The reasons of Stalled are those of package suite.
const (
	ReasonSucceeded  = "Succeeded"
	ReasonRetrying   = "Retrying"
	ReasonPassed     = "Passed"
	ReasonMissed     = "ObjectivesMissed"
	ReasonNoResult   = "NotYetEvaluated"
	ReasonOtherRev   = "RevisionNotEvaluated"
	ReasonOtherSet   = "GoldenSetNotEvaluated"
	ReasonOtherSpec  = "SpecNotEvaluated"
	ReasonExpired    = "Expired"
	ReasonUndecided  = "Inconclusive"
	ReasonRunError   = "RunError"
	ReasonNoObjects  = "NoObjectives"
	reasonOtherIndex = "CorpusNotEvaluated"
)

// GoldenSummary is what a suite's status says of its golden set.
type GoldenSummary struct {
	Digest      string
	Cases, Tags int
	Calls       int64
}

// SuiteFacts is what a suite's status is made of.
type SuiteFacts struct {
	// Stall is why the suite cannot be run as it stands; nil where it can.
	Stall *suite.Error
	// Golden is the golden set; nil where it could not be read.
	Golden *GoldenSummary
	// Revision that runs now.
	Revision string
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
	st.EvaluationDigest = suite.EvaluationDigest(s, "")
	if g := f.Golden; g != nil {
		st.GoldenSet = &v1alpha1.GoldenSetStatus{Digest: g.Digest, Cases: ptr.To(int32(g.Cases)), Tags: ptr.To(int32(g.Tags))}
		st.Plan = &v1alpha1.Plan{Calls: ptr.To(g.Calls)}
	}
	foldRuns(s, f.Runs)
	setReadiness(s, f)
	setPassing(s, f)
	keepOnly(&st.Conditions, v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionPassing)
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

func foldRuns(s *v1alpha1.EvalSuite, runs []*v1alpha1.EvalRun) {
	st := &s.Status
	results := slices.Clone(st.Results)
	for _, run := range runs {
		if run.Status.Verdict == "" {
			continue
		}
		full := suite.OptionsOf(&run.Spec).Full()
		if full && run.Status.Verdict == v1alpha1.VerdictPassed && (st.LastPassTime == nil || run.Status.CompletionTime.After(st.LastPassTime.Time)) {
			st.LastPassTime = ptr.To(metav1.NewTime(run.Status.CompletionTime.Truncate(time.Second)))
		}
		if full && scored(run) && newer(run, st.LastRun) {
			st.LastRun = lastRun(run)
			st.HitRate, st.MRR = run.Status.HitRate, run.Status.MRR
		}
		// A named endpoint's result counts for that endpoint, where all cases were asked.
		if run.Status.GoldenSetDigest == "" || len(run.Spec.Tags) > 0 || ptr.Deref(run.Spec.TopK, 0) != 0 {
			continue
		}
		if !slices.ContainsFunc(results, func(r v1alpha1.Result) bool { return r.Run == run.Name && r.Time.Equal(run.Status.CompletionTime) }) {
			results = append(results, resultOf(run))
		}
	}
	maxAge := time.Duration(s.Spec.Gate.MaxAgeSeconds) * time.Second
	st.Results = newestPerKey(results)
	for i := range st.Results {
		st.Results[i].ExpiresAt = metav1.NewTime(st.Results[i].Time.Add(maxAge).Truncate(time.Second))
	}
}

// scored says whether the run's numbers speak of the suite: it was not stopped
// by hand half-way, and something was scored.
func scored(run *v1alpha1.EvalRun) bool {
	switch run.Status.Reason {
	case ReasonCanceled, ReasonReplaced, ReasonSuiteChanged:
		return false
	}
	return run.Status.Verdict != v1alpha1.VerdictError && run.Status.MRR != ""
}

func newer(run *v1alpha1.EvalRun, last *v1alpha1.LastRun) bool {
	return last == nil || later(run.Status.CompletionTime, last.CompletionTime)
}

// later compares two times, of which the second may be missing.
func later(t, than *metav1.MicroTime) bool {
	return t != nil && (than == nil || t.After(than.Time))
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
	}
	for _, m := range st.Metrics {
		l.Metrics = append(l.Metrics, v1alpha1.SuiteMetric{Name: m.Name, Tag: m.Tag, Value: m.Value, Count: m.Count})
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
	}
}

type resultKey struct{ evaluation, golden, revision, endpoint, corpus string }

func keyOf(r *v1alpha1.Result) resultKey {
	return resultKey{r.EvaluationDigest, r.GoldenSetDigest, r.Revision, r.Endpoint, r.CorpusVersion}
}

// newestPerKey keeps the newest result of each key, and of those the newest ten.
func newestPerKey(results []v1alpha1.Result) []v1alpha1.Result {
	slices.SortStableFunc(results, func(a, b v1alpha1.Result) int {
		if c := b.Time.Compare(a.Time.Time); c != 0 {
			return c
		}
		return cmp.Compare(b.Run, a.Run)
	})
	seen := map[resultKey]bool{}
	var kept []v1alpha1.Result
	for _, r := range results {
		if k := keyOf(&r); !seen[k] && len(kept) < maxResults {
			seen[k] = true
			kept = append(kept, r)
		}
	}
	return kept
}

// setReadiness sets Ready, Reconciling and Stalled as kstatus reads them: a
// user's mistake stalls, an outage is being worked on.
func setReadiness(s *v1alpha1.EvalSuite, f SuiteFacts) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonSucceeded}
	reconciling := metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionFalse, Reason: ReasonSucceeded, Message: "nothing is left to do"}
	stalled := metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: ReasonSucceeded, Message: "nothing is in the way"}
	switch {
	case f.Stall == nil && f.Golden != nil:
		ready.Message = fmt.Sprintf("the suite is accepted: %d cases, %d calls a run", f.Golden.Cases, f.Golden.Calls)
	case f.Stall != nil && f.Stall.Transient:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, f.Stall.Reason, f.Stall.Message
		reconciling.Status, reconciling.Reason, reconciling.Message = metav1.ConditionTrue, ReasonRetrying, f.Stall.Message
	case f.Stall != nil:
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

// passing reads the newest result for today's key: the suite as it is, the
// golden set as it was read last, the revision and the index that are live.
func passing(s *v1alpha1.EvalSuite, f SuiteFacts) metav1.Condition {
	unknown := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if len(s.Spec.Objectives) == 0 {
		return unknown(ReasonNoObjects, "the suite has no objectives, so nothing can pass or fail: add spec.objectives")
	}
	own := slices.DeleteFunc(slices.Clone(s.Status.Results), func(r v1alpha1.Result) bool { return r.Endpoint != "" })
	if len(own) == 0 {
		return unknown(ReasonNoResult, "no run has ended yet")
	}
	newest := own[0]
	today := resultKey{evaluation: s.Status.EvaluationDigest, revision: f.Revision, corpus: newest.CorpusVersion}
	if s.Status.GoldenSet != nil {
		today.golden = s.Status.GoldenSet.Digest
	}
	i := slices.IndexFunc(own, func(r v1alpha1.Result) bool { return keyOf(&r) == today })
	if i < 0 {
		switch {
		case newest.EvaluationDigest != today.evaluation:
			return unknown(ReasonOtherSpec, "the suite was changed after run %s: no run of it as it is now has ended yet", newest.Run)
		case newest.GoldenSetDigest != today.golden:
			return unknown(ReasonOtherSet, "the golden set was changed after run %s: no run of it as it is now has ended yet", newest.Run)
		case newest.Revision != today.revision:
			return unknown(ReasonOtherRev, "run %s measured revision %s, but %s runs now", newest.Run, newest.Revision, today.revision)
		}
		return unknown(reasonOtherIndex, "no run of the index that is served now has ended yet")
	}
	r := own[i]
	switch {
	case !r.ExpiresAt.After(f.Now):
		return unknown(ReasonExpired, "run %s (%s) ended at %s, and its verdict held until %s: the suite waits for a newer run", r.Run, r.Verdict, stamp(r.Time.Time), stamp(r.ExpiresAt.Time))
	case r.Verdict == v1alpha1.VerdictPassed:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonPassed, Message: fmt.Sprintf("run %s: %s", r.Run, r.Message)}
	case r.Verdict == v1alpha1.VerdictFailed:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonMissed, Message: fmt.Sprintf("run %s: %s", r.Run, r.Message)}
	case r.Verdict == v1alpha1.VerdictError:
		return unknown(ReasonRunError, "run %s: %s", r.Run, r.Message)
	}
	return unknown(ReasonUndecided, "run %s: %s: %s", r.Run, r.Reason, r.Message)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
