package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
)

// timeMachine is an operator's clock that the test sets.
type timeMachine struct {
	*clocktesting.FakeClock
	t         *testing.T
	namespace string
	moves     int
}

// newTimeMachine starts ahead of the API server's clock, which stamps what is
// created, and on a minute.
func newTimeMachine(t *testing.T, namespace string) *timeMachine {
	t.Helper()
	now := clock.RealClock{}.Now().Add(2 * time.Minute).Truncate(time.Hour).Add(time.Hour + time.Minute)
	return &timeMachine{FakeClock: clocktesting.NewFakeClock(now), t: t, namespace: namespace}
}

func (m *timeMachine) use(o *operator.Options) { o.Clock = m.FakeClock }

// travel sets the clock forward, and has the suites of the golden set "golden"
// looked at, as the timer would have by then.
func (m *timeMachine) travel(d time.Duration) {
	m.t.Helper()
	m.Step(d)
	m.moves++
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "golden"}}
	annotate(m.t, cm, "move", fmt.Sprint(m.moves))
}

// looked waits until the suite's next slot is after now: it was looked at.
func (m *timeMachine) looked(s *v1alpha1.EvalSuite) {
	m.t.Helper()
	eventually(m.t, func() error {
		next, err := time.Parse(time.RFC3339, get(m.t, s).Status.NextScheduleTime)
		if err != nil {
			return err
		}
		if !next.After(m.Now()) {
			return fmt.Errorf("the next slot is %s, and it is %s", next, m.Now())
		}
		return nil
	})
}

// everyTenMinutes gives the suite a schedule, which is counted from now on: the
// API server's clock, which says when the suite was created, is another one.
func (m *timeMachine) everyTenMinutes(s *v1alpha1.EvalSuite) {
	m.t.Helper()
	update(m.t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Schedule = "*/10 * * * *" })
	m.looked(s)
}

func TestSlotsOfTheSchedule(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	m := newTimeMachine(t, ns)
	startOperator(t, ns, m.use)
	s := passed(t, ns, stub)
	m.everyTenMinutes(s)
	slot := m.Now().Truncate(time.Hour).Add(10 * time.Minute)
	if got, want := s.Status.NextScheduleTime, slot.UTC().Format(time.RFC3339); got != want {
		t.Fatalf("the next slot is %s, want %s", got, want)
	}

	m.travel(9*time.Minute + time.Second) // 10:01
	runs := ended(t, ns, 2)
	if counts := byTrigger(runs); counts[v1alpha1.TriggerSchedule] != 1 {
		t.Errorf("triggers are %v, want one Schedule", counts)
	}
	m.looked(s)
	if !s.Status.LastScheduleTime.Equal(ptr.To(metav1.NewTime(slot))) || *s.Status.MissedRuns != 0 {
		t.Errorf("last slot %v, missed %v; want %v and none", s.Status.LastScheduleTime, *s.Status.MissedRuns, slot)
	}
	m.travel(time.Minute) // nothing is due
	m.travel(34 * time.Minute)
	ended(t, ns, 3) // of 20, 30 and 40 only the last
	m.looked(s)
	if *s.Status.MissedRuns != 2 {
		t.Errorf("%d slots were missed, want 2", *s.Status.MissedRuns)
	}
	wantEvent(t, ns, "MissedSchedule", "EvalSuite", "2")
}

func TestASlotDuringARunIsSkipped(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	m := newTimeMachine(t, ns)
	startOperator(t, ns, m.use)
	s, g := held(t, ns, stub)
	m.everyTenMinutes(s)
	m.travel(10 * time.Minute)
	wantEvent(t, ns, "SlotSkipped", "EvalSuite", "has not finished")
	close(g.open)
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	if *s.Status.MissedRuns != 1 || s.Status.LastMissedTime == nil {
		t.Errorf("%d slots were missed, at %v, want 1", *s.Status.MissedRuns, s.Status.LastMissedTime)
	}
	ended(t, ns, 1)
}

func TestASlotReplacesTheActiveRun(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	m := newTimeMachine(t, ns)
	startOperator(t, ns, m.use)
	s, g := held(t, ns, stub, func(s *v1alpha1.EvalSuite) { s.Spec.ConcurrencyPolicy = v1alpha1.ReplaceConcurrent })
	m.everyTenMinutes(s)
	m.travel(10 * time.Minute)
	eventually(t, func() error {
		if g.left() != 3 {
			return fmt.Errorf("%d of 3 calls were given up", g.left())
		}
		return nil
	})
	m.travel(time.Second) // two results of one instant have no order
	close(g.open)
	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	reasons := map[string]v1alpha1.Trigger{}
	for _, r := range ended(t, ns, 2) {
		reasons[r.Status.Reason] = r.Spec.Trigger
	}
	if reasons["Replaced"] != v1alpha1.TriggerSpec || reasons["ObjectivesMet"] != v1alpha1.TriggerSchedule {
		t.Errorf("runs ended as %v, want the first Replaced by one of the schedule", reasons)
	}
}

func TestAnErrorIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	stub.behave(broken)
	m := newTimeMachine(t, ns)
	startOperator(t, ns, m.use)
	applyGolden(t, ns, "golden", goldenOf("a1"))
	s := newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Passing", metav1.ConditionUnknown, "RunError")
	first := ended(t, ns, 1)[0].Name
	m.travel(5*time.Minute + time.Second)
	var retry string
	for _, r := range ended(t, ns, 2) {
		if r.Name != first {
			retry = r.Annotations[v1alpha1.AnnotationRetryOf]
		}
	}
	if retry != first {
		t.Errorf("the second run retries %q, want %q", retry, first)
	}
	m.travel(10 * time.Minute)
	stub.behave(perfect)
	m.travel(10 * time.Minute)
	annotate(t, s, v1alpha1.AnnotationRunNow, "x") // by hand it runs, by itself it did not
	if counts := byTrigger(ended(t, ns, 3)); counts[v1alpha1.TriggerManual] != 1 {
		t.Errorf("triggers are %v, want two Spec and one Manual", counts)
	}
}

func TestASlotOfAStalledSuiteIsMissed(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	m := newTimeMachine(t, ns)
	startOperator(t, ns, m.use)
	applyGolden(t, ns, "golden", "[]")
	s := newSuite(ns, stub.URL)
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Stalled", metav1.ConditionTrue, "GoldenSetInvalid")
	m.everyTenMinutes(s)
	m.travel(10 * time.Minute)
	m.looked(s)
	eventually(t, func() error {
		if get(t, s); ptr.Deref(s.Status.MissedRuns, 0) != 1 {
			return fmt.Errorf("missed %v, want 1", ptr.Deref(s.Status.MissedRuns, 0))
		}
		return nil
	})
	if runs := runsOf(t, ns); len(runs) != 0 {
		t.Errorf("a stalled suite ran: %s", describe(runs))
	}
}

func TestTheOperatorWasDownForASlot(t *testing.T) {
	t.Parallel()
	ns, stub := newNamespace(t), newStub(t)
	m := newTimeMachine(t, ns)
	op := startOperator(t, ns, m.use)
	s := passed(t, ns, stub, func(s *v1alpha1.EvalSuite) { s.Spec.StartingDeadlineSeconds = ptr.To(int64(120)) })
	m.everyTenMinutes(s)
	op.stop()
	m.travel(15 * time.Minute) // the slot of :10 is 6 minutes old
	op = startOperator(t, ns, m.use)
	m.looked(s)
	eventually(t, func() error {
		if get(t, s); *s.Status.MissedRuns != 1 {
			return fmt.Errorf("missed %d, want 1", *s.Status.MissedRuns)
		}
		return nil
	})
	wantEvent(t, ns, "MissedSchedule", "EvalSuite", "startingDeadlineSeconds")
	op.stop()
	m.travel(5 * time.Minute) // :21, the slot of :20 is a minute old
	startOperator(t, ns, m.use)
	runs := ended(t, ns, 2)
	if counts := byTrigger(runs); counts[v1alpha1.TriggerSchedule] != 1 {
		t.Errorf("triggers are %v, want one Schedule", counts)
	}
	for _, r := range runs {
		if r.Spec.Trigger == v1alpha1.TriggerSchedule && !strings.Contains(r.Annotations[v1alpha1.AnnotationTriggeredBy], ":20:00Z") {
			t.Errorf("the run is of slot %s, want the one of :20", r.Annotations[v1alpha1.AnnotationTriggeredBy])
		}
	}
}
