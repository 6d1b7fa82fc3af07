package telemetry

import (
	"testing"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func TestSchedulePeriod(t *testing.T) {
	const next = "2027-01-15T18:00:00Z"
	counted := func(expr, zone string) *v1alpha1.CountedSchedule {
		return &v1alpha1.CountedSchedule{Schedule: expr, TimeZone: zone}
	}
	for name, test := range map[string]struct {
		status v1alpha1.EvalSuiteStatus
		want   float64 // 0: absent
	}{
		"every six hours":           {v1alpha1.EvalSuiteStatus{CountedSchedule: counted("0 */6 * * *", ""), NextScheduleTime: next}, 6 * 3600},
		"with jitter":               {v1alpha1.EvalSuiteStatus{CountedSchedule: counted("0 */6 * * *", ""), NextScheduleTime: "2027-01-15T18:04:59Z"}, 6 * 3600},
		"in a zone":                 {v1alpha1.EvalSuiteStatus{CountedSchedule: counted("0 3 * * *", "Asia/Seoul"), NextScheduleTime: next}, 24 * 3600},
		"no next run: suspended":    {v1alpha1.EvalSuiteStatus{CountedSchedule: counted("0 */6 * * *", "")}, 0},
		"no schedule":               {v1alpha1.EvalSuiteStatus{CountedSchedule: counted("", ""), NextScheduleTime: next}, 0},
		"nothing was counted":       {v1alpha1.EvalSuiteStatus{NextScheduleTime: next}, 0},
		"a schedule that is broken": {v1alpha1.EvalSuiteStatus{CountedSchedule: counted("every day", "Mars"), NextScheduleTime: next}, 0},
		"a time that is broken":     {v1alpha1.EvalSuiteStatus{CountedSchedule: counted("0 */6 * * *", ""), NextScheduleTime: "soon"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := periods{}
			for range 2 { // the second time from memory
				if got := p.of(&test.status).Seconds(); got != test.want {
					t.Errorf("the period is %g seconds, want %g", got, test.want)
				}
			}
		})
	}
}
