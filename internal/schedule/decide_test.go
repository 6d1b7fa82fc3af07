package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const (
	suiteName = "docs-bot"
	suiteUID  = "5c1a"
)

var (
	keyA = Key{EvaluationDigest: "e1", GoldenSetDigest: "gA", Revision: "r"}
	keyB = Key{EvaluationDigest: "e1", GoldenSetDigest: "gB", Revision: "r"}
	keyC = Key{EvaluationDigest: "e2", GoldenSetDigest: "gA", Revision: "r"}
)

// at is a time of the day that the tests play on.
func at(clock string) time.Time { return instant("2026-11-29T" + clock + "Z") }

func ptr[T any](v T) *T { return &v }

// hourly is a suite with an hourly schedule that has measured key A and counts
// since eight o'clock; it is twelve.
func hourly(change ...func(*Facts)) Facts {
	f := Facts{
		Now: at("12:00:00"),
		Suite: Suite{
			Name: suiteName, UID: suiteUID, CreatedAt: at("07:30:00"),
			Schedule: "0 * * * *", OnGoldenSetChange: true, Ready: true,
		},
		Key: keyA,
		Status: Status{
			LastScheduleTime: ptr(at("11:00:00")),
			Counted:          &Counted{Schedule: "0 * * * *", Since: at("07:30:00")},
			LastTriggered:    &TriggeredKey{EvaluationDigest: "e1", GoldenSetDigest: "gA", Revision: "r"},
			Results:          []PastResult{{Run: "past", EvaluationDigest: "e1", GoldenSetDigest: "gA", Revision: "r", Verdict: "Passed", Time: at("11:01:00")}},
		},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

// quiet is a suite without a schedule that has measured key A.
func quiet(change ...func(*Facts)) Facts {
	f := hourly()
	f.Suite.Schedule = ""
	f.Status.Counted = &Counted{Since: at("07:30:00")}
	f.Status.LastScheduleTime = nil
	for _, c := range change {
		c(&f)
	}
	return f
}

func noon(f *Facts)      { f.Now = at("12:00:00") }
func suspended(f *Facts) { f.Suite.Suspend = true; f.Status.Counted.Suspend = true }
func stalled(f *Facts)   { f.Suite.Ready = false }
func replace(f *Facts)   { f.Suite.Replace = true }
func key(k Key) func(*Facts) {
	return func(f *Facts) { f.Key = k }
}
func now(t time.Time) func(*Facts) {
	return func(f *Facts) { f.Now = t }
}
func deadline(d time.Duration) func(*Facts) {
	return func(f *Facts) { f.Suite.StartingDeadline = &d }
}
func lastSlot(t time.Time) func(*Facts) {
	return func(f *Facts) { f.Status.LastScheduleTime = &t }
}
func runs(r ...Run) func(*Facts) {
	return func(f *Facts) { f.Runs = append(f.Runs, r...) }
}
func token(t string) func(*Facts) {
	return func(f *Facts) { f.Suite.RunNow = t }
}

// pendingRun, activeRun and doneRun are full runs made by hand.
func pendingRun(name string, created time.Time) Run {
	return Run{Name: name, Trigger: TriggerManual, Full: true, CreatedAt: created}
}

func activeRun(name string, created time.Time, measures Key) Run {
	r := pendingRun(name, created)
	r.StartedAt = ptr(created.Add(time.Second))
	r.EvaluationDigest, r.GoldenSetDigest, r.Revision = measures.EvaluationDigest, measures.GoldenSetDigest, measures.Revision
	return r
}

func doneRun(name string, created time.Time, measures Key, verdict string) Run {
	r := activeRun(name, created, measures)
	r.FinishedAt = ptr(created.Add(time.Minute))
	r.Verdict = verdict
	return r
}

func slotRun(slot time.Time) Run {
	return Run{
		Name:    RunName(suiteName, suiteUID, TriggerSchedule, slot.Format(time.RFC3339)),
		Trigger: TriggerSchedule, TriggeredBy: slot.Format(time.RFC3339), Full: true, CreatedAt: slot,
	}
}

func slotCreate(slot time.Time, replaces ...string) Create {
	return Create{
		Name: slotRun(slot).Name, Trigger: TriggerSchedule, TriggeredBy: slot.Format(time.RFC3339),
		Slot: &slot, Replaces: replaces,
	}
}

func changeCreate(trigger string, k Key, previous string) Create {
	what := strings.Join([]string{k.EvaluationDigest, k.GoldenSetDigest, k.Revision, previous}, "\x00")
	return Create{Name: RunName(suiteName, suiteUID, trigger, what), Trigger: trigger, TriggeredBy: k.String()}
}

func TestSchedule(t *testing.T) {
	busy := activeRun("busy", at("11:58:00"), keyA)
	tests := []struct {
		name   string
		facts  Facts
		create []Create
		events []string // reasons, and a part of the message
		// What the status says afterwards.
		lastSlot, lastMissed string
		missed               int64
		next                 string
	}{
		{
			name: "a slot that is due starts", facts: hourly(),
			create: []Create{slotCreate(at("12:00:00"))}, lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "a slot that is not due yet does not", facts: hourly(now(at("11:59:59"))),
			lastSlot: "11:00:00", next: "12:00:00",
		},
		{
			name: "a slot that was started is not started again", facts: hourly(now(at("12:00:30")), lastSlot(at("12:00:00"))),
			lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "missed while the controller was down: only the latest runs, the number is said once", facts: hourly(lastSlot(at("08:00:00"))),
			create: []Create{slotCreate(at("12:00:00"))}, events: []string{"MissedSchedule 3 slots were missed, the newest at 2026-11-29T11:00:00Z"},
			lastSlot: "12:00:00", lastMissed: "11:00:00", missed: 3, next: "13:00:00",
		},
		{
			name: "missed by less than the deadline", facts: hourly(now(at("12:04:59")), deadline(5*time.Minute)),
			create: []Create{slotCreate(at("12:00:00"))}, lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "too late for the deadline: recorded in status", facts: hourly(now(at("12:06:00")), deadline(5*time.Minute)),
			events:   []string{"MissedSchedule the slot 2026-11-29T12:00:00Z was missed: it is late by 6m0s, and startingDeadlineSeconds allows 5m0s"},
			lastSlot: "11:00:00", lastMissed: "12:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "too late for the deadline: never noticed again", facts: hourly(now(at("12:07:00")), deadline(5*time.Minute), func(f *Facts) {
				f.Status.LastMissedTime, f.Status.MissedRuns = ptr(at("12:00:00")), 1
			}),
			lastSlot: "11:00:00", lastMissed: "12:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "a deadline of nothing still lets a slot start in its second", facts: hourly(now(at("12:00:00").Add(900*time.Millisecond)), deadline(0)),
			create: []Create{slotCreate(at("12:00:00"))}, lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "down for long and too late: all are counted in one event", facts: hourly(now(at("12:30:00")), lastSlot(at("08:00:00")), deadline(time.Minute)),
			events:   []string{"MissedSchedule 4 slots were missed, the newest at 2026-11-29T12:00:00Z"},
			lastSlot: "08:00:00", lastMissed: "12:00:00", missed: 4, next: "13:00:00",
		},
		{
			name: "previous run still active, Forbid: the slot is skipped and counted", facts: hourly(runs(busy)),
			events:   []string{"SlotSkipped slot 2026-11-29T12:00:00Z was skipped: run busy has not finished, and concurrencyPolicy is Forbid"},
			lastSlot: "11:00:00", lastMissed: "12:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "a run that waits is unfinished too", facts: hourly(runs(pendingRun("waits", at("11:59:00")))),
			events: []string{"SlotSkipped "}, lastSlot: "11:00:00", lastMissed: "12:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "a finished run stands against nothing", facts: hourly(runs(doneRun("done", at("11:00:00"), keyA, "Failed"))),
			create: []Create{slotCreate(at("12:00:00"))}, lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "previous run still active, Replace: it is canceled", facts: hourly(replace, runs(busy, pendingRun("by hand, waits", at("11:59:00")), slotRun(at("11:00:00")))),
			create:   []Create{slotCreate(at("12:00:00"), "busy", slotRun(at("11:00:00")).Name)},
			lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "Replace does not cancel twice", facts: hourly(replace, runs(func() Run { r := busy; r.Canceled = true; return r }())),
			create: []Create{slotCreate(at("12:00:00"))}, lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "broken off between creating and the status: the slot is not started again", facts: hourly(runs(slotRun(at("12:00:00")))),
			lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "broken off before what it replaces was canceled: that is made up for", facts: hourly(replace, runs(busy, slotRun(at("12:00:00")))),
			create: []Create{slotCreate(at("12:00:00"), "busy")}, lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "broken off, then down: a slot that ran is not counted as missed", facts: hourly(lastSlot(at("08:00:00")), runs(func() Run {
				r := doneRun("", at("11:00:00"), keyA, "Passed")
				r.Name, r.Trigger, r.TriggeredBy = slotRun(at("11:00:00")).Name, TriggerSchedule, slotRun(at("11:00:00")).TriggeredBy
				return r
			}())),
			create: []Create{slotCreate(at("12:00:00"))}, events: []string{"MissedSchedule 2 slots were missed, the newest at 2026-11-29T10:00:00Z"},
			lastSlot: "12:00:00", lastMissed: "10:00:00", missed: 2, next: "13:00:00",
		},
		{
			name: "broken off, and its run is still active: that slot has started, the next is skipped", facts: hourly(lastSlot(at("10:00:00")), runs(slotRun(at("11:00:00")))),
			events: []string{"SlotSkipped slot 2026-11-29T12:00:00Z"}, lastSlot: "11:00:00", lastMissed: "12:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "a slot's run that has ended replaces nothing more", facts: hourly(replace, runs(busy, func() Run {
				r := slotRun(at("12:00:00"))
				r.FinishedAt = ptr(at("12:00:00"))
				return r
			}())), lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "another clock is ahead and has started the slot to come", facts: hourly(runs(slotRun(at("13:00:00")))),
			events: []string{"SlotSkipped "}, lastSlot: "11:00:00", lastMissed: "12:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "somebody gave another run the slot's name: creating it will say so", facts: hourly(runs(doneRun(slotRun(at("12:00:00")).Name, at("11:30:00"), keyA, "Passed"))),
			create: []Create{slotCreate(at("12:00:00"))}, lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "a run that only says that it is of a slot does not count", facts: hourly(lastSlot(at("10:00:00")), runs(func() Run {
				r := doneRun("forged", at("11:00:00"), keyA, "Passed")
				r.TriggeredBy = "2026-11-29T11:00:00Z"
				return r
			}())),
			create: []Create{slotCreate(at("12:00:00"))}, events: []string{"MissedSchedule the slot 2026-11-29T11:00:00Z was missed"},
			lastSlot: "12:00:00", lastMissed: "11:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "suspended: no slots", facts: hourly(suspended), lastSlot: "11:00:00",
		},
		{
			name: "unsuspended: no catch-up of slots", facts: hourly(suspended, noon, func(f *Facts) { f.Suite.Suspend = false; f.Now = at("12:10:00") }),
			lastSlot: "11:00:00", next: "13:00:00",
		},
		{
			name: "the schedule is edited: counting starts at the edit, nothing missed is left", facts: hourly(now(at("12:10:00")), func(f *Facts) {
				f.Suite.Schedule, f.Status.MissedRuns = "5 * * * *", 7
			}),
			lastSlot: "11:00:00", next: "13:05:00",
		},
		{
			name: "the zone is edited: no retroactive run", facts: hourly(now(at("12:10:00")), func(f *Facts) { f.Suite.TimeZone = "Asia/Kolkata" }),
			lastSlot: "11:00:00", next: "12:30:00",
		},
		{
			name: "a new suite counts from its creation", facts: hourly(func(f *Facts) { f.Status = Status{LastTriggered: f.Status.LastTriggered, Results: f.Status.Results} }, now(at("09:00:00"))),
			create: []Create{slotCreate(at("09:00:00"))}, events: []string{"MissedSchedule the slot 2026-11-29T08:00:00Z was missed"},
			lastSlot: "09:00:00", lastMissed: "08:00:00", missed: 1, next: "10:00:00",
		},
		{
			name: "a date that never comes has no slots and no hot loop", facts: hourly(stalled, func(f *Facts) {
				f.Suite.Schedule, f.Status.Counted.Schedule = "0 0 31 2 *", "0 0 31 2 *"
			}), lastSlot: "11:00:00",
		},
		{
			name: "a stalled suite misses its slots", facts: hourly(stalled),
			events:   []string{"MissedSchedule the slot 2026-11-29T12:00:00Z was missed: the suite is stalled"},
			lastSlot: "11:00:00", lastMissed: "12:00:00", missed: 1, next: "13:00:00",
		},
		{
			name: "a clock that was ahead: the last slot is clamped", facts: hourly(now(at("12:10:30")), lastSlot(at("23:00:00"))),
			lastSlot: "12:10:30", next: "13:00:00",
		},
		{
			name: "a suite that was created in the future counts from now", facts: hourly(now(at("12:10:30")), func(f *Facts) {
				f.Status.Counted, f.Suite.CreatedAt = nil, at("23:00:00")
			}),
			lastSlot: "11:00:00", next: "13:00:00",
		},
		{
			name: "a clock that is a little ahead has accounted for the slot", facts: hourly(now(at("11:59:58")), lastSlot(at("12:00:00"))),
			lastSlot: "12:00:00", next: "13:00:00",
		},
		{
			name: "a clock that was ahead: the last miss and the beginning are clamped", facts: hourly(now(at("12:10:30")), func(f *Facts) {
				f.Status.LastMissedTime, f.Status.Counted.Since = ptr(at("23:00:00")), at("22:00:00")
			}),
			lastSlot: "11:00:00", lastMissed: "12:10:30", next: "13:00:00",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.facts)
			clock := func(t *time.Time) string {
				if t == nil {
					return ""
				}
				return t.UTC().Format("15:04:05")
			}
			if diff := cmp.Diff(tt.create, d.Create); diff != "" {
				t.Errorf("create (-want +got):\n%s", diff)
			}
			got := []string{clock(d.LastScheduleTime), clock(d.LastMissedTime), fmt.Sprint(d.MissedRuns), clock(d.NextScheduleTime)}
			want := []string{tt.lastSlot, tt.lastMissed, fmt.Sprint(tt.missed), tt.next}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("last slot, last missed, missed, next (-want +got):\n%s", diff)
			}
			if (d.NextScheduleTime == nil) != d.Next.IsZero() || d.NextScheduleTime != nil && !d.Next.Equal(*d.NextScheduleTime) {
				t.Errorf("looks again at %s, want the next slot, %v", d.Next, d.NextScheduleTime)
			}
			if len(d.Events) != len(tt.events) {
				t.Fatalf("events %v, want %q", d.Events, tt.events)
			}
			for i, e := range d.Events {
				if s := e.Reason + " " + e.Message; !strings.HasPrefix(s, tt.events[i]) {
					t.Errorf("event %q, want %q", s, tt.events[i])
				}
			}
		})
	}
}

func TestEditsBeginACountAnew(t *testing.T) {
	base := hourly(now(at("12:10:00").Add(time.Millisecond)), lastSlot(at("12:00:00")))
	base.Status.MissedRuns = 7
	tests := []struct {
		name   string
		edit   func(*Facts)
		want   Counted
		missed int64
	}{
		{"nothing", func(*Facts) {}, Counted{Schedule: "0 * * * *", Since: at("07:30:00")}, 7},
		{"schedule", func(f *Facts) { f.Suite.Schedule = "1 * * * *" }, Counted{Schedule: "1 * * * *", Since: at("12:10:00")}, 0},
		{"zone", func(f *Facts) { f.Suite.TimeZone = "Asia/Seoul" }, Counted{Schedule: "0 * * * *", TimeZone: "Asia/Seoul", Since: at("12:10:00")}, 0},
		{"suspend", func(f *Facts) { f.Suite.Suspend = true }, Counted{Schedule: "0 * * * *", Suspend: true, Since: at("12:10:00")}, 7},
		{"removed", func(f *Facts) { f.Suite.Schedule = "" }, Counted{Since: at("12:10:00")}, 0},
		{"bad", func(f *Facts) { f.Suite.Schedule, f.Suite.Ready = "x", false }, Counted{Schedule: "x", Since: at("12:10:00")}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := base
			tt.edit(&f)
			d := Decide(f)
			if diff := cmp.Diff(tt.want, *d.Counted); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if d.MissedRuns != tt.missed {
				t.Errorf("missed %d, want %d", d.MissedRuns, tt.missed)
			}
		})
	}
}

func TestAClampedTimeDoesNotStopTheSchedule(t *testing.T) {
	f := hourly(now(at("12:10:00")), lastSlot(instant("2036-01-01T00:00:00Z")))
	d := Decide(f)
	f.Status.LastScheduleTime, f.Status.Counted = d.LastScheduleTime, d.Counted
	f.Now = at("13:00:00")
	if diff := cmp.Diff([]Create{slotCreate(at("13:00:00"))}, Decide(f).Create); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSlotsThatWereMissedForTenYearsAreCounted(t *testing.T) {
	f := hourly(func(f *Facts) {
		f.Suite.Schedule = "* * * * *"
		f.Status.Counted = &Counted{Schedule: "* * * * *", Since: at("12:00:00").AddDate(-10, 0, 0)}
		f.Status.LastScheduleTime = nil
	})
	d := Decide(f)
	want := int64(f.Now.Sub(f.Now.AddDate(-10, 0, 0))/time.Minute) - 1
	if d.MissedRuns != want || len(d.Create) != 1 {
		t.Errorf("missed %d and started %d, want %d and 1", d.MissedRuns, len(d.Create), want)
	}
}

func TestJitter(t *testing.T) {
	jittered := func(change ...func(*Facts)) Facts {
		f := hourly(change...)
		f.Suite.Jitter = 10 * time.Minute
		return f
	}
	offset := Offset(suiteUID, 10*time.Minute)
	if offset < time.Second || offset >= 10*time.Minute {
		t.Fatalf("offset %s, want one that tells before from after", offset)
	}
	due := at("12:00:00").Add(offset)

	d := Decide(jittered(now(due.Add(-time.Second))))
	if len(d.Create) != 0 || d.NextScheduleTime == nil || !d.NextScheduleTime.Equal(due) {
		t.Errorf("before its offset: creates %v, next %v; want nothing, %s", d.Create, d.NextScheduleTime, due)
	}
	d = Decide(jittered(now(due), deadline(time.Second)))
	if diff := cmp.Diff([]Create{slotCreate(at("12:00:00"))}, d.Create); diff != "" {
		t.Errorf("at its offset (-want +got):\n%s", diff)
	}
	// The offset of a slot that has run lies ahead after an edit of jitterSeconds.
	d = Decide(jittered(now(due.Add(-time.Second)), lastSlot(at("12:00:00"))))
	if want := at("13:00:00").Add(offset); !d.NextScheduleTime.Equal(want) {
		t.Errorf("next %s, want %s", d.NextScheduleTime, want)
	}
}

func TestOffsetSpreads(t *testing.T) {
	seen := map[time.Duration]int{}
	for i := range 1000 {
		uid := fmt.Sprintf("uid-%d", i)
		o := Offset(uid, 30*time.Second)
		if o < 0 || o >= 30*time.Second || o%time.Second != 0 || o != Offset(uid, 30*time.Second) {
			t.Fatalf("offset of %s is %s", uid, o)
		}
		seen[o]++
	}
	for o, n := range seen {
		if n > 100 {
			t.Errorf("%d of 1000 suites start after %s", n, o)
		}
	}
	if len(seen) != 30 || Offset("x", 0) != 0 || Offset("x", -time.Second) != 0 {
		t.Errorf("%d different offsets, want 30, and none without jitter", len(seen))
	}
}

func TestRunNow(t *testing.T) {
	run := Create{Name: RunName(suiteName, suiteUID, TriggerManual, "run-now:t2"), Trigger: TriggerManual, TriggeredBy: "run-now:t2"}
	handled := func(f *Facts) { f.Status.LastHandledRunNow = "t1" }
	tests := []struct {
		name    string
		facts   Facts
		create  []Create
		handled string
	}{
		{"a new token", quiet(handled, token("t2")), []Create{run}, "t2"},
		{"the first token", quiet(token("t2")), []Create{run}, "t2"},
		{"a token that was handled", quiet(handled, token("t1")), nil, "t1"},
		{"removed", quiet(handled), nil, "t1"},
		{"while suspended", quiet(handled, token("t2"), suspended), []Create{run}, "t2"},
		{"while stalled it stays unhandled", quiet(handled, token("t2"), stalled), nil, "t1"},
		{"broken off after creating: handled", quiet(handled, token("t2"), runs(func() Run {
			r := pendingRun(run.Name, at("11:00:00"))
			r.TriggeredBy = run.TriggeredBy
			return r
		}())), nil, "t2"},
		{"somebody gave another run its name: creating it will say so", quiet(handled, token("t2"), runs(pendingRun(run.Name, at("11:00:00")))), []Create{run}, "t2"},
		{"the run that it starts measures a change too", quiet(token("t2"), key(keyB)), []Create{run}, "t2"},
		{"a slot at the same time finds it unfinished", hourly(token("t2")), []Create{run}, "t2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.facts)
			if diff := cmp.Diff(tt.create, d.Create); diff != "" {
				t.Errorf("create (-want +got):\n%s", diff)
			}
			if d.LastHandledRunNow != tt.handled {
				t.Errorf("handled %q, want %q", d.LastHandledRunNow, tt.handled)
			}
		})
	}
}

func TestChange(t *testing.T) {
	none := func(f *Facts) { f.Status.Results, f.Status.LastTriggered = nil, nil }
	forget := func(f *Facts) { f.Status.LastTriggered = nil }
	off := func(f *Facts) { f.Suite.OnGoldenSetChange = false }
	// change makes a run of a change: what it was started for, and what it measures.
	change := func(r Run, trigger string, meant Key) Run {
		r.Trigger, r.TriggeredBy = trigger, meant.String()
		return r
	}
	subset := func(r Run) Run { r.Full = false; return r }
	canceled := func(r Run) Run { r.Canceled = true; return r }
	neverStarted := func(name string, created time.Time) Run {
		r := pendingRun(name, created)
		r.FinishedAt, r.Verdict = ptr(created.Add(time.Minute)), "Inconclusive"
		return r
	}
	tests := []struct {
		name      string
		facts     Facts
		create    []Create
		triggered *Key
	}{
		{"nothing changed", quiet(), nil, &keyA},
		{"creation is a change", quiet(none), []Create{changeCreate(TriggerSpec, keyA, "")}, &keyA},
		{"spec changed", quiet(key(keyC)), []Create{changeCreate(TriggerSpec, keyC, "")}, &keyC},
		{"golden set changed", quiet(key(keyB)), []Create{changeCreate(TriggerGoldenSet, keyB, "")}, &keyB},
		{"both changed: the spec says it", quiet(key(Key{"e2", "gB", "r"})), []Create{changeCreate(TriggerSpec, Key{"e2", "gB", "r"}, "")}, &Key{"e2", "gB", "r"}},
		{"golden set changed, and nobody wants to know", quiet(key(keyB), off), nil, &keyA},
		{"spec changed, onGoldenSetChange or not", quiet(key(keyC), off), []Create{changeCreate(TriggerSpec, keyC, "")}, &keyC},
		{"suspended", quiet(key(keyB), suspended), nil, &keyA},
		{"after suspension, what changed meanwhile runs once", quiet(key(keyB), suspended, func(f *Facts) { f.Suite.Suspend = false }),
			[]Create{changeCreate(TriggerGoldenSet, keyB, "")}, &keyB},
		{"stalled", quiet(key(keyB), stalled), nil, &keyA},
		{"the golden set is not known", quiet(key(Key{EvaluationDigest: "e2"})), nil, &keyA},
		{"a full run that waits will measure it", quiet(key(keyB), runs(pendingRun("p", at("11:59:00")))), nil, &keyA},
		{"a run of a subset that waits will not", quiet(key(keyB), runs(subset(pendingRun("p", at("11:59:00"))))),
			[]Create{changeCreate(TriggerGoldenSet, keyB, "")}, &keyB},
		{"a canceled run that waits will not", quiet(key(keyB), runs(canceled(pendingRun("p", at("11:59:00"))))),
			[]Create{changeCreate(TriggerGoldenSet, keyB, "")}, &keyB},
		{"an active run measures it", quiet(key(keyB), runs(activeRun("a", at("11:59:00"), keyB))), nil, &keyB},
		{"an active run measures what was before: a run is queued", quiet(key(keyB), runs(activeRun("a", at("11:59:00"), keyA))),
			[]Create{changeCreate(TriggerGoldenSet, keyB, "")}, &keyB},
		{"a subset measured it: that counts for nothing", quiet(key(keyB), runs(subset(doneRun("d", at("11:50:00"), keyB, "Passed")))),
			[]Create{changeCreate(TriggerGoldenSet, keyB, "")}, &keyB},
		{"broken off after creating, the run waits", quiet(key(keyB), runs(change(pendingRun("p", at("11:59:00")), TriggerGoldenSet, keyB))), nil, &keyA},
		{"broken off after creating, the run is over", quiet(key(keyB), runs(change(doneRun("d", at("11:50:00"), keyB, "Failed"), TriggerGoldenSet, keyB))), nil, &keyB},
		{"broken off after creating, the run ended before it measured", quiet(key(keyB), runs(change(neverStarted("n", at("11:50:00")), TriggerGoldenSet, keyB))), nil, &keyB},
		{"back to A, whose run ended before it measured, after B", quiet(triggered(keyB), runs(
			change(neverStarted("a", at("11:10:00")), TriggerGoldenSet, keyA), doneRun("b", at("11:20:00"), keyB, "Passed"),
		)), []Create{changeCreate(TriggerGoldenSet, keyA, "a")}, &keyA},
		{"back to A after B, with the results left", quiet(triggered(keyB), func(f *Facts) {
			f.Status.Results = append([]PastResult{{Run: "b", EvaluationDigest: "e1", GoldenSetDigest: "gB", Time: at("11:30:00")}}, f.Status.Results...)
		}), []Create{changeCreate(TriggerGoldenSet, keyA, "")}, &keyA},
		{"back to A after B, with the runs left: another name", quiet(triggered(keyB), runs(
			change(doneRun("a1", at("11:10:00"), keyA, "Passed"), TriggerGoldenSet, keyA), change(doneRun("b1", at("11:20:00"), keyB, "Passed"), TriggerGoldenSet, keyB),
		)), []Create{changeCreate(TriggerGoldenSet, keyA, "b1")}, &keyA},
		{"back to A, broken off after creating", quiet(triggered(keyB), runs(
			change(doneRun("b1", at("11:20:00"), keyB, "Passed"), TriggerGoldenSet, keyB), change(pendingRun("a2", at("11:30:00")), TriggerGoldenSet, keyA),
		)), nil, &keyB},
		{"the run was deleted: it does not come back", quiet(key(keyB), triggered(keyB), runs(doneRun("older", at("11:10:00"), keyA, "Passed"))), nil, &keyB},
		{"the newest run was deleted, its result is newer than any run", quiet(forget, func(f *Facts) {
			f.Status.Results[0].Time = at("11:40:00")
		}, runs(doneRun("older", at("11:10:00"), keyB, "Passed"))), nil, &keyA},
		{"a result that is older than a run says nothing", quiet(forget, runs(doneRun("newer", at("11:10:00"), keyB, "Passed"))),
			[]Create{changeCreate(TriggerGoldenSet, keyA, "")}, &keyA},
		{"the key was another when its run started, and is back", quiet(triggered(keyA), runs(change(doneRun("x", at("11:50:00"), keyB, "Passed"), TriggerSpec, keyA))),
			[]Create{changeCreate(TriggerGoldenSet, keyA, "")}, &keyA},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.facts)
			if diff := cmp.Diff(tt.create, d.Create); diff != "" {
				t.Errorf("create (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(ptr(tt.triggered.triggered()), d.LastTriggered); diff != "" {
				t.Errorf("last triggered (-want +got):\n%s", diff)
			}
			if !d.Next.IsZero() {
				t.Errorf("looks again at %s, want never", d.Next)
			}
		})
	}
}

func TestRetry(t *testing.T) {
	// It is twelve; the failed run ended at 11:55.
	failed := func(change ...func(*Run)) Run {
		r := doneRun("failed", at("11:54:00"), keyA, VerdictError)
		r.Trigger = TriggerSpec
		for _, c := range change {
			c(&r)
		}
		return r
	}
	retry := func(trigger string) []Create {
		return []Create{{
			Name: RunName(suiteName, suiteUID, trigger, "retry-of:failed"), Trigger: trigger, TriggeredBy: "retry-of:failed", RetryOf: "failed",
		}}
	}
	retried := func() Run {
		r := doneRun(retry(TriggerSpec)[0].Name, at("11:57:00"), keyA, VerdictError)
		r.Trigger, r.RetryOf = TriggerSpec, "failed"
		return r
	}()
	early := func(r *Run) { r.EvaluationDigest, r.GoldenSetDigest, r.StartedAt = "", "", nil }
	tests := []struct {
		name   string
		facts  Facts
		create []Create
		next   time.Time
	}{
		{"after five minutes", quiet(runs(failed())), retry(TriggerSpec), time.Time{}},
		{"not earlier", quiet(now(at("11:59:59")), runs(failed())), nil, at("12:00:00")},
		{"with the trigger of the first", quiet(runs(failed(func(r *Run) { r.Trigger = TriggerSchedule }))), retry(TriggerSchedule), time.Time{}},
		{"not by hand", quiet(runs(failed(func(r *Run) { r.Trigger = TriggerManual }))), nil, time.Time{}},
		{"not by the API", quiet(runs(failed(func(r *Run) { r.Trigger = TriggerAPI }))), nil, time.Time{}},
		{"not of a subset", quiet(runs(failed(func(r *Run) { r.Full = false }))), nil, time.Time{}},
		{"not after another verdict", quiet(runs(failed(func(r *Run) { r.Verdict = "Inconclusive" }))), nil, time.Time{}},
		{"not while suspended", quiet(suspended, runs(failed())), nil, time.Time{}},
		{"not while stalled", quiet(stalled, runs(failed())), nil, time.Time{}},
		{"not when a newer run has a verdict", quiet(runs(failed(), doneRun("newer", at("11:56:00"), keyA, "Passed"))), nil, time.Time{}},
		{"not while a full run is unfinished", quiet(runs(failed(), activeRun("other", at("11:56:00"), keyA))), nil, time.Time{}},
		{"while a run of a subset is unfinished", quiet(runs(failed(), func() Run {
			r := activeRun("other", at("11:56:00"), keyA)
			r.Full = false
			return r
		}())), retry(TriggerSpec), time.Time{}},
		{"once only", quiet(runs(failed(), retried)), nil, time.Time{}},
		{"somebody gave another run its name: creating it will say so", quiet(runs(failed(), doneRun(retried.Name, at("11:50:00"), keyA, "Passed"))), retry(TriggerSpec), time.Time{}},
		{"once only, with the retry's run deleted after it ended", quiet(runs(failed()), func(f *Facts) {
			f.Status.Results = append([]PastResult{{Run: retried.Name, EvaluationDigest: "e1", GoldenSetDigest: "gA", Verdict: VerdictError, Time: at("11:58:00")}}, f.Status.Results...)
		}), nil, time.Time{}},
		{"a run that ended before it measured anything counts", quiet(runs(failed(early))), retry(TriggerSpec), time.Time{}},
		{"such a run counts only as the newest", quiet(runs(failed(early), doneRun("newer", at("11:56:00"), keyA, "Passed"))), nil, time.Time{}},
		{"the key has changed: its run comes at once, and no retry", quiet(key(keyC), runs(failed())), []Create{changeCreate(TriggerSpec, keyC, "failed")}, time.Time{}},
		{"an end in the future is clamped", quiet(runs(failed(func(r *Run) { r.FinishedAt = ptr(at("13:00:00")) }))), nil, at("12:05:00")},
		{"a slot comes first", hourly(now(at("11:58:00")), runs(failed(func(r *Run) { r.FinishedAt = ptr(at("11:57:00")) }))), nil, at("12:00:00")},
		{"the retry comes before the slot", hourly(now(at("11:58:00")), runs(failed(func(r *Run) { r.FinishedAt = ptr(at("11:54:30")) }))), nil, at("11:59:30")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.facts)
			if diff := cmp.Diff(tt.create, d.Create); diff != "" {
				t.Errorf("create (-want +got):\n%s", diff)
			}
			if !d.Next.Equal(tt.next) {
				t.Errorf("looks again at %s, want %s", d.Next, tt.next)
			}
		})
	}
}

func TestNewestOfRunsThatWereCreatedInOneSecond(t *testing.T) {
	second := at("12:00:00")
	ended := pendingRun("y, ended without a start", second)
	ended.FinishedAt = ptr(second.Add(2 * time.Second))
	oldestFirst := []Run{
		pendingRun("z, of an earlier second", second.Add(-time.Second)),
		activeRun("x, started", second, keyA),
		ended,
		doneRun("c, started later", second, keyA, "Passed"),
		pendingRun("a, waits", second),
		pendingRun("b, waits", second),
	}
	oldestFirst[3].StartedAt = ptr(second.Add(3 * time.Second))
	for i, older := range oldestFirst {
		for j, newer := range oldestFirst {
			if got, want := newer.newerThan(older), j > i; got != want {
				t.Errorf("%q is newer than %q: %t, want %t", newer.Name, older.Name, got, want)
			}
		}
	}
}

func TestARecreatedSuiteGetsItsRuns(t *testing.T) {
	first, second := quiet(), quiet()
	for _, f := range []*Facts{&first, &second} {
		f.Status = Status{}
	}
	second.Suite.UID = "another"
	a, b := Decide(first).Create, Decide(second).Create
	if len(a) != 1 || len(b) != 1 || a[0].Name == b[0].Name {
		t.Errorf("got %v and %v, want one run each, of different names", a, b)
	}
}

func TestDecideLeavesTheFactsAlone(t *testing.T) {
	facts := func() Facts {
		f := hourly(replace, token("t"), key(keyB), lastSlot(at("23:00:00")), runs(activeRun("a", at("11:58:00"), keyA)))
		f.Runs = append(make([]Run, 0, 10), f.Runs...)
		return f
	}
	f := facts()
	Decide(f)
	if diff := cmp.Diff(facts(), f, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if extra := f.Runs[:2][1]; extra.Name != "" {
		t.Errorf("a run was written behind the facts' own: %v", extra)
	}
}

func TestRunName(t *testing.T) {
	tests := []struct{ name, suite, want string }{
		{"short", "docs-bot", "docs-bot"},
		{"cut at 40", "a23456789-b23456789-c23456789-d2345678901-x", "a23456789-b23456789-c23456789-d234567890"},
		{"trimmed after the cut", "a23456789-b23456789-c23456789-d2345678.-x", "a23456789-b23456789-c23456789-d2345678"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prefix, sum, _ := cutLast(RunName(tt.suite, "uid", TriggerSchedule, "what"), "-")
			if prefix != tt.want || len(sum) != 10 || strings.Trim(sum, "0123456789abcdef") != "" {
				t.Errorf("got %q and %q, want %q and ten hexadecimal digits", prefix, sum, tt.want)
			}
		})
	}
	// printf 'uid\0Schedule\0what' | sha256sum
	if got, want := RunName("s", "uid", "Schedule", "what"), "s-980b4c4028"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	parts := [][3]string{{"u", "a", "bc"}, {"u", "ab", "c"}, {"ua", "b", "c"}, {"", "ua", "bc"}}
	seen := map[string]bool{}
	for _, p := range parts {
		seen[RunName("s", p[0], p[1], p[2])] = true
	}
	if len(seen) != len(parts) {
		t.Errorf("%d different names of %d triggers", len(seen), len(parts))
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
