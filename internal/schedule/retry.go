package schedule

import "time"

// RetryDelay is how long after its end a run with verdict Error is tried once more.
const RetryDelay = 5 * time.Minute

// retryError tries a full run that ended with Error once more.
func retryError(f Facts, d *Decision) {
	failed, at, found := f.retry()
	switch {
	case !found:
	case at.After(f.Now):
		d.lookAgain(at)
	default:
		what := retryOf(failed)
		d.create(f.Suite, what, Create{Trigger: failed.Trigger, TriggeredBy: what, RetryOf: failed.Name})
	}
}

func retryOf(failed Run) string { return "retry-of:" + failed.Name }

// retry returns the run that is to be tried once more, and when. One by hand is
// left to the hand that started it.
func (f Facts) retry() (failed Run, at time.Time, found bool) {
	settled, rolledOut := f.settledAt()
	if !f.Suite.Ready || f.Suite.Suspend || !rolledOut || f.any(func(r Run) bool { return r.Full && !r.finished() }) {
		return Run{}, time.Time{}, false
	}
	failed, found = f.newest(f.endedForToday())
	if !found || failed.Verdict != VerdictError || failed.RetryOf != "" || failed.askedFor() ||
		f.wasRetried(failed, RunName(f.Suite.Name, f.Suite.UID, failed.Trigger, retryOf(failed))) {
		return Run{}, time.Time{}, false
	}
	ended := *failed.FinishedAt
	if ended.After(f.Now) {
		ended = f.Now
	}
	return failed, later(ended.Add(RetryDelay), settled), true
}

// askedFor holds for a run that somebody started, who sees for himself how it
// ended.
func (r Run) askedFor() bool { return r.Trigger == TriggerManual || r.Trigger == TriggerAPI }

// endedForToday returns what holds for finished full runs that measured today's
// key, and for the newest of all if it ended before it measured anything.
func (f Facts) endedForToday() func(Run) bool {
	newest, _ := f.newest(func(r Run) bool { return r.Full && r.finished() })
	return func(r Run) bool {
		if !r.Full || !r.finished() {
			return false
		}
		if r.knows() {
			return r.measured() == f.Key.triggered()
		}
		return r.Name == newest.Name
	}
}

// wasRetried reports whether there is a retry of a run, or a result that it left.
func (f Facts) wasRetried(failed Run, name string) bool {
	if r, exists := f.run(name); exists && r.RetryOf == failed.Name {
		return true
	}
	for _, r := range f.Status.Results {
		if r.Run == name {
			return true
		}
	}
	return false
}
