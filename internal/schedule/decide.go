package schedule

import (
	"slices"
	"time"
)

// Types of events.
const (
	EventNormal  = "Normal"
	EventWarning = "Warning"
)

// Reasons of events and of verdicts that this package's decisions lead to.
const (
	// ReasonMissedSchedule is the event about slots that were not started in time.
	ReasonMissedSchedule = "MissedSchedule"
	// ReasonSlotSkipped is the event about a slot that came while a run was unfinished.
	ReasonSlotSkipped = "SlotSkipped"
	// ReasonReplaced is the reason of a run that a slot canceled.
	ReasonReplaced = "Replaced"
	// ReasonSuperseded is the reason of a run whose revision a newer one has followed.
	ReasonSuperseded = "Superseded"
	// ReasonRevisionChanged is the reason of a run that a rollout came into.
	ReasonRevisionChanged = "RevisionChanged"
	// ReasonQueueFull is the reason of a run that would have been one too many to wait.
	ReasonQueueFull = "QueueFull"
)

// Decision is what follows from the facts. Whoever carries it out creates the
// runs and cancels what they replace and what is superseded first, writes the
// status values next and publishes the events last: broken off anywhere, the
// next pass completes it.
type Decision struct {
	Create []Create
	// Cancel are the runs to end besides those that a new one replaces.
	Cancel []Cancel
	Events []Event

	// The values that the status has from now on.
	LastScheduleTime, LastMissedTime *time.Time
	MissedRuns                       int64
	LastHandledRunNow                string
	Counted                          *Counted
	LastTriggered                    *TriggeredKey
	// NextScheduleTime is when the schedule starts the next run; nil: never.
	NextScheduleTime *time.Time

	// Next is when to look again at the latest; zero: only when something changes.
	Next time.Time
}

// Create is a run to create. That it exists already is as good.
type Create struct {
	Name, Trigger string
	// TriggeredBy says what exactly triggered the run; it is to be kept with it.
	TriggeredBy string
	// RetryOf is the run that this one repeats, to be kept likewise.
	RetryOf string
	// Slot that the run was started for, where the schedule did it.
	Slot *time.Time
	// Replaces are the names of the runs to cancel once this one exists.
	Replaces []string
}

// Cancel is a run to end, Inconclusive.
type Cancel struct {
	Run, Reason string
}

// Event is something to tell the suite's owner once.
type Event struct {
	Type, Reason, Message string
}

// policy adds what one trigger makes due. It sees the runs that the policies
// before it create as pending ones.
type policy func(Facts, *Decision)

var policies = []policy{runNow, slots, specChange, deploy, goldenSetChange, retryError}

// Decide returns what is due for a suite.
func Decide(f Facts) Decision {
	f, superseded := prepare(f)
	d := Decision{
		Cancel:            superseded,
		LastScheduleTime:  f.Status.LastScheduleTime,
		LastMissedTime:    f.Status.LastMissedTime,
		MissedRuns:        f.Status.MissedRuns,
		LastHandledRunNow: f.Status.LastHandledRunNow,
		Counted:           f.Status.Counted,
		LastTriggered:     f.Status.LastTriggered,
	}
	if f.movedOn(d.LastTriggered) {
		d.LastTriggered = nil
	}
	for _, apply := range policies {
		created := len(d.Create)
		apply(f, &d)
		for _, c := range d.Create[created:] {
			if _, exists := f.run(c.Name); !exists {
				f.Runs = append(f.Runs, c.pending(f.Now))
			}
		}
	}
	return d
}

// prepare makes the facts such that policies can rest on them, on a copy: runs
// of an older revision count as canceled, and they are returned too.
func prepare(f Facts) (Facts, []Cancel) {
	f = clamp(f)
	f.Runs = slices.Clone(f.Runs)
	f.Status.Results = slices.Clone(f.Status.Results)
	if f.Targets == nil {
		f.fillRevision()
	}
	return f, f.supersede()
}

// maxSkew is how far another operator's clock may be ahead: what it has
// accounted for will soon be past here too, and counts until then.
const maxSkew = 5 * time.Minute

// clamp moves times that a skewed clock put further into the future back to now.
// As the decision carries them into the status, the suite goes on from there and
// does not wait for a time that is a year away.
func clamp(f Facts) Facts {
	now := f.Now.Truncate(time.Second).UTC()
	clamped := func(t *time.Time) *time.Time {
		if t != nil && t.After(f.Now.Add(maxSkew)) {
			return &now
		}
		return t
	}
	f.Status.LastScheduleTime = clamped(f.Status.LastScheduleTime)
	f.Status.LastMissedTime = clamped(f.Status.LastMissedTime)
	f.Suite.CreatedAt = *clamped(&f.Suite.CreatedAt)
	if c := f.Status.Counted; c != nil {
		moved := *c
		moved.Since = *clamped(&c.Since)
		f.Status.Counted = &moved
	}
	return f
}

func (c Create) pending(now time.Time) Run {
	return Run{
		Name: c.Name, Trigger: c.Trigger, TriggeredBy: c.TriggeredBy, RetryOf: c.RetryOf,
		CreatedAt: now, Full: true,
	}
}

func (d *Decision) lookAgain(at time.Time) {
	if d.Next.IsZero() || at.Before(d.Next) {
		d.Next = at
	}
}

// create adds a run, whose name follows from what triggered it.
func (d *Decision) create(s Suite, what string, c Create) {
	c.Name = RunName(s.Name, s.UID, c.Trigger, what)
	d.Create = append(d.Create, c)
}
