package facts

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/rollout"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/status"
)

func TestSchedule(t *testing.T) {
	s := onDeploy(func(s *v1alpha1.EvalSuite) {
		s.UID, s.CreationTimestamp = "uid", *before(time.Hour)
		s.Annotations = map[string]string{v1alpha1.AnnotationRunNow: "token"}
		s.Spec.Schedule, s.Spec.TimeZone = "0 3 * * *", "Asia/Seoul"
		s.Spec.StartingDeadlineSeconds, s.Spec.JitterSeconds = ptr.To[int64](600), ptr.To[int32](30)
		s.Spec.Suspend, s.Spec.OnGoldenSetChange = ptr.To(true), ptr.To(false)
		s.Spec.ConcurrencyPolicy = v1alpha1.ReplaceConcurrent
		s.Spec.OnDeploy.SettleSeconds = ptr.To[int32](20)
		s.Status = v1alpha1.EvalSuiteStatus{
			LastScheduleTime: before(9 * time.Hour), LastMissedTime: before(33 * time.Hour), MissedRuns: ptr.To[int64](2), LastHandledRunNow: "earlier",
			CountedSchedule: &v1alpha1.CountedSchedule{Schedule: "0 3 * * *", TimeZone: "UTC", Suspend: ptr.To(true), Since: *before(50 * time.Hour)},
			LastTriggered:   &v1alpha1.TriggeredKey{EvaluationDigest: "e0", GoldenSetDigest: "g0", Revision: "r0"},
			Results: []v1alpha1.Result{
				{Run: "own", EvaluationDigest: "e0", GoldenSetDigest: "g0", Revision: "r0", Verdict: v1alpha1.VerdictFailed, Reason: "ObjectivesMissed", Time: metav1.NewMicroTime(noon.Add(-8 * time.Hour))},
				{Run: "canary", Endpoint: "canary", EvaluationDigest: "e9", GoldenSetDigest: "g0", Revision: "r9", Verdict: v1alpha1.VerdictPassed},
			},
		}
	})
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Name: "retry", UID: "run-uid", CreationTimestamp: *before(time.Minute), Annotations: map[string]string{
			v1alpha1.AnnotationTriggeredBy: "retry-of:own", v1alpha1.AnnotationRetryOf: "own", v1alpha1.AnnotationCancel: "Canceled",
		}},
		Spec: v1alpha1.EvalRunSpec{Trigger: v1alpha1.TriggerDeploy},
		Status: v1alpha1.EvalRunStatus{
			Verdict: v1alpha1.VerdictInconclusive, Reason: "Canceled", Revision: "r0", SuiteEvaluationDigest: "e0", GoldenSetDigest: "g0",
			StartTime: ptr.To(metav1.NewMicroTime(noon.Add(-50 * time.Second))), CompletionTime: ptr.To(metav1.NewMicroTime(noon.Add(-40 * time.Second))),
		},
	}
	going := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Name: "canary", CreationTimestamp: *before(time.Second)},
		Spec:       v1alpha1.EvalRunSpec{Trigger: v1alpha1.TriggerAPI, Endpoint: "canary"},
		// Nothing but a verdict ends a run.
		Status: v1alpha1.EvalRunStatus{CompletionTime: ptr.To(metav1.NewMicroTime(noon))},
	}
	got := Schedule(Input{
		Suite: s, Runs: []*v1alpha1.EvalRun{run, going}, EvaluationDigest: "e1", GoldenSetDigest: "g1", Ready: true, Now: noon,
		Targets: &status.Targets{Progress: rollout.Progress{Revision: "r1", RolledOutAt: ptr.To(noon.Add(-10 * time.Second))}},
	})
	want := schedule.Facts{
		Now: noon,
		Suite: schedule.Suite{
			Name: "docs-bot", UID: "uid", CreatedAt: noon.Add(-time.Hour), Schedule: "0 3 * * *", TimeZone: "Asia/Seoul",
			StartingDeadline: ptr.To(10 * time.Minute), Jitter: 30 * time.Second, Suspend: true, Replace: true, RunNow: "token", Ready: true,
		},
		Key: schedule.Key{EvaluationDigest: "e1", GoldenSetDigest: "g1", Revision: "r1"},
		Status: schedule.Status{
			LastScheduleTime: ptr.To(noon.Add(-9 * time.Hour)), LastMissedTime: ptr.To(noon.Add(-33 * time.Hour)), MissedRuns: 2, LastHandledRunNow: "earlier",
			Counted:       &schedule.Counted{Schedule: "0 3 * * *", TimeZone: "UTC", Suspend: true, Since: noon.Add(-50 * time.Hour)},
			LastTriggered: &schedule.TriggeredKey{EvaluationDigest: "e0", GoldenSetDigest: "g0", Revision: "r0"},
			Results:       []schedule.PastResult{{Run: "own", EvaluationDigest: "e0", GoldenSetDigest: "g0", Revision: "r0", Verdict: "Failed", Reason: "ObjectivesMissed", Time: noon.Add(-8 * time.Hour)}},
		},
		Targets: &schedule.Targets{RolledOutAt: ptr.To(noon.Add(-10 * time.Second)), Settle: 20 * time.Second},
		Runs: []schedule.Run{
			{
				Name: "retry", UID: "run-uid", Trigger: "Deploy", TriggeredBy: "retry-of:own", RetryOf: "own", Canceled: true, CreatedAt: noon.Add(-time.Minute),
				StartedAt: ptr.To(noon.Add(-50 * time.Second)), FinishedAt: ptr.To(noon.Add(-40 * time.Second)), Verdict: "Inconclusive", Reason: "Canceled",
				Full: true, EvaluationDigest: "e0", GoldenSetDigest: "g0", Revision: "r0",
			},
			{Name: "canary", Trigger: "API", CreatedAt: noon.Add(-time.Second)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A suite that says as little as it can, before its first status.
func TestScheduleOfABareSuite(t *testing.T) {
	got := Schedule(Input{Suite: &v1alpha1.EvalSuite{ObjectMeta: metav1.ObjectMeta{Name: "docs-bot"}}, Now: noon})
	want := schedule.Facts{Now: noon, Suite: schedule.Suite{Name: "docs-bot", OnGoldenSetChange: true}, Key: schedule.Key{Revision: "none"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
