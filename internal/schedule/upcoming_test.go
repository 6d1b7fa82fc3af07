package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUpcoming(t *testing.T) {
	failed := of(TriggerDeploy, keyR1, doneRun("failed", at("11:58:00"), keyR1, VerdictError))
	for _, tt := range []struct {
		name  string
		facts Facts
		want  *Upcoming
	}{
		{"nothing", deployed(key(keyA)), nil},
		{"a change that is due", deployed(), &Upcoming{Trigger: TriggerDeploy, At: at("11:59:15")}},
		{"a change that waits for a rollout", deployed(rolling), &Upcoming{Trigger: TriggerDeploy}},
		{"a change that waits for targets to settle", deployed(since(at("11:59:50"))), &Upcoming{Trigger: TriggerDeploy, At: at("12:00:05")}},
		{"a change without targets", quiet(key(keyB)), &Upcoming{Trigger: TriggerGoldenSet}},
		{"suspended", deployed(suspended), nil},
		{"stalled", deployed(stalled, token("t")), nil},
		{"a run waits", deployed(runs(pendingRun("p", at("11:59:30")))), &Upcoming{Run: "p", Trigger: TriggerManual, Since: at("11:59:30")}},
		{"a run goes", deployed(runs(activeRun("a", at("11:59:30"), keyR1))), &Upcoming{Run: "a", Trigger: TriggerManual, Started: true, Since: at("11:59:30")}},
		{"a run repeats what has a verdict", deployed(key(keyA), runs(activeRun("a", at("11:59:30"), keyA))), &Upcoming{Run: "a", Trigger: TriggerManual, Started: true, Since: at("11:59:30")}},
		{"a run of another key goes", deployed(key(keyA), runs(activeRun("a", at("11:59:30"), keyR2))), nil},
		{"a run goes that a rollout came into", deployed(runs(began(activeRun("a", at("11:58:30"), keyR1)))), &Upcoming{Trigger: TriggerDeploy, At: at("11:59:15")}},
		{"a run that is superseded right now", deployed(runs(of(TriggerDeploy, keyA, pendingRun("p", at("11:50:00"))))), &Upcoming{Trigger: TriggerDeploy, At: at("11:59:15")}},
		{"a run of a subset goes", deployed(key(keyA), runs(func() Run { r := pendingRun("p", at("11:59:30")); r.Full = false; return r }())), nil},
		{"an error is tried once more", deployed(runs(failed)), &Upcoming{Trigger: TriggerDeploy, At: at("12:04:00"), RetryOf: "failed"}},
		{"a token", deployed(key(keyA), token("t")), &Upcoming{Trigger: TriggerManual}},
		{"a token that was handled", deployed(key(keyA), token("t"), func(f *Facts) { f.Status.LastHandledRunNow = "t" }), nil},
		{"a slot does not count", hourly(), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, found := Next(tt.facts)
			if found != (tt.want != nil) {
				t.Fatalf("got %+v, %t", got, found)
			}
			if tt.want == nil {
				tt.want = &Upcoming{}
			}
			if diff := cmp.Diff(*tt.want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
