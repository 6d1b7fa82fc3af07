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
	runs   []*Run

	// created holds every run that there ever was.
	created map[string]*Run
	// createdIn is the epoch in which it was created.
	createdIn map[string]int
	// epoch counts the changes of the key; changeRuns the runs that each led to.
	epoch      int
	changeRuns map[int]int
	// tokens are the run-now tokens that a whole pass has seen.
	tokens map[string]bool
	// owed are the slots that had to be started or counted; owedSince is up to when.
	owed      int64
	owedSince time.Time
	// skew is how many seconds a second operator's clock may be behind.
	skew int
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
		tokens:     map[string]bool{},
		owedSince:  created,
		skew:       rapid.SampledFrom([]int{0, 90}).Draw(t, "skew"),
	}
	if rapid.Bool().Draw(t, "deadline") {
		w.suite.StartingDeadline = ptr(3 * time.Minute)
	}
	return w
}

// facts are a snapshot, with times as coarse as the API server keeps them.
func (w *world) facts() Facts {
	f := Facts{Now: w.now, Suite: w.suite, Key: w.key, Status: w.status}
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
	if steps--; steps < 0 {
		return
	}
	w.writeStatus(d)
}

func allSteps(d Decision) int {
	n := 1
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
	case c.Trigger == TriggerSpec || c.Trigger == TriggerGoldenSet:
		if w.changeRuns[w.epoch]++; w.changeRuns[w.epoch] > 1 {
			t.Fatalf("one change led to a second run, %v", c)
		}
	}
	if w.suite.Suspend && c.Trigger != TriggerManual || !w.suite.Ready {
		t.Fatalf("%v starts while suspended or stalled", c)
	}
}

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
			if r.Canceled {
				r.Verdict = "Inconclusive"
			}
			if r.Full && r.measures() {
				w.status.Results = slices.Insert(slices.Clone(w.status.Results), 0, PastResult{
					Run: r.Name, EvaluationDigest: r.EvaluationDigest, GoldenSetDigest: r.GoldenSetDigest, Verdict: r.Verdict, Time: now,
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

// settle lets everything come to rest, and checks that nothing was lost.
func (w *world) settle(t *rapid.T) {
	w.setSuspend(t, false)
	w.suite.Ready = true
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
		if r.Full && r.measures() && r.measured() == w.key.triggered() {
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
			"suspend": func(t *rapid.T) { w.setSuspend(t, rapid.Bool().Draw(t, "suspend")) },
			"ready":   func(t *rapid.T) { w.suite.Ready = rapid.IntRange(0, 3).Draw(t, "ready") > 0 },
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
