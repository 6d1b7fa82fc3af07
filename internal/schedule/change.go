package schedule

import (
	"slices"
	"strings"
)

// specChange starts a run when the suite has changed since it was measured last,
// or was never measured.
func specChange(f Facts, d *Decision) { startOnChange(f, d, TriggerSpec) }

// goldenSetChange starts a run when the golden set has changed since then.
func goldenSetChange(f Facts, d *Decision) { startOnChange(f, d, TriggerGoldenSet) }

func startOnChange(f Facts, d *Decision, trigger string) {
	changed, settled := change(f)
	if changed == trigger {
		at, rolledOut := f.settledAt()
		if !rolledOut {
			return
		}
		if at.After(f.Now) {
			d.lookAgain(at)
			return
		}
		d.create(f.Suite, f.whatChanged(trigger), Create{Trigger: trigger, TriggeredBy: f.Key.String()})
	}
	if changed == trigger || settled {
		key := f.Key.triggered()
		d.LastTriggered = &key
	}
}

// change returns the trigger of the run that today's key is to have, once the
// targets have settled; or "" and whether the key has had its run.
func change(f Facts) (trigger string, settled bool) {
	if !f.Suite.Ready || !f.Key.known() || f.any(willMeasureToday) {
		return "", false
	}
	today := f.Key.triggered()
	last, measured := f.lastMeasured()
	switch {
	case measured && last == today:
		return "", true
	case f.Suite.Suspend:
		return "", false
	case f.startedForToday():
		return "", true
	case !measured || last.EvaluationDigest != today.EvaluationDigest:
		return TriggerSpec, false
	case last.Revision != today.Revision && f.Targets != nil:
		return TriggerDeploy, false
	case last.Revision != today.Revision: // the suite has lost its targets
		return TriggerSpec, false
	case f.Suite.OnGoldenSetChange:
		return TriggerGoldenSet, false
	}
	return "", false
}

// willMeasureToday holds for a run that takes the key as it is when it starts.
func willMeasureToday(r Run) bool {
	return r.Full && !r.finished() && !r.Canceled && !r.knows()
}

// lastMeasured returns what the newest run with digests measures. A result
// whose run is gone counts where it is newer.
func (f Facts) lastMeasured() (TriggeredKey, bool) {
	run, found := f.newestMeasuring()
	began := run.CreatedAt
	if run.StartedAt != nil {
		began = *run.StartedAt
	}
	i := slices.IndexFunc(f.Status.Results, PastResult.measured)
	if i < 0 {
		return run.measured(), found
	}
	result := f.Status.Results[i]
	if _, exists := f.run(result.Run); !found || !exists && result.Time.After(began) {
		return TriggeredKey{EvaluationDigest: result.EvaluationDigest, GoldenSetDigest: result.GoldenSetDigest, Revision: result.Revision}, true
	}
	return run.measured(), found
}

// measured reports whether the result speaks of one key.
func (r PastResult) measured() bool { return r.Revision != "" && !overtaken(r.Reason) }

func (f Facts) newestMeasuring() (Run, bool) {
	return f.newest(func(r Run) bool { return r.Full && r.measures() })
}

// startedForToday reports whether a change has started a run for today's key
// already, even if that run was deleted, or ended before it measured anything.
func (f Facts) startedForToday() bool {
	recorded := f.Status.LastTriggered != nil && *f.Status.LastTriggered == f.Key.triggered()
	meant := f.Key.String()
	run, found := f.newest(func(r Run) bool { return r.Full && r.TriggeredBy == meant })
	switch {
	case !found:
		return recorded
	case overtaken(run.Reason):
		return false
	case !run.knows():
		// A pass that was broken off leaves a run that the status does not know of.
		last, _ := f.newestMeasuring()
		return recorded || run.newerThan(last)
	default:
		// The key may have been another while the run started, and be back by now.
		return recorded && run.measured() == f.Key.triggered()
	}
}

// whatChanged is the key and the name of the trigger's previous run: a key that
// comes back gets another name, and so another run.
func (f Facts) whatChanged(trigger string) string {
	previous, _ := f.newest(func(r Run) bool { return r.Trigger == trigger })
	return strings.Join([]string{f.Key.EvaluationDigest, f.Key.GoldenSetDigest, f.Key.Revision, previous.Name}, separator)
}
