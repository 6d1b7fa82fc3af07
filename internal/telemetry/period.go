package telemetry

import (
	"time"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
)

// periods remembers the schedules of one scrape: many suites have the same.
type periods map[[2]string]*schedule.Cron

// of returns how far apart the slots of a suite lie around its next run. It is 0
// for a suite without a next run, such as a suspended one.
func (p periods) of(status *v1alpha1.EvalSuiteStatus) time.Duration {
	counted := status.CountedSchedule
	next, err := time.Parse(time.RFC3339, status.NextScheduleTime)
	if counted == nil || err != nil {
		return 0
	}
	key := [2]string{counted.Schedule, counted.TimeZone}
	cron, known := p[key]
	if !known {
		cron, _ = schedule.Parse(counted.Schedule, counted.TimeZone) // one that cannot be read has no slots
		p[key] = cron
	}
	if cron == nil {
		return 0
	}
	return cron.Period(next)
}
