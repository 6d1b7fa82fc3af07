package schedule

// runNow starts a run for every new value of the run-now annotation, suspended
// or not. While the suite is stalled the value stays unhandled.
func runNow(f Facts, d *Decision) {
	token := f.Suite.RunNow
	if token == "" || token == d.LastHandledRunNow || !f.Suite.Ready {
		return
	}
	d.LastHandledRunNow = token
	if f.tokenDue() {
		what := runNowOf(token)
		d.create(f.Suite, what, Create{Trigger: TriggerManual, TriggeredBy: what})
	}
}

// tokenDue reports whether the run-now annotation has a value that led to no run
// yet. A run of the name that somebody made for something else is not the one
// meant: creating ours then fails, and is told.
func (f Facts) tokenDue() bool {
	token := f.Suite.RunNow
	if token == "" || token == f.Status.LastHandledRunNow || !f.Suite.Ready {
		return false
	}
	what := runNowOf(token)
	run, exists := f.run(RunName(f.Suite.Name, f.Suite.UID, TriggerManual, what))
	return !exists || run.TriggeredBy != what
}

func runNowOf(token string) string { return "run-now:" + token }
