// Package facts gathers what decisions about a suite rest on: API objects in, the
// plain facts of the packages that decide out.
package facts

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
)

// Input is a suite and what is around it.
type Input struct {
	Suite *v1alpha1.EvalSuite
	// Runs that the suite owns.
	Runs []*v1alpha1.EvalRun
	// Targets are its workloads; nil where it has none.
	Targets *status.Targets
	// EvaluationDigest and GoldenSetDigest of today; empty while they are not known.
	EvaluationDigest, GoldenSetDigest string
	// Ready is false while nothing can be run.
	Ready bool
	Now   time.Time
}

// Schedule gives the facts as the schedule sees them.
func Schedule(in Input) schedule.Facts {
	spec, st := &in.Suite.Spec, &in.Suite.Status
	f := schedule.Facts{
		Now: in.Now,
		Suite: schedule.Suite{
			Name:              in.Suite.Name,
			UID:               string(in.Suite.UID),
			CreatedAt:         in.Suite.CreationTimestamp.Time,
			Schedule:          spec.Schedule,
			TimeZone:          spec.TimeZone,
			Jitter:            time.Duration(ptr.Deref(spec.JitterSeconds, 0)) * time.Second,
			Suspend:           ptr.Deref(spec.Suspend, false),
			Replace:           spec.ConcurrencyPolicy == v1alpha1.ReplaceConcurrent,
			OnGoldenSetChange: ptr.Deref(spec.OnGoldenSetChange, true),
			RunNow:            in.Suite.Annotations[v1alpha1.AnnotationRunNow],
			Ready:             in.Ready,
		},
		Key: schedule.Key{
			EvaluationDigest: in.EvaluationDigest,
			GoldenSetDigest:  in.GoldenSetDigest,
			Revision:         suite.NoTargetsRevision,
		},
		Status: schedule.Status{
			LastScheduleTime:  timeOf(st.LastScheduleTime),
			LastMissedTime:    timeOf(st.LastMissedTime),
			MissedRuns:        ptr.Deref(st.MissedRuns, 0),
			LastHandledRunNow: st.LastHandledRunNow,
		},
	}
	if t := in.Targets; t != nil {
		f.Key.Revision = t.Progress.Revision
		f.Targets = &schedule.Targets{RolledOutAt: t.Progress.RolledOutAt, Settle: Settle(in.Suite)}
	}
	if d := spec.StartingDeadlineSeconds; d != nil {
		f.Suite.StartingDeadline = ptr.To(time.Duration(*d) * time.Second)
	}
	if c := st.CountedSchedule; c != nil {
		f.Status.Counted = &schedule.Counted{Schedule: c.Schedule, TimeZone: c.TimeZone, Suspend: ptr.Deref(c.Suspend, false), Since: c.Since.Time}
	}
	if t := st.LastTriggered; t != nil {
		f.Status.LastTriggered = &schedule.TriggeredKey{EvaluationDigest: t.EvaluationDigest, GoldenSetDigest: t.GoldenSetDigest, Revision: t.Revision}
	}
	for _, r := range st.Results {
		if r.Endpoint == "" {
			f.Status.Results = append(f.Status.Results, schedule.PastResult{Run: r.Run, EvaluationDigest: r.EvaluationDigest, GoldenSetDigest: r.GoldenSetDigest, Revision: r.Revision, Verdict: string(r.Verdict), Reason: r.Reason, Time: r.Time.Time})
		}
	}
	for _, run := range in.Runs {
		f.Runs = append(f.Runs, runFacts(run))
	}
	return f
}

func runFacts(run *v1alpha1.EvalRun) schedule.Run {
	r := schedule.Run{
		Name:             run.Name,
		UID:              string(run.UID),
		Trigger:          string(run.Spec.Trigger),
		TriggeredBy:      run.Annotations[v1alpha1.AnnotationTriggeredBy],
		CreatedAt:        run.CreationTimestamp.Time,
		StartedAt:        microTimeOf(run.Status.StartTime),
		Verdict:          string(run.Status.Verdict),
		Reason:           run.Status.Reason,
		Revision:         run.Status.Revision,
		Full:             suite.OptionsOf(&run.Spec).Full(),
		EvaluationDigest: run.Status.SuiteEvaluationDigest,
		GoldenSetDigest:  run.Status.GoldenSetDigest,
		RetryOf:          run.Annotations[v1alpha1.AnnotationRetryOf],
		Canceled:         run.Annotations[v1alpha1.AnnotationCancel] != "",
	}
	if run.Status.Verdict != "" {
		r.FinishedAt = microTimeOf(run.Status.CompletionTime)
	}
	return r
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

func microTimeOf(t *metav1.MicroTime) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}
