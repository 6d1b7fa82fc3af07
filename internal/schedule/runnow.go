package schedule

// runNow starts a run for every new value of the run-now annotation, suspended
// or not. While the suite is stalled the value stays unhandled.
func runNow(f Facts, d *Decision) {
	token := f.Suite.RunNow
	if token == "" || token == d.LastHandledRunNow || !f.Suite.Ready {
		return
	}
	d.LastHandledRunNow = token
	what := "run-now:" + token
	// A run of this name that somebody made for something else is not the one
	// meant: creating ours then fails, and is told.
	if run, exists := f.run(RunName(f.Suite.Name, f.Suite.UID, TriggerManual, what)); !exists || run.TriggeredBy != what {
		d.create(f.Suite, what, Create{Trigger: TriggerManual, TriggeredBy: what})
	}
}
