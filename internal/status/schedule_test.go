package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
)

func decision(at time.Time) schedule.Decision {
	return schedule.Decision{
		LastScheduleTime: &at, LastMissedTime: ptr.To(at.Add(-time.Hour)), MissedRuns: 3, LastHandledRunNow: "token",
		Counted:          &schedule.Counted{Schedule: "0 * * * *", TimeZone: "Asia/Seoul", Suspend: true, Since: at.Add(-24 * time.Hour)},
		LastTriggered:    &schedule.TriggeredKey{EvaluationDigest: "e", GoldenSetDigest: "g"},
		NextScheduleTime: ptr.To(at.Add(time.Hour)),
	}
}

func TestScheduled(t *testing.T) {
	seoul := time.FixedZone("KST", 9*60*60)
	s := newSuite()
	Scheduled(s, decision(noon.In(seoul)))
	second := func(d time.Duration) metav1.Time {
		return metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(d))
	}
	want := v1alpha1.EvalSuiteStatus{
		ObservedGeneration: ptr.To[int64](-1),
		LastScheduleTime:   ptr.To(second(0)), LastMissedTime: ptr.To(second(-time.Hour)), MissedRuns: ptr.To[int64](3), LastHandledRunNow: "token",
		CountedSchedule:  &v1alpha1.CountedSchedule{Schedule: "0 * * * *", TimeZone: "Asia/Seoul", Suspend: ptr.To(true), Since: second(-24 * time.Hour)},
		LastTriggered:    &v1alpha1.TriggeredKey{EvaluationDigest: "e", GoldenSetDigest: "g"},
		NextScheduleTime: "2026-03-01T13:00:00Z",
	}
	if diff := cmp.Diff(want, s.Status); diff != "" {
		t.Error(diff)
	}
	// What was written and comes back must not be written again.
	back := stored(t, s)
	if diff := same(s.Status, back.Status); diff != "" {
		t.Errorf("it does not survive the API server: %s", diff)
	}
	Scheduled(back, decision(noon))
	if diff := same(s.Status, back.Status); diff != "" {
		t.Errorf("the same decision changed the status: %s", diff)
	}

	Scheduled(s, schedule.Decision{})
	if diff := cmp.Diff(v1alpha1.EvalSuiteStatus{ObservedGeneration: ptr.To[int64](-1), MissedRuns: ptr.To[int64](0)}, s.Status); diff != "" {
		t.Errorf("without a schedule: %s", diff)
	}
}

func TestTheScheduleIsLeftAlone(t *testing.T) {
	s := newSuite()
	Scheduled(s, decision(noon))
	before := s.DeepCopy()
	fold(s, facts(ended("a", time.Minute)))
	Scheduled(before, decision(noon))
	got := v1alpha1.EvalSuiteStatus{
		LastScheduleTime: s.Status.LastScheduleTime, LastMissedTime: s.Status.LastMissedTime, MissedRuns: s.Status.MissedRuns, LastHandledRunNow: s.Status.LastHandledRunNow,
		CountedSchedule: s.Status.CountedSchedule, LastTriggered: s.Status.LastTriggered, NextScheduleTime: s.Status.NextScheduleTime, ObservedGeneration: before.Status.ObservedGeneration,
	}
	if diff := cmp.Diff(before.Status, got); diff != "" {
		t.Errorf("folding runs changed what the schedule rests on: %s", diff)
	}
}
