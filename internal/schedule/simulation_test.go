package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world is a cluster with one suite, of which a random sequence of edits, steps
// of time, operators that break off and runs makes a history.
type world struct {
	now    time.Time
	suite  Suite
	key    Key
	status Status
	// targets are nil for a suite without any.
	targets *Targets
	runs    []*Run

	// created holds every run that there ever was.
	created map[string]*Run
	// createdIn is the epoch in which it was created.
	createdIn map[string]int
	// epoch counts the changes of the key; changeRuns the runs that each led to,
	// overtaken those that a rollout came into.
	epoch                 int
	changeRuns, overtaken map[int]int
	// tokens are the run-now tokens that a whole pass has seen.
	tokens map[string]bool
	// owed are the slots that had to be started or counted; owedSince is up to when.
	owed      int64
	owedSince time.Time
	// skew is how many seconds a second operator's clock may be behind.
	skew int
	// superseded are the runs that a newer revision canceled.
	superseded map[string]bool
	// disturbed says that a run was canceled or deleted.
	disturbed bool
}

func newWorld(t *rapid.T) *world {
	created := instant("2026-03-07T12:00:00Z")
	w := &world{
		now: created,
		suite: Suite{
			Name: suiteName, UID: suiteUID, CreatedAt: created, Ready: true, OnGoldenSetChange: true,
			Schedule: rapid.SampledFrom([]string{"*/10 * * * *", "0 * * * *", "30 2 * * *"}).Draw(t, "schedule"),
			TimeZone: rapid.SampledFrom([]string{"", "America/New_York"}).Draw(t, "zone"),
			Replace:  rapid.Bool().Draw(t, "replace"),
			Jitter:   time.Duration(rapid.SampledFrom([]int{0, 90}).Draw(t, "jitter")) * time.Second,
		},
		key:        Key{EvaluationDigest: "e0", GoldenSetDigest: "g0", Revision: "r"},
		created:    map[string]*Run{},
		createdIn:  map[string]int{},
		changeRuns: map[int]int{},
		overtaken:  map[int]int{},
		superseded: map[string]bool{},
		tokens:     map[string]bool{},
		owedSince:  created,
		skew:       rapid.SampledFrom([]int{0, 90}).Draw(t, "skew"),
	}
	if rapid.Bool().Draw(t, "targets") {
		w.targets = &Targets{Settle: time.Duration(rapid.SampledFrom([]int{0, 15}).Draw(t, "settle")) * time.Second}
		if rapid.Bool().Draw(t, "rolled out") {
			w.targets.RolledOutAt = &created
		}
	}
	if rapid.Bool().Draw(t, "deadline") {
		w.suite.StartingDeadline = ptr(3 * time.Minute)
	}
	return w
}

// facts are a snapshot, with times as coarse as the API server keeps them.
func (w *world) facts() Facts {
	f := Facts{Now: w.now, Suite: w.suite, Key: w.key, Status: w.status}
	if w.targets != nil {
		targets := *w.targets
		f.Targets = &targets
	}
	for _, r := range w.runs {
		f.Runs = append(f.Runs, *r)
	}
	return f
}

func (w *world) find(name string) *Run {
	for _, r := range w.runs {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// carryOut does the first steps of a decision: a creation is a step, a
// cancellation too, and the last one is the write of the status.
func (w *world) carryOut(t *rapid.T, f Facts, d Decision, steps int) {
	for _, c := range d.Create {
		if steps--; steps < 0 {
			return
		}
		w.create(t, f, c)
		for _, name := range c.Replaces {
			if steps--; steps < 0 {
				return
			}
			w.cancel(name)
		}
	}
	for _, c := range d.Cancel {
		if steps--; steps < 0 {
			return
		}
		w.supersede(t, f, c)
	}
	if steps--; steps < 0 {
		return
	}
	w.writeStatus(d)
}

// supersede cancels a run that measures, or was started for, an older revision.
func (w *world) supersede(t *rapid.T, f Facts, c Cancel) {
	r := w.find(c.Run)
	if w.targets == nil || c.Reason != ReasonSuperseded || r.askedFor() || r.Revision == f.Key.Revision {
		t.Fatalf("%v is superseded by revision %s", *r, f.Key.Revision)
	}
	if !r.finished() {
		r.Canceled, w.superseded[c.Run] = true, true
	}
}

func allSteps(d Decision) int {
	n := 1 + len(d.Cancel)
	for _, c := range d.Create {
		n += 1 + len(c.Replaces)
	}
	return n
}

func (w *world) create(t *rapid.T, f Facts, c Create) {
	if r := w.find(c.Name); r != nil {
		if r.Trigger != c.Trigger || r.RetryOf != c.RetryOf || r.TriggeredBy != c.TriggeredBy {
			t.Fatalf("%v has the name of %v", c, *r)
		}
		return
	}
	// Once every run of a change's trigger is pruned, a key that comes back may bear the first one's name.
	if e, was := w.createdIn[c.Name]; was && (e == w.epoch || c.Trigger == TriggerSchedule || c.Trigger == TriggerManual || c.RetryOf != "") {
		t.Fatalf("run %s of %s, %s, is created twice", c.Name, c.Trigger, c.TriggeredBy)
	}
	r := &Run{
		Name: c.Name, Trigger: c.Trigger, TriggeredBy: c.TriggeredBy, RetryOf: c.RetryOf,
		Full: true, CreatedAt: w.now.Truncate(time.Second),
	}
	w.runs = append(w.runs, r)
	w.created[c.Name], w.createdIn[c.Name] = r, w.epoch
	switch {
	case c.RetryOf != "":
		first := w.created[c.RetryOf]
		if first.Verdict != VerdictError || first.RetryOf != "" || first.Trigger == TriggerManual || w.now.Before(first.FinishedAt.Add(RetryDelay)) {
			t.Fatalf("%v is no retry of %v at %s", c, *first, w.now)
		}
	case c.Trigger == TriggerSchedule:
		if !f.Suite.Replace && f.any(func(r Run) bool { return !r.finished() }) {
			t.Fatalf("slot %s starts while a run is unfinished", c.TriggeredBy)
		}
	case c.Trigger == TriggerSpec || c.Trigger == TriggerGoldenSet || c.Trigger == TriggerDeploy:
		if w.changeRuns[w.epoch]++; w.changeRuns[w.epoch] > 1+w.overtaken[w.epoch] {
			t.Fatalf("one change led to a second run, %v", c)
		}
		if w.rolling() || w.targets != nil && f.Now.Before(w.targets.RolledOutAt.Add(w.targets.Settle)) {
			t.Fatalf("%v starts while a rollout goes or settles: %+v at %s", c, w.targets, f.Now)
		}
	}
	if w.suite.Suspend && c.Trigger != TriggerManual || !w.suite.Ready {
		t.Fatalf("%v starts while suspended or stalled", c)
	}
}

// rolling reports whether a rollout goes.
func (w *world) rolling() bool { return w.targets != nil && w.targets.RolledOutAt == nil }

func (w *world) cancel(name string) {
	if r := w.find(name); r != nil && !r.finished() {
		r.Canceled = true
	}
}

func (w *world) writeStatus(d Decision) {
	results := w.status.Results
	w.status = Status{
		LastScheduleTime: d.LastScheduleTime, LastMissedTime: d.LastMissedTime, MissedRuns: d.MissedRuns,
		LastHandledRunNow: d.LastHandledRunNow, Counted: d.Counted, LastTriggered: d.LastTriggered, Results: results,
	}
}

// pass is one that nothing breaks off.
func (w *world) pass(t *rapid.T) {
	f := w.facts()
	d := Decide(f)
	// What is started here was in sight before.
	if next, found := Next(f); !found {
		for _, c := range d.Create {
			if c.Trigger != TriggerSchedule {
				t.Fatalf("%v comes out of the blue", c)
			}
		}
	} else if next.Run == "" && !next.At.After(w.now) && !w.rolling() && len(d.Create) == 0 {
		t.Fatalf("%+v is due, and nothing starts", next)
	}
	w.carryOut(t, f, d, allSteps(d))

	if w.suite.RunNow != "" && w.suite.Ready {
		w.tokens[w.suite.RunNow] = true
	}
	w.owe(t)
	// A second look at the same facts finds nothing more to do.
	again := Decide(w.facts())
	for _, c := range again.Create {
		t.Fatalf("the next pass at the same time creates %v again", c)
	}
	if len(again.Events) > 0 {
		t.Fatalf("the next pass at the same time says %v again", again.Events)
	}
}

// owe checks that each slot so far was either started or counted, once.
func (w *world) owe(t *rapid.T) {
	until := w.now.Add(-Offset(w.suite.UID, w.suite.Jitter))
	if !w.suite.Suspend && until.After(w.owedSince) {
		cron, err := Parse(w.suite.Schedule, w.suite.TimeZone)
		if err != nil {
			t.Fatal(err)
		}
		w.owed += cron.count(w.owedSince, until)
		w.owedSince = until
	}
	slots := map[string]bool{}
	for _, r := range w.created {
		if r.Trigger == TriggerSchedule && r.RetryOf == "" {
			if slots[r.TriggeredBy] {
				t.Fatalf("slot %s was started twice", r.TriggeredBy)
			}
			slots[r.TriggeredBy] = true
		}
	}
	// Where two clocks differ, one operator may start what the other counts as missed.
	if got := w.status.MissedRuns + int64(len(slots)); got < w.owed || got > w.owed && w.skew == 0 {
		t.Fatalf("%d slots were started and %d counted as missed, want %d in all", len(slots), w.status.MissedRuns, w.owed)
	}
}

func (w *world) unfinished() []*Run {
	var runs []*Run
	for _, r := range w.runs {
		if !r.finished() {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(a, b *Run) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return runs
}

// step takes the runs one step on: the active one ends, or else the oldest starts.
func (w *world) step(verdict string) bool {
	waiting := w.unfinished()
	now := w.now.Truncate(time.Second)
	for _, r := range waiting {
		if r.StartedAt != nil || r.Canceled {
			r.FinishedAt = &now
			r.Verdict = verdict
			switch {
			case w.superseded[r.Name]:
				r.Verdict, r.Reason = "Inconclusive", ReasonSuperseded
			case r.Canceled:
				r.Verdict, r.Reason = "Inconclusive", "Canceled"
			case w.targets != nil && (w.rolling() || r.Revision != w.key.Revision):
				r.Verdict, r.Reason = "Inconclusive", ReasonRevisionChanged
			}
			if e, was := w.createdIn[r.Name]; was && overtaken(r.Reason) {
				w.overtaken[e]++
			}
			if r.Full && r.knows() {
				w.status.Results = slices.Insert(slices.Clone(w.status.Results), 0, PastResult{
					Run: r.Name, EvaluationDigest: r.EvaluationDigest, GoldenSetDigest: r.GoldenSetDigest, Revision: r.Revision,
					Verdict: r.Verdict, Reason: r.Reason, Time: now,
				})
			}
			return true
		}
	}
	if len(waiting) == 0 {
		return false
	}
	r := waiting[0]
	r.StartedAt = &now
	r.EvaluationDigest, r.GoldenSetDigest = w.key.EvaluationDigest, w.key.GoldenSetDigest
	if !w.rolling() {
		r.Revision = w.key.Revision
	}
	return true
}

func (w *world) waits() bool {
	return slices.ContainsFunc(w.unfinished(), func(r *Run) bool { return r.StartedAt == nil })
}

func (w *world) advance(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) changeKey(k Key) {
	if k != w.key {
		w.key = k
		w.epoch++
		w.advance(time.Second)
	}
}

// rollOut finishes the rollout that goes.
func (w *world) rollOut() {
	if w.rolling() {
		w.targets.RolledOutAt = ptr(w.now.Truncate(time.Second))
	}
}

// settle lets everything come to rest, and checks that nothing was lost.
func (w *world) settle(t *rapid.T) {
	w.setSuspend(t, false)
	w.suite.Ready = true
	w.rollOut()
	w.pass(t)
	w.advance(time.Minute)
	for range 100 {
		w.pass(t)
		if !w.step("Passed") {
			break
		}
		w.advance(time.Second)
	}
	for token := range w.tokens {
		n := 0
		for _, r := range w.created {
			if r.TriggeredBy == "run-now:"+token {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("token %s led to %d runs, want 1", token, n)
		}
	}
	if w.disturbed || w.suite.Replace {
		return
	}
	for _, r := range w.created {
		if r.Full && r.measures() && !w.superseded[r.Name] && r.measured() == w.key.triggered() {
			return
		}
	}
	t.Fatalf("key %v was never measured; status %+v", w.key, w.status)
}

// setSuspend edits the field between two passes, so that it is known which slots fall to which side.
func (w *world) setSuspend(t *rapid.T, suspend bool) {
	if w.suite.Suspend == suspend {
		return
	}
	w.pass(t)
	w.suite.Suspend = suspend
	w.owedSince = w.now
	w.pass(t)
}

func TestEachKeyAndSlotRunsOnceWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		token, byHand := 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				w.advance(time.Duration(rapid.SampledFrom([]int{1, 7, 61, 299, 1801, 40_000}).Draw(t, "seconds"))*time.Second + 300*time.Millisecond)
			},
			"pass": func(t *rapid.T) { w.pass(t) },
			"broken off": func(t *rapid.T) {
				f := w.facts()
				d := Decide(f)
				w.carryOut(t, f, d, rapid.IntRange(0, allSteps(d)-1).Draw(t, "steps"))
			},
			"two at once": func(t *rapid.T) {
				f := w.facts()
				behind := f
				behind.Now = f.Now.Add(-time.Duration(rapid.IntRange(0, w.skew).Draw(t, "behind")) * time.Second)
				if behind.Now.Before(w.suite.CreatedAt) {
					behind.Now = f.Now
				}
				one, other := Decide(f), Decide(behind)
				if rapid.Bool().Draw(t, "the clock that is behind wins") {
					one, other = other, one
				}
				// The other has created before the status of the one is written; its own write is a conflict.
				w.carryOut(t, f, one, rapid.IntRange(0, allSteps(one)-1).Draw(t, "steps"))
				w.carryOut(t, f, other, allSteps(other)-1)
				w.carryOut(t, f, one, allSteps(one))
			},
			"golden set": func(t *rapid.T) {
				k := w.key
				k.GoldenSetDigest = rapid.SampledFrom([]string{"g0", "g1", "g2"}).Draw(t, "golden set")
				w.changeKey(k)
			},
			"spec": func(t *rapid.T) {
				k := w.key
				k.EvaluationDigest = rapid.SampledFrom([]string{"e0", "e1"}).Draw(t, "spec")
				w.changeKey(k)
			},
			"run now": func(t *rapid.T) {
				token++
				w.suite.RunNow = fmt.Sprint(token)
			},
			"deploy": func(t *rapid.T) {
				if w.targets == nil {
					return
				}
				k := w.key
				k.Revision = rapid.SampledFrom([]string{"r", "r1", "r2"}).Draw(t, "revision")
				if k != w.key || rapid.IntRange(0, 3).Draw(t, "scaled to zero") == 0 {
					w.targets.RolledOutAt = nil
				}
				w.changeKey(k)
			},
			"rolled out": func(*rapid.T) { w.rollOut() },
			"suspend":    func(t *rapid.T) { w.setSuspend(t, rapid.Bool().Draw(t, "suspend")) },
			"ready":      func(t *rapid.T) { w.suite.Ready = rapid.IntRange(0, 3).Draw(t, "ready") > 0 },
			"by hand": func(t *rapid.T) {
				byHand++
				r := &Run{
					Name: fmt.Sprintf("hand-%d", byHand), Trigger: TriggerManual, CreatedAt: w.now.Truncate(time.Second),
					Full: rapid.Bool().Draw(t, "full"),
				}
				w.runs = append(w.runs, r)
				w.created[r.Name] = r
			},
			"run": func(t *rapid.T) {
				w.step(rapid.SampledFrom([]string{"Passed", "Failed", VerdictError}).Draw(t, "verdict"))
				w.advance(time.Second)
			},
			"cancel": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
					return
				}
				for _, r := range w.unfinished() {
					if !r.Canceled {
						w.disturbed = true
						r.Canceled = true
						return
					}
				}
			},
			"history": func(t *rapid.T) {
				// Pruning happens in a pass, and leaves what is unfinished.
				w.pass(t)
				keep := rapid.IntRange(2, 5).Draw(t, "keep")
				for i := len(w.runs) - 1; i >= 0; i-- {
					if w.runs[i].finished() {
						if keep--; keep < 0 {
							w.runs = slices.Delete(w.runs, i, i+1)
						}
					}
				}
			},
		})
		w.settle(t)
	})
}

func TestADeletedRunStaysAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			k := w.key
			k.GoldenSetDigest = rapid.SampledFrom([]string{"g0", "g1", "g2"}).Draw(t, "golden set")
			w.changeKey(k)
			w.pass(t)
			// No run waits when the next change comes: one that measured something else
			// than it was started for is made up for, and that must not look like a deletion.
			for steps := rapid.IntRange(0, 4).Draw(t, "steps"); steps > 0 || w.waits(); steps-- {
				w.step("Passed")
				w.advance(time.Second)
				w.pass(t)
			}
		}
		for len(w.runs) > 0 {
			i := rapid.IntRange(0, len(w.runs)-1).Draw(t, "delete")
			w.runs = slices.Delete(w.runs, i, i+1)
			w.pass(t)
		}
	})
}
