package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

	done      = State{RolledOut: true, OneTemplate: true, TemplateHash: "1", Reason: ReasonRolledOut}
	restarts  = State{OneTemplate: true, TemplateHash: "1", Reason: ReasonUnavailable, Message: "2 of 3 pods are available"}
	updating  = State{TemplateHash: "1", Reason: ReasonUpdating, Message: "1 of 3 pods are updated"}
	scaledOut = State{TemplateHash: "1", Reason: ReasonScaledToZero, Message: "it is scaled to zero"}
)

// since gives seconds after noon.
func since(seconds int) *time.Time {
	t := noon.Add(time.Duration(seconds) * time.Second)
	return &t
}

func TestObserve(t *testing.T) {
	const waits = "Deployment api: 1 of 3 pods are updated"
	for name, test := range map[string]struct {
		was      Progress
		revision string
		states   []State
		later    time.Duration
		want     Progress
	}{
		"seen for the first time, rolled out": {Progress{}, "r1", []State{done}, 0,
			Progress{Revision: "r1", RolledOutAt: since(0)}},
		"seen for the first time, rolling out": {Progress{}, "r1", []State{updating}, 0,
			Progress{Revision: "r1", Since: since(0), Reason: ReasonUpdating, Message: waits}},
		"no time before it was seen": {Progress{}, "r1", []State{done}, 100 * time.Millisecond,
			Progress{Revision: "r1", RolledOutAt: since(1)}},
		"finishes": {Progress{Revision: "r1", Since: since(-60)}, "r1", []State{done}, 0,
			Progress{Revision: "r1", RolledOutAt: since(0)}},
		"stays": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r1", []State{done}, 0,
			Progress{Revision: "r1", RolledOutAt: since(-60)}},
		"a newer one begins": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r2", []State{updating}, 0,
			Progress{Revision: "r2", Since: since(0), Reason: ReasonUpdating, Message: waits}},
		"went through unseen": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r2", []State{done}, 0,
			Progress{Revision: "r2", RolledOutAt: since(0)}},
		"goes on since it began": {Progress{Revision: "r2", Since: since(-60)}, "r2", []State{updating}, 0,
			Progress{Revision: "r2", Since: since(-60), Reason: ReasonUpdating, Message: waits}},
		"a third one begins": {Progress{Revision: "r2", Since: since(-60)}, "r3", []State{updating}, 0,
			Progress{Revision: "r3", Since: since(0), Reason: ReasonUpdating, Message: waits}},
		"began before its revision was known": {Progress{Since: since(-1)}, "r2", []State{updating}, 0,
			Progress{Revision: "r2", Since: since(-1), Reason: ReasonUpdating, Message: waits}},
		"its revision is not known any more": {Progress{Revision: "r2", Since: since(-1)}, "", []State{updating}, 0,
			Progress{Since: since(-1), Reason: ReasonUpdating, Message: waits}},
		"a revision that is not known has not rolled out": {Progress{RolledOutAt: since(-60)}, "", []State{done}, 0,
			Progress{Since: since(0)}},
		"pods restart after it settled": {Progress{Revision: "r1", RolledOutAt: since(-15)}, "r1", []State{restarts}, 0,
			Progress{Revision: "r1", RolledOutAt: since(-15)}},
		"pods restart before": {Progress{Revision: "r1", RolledOutAt: since(-14)}, "r1", []State{restarts}, 0,
			Progress{Revision: "r1", Since: since(0), Reason: ReasonUnavailable, Message: "Deployment api: 2 of 3 pods are available"}},
		"pods restart while another target updates": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r1", []State{restarts, updating}, 0,
			Progress{Revision: "r1", Since: since(0), Reason: ReasonUnavailable, Message: "Deployment api: 2 of 3 pods are available; Deployment index: 1 of 3 pods are updated"}},
		"pods restart where one target is done": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r1", []State{done, restarts}, 0,
			Progress{Revision: "r1", RolledOutAt: since(-60)}},
		"pods restart in a rollout": {Progress{Revision: "r1", Since: since(-60)}, "r1", []State{restarts}, 0,
			Progress{Revision: "r1", Since: since(-60), Reason: ReasonUnavailable, Message: "Deployment api: 2 of 3 pods are available"}},
		"pods restart at another revision": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r2", []State{restarts}, 0,
			Progress{Revision: "r2", Since: since(0), Reason: ReasonUnavailable, Message: "Deployment api: 2 of 3 pods are available"}},
		"taken back half-way, unseen": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r1", []State{updating}, 0,
			Progress{Revision: "r1", Since: since(0), Reason: ReasonUpdating, Message: waits}},
		"scaled to zero": {Progress{Revision: "r1", RolledOutAt: since(-60)}, "r1", []State{scaledOut}, 0,
			Progress{Revision: "r1", Since: since(0), Reason: ReasonScaledToZero, Message: "Deployment api: it is scaled to zero"}},
		"only one of two": {Progress{Revision: "r1", Since: since(-60)}, "r1", []State{done, updating}, 0,
			Progress{Revision: "r1", Since: since(-60), Reason: ReasonUpdating, Message: "Deployment index: 1 of 3 pods are updated"}},
		"rolled out in the future": {Progress{Revision: "r1", RolledOutAt: since(3600)}, "r1", []State{done}, 0,
			Progress{Revision: "r1", RolledOutAt: since(0)}},
		"rolling out since the future": {Progress{Revision: "r1", Since: since(3600)}, "r1", []State{updating}, 0,
			Progress{Revision: "r1", Since: since(0), Reason: ReasonUpdating, Message: waits}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observation{Now: noon.Add(test.later), Settle: 15 * time.Second, Revision: test.revision}
			for i, s := range test.states {
				o.Targets = append(o.Targets, Target{Kind: "Deployment", Name: []string{"api", "index"}[i], State: s})
			}
			got := Observe(test.was, o)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, Observe(got, o)); diff != "" {
				t.Errorf("a second look in the same instant changes it:\n%s", diff)
			}
		})
	}
}

// A thousand pods that restart for a day leave a rollout finished when it was.
func TestRestartsLeaveAFinishedRolloutFinished(t *testing.T) {
	p := Observe(Progress{}, Observation{Now: noon, Settle: time.Minute, Revision: "r1", Targets: []Target{{"Deployment", "api", done}}})
	for i := range 1000 {
		s := restarts
		if i%7 == 0 {
			s = done
		}
		p = Observe(p, Observation{Now: noon.Add(time.Duration(i+1) * time.Minute), Settle: time.Minute, Revision: "r1", Targets: []Target{{"Deployment", "api", s}}})
		if p.RolledOutAt == nil || !p.RolledOutAt.Equal(noon) || p.Since != nil {
			t.Fatalf("after %d restarts: %+v", i, p)
		}
	}
}
