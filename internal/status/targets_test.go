package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/rollout"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/workload"
)

func TestTargetsAsTheyWereSeen(t *testing.T) {
	since, at := noon.Add(-time.Minute).Truncate(time.Second), noon.Add(-time.Hour).Truncate(time.Second)
	many := make([]string, 70)
	for i := range many {
		many[i] = fmt.Sprintf("image-%02d", i)
	}
	seen := &workload.Snapshot{Revision: "r2", Workloads: []workload.Workload{
		{Kind: v1alpha1.TargetDeployment, Name: "bot", Images: []string{"bot:2", strings.Repeat("x", 2000)}, State: rollout.State{RolledOut: true, TemplateHash: "6d4cf56db6", Message: "nothing to wait for"}},
		{Kind: v1alpha1.TargetStatefulSet, Name: "bot", Images: many, State: rollout.State{TemplateHash: "bot-5f", Message: strings.Repeat("m", 2000)}},
	}}
	s := newSuite()
	f := facts()
	f.Targets = &Targets{Seen: seen, Progress: rollout.Progress{Revision: "r2", Since: &since}, ImageIDs: map[string][]string{"Deployment/bot": {"bot@sha256:1"}}}
	fold(s, f)
	want := []v1alpha1.TargetStatus{
		{Kind: "Deployment", Name: "bot", TemplateHash: "6d4cf56db6", RolledOut: ptr.To(true), Images: []string{"bot:2", strings.Repeat("x", 1021) + "…"}, ImageIDs: []string{"bot@sha256:1"}},
		{Kind: "StatefulSet", Name: "bot", TemplateHash: "bot-5f", RolledOut: ptr.To(false), Images: many[:64], Message: strings.Repeat("m", 1021) + "…"},
	}
	if diff := cmp.Diff(want, s.Status.Targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if st := s.Status; st.Revision != "r2" || st.RolledOutTime != nil || st.RolloutSince == nil || !st.RolloutSince.Time.Equal(since) {
		t.Errorf("while it rolls out: %s, %s, %s", st.Revision, st.RolledOutTime, st.RolloutSince)
	}
	if diff := same(s.Status, stored(t, s).Status); diff != "" {
		t.Errorf("it does not survive the API server: %s", diff)
	}

	f.Targets.Progress = rollout.Progress{Revision: "r2", RolledOutAt: &at}
	fold(s, f)
	if st := s.Status; st.RolloutSince != nil || st.RolledOutTime == nil || !st.RolledOutTime.Time.Equal(at) {
		t.Errorf("rolled out: %s, %s", st.RolledOutTime, st.RolloutSince)
	}
	f.Targets = nil
	fold(s, f)
	if st := s.Status; st.Targets != nil || st.Revision != "" || st.RolloutSince != nil || st.RolledOutTime != nil {
		t.Errorf("a suite without targets: %+v", st)
	}
}

// What keeps the next run back is said where a user looks first.
func TestPassingSaysWhatARunWaitsFor(t *testing.T) {
	since := noon.Add(-time.Minute)
	waiting := &Targets{Seen: &workload.Snapshot{Revision: "r2"}, Progress: rollout.Progress{Revision: "r2", Since: &since, Message: "Deployment bott: it does not exist"}}
	for reason, runs := range map[string][]*v1alpha1.EvalRun{"NotYetEvaluated": nil, "RevisionNotEvaluated": {ended("a", time.Minute)}} {
		s := newSuite()
		f := facts(runs...)
		f.Targets = waiting
		fold(s, f)
		if got := wantCondition(t, s.Status.Conditions, "Passing", metav1.ConditionUnknown, reason); !strings.HasSuffix(got, "; a run starts once the targets are rolled out: Deployment bott: it does not exist") {
			t.Errorf("%s: it says %q", reason, got)
		}
		f.Stall = &suite.Error{Reason: suite.ReasonSecretNotFound, Message: "gone"}
		fold(s, f)
		if got := wantCondition(t, s.Status.Conditions, "Passing", metav1.ConditionUnknown, reason); !strings.HasSuffix(got, "; the suite is stalled (SecretNotFound), and no run starts until that is mended: see the condition Stalled") {
			t.Errorf("%s, stalled: it says %q", reason, got)
		}
	}
}

// A verdict holds for a revision: without one that is known, nothing passes.
func TestPassingWhileTheRevisionIsNotKnown(t *testing.T) {
	s := newSuite()
	f := facts(ended("a", time.Minute))
	f.Targets = &Targets{Seen: &workload.Snapshot{}, Progress: rollout.Progress{Message: "Deployment bot does not exist"}}
	fold(s, f)
	if got := wantCondition(t, s.Status.Conditions, "Passing", metav1.ConditionUnknown, "RevisionNotEvaluated"); !strings.Contains(got, "Deployment bot does not exist") {
		t.Errorf("it says %q", got)
	}
	f.Targets, f.Runs = nil, nil
	fold(s, f)
	wantCondition(t, s.Status.Conditions, "Passing", metav1.ConditionUnknown, "RevisionNotEvaluated")
	fold(s, SuiteFacts{Golden: f.Golden, Runs: []*v1alpha1.EvalRun{ended("b", 0, revision("none"))}, Now: noon})
	wantCondition(t, s.Status.Conditions, "Passing", metav1.ConditionTrue, "Passed")
}

func TestARunSaysWhatItMeasured(t *testing.T) {
	p := prepared()
	p.Targets = []report.Target{
		{Kind: "Deployment", Name: "b", TemplateHash: "h2", Images: []string{"i2", "i1"}},
		{Kind: "Deployment", Name: "a", TemplateHash: "h1", Images: []string{"i1"}},
		{Kind: "Deployment", Name: "c"},
		{Kind: "StatefulSet", Name: "d", TemplateHash: "h1"},
	}
	run := newRun()
	Started(run, p, 0, noon)
	if diff := cmp.Diff([]string{"h1", "h2"}, run.Status.TemplateHashes); diff != "" {
		t.Errorf("template hashes: %s", diff)
	}
	if diff := cmp.Diff([]string{"i1", "i2"}, run.Status.Images); diff != "" {
		t.Errorf("images: %s", diff)
	}
	s := newSuite()
	fold(s, facts(ended("a", 0, func(e *v1alpha1.EvalRun) {
		e.Status.TemplateHashes, e.Status.Images = run.Status.TemplateHashes, run.Status.Images
	})))
	if r := s.Status.Results[0]; len(r.TemplateHashes) != 2 || len(r.Images) != 2 {
		t.Errorf("the result has %v, %v", r.TemplateHashes, r.Images)
	}
}
