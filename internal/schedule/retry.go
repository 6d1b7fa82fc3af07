package schedule

import "time"

// RetryDelay is how long after its end a run with verdict Error is tried once more.
const RetryDelay = 5 * time.Minute

// retryError tries a full run that ended with Error once more. One by hand is
// left to the hand that started it.
func retryError(f Facts, d *Decision) {
	if !f.Suite.Ready || f.Suite.Suspend || f.any(func(r Run) bool { return r.Full && !r.finished() }) {
		return
	}
	failed, found := f.newest(f.endedForToday())
	if !found || failed.Verdict != VerdictError || failed.RetryOf != "" || failed.askedFor() {
		return
	}
	what := "retry-of:" + failed.Name
	if f.wasRetried(failed, RunName(f.Suite.Name, f.Suite.UID, failed.Trigger, what)) {
		return
	}
	ended := *failed.FinishedAt
	if ended.After(f.Now) {
		ended = f.Now
	}
	if at := ended.Add(RetryDelay); at.After(f.Now) {
		d.lookAgain(at)
		return
	}
	d.create(f.Suite, what, Create{Trigger: failed.Trigger, TriggeredBy: what, RetryOf: failed.Name})
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
		if r.measures() {
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
