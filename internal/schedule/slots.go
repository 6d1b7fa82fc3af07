package schedule

import (
	"fmt"
	"slices"
	"time"
)

// slots starts the latest slot that is due and counts those that are not started.
func slots(f Facts, d *Decision) {
	count(f, d)
	if f.Suite.Suspend {
		return
	}
	cron, err := Parse(f.Suite.Schedule, f.Suite.TimeZone)
	if err != nil {
		// There is no schedule, or a bad one, which stalls the suite elsewhere.
		return
	}
	w := &window{facts: f, cron: cron, offset: Offset(f.Suite.UID, f.Suite.Jitter)}
	w.after, w.until = accountedFor(d), f.Now.Add(-w.offset)
	w.started = w.startedSlots()
	w.decide(d)

	if next := cron.Next(later(accountedFor(d), w.until)); !next.IsZero() {
		at := next.Add(w.offset)
		d.NextScheduleTime = &at
		d.lookAgain(at)
	}
}

// count begins counting anew when the schedule is new or was edited, so that an
// edit never starts a slot that was before it.
func count(f Facts, d *Decision) {
	now := Counted{
		Schedule: f.Suite.Schedule, TimeZone: f.Suite.TimeZone, Suspend: f.Suite.Suspend,
		Since: f.Now.Truncate(time.Second).UTC(),
	}
	was := d.Counted
	if was == nil {
		now.Since = f.Suite.CreatedAt
		d.Counted = &now
		return
	}
	sameSlots := was.Schedule == now.Schedule && was.TimeZone == now.TimeZone
	if sameSlots && was.Suspend == now.Suspend {
		return
	}
	d.Counted = &now
	if !sameSlots {
		d.MissedRuns = 0
	}
}

// accountedFor returns the time up to which every slot was started or counted.
func accountedFor(d *Decision) time.Time {
	t := d.Counted.Since
	if d.LastScheduleTime != nil {
		t = later(t, *d.LastScheduleTime)
	}
	if d.LastMissedTime != nil {
		t = later(t, *d.LastMissedTime)
	}
	return t
}

const onlyLatest = "of the slots that are due only the latest may start"

// window is the time, (after, until], whose slots are due.
type window struct {
	facts        Facts
	cron         *Cron
	offset       time.Duration
	after, until time.Time
	// started are the slots of the window that have a run, which only a pass that
	// was broken off before it wrote the status leaves behind.
	started map[time.Time]bool
}

func (w *window) decide(d *Decision) {
	slot, due := w.cron.latest(w.after, w.until)
	if !due {
		return
	}
	missed, newest := w.missedBefore(slot)
	reason, why := w.hindrance(slot)
	switch reason {
	case "":
		w.start(slot, d)
		why = onlyLatest
	case ReasonSlotSkipped:
		d.Events = append(d.Events, Event{EventNormal, ReasonSlotSkipped, fmt.Sprintf("slot %s was skipped: %s", slotName(slot), why)})
		d.MissedRuns++
		d.LastMissedTime = &slot
		why = onlyLatest
	default:
		missed++
		newest = slot
	}
	for at := range w.started {
		if d.LastScheduleTime == nil || at.After(*d.LastScheduleTime) {
			d.LastScheduleTime = &at
		}
	}
	if missed == 0 {
		return
	}
	d.MissedRuns += missed
	if d.LastMissedTime == nil || newest.After(*d.LastMissedTime) {
		d.LastMissedTime = &newest
	}
	d.Events = append(d.Events, Event{EventWarning, ReasonMissedSchedule, missedMessage(missed, newest, why)})
}

// hindrance returns why a slot that is due is not started; "" for no reason.
func (w *window) hindrance(slot time.Time) (reason, message string) {
	s := w.facts.Suite
	if _, exists := w.runOf(slot); exists {
		return "", ""
	}
	if !s.Ready {
		return ReasonMissedSchedule, "the suite is stalled, its condition Stalled says why"
	}
	late := w.facts.Now.Sub(slot.Add(w.offset)).Truncate(time.Second)
	if s.StartingDeadline != nil && late > *s.StartingDeadline {
		return ReasonMissedSchedule, fmt.Sprintf("it is late by %s, and startingDeadlineSeconds allows %s", late, *s.StartingDeadline)
	}
	if busy, found := w.facts.newest(func(r Run) bool { return !r.finished() }); found && !s.Replace {
		return ReasonSlotSkipped, fmt.Sprintf("run %s has not finished, and concurrencyPolicy is Forbid", busy.Name)
	}
	return "", ""
}

// start starts a slot. Where its run exists, whoever created it may not have
// come to cancel what it replaces.
func (w *window) start(slot time.Time, d *Decision) {
	create := Create{Trigger: TriggerSchedule, TriggeredBy: slotName(slot), Slot: &slot}
	run, exists := w.runOf(slot)
	if w.facts.Suite.Replace && !run.finished() {
		create.Replaces = w.replaced(run, exists)
	}
	if !exists || len(create.Replaces) > 0 {
		d.create(w.facts.Suite, create.TriggeredBy, create)
	}
	d.LastScheduleTime = &slot
}

// replaced returns the unfinished runs that have started or that the schedule
// made, except for the replacing run, where it exists, and those after it.
func (w *window) replaced(by Run, exists bool) []string {
	var names []string
	for _, r := range w.facts.Runs {
		if r.finished() || r.Canceled || r.StartedAt == nil && r.Trigger != TriggerSchedule {
			continue
		}
		if exists && !by.newerThan(r) {
			continue
		}
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

// missedBefore returns how many slots of the window before the latest have no
// run, and the newest of them. They are not started any more.
func (w *window) missedBefore(latest time.Time) (int64, time.Time) {
	before := latest.Add(-time.Second)
	missed := w.cron.count(w.after, before)
	for slot := range w.started {
		if slot.Before(latest) {
			missed--
		}
	}
	newest, ok := w.cron.latest(w.after, before)
	for ok && w.started[newest] {
		newest, ok = w.cron.latest(w.after, newest.Add(-time.Second))
	}
	return missed, newest
}

func missedMessage(missed int64, newest time.Time, why string) string {
	if missed == 1 {
		return fmt.Sprintf("the slot %s was missed: %s", slotName(newest), why)
	}
	return fmt.Sprintf("%d slots were missed, the newest at %s: %s", missed, slotName(newest), why)
}

// startedSlots finds the window's slots that have a run. What a run says about
// its slot counts only where its name bears it out.
func (w *window) startedSlots() map[time.Time]bool {
	started := map[time.Time]bool{}
	for _, r := range w.facts.Runs {
		slot, err := time.Parse(time.RFC3339, r.TriggeredBy)
		if err != nil || r.Name != w.nameOf(slot) || !slot.After(w.after) || slot.After(w.until) {
			continue
		}
		if slot = slot.UTC(); w.cron.Next(slot.Add(-time.Second)).Equal(slot) {
			started[slot] = true
		}
	}
	return started
}

// runOf returns the run of a slot, and not one that somebody gave its name.
func (w *window) runOf(slot time.Time) (Run, bool) {
	run, exists := w.facts.run(w.nameOf(slot))
	return run, exists && run.TriggeredBy == slotName(slot)
}

func (w *window) nameOf(slot time.Time) string {
	return RunName(w.facts.Suite.Name, w.facts.Suite.UID, TriggerSchedule, slotName(slot))
}

func slotName(slot time.Time) string { return slot.UTC().Format(time.RFC3339) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
