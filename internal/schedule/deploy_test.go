package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Revisions that the tests roll out: keyA is of revision r.
var (
	keyR1 = Key{EvaluationDigest: "e1", GoldenSetDigest: "gA", Revision: "r1"}
	keyR2 = Key{EvaluationDigest: "e1", GoldenSetDigest: "gA", Revision: "r2"}
)

// deployed is a suite with targets that has measured key A, of revision r, and
// whose targets run revision r1 since a minute; they settle in 15 seconds.
func deployed(change ...func(*Facts)) Facts {
	return quiet(append([]func(*Facts){key(keyR1), func(f *Facts) {
		f.Targets = &Targets{RolledOutAt: ptr(at("11:59:00")), Settle: 15 * time.Second}
	}}, change...)...)
}

func rolling(f *Facts) { f.Targets.RolledOutAt = nil }
func since(t time.Time) func(*Facts) {
	return func(f *Facts) { f.Targets.RolledOutAt = &t }
}
func triggered(k Key) func(*Facts) {
	return func(f *Facts) { f.Status.LastTriggered = ptr(k.triggered()) }
}
func never(f *Facts) { f.Status.Results, f.Status.LastTriggered = nil, nil }

// began marks a run as one that a rollout was going for when it started.
func began(r Run) Run { r.Revision = ""; return r }

// of says which trigger started a run, and what for.
func of(trigger string, meant Key, r Run) Run {
	r.Trigger, r.TriggeredBy = trigger, meant.String()
	return r
}

func reason(reason string, r Run) Run {
	r.Verdict, r.Reason = "Inconclusive", reason
	return r
}

func TestDeploy(t *testing.T) {
	result := func(k Key, verdict, reason string) func(*Facts) {
		return func(f *Facts) {
			f.Status.Results = append([]PastResult{{
				Run: "gone", EvaluationDigest: k.EvaluationDigest, GoldenSetDigest: k.GoldenSetDigest, Revision: k.Revision,
				Verdict: verdict, Reason: reason, Time: at("11:40:00"),
			}}, f.Status.Results...)
		}
	}
	canceled := func(r Run) Run { r.Canceled = true; return r }
	both := Key{EvaluationDigest: "e2", GoldenSetDigest: "gB", Revision: "r1"}
	prompted := Key{EvaluationDigest: "e1", GoldenSetDigest: "gB", Revision: "r1"}
	started := []Create{changeCreate(TriggerDeploy, keyR1, "")}
	tests := []struct {
		name      string
		facts     Facts
		create    []Create
		cancel    []Cancel
		triggered *Key
		next      time.Time
	}{
		{"rolled out and settled", deployed(), started, nil, &keyR1, time.Time{}},
		{"settling", deployed(since(at("11:59:46"))), nil, nil, nil, at("12:00:01")},
		{"just settled", deployed(since(at("11:59:45"))), started, nil, &keyR1, time.Time{}},
		{"no time to settle in", deployed(since(at("12:00:00")), func(f *Facts) { f.Targets.Settle = 0 }), started, nil, &keyR1, time.Time{}},
		{"a clock that is ahead saw it roll out", deployed(since(at("18:00:00"))), nil, nil, nil, at("12:00:15")},
		{"rolling out", deployed(rolling), nil, nil, nil, time.Time{}},
		{"the revision is not known", deployed(key(Key{EvaluationDigest: "e1", GoldenSetDigest: "gA"})), nil, nil, &keyA, time.Time{}},
		{"the revision has its verdict", deployed(key(keyA)), nil, nil, &keyA, time.Time{}},
		{"pods restart, after the verdict", deployed(key(keyA), rolling), nil, nil, &keyA, time.Time{}},
		{"somebody has measured it meanwhile", deployed(runs(doneRun("hand", at("11:59:02"), keyR1, "Failed"))), nil, nil, &keyR1, time.Time{}},
		{"somebody measures it", deployed(runs(activeRun("hand", at("11:59:50"), keyR1))), nil, nil, &keyR1, time.Time{}},
		{"a run that waits will measure it", deployed(runs(pendingRun("hand", at("11:59:50")))), nil, nil, nil, time.Time{}},
		{"somebody measured it while it rolled out", deployed(runs(reason(ReasonRevisionChanged, began(doneRun("hand", at("11:58:00"), keyR1, ""))))), started, nil, &keyR1, time.Time{}},
		{"somebody still measures what rolled out meanwhile", deployed(runs(began(activeRun("hand", at("11:58:00"), keyR1)))), started, nil, &keyR1, time.Time{}},
		{"somebody measures the older one: that goes on", deployed(rolling, runs(activeRun("hand", at("11:58:00"), keyA))), nil, nil, nil, time.Time{}},
		{"suspended", deployed(suspended), nil, nil, nil, time.Time{}},
		{"stalled", deployed(stalled), nil, nil, nil, time.Time{}},
		{"unsuspended, it runs once", deployed(suspended, func(f *Facts) { f.Suite.Suspend = false }), started, nil, &keyR1, time.Time{}},
		{"the golden set changed with it", deployed(key(prompted)), []Create{changeCreate(TriggerDeploy, prompted, "")}, nil, &prompted, time.Time{}},
		{"the spec changed with it", deployed(key(both)), []Create{changeCreate(TriggerSpec, both, "")}, nil, &both, time.Time{}},

		{"a suite is created while its targets roll out", deployed(never, rolling), nil, nil, nil, time.Time{}},
		{"created, and settling", deployed(never, since(at("11:59:50"))), nil, nil, nil, at("12:00:05")},
		{"created, and rolled out: one run, of the spec", deployed(never), []Create{changeCreate(TriggerSpec, keyR1, "")}, nil, &keyR1, time.Time{}},
		{"the golden set changes while a rollout goes", deployed(key(keyB), rolling), nil, nil, &keyA, time.Time{}},
		{"targets were added", deployed(func(f *Facts) { f.Status.Results[0].Revision = "none" }), started, nil, &keyR1, time.Time{}},
		{"targets were taken away", deployed(key(Key{"e1", "gA", "none"}), func(f *Facts) { f.Targets, f.Status.Results[0].Revision = nil, "r1" }),
			[]Create{changeCreate(TriggerSpec, Key{"e1", "gA", "none"}, "")}, nil, &Key{"e1", "gA", "none"}, time.Time{}},

		{"a newer revision cancels the run of the older one", deployed(rolling, triggered(keyA), runs(of(TriggerDeploy, keyA, activeRun("d", at("11:50:00"), keyA)))),
			nil, []Cancel{{"d", ReasonSuperseded}}, nil, time.Time{}},
		{"and its run starts once it has settled", deployed(runs(of(TriggerDeploy, keyA, activeRun("d", at("11:50:00"), keyA)))),
			[]Create{changeCreate(TriggerDeploy, keyR1, "d")}, []Cancel{{"d", ReasonSuperseded}}, &keyR1, time.Time{}},
		{"a run that waits for the older one too", deployed(rolling, runs(of(TriggerDeploy, keyA, pendingRun("d", at("11:50:00"))))),
			nil, []Cancel{{"d", ReasonSuperseded}}, nil, time.Time{}},
		{"a run that began in the older rollout too", deployed(rolling, runs(of(TriggerDeploy, keyA, began(activeRun("d", at("11:50:00"), keyA))))),
			nil, []Cancel{{"d", ReasonSuperseded}}, nil, time.Time{}},
		{"a run of the spec too", deployed(rolling, runs(of(TriggerSpec, keyA, activeRun("s", at("11:50:00"), keyA)))),
			nil, []Cancel{{"s", ReasonSuperseded}}, nil, time.Time{}},
		{"a slot's run too", deployed(rolling, runs(func() Run {
			r := activeRun("slot", at("11:50:00"), keyA)
			r.Trigger, r.TriggeredBy = TriggerSchedule, "2026-11-29T11:50:00Z"
			return r
		}())), nil, []Cancel{{"slot", ReasonSuperseded}}, nil, time.Time{}},
		{"a slot's run that has not begun measures what is then live", deployed(func(f *Facts) {
			f.Runs = []Run{{Name: "slot", Trigger: TriggerSchedule, TriggeredBy: "2026-11-29T11:50:00Z", Full: true, CreatedAt: at("11:50:00")}}
		}), nil, nil, nil, time.Time{}},
		{"the run of the live revision is left alone", deployed(runs(of(TriggerDeploy, keyR1, activeRun("d", at("11:59:20"), keyR1)))), nil, nil, &keyR1, time.Time{}},
		{"one that is canceled is not canceled again", deployed(rolling, runs(canceled(of(TriggerDeploy, keyA, activeRun("d", at("11:50:00"), keyA))))), nil, nil, nil, time.Time{}},
		{"one that has ended is left alone", deployed(rolling, runs(of(TriggerDeploy, keyA, doneRun("d", at("11:50:00"), keyA, "Passed")))), nil, nil, nil, time.Time{}},
		{"one of a named endpoint is left alone", deployed(rolling, runs(func() Run {
			r := of(TriggerDeploy, keyA, activeRun("canary", at("11:50:00"), keyA))
			r.Full = false
			return r
		}())), nil, nil, nil, time.Time{}},
		{"nothing is superseded by what is not known", deployed(key(Key{EvaluationDigest: "e1", GoldenSetDigest: "gA"}), rolling, runs(of(TriggerDeploy, keyA, activeRun("d", at("11:50:00"), keyA)))),
			nil, nil, &keyA, time.Time{}},
		{"nor while there are no targets", deployed(func(f *Facts) { f.Targets = nil }, runs(of(TriggerSpec, keyA, activeRun("s", at("11:50:00"), keyA)))),
			[]Create{changeCreate(TriggerSpec, keyR1, "s")}, nil, &keyR1, time.Time{}},
		{"each of several", deployed(rolling, runs(
			doneRun("past", at("11:20:00"), keyA, "Passed"), of(TriggerDeploy, keyA, activeRun("d", at("11:50:00"), keyA)), of(TriggerSpec, keyA, pendingRun("s", at("11:51:00"))),
		)), nil, []Cancel{{"d", ReasonSuperseded}, {"s", ReasonSuperseded}}, nil, time.Time{}},
		{"superseded while suspended", deployed(suspended, rolling, runs(of(TriggerDeploy, keyA, activeRun("d", at("11:50:00"), keyA)))),
			nil, []Cancel{{"d", ReasonSuperseded}}, nil, time.Time{}},

		{"taken back to what was measured last", deployed(key(keyA), triggered(keyR2), runs(reason(ReasonSuperseded, of(TriggerDeploy, keyR2, doneRun("d2", at("11:50:00"), keyR2, ""))))),
			nil, nil, &keyA, time.Time{}},
		{"taken back after the newer one was measured: it runs again, under another name", deployed(triggered(keyR2), runs(
			of(TriggerDeploy, keyR1, doneRun("d1", at("11:10:00"), keyR1, "Passed")), of(TriggerDeploy, keyR2, doneRun("d2", at("11:20:00"), keyR2, "Failed")),
		)), []Create{changeCreate(TriggerDeploy, keyR1, "d2")}, nil, &keyR1, time.Time{}},
		{"taken back to one whose run was superseded", deployed(runs(
			reason(ReasonSuperseded, of(TriggerDeploy, keyR1, doneRun("d1", at("11:50:00"), keyR1, ""))),
		)), []Create{changeCreate(TriggerDeploy, keyR1, "d1")}, nil, &keyR1, time.Time{}},
		{"taken back before the newer one is noticed in the status", deployed(triggered(keyR1), runs(
			reason(ReasonSuperseded, of(TriggerDeploy, keyR1, doneRun("d1", at("11:50:00"), keyR1, ""))),
		)), []Create{changeCreate(TriggerDeploy, keyR1, "d1")}, nil, &keyR1, time.Time{}},
		{"its run was superseded, and only the result is left", deployed(result(keyR1, "Inconclusive", ReasonSuperseded)), started, nil, &keyR1, time.Time{}},
		{"a rollout came into its run", deployed(triggered(keyR1), runs(
			reason(ReasonRevisionChanged, of(TriggerDeploy, keyR1, doneRun("d1", at("11:50:00"), keyR1, ""))),
		)), []Create{changeCreate(TriggerDeploy, keyR1, "d1")}, nil, &keyR1, time.Time{}},
		{"its run was deleted: it does not come back", deployed(triggered(keyR1)), nil, nil, &keyR1, time.Time{}},
		{"its result is left of its run", deployed(result(keyR1, "Failed", "ObjectivesMissed")), nil, nil, &keyR1, time.Time{}},
		{"broken off after creating, the run waits", deployed(runs(of(TriggerDeploy, keyR1, pendingRun("d", at("11:59:20"))))), nil, nil, nil, time.Time{}},
		{"broken off after creating, the run ended before it measured", deployed(runs(func() Run {
			r := reason(ReasonQueueFull, of(TriggerDeploy, keyR1, pendingRun("d", at("11:59:20"))))
			r.FinishedAt = ptr(at("11:59:25"))
			return r
		}())), nil, nil, &keyR1, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.facts)
			if diff := cmp.Diff(tt.create, d.Create); diff != "" {
				t.Errorf("create (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.cancel, d.Cancel); diff != "" {
				t.Errorf("cancel (-want +got):\n%s", diff)
			}
			var want *TriggeredKey
			if tt.triggered != nil {
				want = ptr(tt.triggered.triggered())
			}
			if diff := cmp.Diff(want, d.LastTriggered); diff != "" {
				t.Errorf("last triggered (-want +got):\n%s", diff)
			}
			if !d.Next.Equal(tt.next) {
				t.Errorf("looks again at %s, want %s", d.Next, tt.next)
			}
		})
	}
}

// What else starts runs does so while a rollout goes.
func TestOtherTriggersDuringARollout(t *testing.T) {
	byHand := Decide(deployed(rolling, token("t1")))
	want := []Create{{Name: RunName(suiteName, suiteUID, TriggerManual, "run-now:t1"), Trigger: TriggerManual, TriggeredBy: "run-now:t1"}}
	if diff := cmp.Diff(want, byHand.Create); diff != "" {
		t.Errorf("by hand (-want +got):\n%s", diff)
	}
	slot := Decide(hourly(key(keyR1), func(f *Facts) { f.Targets = &Targets{Settle: time.Minute} }))
	if diff := cmp.Diff([]Create{slotCreate(at("12:00:00"))}, slot.Create); diff != "" {
		t.Errorf("a slot (-want +got):\n%s", diff)
	}
}

func TestARetryWaitsForARollout(t *testing.T) {
	failed := of(TriggerDeploy, keyR1, doneRun("failed", at("11:50:00"), keyR1, VerdictError))
	want := []Create{{Name: RunName(suiteName, suiteUID, TriggerDeploy, "retry-of:failed"), Trigger: TriggerDeploy, TriggeredBy: "retry-of:failed", RetryOf: "failed"}}
	if diff := cmp.Diff(want, Decide(deployed(runs(failed))).Create); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	if d := Decide(deployed(runs(failed), rolling)); len(d.Create) != 0 || !d.Next.IsZero() {
		t.Errorf("while a rollout goes: creates %v, looks again at %s", d.Create, d.Next)
	}
	if d := Decide(deployed(runs(failed), since(at("11:59:50")))); len(d.Create) != 0 || !d.Next.Equal(at("12:00:05")) {
		t.Errorf("settling: creates %v, looks again at %s", d.Create, d.Next)
	}
}

func TestTwoSuitesOnOneDeploymentEachRunOnce(t *testing.T) {
	names := map[string]bool{}
	for _, uid := range []string{"one", "another"} {
		f := deployed(func(f *Facts) { f.Suite.UID = uid })
		for range 3 {
			d := Decide(f)
			for _, c := range d.Create {
				names[c.Name] = true
				f.Runs = append(f.Runs, of(c.Trigger, keyR1, doneRun(c.Name, f.Now, keyR1, "Passed")))
			}
			f.Status.LastTriggered = d.LastTriggered
			f.Now = f.Now.Add(time.Hour)
		}
	}
	if len(names) != 2 {
		t.Errorf("runs %v, want one a suite", names)
	}
}

// Statuses and runs that an earlier version wrote know of no revision.
func TestWithoutTargetsNoRevisionIsTheConstantOne(t *testing.T) {
	f := quiet(runs(began(doneRun("d", at("11:10:00"), keyA, "Passed"))), func(f *Facts) {
		f.Status.LastTriggered.Revision, f.Status.Results[0].Revision = "", ""
	})
	d := Decide(f)
	if len(d.Create) != 0 || *d.LastTriggered != keyA.triggered() {
		t.Errorf("creates %v, last triggered %v", d.Create, *d.LastTriggered)
	}
	if f.Runs[0].Revision != "" || f.Status.LastTriggered.Revision != "" || f.Status.Results[0].Revision != "" {
		t.Error("the facts were changed")
	}
}

func TestRevisionIn(t *testing.T) {
	for key, want := range map[string]string{
		keyR1.String(): "r1", Key{"e", "g", ""}.String(): "", "": "", "retry-of:docs-bot-1": "", "2026-11-29T12:00:00Z": "",
		Key{"e, revision x", "g", "y"}.String(): "y",
	} {
		if got := revisionIn(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}
