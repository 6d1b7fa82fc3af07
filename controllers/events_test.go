package controllers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
)

// told gives the Events of a fake recorder so far.
func told(recorder *events.FakeRecorder) []string {
	var all []string
	for {
		select {
		case e := <-recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// Whoever reads Events hears of a stall once, again when it is another one, and
// when it is over. What is tried again every minute is not told every minute.
func TestAStallIsToldWhenItIsNew(t *testing.T) {
	missing := &suite.Error{Reason: suite.ReasonSecretNotFound, Message: "create the Secret"}
	other := &suite.Error{Reason: suite.ReasonSecretNotFound, Message: "create both Secrets"}
	down := &suite.Error{Reason: suite.ReasonGoldenSetUnreadable, Message: "read 127.0.0.1:40001: reset", Transient: true}
	downAgain := &suite.Error{Reason: suite.ReasonGoldenSetUnreadable, Message: "read 127.0.0.1:40002: reset", Transient: true}
	ready := &suite.Error{}
	condition := func(e *suite.Error) []metav1.Condition {
		switch e {
		case nil:
			return nil
		case ready:
			return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: status.ReasonSucceeded}}
		}
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: e.Reason, Message: e.Message}}
	}
	for name, test := range map[string]struct {
		before, now *suite.Error
		want        []string
	}{
		"a new suite":          {nil, nil, nil},
		"a new suite, stalled": {nil, missing, []string{"Warning SecretNotFound create the Secret"}},
		"still":                {missing, missing, nil},
		"another mistake":      {missing, other, []string{"Warning SecretNotFound create both Secrets"}},
		"an outage":            {ready, down, []string{"Warning GoldenSetUnreadable read 127.0.0.1:40001: reset; it is tried again every minute"}},
		"in other words":       {down, downAgain, nil},
		"after a mistake":      {missing, down, []string{"Warning GoldenSetUnreadable read 127.0.0.1:40001: reset; it is tried again every minute"}},
		"over":                 {missing, nil, []string{"Normal Succeeded the suite can be run again: SecretNotFound is no more"}},
		"all is well":          {ready, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(10)
			r := &SuiteReconciler{Recorder: recorder}
			base := &v1alpha1.EvalSuite{}
			base.Status.Conditions = condition(test.before)
			stalled := r.tellStall(t.Context(), base, &snapshot{suite: base.DeepCopy(), golden: goldenFacts{stall: test.now}})
			if diff := cmp.Diff(test.want, told(recorder)); diff != "" || stalled != (test.now != nil) {
				t.Errorf("stalled %t (-want +got):\n%s", stalled, diff)
			}
		})
	}
}

func TestNotesAreOneShortLine(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	tell(recorder, &v1alpha1.EvalSuite{}, nil, warning, "GoldenSetInvalid", "Check", "%s", "2 problems:\ngolden.yaml:1: is empty\ngolden.yaml:3: "+strings.Repeat("한", maxNote))
	got := told(recorder)[0]
	note, ok := strings.CutPrefix(got, "Warning GoldenSetInvalid 2 problems: golden.yaml:1: is empty; golden.yaml:3: 한")
	if !ok || strings.Contains(got, "\n") || !strings.HasSuffix(note, "한…") || len(got) > maxNote+len("Warning GoldenSetInvalid ") {
		t.Errorf("the note is %s", got)
	}
}

func TestTriggersInWords(t *testing.T) {
	const key = "evaluation sha256:1, golden set sha256:2, revision docs-bot-7d4b9"
	for want, test := range map[string]struct {
		trigger v1alpha1.Trigger
		by      string
	}{
		"the suite is new, or was changed":           {v1alpha1.TriggerSpec, key},
		"the golden set was changed":                 {v1alpha1.TriggerGoldenSet, key},
		"trigger Deploy, revision docs-bot-7d4b9":    {v1alpha1.TriggerDeploy, key},
		"trigger Schedule, 2026-11-30T11:10:00Z":     {v1alpha1.TriggerSchedule, "2026-11-30T11:10:00Z"},
		"trigger Manual, run-now:1":                  {v1alpha1.TriggerManual, "run-now:1"},
		"trigger Spec, retry-of:docs-bot-319017fc93": {v1alpha1.TriggerSpec, "retry-of:docs-bot-319017fc93"},
	} {
		if got := triggerOf(test.trigger, test.by); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
