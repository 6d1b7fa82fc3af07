package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
)

// Scheduled writes what was decided into the suite's status.
func Scheduled(s *v1alpha1.EvalSuite, d schedule.Decision) {
	st := &s.Status
	st.LastScheduleTime = metaTime(d.LastScheduleTime)
	st.LastMissedTime = metaTime(d.LastMissedTime)
	st.MissedRuns = ptr.To(d.MissedRuns)
	st.LastHandledRunNow = d.LastHandledRunNow
	st.NextScheduleTime = ""
	if d.NextScheduleTime != nil {
		st.NextScheduleTime = stamp(*d.NextScheduleTime)
	}
	st.CountedSchedule = nil
	if c := d.Counted; c != nil {
		st.CountedSchedule = &v1alpha1.CountedSchedule{Schedule: c.Schedule, TimeZone: c.TimeZone, Suspend: ptr.To(c.Suspend), Since: metav1.NewTime(c.Since.Truncate(time.Second))}
	}
	st.LastTriggered = nil
	if t := d.LastTriggered; t != nil {
		st.LastTriggered = &v1alpha1.TriggeredKey{EvaluationDigest: t.EvaluationDigest, GoldenSetDigest: t.GoldenSetDigest, Revision: t.Revision}
	}
}

// metaTime keeps whole seconds: that is what the API stores, and what was not
// changed must compare equal.
func metaTime(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return ptr.To(metav1.NewTime(t.Truncate(time.Second)))
}
