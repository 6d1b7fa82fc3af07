package schedule

import (
	"cmp"
	"time"
)

// deploy starts a run when the targets have rolled out another revision than
// the one that was measured last.
func deploy(f Facts, d *Decision) { startOnChange(f, d, TriggerDeploy) }

// settledAt is when a run measures the revision that is live and no other; false
// while a rollout goes. Without targets it has always been so.
func (f Facts) settledAt() (time.Time, bool) {
	switch {
	case f.Targets == nil:
		return time.Time{}, true
	case f.Targets.RolledOutAt == nil || f.Key.Revision == "":
		return time.Time{}, false
	}
	since := *f.Targets.RolledOutAt
	if since.After(f.Now) {
		since = f.Now
	}
	return since.Add(f.Targets.Settle), true
}

// supersede cancels the unfinished runs of an older revision, for what they
// measure is going away. What somebody asked for goes on, and ends as what a
// rollout came into.
func (f Facts) supersede() []Cancel {
	if f.Targets == nil || f.Key.Revision == "" {
		return nil
	}
	var superseded []Cancel
	for i, r := range f.Runs {
		if r.finished() || r.Canceled || !r.Full || r.askedFor() {
			continue
		}
		if revision := r.revisionMeant(); revision != "" && revision != f.Key.Revision {
			superseded = append(superseded, Cancel{Run: r.Name, Reason: ReasonSuperseded})
			f.Runs[i].Canceled = true
		}
	}
	return superseded
}

// revisionMeant is the revision that the run measures, or was started for.
func (r Run) revisionMeant() string {
	return cmp.Or(r.Revision, revisionIn(r.TriggeredBy))
}

// movedOn reports whether a rollout has followed what a run was started for
// last. That revision may come back, and its run was canceled for this one: the
// record must not stand for it.
func (f Facts) movedOn(last *TriggeredKey) bool {
	return f.Targets != nil && f.Key.Revision != "" && last != nil && last.Revision != f.Key.Revision
}

// fillRevision gives what knows of no revision the constant one of a suite
// without targets.
func (f *Facts) fillRevision() {
	fill := func(revision *string) {
		if *revision == "" {
			*revision = f.Key.Revision
		}
	}
	for i := range f.Runs {
		if f.Runs[i].knows() {
			fill(&f.Runs[i].Revision)
		}
	}
	for i := range f.Status.Results {
		fill(&f.Status.Results[i].Revision)
	}
	if f.Status.LastTriggered != nil {
		last := *f.Status.LastTriggered
		fill(&last.Revision)
		f.Status.LastTriggered = &last
	}
}
