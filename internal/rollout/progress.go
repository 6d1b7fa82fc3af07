package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Progress is how far the rollout of all targets together is, as a suite's
// status keeps it from one look to the next. Its times are whole seconds.
type Progress struct {
	// Revision of the newest templates; empty while it is not known.
	Revision string
	// RolledOutAt is when every target was first seen rolled out at the revision;
	// nil while a rollout goes.
	RolledOutAt *time.Time
	// Since is since when a rollout goes; nil while none does.
	Since *time.Time
	// Reason is that of the first target that is waited for; Message names all of
	// them. They are empty while no rollout goes.
	Reason, Message string
}

// Observation is what one look at the targets gives.
type Observation struct {
	Now time.Time
	// Settle is for how long targets have to stay rolled out to count as settled.
	Settle time.Duration
	// Revision as Revision gives it.
	Revision string
	Targets  []Target
}

// Observe carries the progress on from what was observed last. Targets that
// have settled stay rolled out while pods restart or are scaled; before that, a
// pod that goes away makes the rollout one that goes on.
func Observe(was Progress, o Observation) Progress {
	now := wholeSecond(o.Now)
	was.RolledOutAt, was.Since = notAfter(was.RolledOutAt, now), notAfter(was.Since, now)
	p := Progress{Revision: o.Revision}
	same := was.Revision == o.Revision && was.RolledOutAt != nil
	switch {
	case o.Revision != "" && !slices.ContainsFunc(o.Targets, func(t Target) bool { return !t.State.RolledOut }):
		p.RolledOutAt = &now
		if same {
			p.RolledOutAt = was.RolledOutAt
		}
		return p
	case o.Revision != "" && same && !o.Now.Before(was.RolledOutAt.Add(o.Settle)) &&
		!slices.ContainsFunc(o.Targets, func(t Target) bool { return !t.State.RolledOut && !t.State.OneTemplate }):
		p.RolledOutAt = was.RolledOutAt
		return p
	}
	p.Since = &now
	if was.Since != nil && (was.Revision == o.Revision || was.Revision == "" || o.Revision == "") {
		p.Since = was.Since
	}
	p.Reason, p.Message = waitingFor(o.Targets)
	return p
}

// waitingFor says what the targets that have not rolled out wait for.
func waitingFor(targets []Target) (reason, message string) {
	var say []string
	for _, t := range targets {
		if t.State.RolledOut {
			continue
		}
		if reason == "" {
			reason = t.State.Reason
		}
		say = append(say, fmt.Sprintf("%s %s: %s", t.Kind, t.Name, t.State.Message))
	}
	return reason, strings.Join(say, "; ")
}

// wholeSecond is the second that an instant lies in the end of: nothing counts
// from before it was seen.
func wholeSecond(t time.Time) time.Time {
	whole := t.UTC().Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return whole
}

// notAfter moves a time that a skewed clock put into the future back to now.
func notAfter(t *time.Time, now time.Time) *time.Time {
	if t != nil && t.After(now) {
		return &now
	}
	return t
}
