package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var queueStart = instant("2026-11-29T12:00:00Z")

// queued makes a run ns/suite/name; its UID is name.
func queued(namespace, suite, name string, second int, active bool) QueuedRun {
	return QueuedRun{
		Namespace: namespace, Suite: suite, Name: name, UID: name,
		CreatedAt: queueStart.Add(time.Duration(second) * time.Second), Active: active,
	}
}

func TestAdmit(t *testing.T) {
	eleven := func(active bool) []QueuedRun {
		runs := []QueuedRun{queued("a", "s", "first", 0, active)}
		for i := range 11 {
			runs = append(runs, queued("a", "s", fmt.Sprintf("w%02d", i), i+1, false))
		}
		return runs
	}
	tests := []struct {
		name        string
		facts       QueueFacts
		start, full []string
	}{
		{"nothing", QueueFacts{Limit: 5}, nil, nil},
		{"the oldest of a suite starts, the others wait", QueueFacts{Limit: 5, Runs: []QueuedRun{
			queued("a", "s", "late", 2, false), queued("a", "s", "early", 1, false),
		}}, []string{"early"}, nil},
		{"created in one second, the name decides", QueueFacts{Limit: 5, Runs: []QueuedRun{
			queued("a", "s", "y", 1, false), queued("a", "s", "x", 1, false),
		}}, []string{"x"}, nil},
		{"one active run a suite", QueueFacts{Limit: 5, Runs: []QueuedRun{
			queued("a", "s", "active", 1, true), queued("a", "s", "waits", 2, false),
		}}, nil, nil},
		{"suites of one name in two namespaces are two", QueueFacts{Limit: 5, Runs: []QueuedRun{
			queued("a", "s", "active", 1, true), queued("b", "s", "starts", 2, false),
		}}, []string{"starts"}, nil},
		{"the limit holds over all suites", QueueFacts{Limit: 2, Runs: []QueuedRun{
			queued("a", "s1", "active", 1, true), queued("a", "s2", "starts", 2, false), queued("a", "s3", "waits", 3, false),
		}}, []string{"starts"}, nil},
		{"more active than a lowered limit allows", QueueFacts{Limit: 1, Runs: []QueuedRun{
			queued("a", "s1", "r1", 1, true), queued("a", "s2", "r2", 2, true), queued("a", "s3", "r3", 3, false),
		}}, nil, nil},
		{"the namespace with the fewest active runs comes first, though its run is younger", QueueFacts{Limit: 3, Runs: []QueuedRun{
			queued("a", "s1", "a1", 1, true), queued("a", "s2", "a2", 2, true), queued("a", "s3", "a3", 3, false), queued("b", "s", "b1", 9, false),
		}}, []string{"b1"}, nil},
		{"what starts now counts too", QueueFacts{Limit: 3, Runs: []QueuedRun{
			queued("a", "s1", "a1", 1, false), queued("a", "s2", "a2", 2, false), queued("b", "s1", "b1", 3, false), queued("b", "s2", "b2", 4, false),
		}}, []string{"a1", "b1", "a2"}, nil},
		{"an eleventh that waits ends, the newest", QueueFacts{Limit: 5, Runs: eleven(true)}, nil, []string{"w10"}},
		{"one that starts does not wait", QueueFacts{Limit: 5, Runs: eleven(false)}, []string{"first"}, []string{"w10"}},
		{"ten wait", QueueFacts{Limit: 5, Runs: eleven(true)[:11]}, nil, nil},
		{"waiting for the operator's limit is waiting", QueueFacts{Runs: eleven(false)}, nil, []string{"w09", "w10"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := QueueDecision{Start: tt.start, Full: tt.full}
			if diff := cmp.Diff(want, Admit(tt.facts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// admitPlainly does what Admit does, one look over everything a run.
func admitPlainly(f QueueFacts) QueueDecision {
	var d QueueDecision
	runs := slices.Clone(f.Runs)
	slices.SortFunc(runs, byCreation)
	for {
		activeIn, busy, all := map[string]int{}, map[string]bool{}, 0
		for _, r := range runs {
			if r.Active {
				activeIn[r.Namespace]++
				busy[r.Namespace+"/"+r.Suite] = true
				all++
			}
		}
		best := -1
		for i, r := range runs {
			if all < f.Limit && !r.Active && !busy[r.Namespace+"/"+r.Suite] &&
				(best < 0 || activeIn[r.Namespace] < activeIn[runs[best].Namespace]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		runs[best].Active = true
		d.Start = append(d.Start, runs[best].UID)
	}
	waiting := map[string]int{}
	for _, r := range runs {
		if key := r.Namespace + "/" + r.Suite; !r.Active {
			if waiting[key]++; waiting[key] > MaxWaiting {
				d.Full = append(d.Full, r.UID)
			}
		}
	}
	return d
}

func TestAdmitAgreesWithThePlainWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := QueueFacts{Limit: rapid.IntRange(0, 12).Draw(t, "limit")}
		n := rapid.IntRange(0, 60).Draw(t, "runs")
		suites := []string{"s1", "s2", "s3"}[:rapid.IntRange(1, 3).Draw(t, "suites")]
		for i := range n {
			f.Runs = append(f.Runs, queued(
				rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace"),
				rapid.SampledFrom(suites).Draw(t, "suite"),
				fmt.Sprintf("r%03d", i), rapid.IntRange(0, 20).Draw(t, "second"),
				rapid.IntRange(0, 9).Draw(t, "active") == 0,
			))
		}
		given := slices.Clone(f.Runs)
		got := Admit(f)
		if diff := cmp.Diff(admitPlainly(f), got); diff != "" {
			t.Fatalf("(-plain +got):\n%s", diff)
		}
		if diff := cmp.Diff(given, f.Runs); diff != "" {
			t.Fatalf("the facts were changed:\n%s", diff)
		}
	})
}

func TestAThousandSuitesDoNotKeepAnotherTeamWaiting(t *testing.T) {
	f := QueueFacts{Limit: 4}
	for i := range 1000 {
		f.Runs = append(f.Runs, queued("crowd", fmt.Sprintf("s%d", i), fmt.Sprintf("c%04d", i), i, i < 3))
	}
	f.Runs = append(f.Runs, queued("alone", "s", "alone", 5000, false))
	if diff := cmp.Diff([]string{"alone"}, Admit(f).Start); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkAdmit(b *testing.B) {
	f := QueueFacts{Limit: 50}
	for i := range 5000 {
		f.Runs = append(f.Runs, queued(fmt.Sprintf("n%d", i%20), fmt.Sprintf("s%d", i%1000), fmt.Sprintf("r%d", i), i, false))
	}
	for b.Loop() {
		Admit(f)
	}
}
