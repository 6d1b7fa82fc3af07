package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/rollout"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/workload"
)

func TestRevisionMoved(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		err           error
		says          string // nothing where the run may count
	}{
		"the same throughout":             {"r1", "r1", nil, ""},
		"another one at the end":          {"r1", "r2", nil, "revision r1 ran when it began, r2 when it ended"},
		"a rollout goes at the end":       {"r1", "", nil, "a rollout began while revision r1 was measured"},
		"a rollout went at the beginning": {"", "r1", nil, "the run began while a rollout went"},
		"a rollout went all the time":     {"", "", nil, "the run began while a rollout went"},
		"nobody knows":                    {"r1", "", errors.New("connection refused"), "connection refused"},
		"nobody knows, whatever was read": {"r1", "r1", errors.New("connection refused"), "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			got := revisionMoved(test.before, test.after, test.err)
			if test.says == "" {
				if len(got) != 0 {
					t.Errorf("undecided by %v, want nothing", got)
				}
				return
			}
			want := []score.Undecided{{Reason: "RevisionChanged", Void: true}}
			if len(got) == 1 {
				want[0].Message = got[0].Message
			}
			if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got[0].Message, test.says) {
				t.Errorf("want %q (-want +got):\n%s", test.says, diff)
			}
		})
	}
}

func TestEvidence(t *testing.T) {
	seen := &workload.Snapshot{Workloads: []workload.Workload{
		{Kind: v1alpha1.TargetDeployment, Name: "api", State: rollout.State{TemplateHash: "aa"}, Images: []string{"api:1", "proxy:1"}},
		{Kind: v1alpha1.TargetStatefulSet, Name: "api", State: rollout.State{TemplateHash: "bb"}},
	}}
	got := evidence(&status.Targets{Seen: seen, ImageIDs: map[string][]string{"Deployment/api": {"api:1@sha256:abc"}}})
	want := []report.Target{
		{Kind: "Deployment", Name: "api", TemplateHash: "aa", Images: []string{"api:1", "proxy:1"}, ImageIDs: []string{"api:1@sha256:abc"}},
		{Kind: "StatefulSet", Name: "api", TemplateHash: "bb", Images: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTargetsOf(t *testing.T) {
	if keys := targetsOf(&v1alpha1.EvalSuiteSpec{}); keys != nil {
		t.Errorf("a suite without targets is found by %v", keys)
	}
	spec := &v1alpha1.EvalSuiteSpec{OnDeploy: &v1alpha1.OnDeploy{Targets: []v1alpha1.Target{
		{Kind: v1alpha1.TargetDeployment, Name: "api"}, {Kind: v1alpha1.TargetStatefulSet, Name: "api"}, {Kind: v1alpha1.TargetRollout, Name: "web"},
	}}}
	if diff := cmp.Diff([]string{"Deployment/api", "StatefulSet/api", "Rollout/web"}, targetsOf(spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTemplateMaps(t *testing.T) {
	var m templateMaps
	suite := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	want := func(namespace, configMap string, suites ...string) {
		t.Helper()
		var got []string
		for _, r := range m.of(namespace, configMap) {
			got = append(got, r.String())
		}
		slices.Sort(got)
		if diff := cmp.Diff(suites, got); diff != "" {
			t.Errorf("suites whose targets name ConfigMap %s/%s (-want +got):\n%s", namespace, configMap, diff)
		}
	}
	want("rag", "prompt")
	for i, step := range []struct {
		names map[string]string
		more  bool
	}{
		{nil, false},
		{map[string]string{"prompt": "sha256:abc"}, true},
		{map[string]string{"prompt": "sha256:abc"}, false},
		{map[string]string{"prompt": "sha256:def"}, false},
		{map[string]string{"prompt": "sha256:def", "other": ""}, true},
		{map[string]string{"prompt": "sha256:def"}, false},
		{map[string]string{"prompt": "sha256:def", "other": ""}, true},
		{nil, false},
	} {
		if more := m.put(suite("rag", "steps"), step.names); more != step.more {
			t.Errorf("step %d, %v: more is %t, want %t", i, step.names, more, step.more)
		}
	}
	m.put(suite("rag", "docs-bot"), map[string]string{"prompt": "sha256:abc", "absent": ""})
	m.put(suite("rag", "docs-bot-ko"), map[string]string{"prompt": "sha256:abc"})
	m.put(suite("web", "docs-bot"), map[string]string{"prompt": "sha256:def"})
	want("rag", "prompt", "rag/docs-bot", "rag/docs-bot-ko")
	want("rag", "absent", "rag/docs-bot") // its creation is a new revision, too
	want("web", "prompt", "web/docs-bot")
	want("web", "absent")

	m.put(suite("rag", "docs-bot"), map[string]string{"other": "sha256:abc"})
	want("rag", "prompt", "rag/docs-bot-ko")
	want("rag", "other", "rag/docs-bot")
	m.put(suite("rag", "docs-bot-ko"), nil)
	want("rag", "prompt")
	m.put(suite("rag", "absent"), nil)
	if len(m.bySuite) != 2 {
		t.Errorf("%d suites are remembered, want 2: %v", len(m.bySuite), m.bySuite)
	}
}
