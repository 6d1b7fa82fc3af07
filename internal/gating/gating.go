// Package gating answers a gate's question from the cluster as it is: it reads
// the suite, its runs and its targets past any cache, and has package gate decide.
package gating

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/facts"
	"github.com/assay-dev/assay/internal/gate"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
)

// Cluster answers for the suites of a cluster.
type Cluster struct {
	// Reader must not be a cache: a gate that answers by what was admits what it
	// must not.
	Reader client.Reader
	Clock  clock.PassiveClock
}

// Ask answers a question about a suite. An error is the API server's; a suite
// that does not exist is an answer.
func (c *Cluster) Ask(ctx context.Context, namespace, name string, q gate.Question) (gate.Answer, error) {
	f, err := c.facts(ctx, namespace, name, q.Endpoint)
	if err != nil {
		return gate.Answer{}, err
	}
	return gate.Decide(f, q), nil
}

func (c *Cluster) facts(ctx context.Context, namespace, name, endpoint string) (gate.Facts, error) {
	now := c.Clock.Now()
	s := &v1alpha1.EvalSuite{}
	err := c.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, s)
	switch {
	case apierrors.IsNotFound(err), err == nil && !s.DeletionTimestamp.IsZero():
		return gate.Facts{Now: now, Suite: gate.Suite{Name: name, Missing: true}}, nil
	case err != nil:
		return gate.Facts{}, fmt.Errorf("get EvalSuite %s: %w", name, err)
	}
	targets, err := facts.Rollout(ctx, c.Reader, s, now)
	if err != nil {
		return gate.Facts{}, fmt.Errorf("read the targets of EvalSuite %s: %w", name, err)
	}
	runs, err := c.runs(ctx, s)
	if err != nil {
		return gate.Facts{}, err
	}
	f := gate.Facts{Now: now, Suite: suiteFacts(s), Live: live(s, targets), Results: results(s, runs), Runs: open(runs)}
	f.Due = due(s, targets, runs, f)
	if endpoint != "" {
		// What is asked there makes it another evaluation than that of the suite's own URL.
		f.Suite.EvaluationDigest = suite.DigestOf(ctx, s, endpoint, suite.InCluster(c.Reader, namespace))
	}
	return f, nil
}

// runs are those of the suite, read live: what was created a moment ago is what a
// gate waits for.
func (c *Cluster) runs(ctx context.Context, s *v1alpha1.EvalSuite) ([]*v1alpha1.EvalRun, error) {
	list := &v1alpha1.EvalRunList{}
	if err := c.Reader.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("list the runs of EvalSuite %s: %w", s.Name, err)
	}
	var runs []*v1alpha1.EvalRun
	for i := range list.Items {
		run := &list.Items[i]
		// One that was made by hand a moment ago has no owner yet.
		if owner := metav1.GetControllerOf(run); run.Spec.SuiteRef.Name == s.Name && (owner == nil || owner.UID == s.UID) {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

func suiteFacts(s *v1alpha1.EvalSuite) gate.Suite {
	f := gate.Suite{
		Name:             s.Name,
		Unobserved:       ptr.Deref(s.Status.ObservedGeneration, -1) != s.Generation,
		Suspended:        ptr.Deref(s.Spec.Suspend, false),
		Objectives:       len(s.Spec.Objectives) > 0,
		EvaluationDigest: s.Status.EvaluationDigest,
	}
	if set := s.Status.GoldenSet; set != nil {
		f.GoldenSetDigest = set.Digest
	}
	for _, e := range s.Spec.Endpoints {
		f.Endpoints = append(f.Endpoints, e.Name)
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		f.Stalled = c.Message
	}
	return f
}

func live(s *v1alpha1.EvalSuite, t *status.Targets) gate.Live {
	if t == nil {
		return gate.Live{Revision: suite.NoTargetsRevision}
	}
	return gate.Live{
		Revision:       t.Progress.Revision,
		TemplateHashes: t.Seen.TemplateHashes(),
		RolloutSince:   t.Progress.Since,
		Rollout:        t.Progress.Message,
		RolledOutAt:    t.Progress.RolledOutAt,
		Settle:         facts.Settle(s),
	}
}

// results are those of the suite's status, and of runs that have ended since it was
// written: between the two there must be no moment without an answer.
func results(s *v1alpha1.EvalSuite, runs []*v1alpha1.EvalRun) []gate.Result {
	out := make([]gate.Result, 0, len(s.Status.Results))
	known := map[string]bool{}
	for _, r := range s.Status.Results {
		known[r.Run] = true
		out = append(out, gate.Result{
			Run: r.Run, Endpoint: r.Endpoint, Revision: r.Revision,
			EvaluationDigest: r.EvaluationDigest, GoldenSetDigest: r.GoldenSetDigest, CorpusVersion: r.CorpusVersion,
			Verdict: string(r.Verdict), Reason: r.Reason, Message: r.Message,
			Time: r.Time.Time, ExpiresAt: r.ExpiresAt.Time,
		})
	}
	maxAge := time.Duration(s.Spec.Gate.MaxAgeSeconds) * time.Second
	for _, run := range runs {
		st := &run.Status
		if st.Verdict == "" || st.CompletionTime == nil || st.GoldenSetDigest == "" || known[run.Name] || !suite.OptionsOf(&run.Spec).Whole() {
			continue
		}
		out = append(out, gate.Result{
			Run: run.Name, Endpoint: run.Spec.Endpoint, Revision: st.Revision,
			EvaluationDigest: st.SuiteEvaluationDigest, GoldenSetDigest: st.GoldenSetDigest, CorpusVersion: st.CorpusVersion,
			Verdict: string(st.Verdict), Reason: st.Reason, Message: st.Message,
			Time: st.CompletionTime.Time, ExpiresAt: st.CompletionTime.Add(maxAge).Truncate(time.Second),
		})
	}
	return out
}

// open are the runs of the whole golden set that have not ended.
func open(runs []*v1alpha1.EvalRun) []gate.Run {
	var out []gate.Run
	for _, run := range runs {
		if run.Status.Verdict != "" || !run.DeletionTimestamp.IsZero() || run.Annotations[v1alpha1.AnnotationCancel] != "" || !suite.OptionsOf(&run.Spec).Whole() {
			continue
		}
		r := gate.Run{
			Name: run.Name, Endpoint: run.Spec.Endpoint, Revision: run.Spec.Revision,
			EvaluationDigest: run.Status.SuiteEvaluationDigest, GoldenSetDigest: run.Status.GoldenSetDigest,
			CreatedAt: run.CreationTimestamp.Time, Started: run.Status.StartTime != nil,
		}
		if r.Revision == "" {
			r.Revision = run.Status.Revision
		}
		out = append(out, r)
	}
	return out
}

// due is the run that is to come for the suite's own URL and has not been created.
func due(s *v1alpha1.EvalSuite, t *status.Targets, runs []*v1alpha1.EvalRun, f gate.Facts) *gate.Due {
	next, ok := schedule.Next(facts.Schedule(facts.Input{
		Suite: s, Runs: runs, Targets: t,
		EvaluationDigest: f.Suite.EvaluationDigest, GoldenSetDigest: f.Suite.GoldenSetDigest,
		Ready: f.Suite.Stalled == "", Now: f.Now,
	}))
	if !ok || next.Run != "" {
		return nil
	}
	return &gate.Due{Trigger: next.Trigger, At: next.At, RetryOf: next.RetryOf}
}
