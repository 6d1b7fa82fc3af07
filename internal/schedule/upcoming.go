package schedule

import "time"

// Upcoming is the run that will give today's key its verdict.
type Upcoming struct {
	// Run is its name; empty while it has not been created.
	Run     string
	Trigger string
	// Started says that it has begun to ask.
	Started bool
	// Since is when it was created; zero while it has not been.
	Since time.Time
	// At is when it is created at the earliest; zero where it has been, or is as
	// soon as a rollout has finished.
	At time.Time
	// RetryOf is the run with verdict Error that it repeats.
	RetryOf string
}

// Next returns the unfinished run that measures today's key, or the one that a
// change, a token or an error makes due; false where neither is in sight. Slots
// of the schedule do not count: a suite that is measured every night is not
// about to be.
func Next(f Facts) (Upcoming, bool) {
	f, _ = prepare(f)
	today := f.Key.triggered()
	if run, found := f.newest(func(r Run) bool {
		return r.Full && !r.finished() && !r.Canceled && (!r.knows() || r.measured() == today)
	}); found {
		return Upcoming{Run: run.Name, Trigger: run.Trigger, Started: run.StartedAt != nil, Since: run.CreatedAt, RetryOf: run.RetryOf}, true
	}
	if f.tokenDue() {
		return Upcoming{Trigger: TriggerManual}, true
	}
	if trigger, _ := change(f); trigger != "" {
		at, _ := f.settledAt()
		return Upcoming{Trigger: trigger, At: at}, true
	}
	if failed, at, found := f.retry(); found {
		return Upcoming{Trigger: failed.Trigger, At: at, RetryOf: failed.Name}, true
	}
	return Upcoming{}, false
}
