package rollout

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// outcome is what a table says of a state: R rolled out, O only restarting or
// scaled, - a rollout that goes.
func outcome(s State) string {
	switch {
	case s.RolledOut:
		return "R " + s.Reason
	case s.OneTemplate:
		return "O " + s.Reason
	}
	return "- " + s.Reason
}

func check(t *testing.T, got State, want, says string) {
	t.Helper()
	if diff := cmp.Diff(want, outcome(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(got.Message, says) {
		t.Errorf("says %q, want %q", got.Message, says)
	}
	if (got.Message == "") != got.RolledOut {
		t.Errorf("a state %q says %q", outcome(got), got.Message)
	}
	if got.RolledOut && (!got.OneTemplate || got.TemplateHash == "") {
		t.Errorf("rolled out, and not of one known template: %+v", got)
	}
}

func TestDeployment(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*Deployment)
		want, says string
	}{
		"rolled out":                          {func(*Deployment) {}, "R RolledOut", ""},
		"observed beyond its generation":      {func(d *Deployment) { d.ObservedGeneration = 9 }, "R RolledOut", ""},
		"the counts of an older generation":   {func(d *Deployment) { d.Generation = 5 }, "- NotObserved", "generation 5 yet, only at 4"},
		"no ReplicaSet has its template":      {func(d *Deployment) { d.TemplateHash = "" }, "- TemplateUnknown", ""},
		"paused with a new template":          {func(d *Deployment) { d.TemplateHash, d.Paused = "", true }, "- Paused", ""},
		"paused half-way":                     {func(d *Deployment) { d.Updated, d.Paused = 1, true }, "- Paused", "1 of 3"},
		"paused after it had finished":        {func(d *Deployment) { d.Paused = true }, "R RolledOut", ""},
		"one of three updated":                {func(d *Deployment) { d.Updated = 1 }, "- Updating", "1 of 3 pods are updated"},
		"surging, old pods are left":          {func(d *Deployment) { d.Replicas = 4 }, "- Updating", "1 pods of an earlier template are left"},
		"recreated, no pod yet":               {func(d *Deployment) { d.Updated, d.Replicas, d.Available = 0, 0, 0 }, "- Updating", "0 of 3"},
		"beyond the deadline":                 {func(d *Deployment) { d.Updated, d.Stuck = 1, "has timed out progressing" }, "- ProgressDeadlineExceeded", "1 of 3 pods are updated: has timed out progressing"},
		"beyond the deadline, never ready":    {func(d *Deployment) { d.Available, d.Stuck = 0, "has timed out progressing" }, "O ProgressDeadlineExceeded", "0 of 3 pods are available: has timed out progressing"},
		"a deadline that was met in the end":  {func(d *Deployment) { d.Stuck = "has timed out progressing" }, "R RolledOut", ""},
		"a pod restarts":                      {func(d *Deployment) { d.Available = 2 }, "O Unavailable", "2 of 3 pods are available"},
		"old pods are terminating":            {func(d *Deployment) { d.Terminating = 2 }, "O Terminating", "2 pods are shutting down"},
		"scaled up":                           {func(d *Deployment) { d.Desired = 5 }, "O Unavailable", "there are 3 pods, and 5 are wanted"},
		"scaled down":                         {func(d *Deployment) { d.Desired = 1 }, "O Unavailable", "there are 3 pods, and 1 are wanted"},
		"scaled to zero":                      {func(d *Deployment) { d.Desired = 0 }, "- ScaledToZero", ""},
		"scaled to zero, and nothing is left": {func(d *Deployment) { d.Desired, d.Replicas, d.Updated, d.Available = 0, 0, 0, 0 }, "- ScaledToZero", ""},
		"no facts":                            {func(d *Deployment) { *d = Deployment{} }, "- ScaledToZero", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Deployment{Generation: 4, ObservedGeneration: 4, Desired: 3, Replicas: 3, Updated: 3, Available: 3, TemplateHash: "6d9f"}
			test.change(&d)
			check(t, d.State(), test.want, test.says)
		})
	}
}

func TestStatefulSet(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*StatefulSet)
		want, says string
	}{
		"rolled out":                         {func(*StatefulSet) {}, "R RolledOut", ""},
		"the counts of an older generation":  {func(s *StatefulSet) { s.Generation = 3 }, "- NotObserved", "generation 3 yet, only at 2"},
		"no ControllerRevision":              {func(s *StatefulSet) { s.TemplateHash = "" }, "- TemplateUnknown", ""},
		"updating":                           {func(s *StatefulSet) { s.UpdateRevision, s.Updated = "web-2", 1 }, "- Updating", "1 of 3 pods are updated"},
		"updated, and not said to be yet":    {func(s *StatefulSet) { s.UpdateRevision = "web-2" }, "- Updating", ""},
		"a partition":                        {func(s *StatefulSet) { s.UpdateRevision, s.Updated, s.Partition = "web-2", 1, 2 }, "- Partitioned", "partition 2 keeps the others"},
		"a partition, and nothing to update": {func(s *StatefulSet) { s.Partition = 2 }, "R RolledOut", ""},
		"taken back half-way":                {func(s *StatefulSet) { s.Updated = 2 }, "- Updating", "2 of 3"},
		"a pod restarts":                     {func(s *StatefulSet) { s.Ready = 2 }, "O Unavailable", "2 pods are ready, and 3 are wanted"},
		"scaled up":                          {func(s *StatefulSet) { s.Desired = 5 }, "O Unavailable", "5 are wanted"},
		"scaled down, with one not ready":    {func(s *StatefulSet) { s.Desired, s.Ready = 2, 2 }, "O Unavailable", ""},
		"scaled to zero":                     {func(s *StatefulSet) { s.Desired = 0 }, "- ScaledToZero", ""},
		"OnDelete":                           {func(s *StatefulSet) { s.OnDelete = true }, "- OnDeleteNotSupported", "use RollingUpdate"},
		"no facts":                           {func(s *StatefulSet) { *s = StatefulSet{} }, "- ScaledToZero", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := StatefulSet{Generation: 2, ObservedGeneration: 2, Desired: 3, Replicas: 3, Updated: 3, Ready: 3,
				CurrentRevision: "web-1", UpdateRevision: "web-1", TemplateHash: "web-1"}
			test.change(&s)
			check(t, s.State(), test.want, test.says)
		})
	}
}

func TestDaemonSet(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*DaemonSet)
		want, says string
	}{
		"rolled out":                        {func(*DaemonSet) {}, "R RolledOut", ""},
		"the counts of an older generation": {func(d *DaemonSet) { d.Generation = 3 }, "- NotObserved", "generation 3 yet, only at 2"},
		"no ControllerRevision":             {func(d *DaemonSet) { d.TemplateHash = "" }, "- TemplateUnknown", ""},
		"updating":                          {func(d *DaemonSet) { d.Updated = 1 }, "- Updating", "1 of 4 nodes are updated"},
		"no pod yet":                        {func(d *DaemonSet) { d.Current, d.Updated, d.Available = 0, 0, 0 }, "- Updating", "0 of 4"},
		"a pod restarts":                    {func(d *DaemonSet) { d.Available = 3 }, "O Unavailable", "on 3 of 4 nodes"},
		"a node has come":                   {func(d *DaemonSet) { d.Desired = 5 }, "O Unavailable", "on 4 of 5 nodes"},
		"a node has come during an update":  {func(d *DaemonSet) { d.Desired, d.Updated = 5, 2 }, "- Updating", "2 of 5"},
		"no node":                           {func(d *DaemonSet) { d.Desired, d.Current, d.Updated, d.Available = 0, 0, 0, 0 }, "- ScaledToZero", "no node"},
		"no facts":                          {func(d *DaemonSet) { *d = DaemonSet{} }, "- ScaledToZero", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := DaemonSet{Generation: 2, ObservedGeneration: 2, Desired: 4, Current: 4, Updated: 4, Available: 4, TemplateHash: "5b77"}
			test.change(&d)
			check(t, d.State(), test.want, test.says)
		})
	}
}

func TestArgoRollout(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*ArgoRollout)
		want, says string
	}{
		"rolled out":                       {func(*ArgoRollout) {}, "R RolledOut", ""},
		"the phase of an older generation": {func(r *ArgoRollout) { r.Generation = 13 }, "- NotObserved", `generation 13 yet, only at "12"`},
		"generations compare as numbers":   {func(r *ArgoRollout) { r.ObservedGeneration = "9" }, "- NotObserved", ""},
		"a generation that is no number":   {func(r *ArgoRollout) { r.ObservedGeneration = "58c975674b" }, "- NotObserved", `"58c975674b"`},
		"never observed":                   {func(r *ArgoRollout) { r.ObservedGeneration = "" }, "- NotObserved", ""},
		"its workloadRef was observed":     {func(r *ArgoRollout) { r.WorkloadGeneration, r.WorkloadObservedGeneration = 3, "3" }, "R RolledOut", ""},
		"its workloadRef was not":          {func(r *ArgoRollout) { r.WorkloadGeneration, r.WorkloadObservedGeneration = 4, "3" }, "- NotObserved", "workloadRef"},
		"a canary waits":                   {func(r *ArgoRollout) { r.CurrentHash, r.Phase, r.Message = "new", "Paused", "CanaryPauseStep" }, "- Updating", "phase is Paused, and new has not been promoted: CanaryPauseStep"},
		"healthy, with a canary":           {func(r *ArgoRollout) { r.CurrentHash = "new" }, "- Updating", ""},
		"aborted":                          {func(r *ArgoRollout) { r.CurrentHash, r.Phase = "new", "Degraded" }, "- Updating", "Degraded"},
		"scaling":                          {func(r *ArgoRollout) { r.Phase = "Progressing" }, "O Unavailable", "Progressing"},
		"no phase":                         {func(r *ArgoRollout) { r.Phase = "" }, "O Unavailable", "not known"},
		"no hash":                          {func(r *ArgoRollout) { r.CurrentHash, r.StableHash = "", "" }, "- TemplateUnknown", ""},
		"scaled to zero":                   {func(r *ArgoRollout) { r.Desired = 0 }, "- ScaledToZero", ""},
		"no facts":                         {func(r *ArgoRollout) { *r = ArgoRollout{} }, "- ScaledToZero", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := ArgoRollout{Generation: 12, ObservedGeneration: "12", Desired: 2, Phase: "Healthy", CurrentHash: "old", StableHash: "old"}
			test.change(&r)
			check(t, r.State(), test.want, test.says)
		})
	}
}

func TestAbsent(t *testing.T) {
	check(t, Absent(ReasonNotFound, "it does not exist"), "- NotFound", "it does not exist")
}

// Whatever a status says, a workload is rolled out only where every count agrees.
func TestOnlyWhatIsWholeHasRolledOut(t *testing.T) {
	n := rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, 2, 3, math.MaxInt32})
	g := rapid.SampledFrom([]int64{math.MinInt64, 0, 1, 2, math.MaxInt64})
	text := rapid.SampledFrom([]string{"", "a", "b", "1", "Healthy", "\x00é%s"})
	rapid.Check(t, func(t *rapid.T) {
		d := Deployment{g.Draw(t, "g"), g.Draw(t, "o"), n.Draw(t, "d"), n.Draw(t, "r"), n.Draw(t, "u"), n.Draw(t, "a"), n.Draw(t, "t"), rapid.Bool().Draw(t, "p"), text.Draw(t, "s"), text.Draw(t, "h")}
		if s := d.State(); s.RolledOut && (d.ObservedGeneration < d.Generation || d.Desired == 0 || d.Updated != d.Desired || d.Replicas != d.Desired || d.Available != d.Desired || d.Terminating != 0 || d.TemplateHash == "") {
			t.Fatalf("%+v has rolled out", d)
		}
		ss := StatefulSet{g.Draw(t, "g"), g.Draw(t, "o"), n.Draw(t, "d"), n.Draw(t, "r"), n.Draw(t, "u"), n.Draw(t, "a"), text.Draw(t, "c"), text.Draw(t, "n"), n.Draw(t, "p"), rapid.Bool().Draw(t, "x"), text.Draw(t, "h")}
		if s := ss.State(); s.RolledOut && (ss.ObservedGeneration < ss.Generation || ss.Desired == 0 || ss.Ready != ss.Desired || ss.Updated != ss.Desired || ss.CurrentRevision != ss.UpdateRevision || ss.OnDelete || ss.TemplateHash == "") {
			t.Fatalf("%+v has rolled out", ss)
		}
		ds := DaemonSet{g.Draw(t, "g"), g.Draw(t, "o"), n.Draw(t, "d"), n.Draw(t, "c"), n.Draw(t, "u"), n.Draw(t, "a"), text.Draw(t, "h")}
		if s := ds.State(); s.RolledOut && (ds.ObservedGeneration < ds.Generation || ds.Desired == 0 || ds.Updated != ds.Desired || ds.Available != ds.Desired || ds.TemplateHash == "") {
			t.Fatalf("%+v has rolled out", ds)
		}
		r := ArgoRollout{g.Draw(t, "g"), text.Draw(t, "o"), g.Draw(t, "w"), text.Draw(t, "wo"), n.Draw(t, "d"), text.Draw(t, "p"), text.Draw(t, "m"), text.Draw(t, "c"), text.Draw(t, "s")}
		if s := r.State(); s.RolledOut && (r.Phase != healthy || r.CurrentHash != r.StableHash || r.CurrentHash == "" || r.Desired == 0) {
			t.Fatalf("%+v has rolled out", r)
		}
	})
}
