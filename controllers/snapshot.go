package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/facts"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/status"
	"github.com/assay-dev/assay/internal/suite"
)

// snapshot is everything that one pass over a suite rests on.
type snapshot struct {
	suite  *v1alpha1.EvalSuite
	runs   []*v1alpha1.EvalRun
	golden goldenFacts
	// fresh is true where the golden set was read in this pass.
	fresh bool
	// targets are the suite's workloads; nil where it has none.
	targets *status.Targets
	// awaitsKind says that a target's kind is not installed.
	awaitsKind bool
	now        time.Time
}

// stall is why nothing can be run; nil where it can.
func (s *snapshot) stall() *suite.Error { return s.golden.stall }

// take reads a suite's runs and checks what it names. An error is the API
// server's; what is wrong with the suite is in the snapshot.
func (r *SuiteReconciler) take(ctx context.Context, s *v1alpha1.EvalSuite) (*snapshot, error) {
	snap := &snapshot{suite: s, now: r.Clock.Now()}
	var err error
	if snap.runs, err = r.runsOf(ctx, r.Client, s, client.MatchingFields{indexRunSuite: s.Name}); err != nil {
		return nil, err
	}
	if snap.targets, err = r.takeTargets(ctx, s, snap.now); err != nil {
		return nil, err
	}
	snap.awaitsKind = r.ensureRolloutWatch(ctx, s)
	if snap.golden, snap.fresh, err = r.readGolden(ctx, s); err != nil {
		return nil, err
	}
	if snap.golden.stall == nil {
		if err := suite.CheckCredentials(ctx, s, suite.InCluster(r.Live, s.Namespace)); err != nil {
			e, ok := suite.AsError(err)
			if !ok {
				return nil, err
			}
			snap.golden.stall = e
		}
	}
	return snap, nil
}

// takeLive reads the suite and its runs once more, past the cache: what is
// created must follow from what is, not from what was.
func (r *SuiteReconciler) takeLive(ctx context.Context, snap *snapshot) (*snapshot, error) {
	live := *snap
	live.suite = &v1alpha1.EvalSuite{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(snap.suite), live.suite); err != nil {
		return nil, fmt.Errorf("get EvalSuite %s: %w", snap.suite.Name, err)
	}
	if live.suite.UID != snap.suite.UID || live.suite.Generation != snap.suite.Generation {
		return nil, errStale
	}
	var err error
	live.runs, err = r.runsOf(ctx, r.Live, live.suite, client.MatchingLabels{labelSuite: snap.suite.Name})
	return &live, err
}

// runsOf lists the runs that the suite owns.
func (r *SuiteReconciler) runsOf(ctx context.Context, reader client.Reader, s *v1alpha1.EvalSuite, by client.ListOption) ([]*v1alpha1.EvalRun, error) {
	list := &v1alpha1.EvalRunList{}
	if err := reader.List(ctx, list, client.InNamespace(s.Namespace), by); err != nil {
		return nil, fmt.Errorf("list the runs of EvalSuite %s: %w", s.Name, err)
	}
	var runs []*v1alpha1.EvalRun
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], s) {
			runs = append(runs, &list.Items[i])
		}
	}
	return runs, nil
}

// readGolden gives what came of the suite's golden set. It is read again only
// when the suite or the objects behind it have changed, and after a failure.
func (r *SuiteReconciler) readGolden(ctx context.Context, s *v1alpha1.EvalSuite) (goldenFacts, bool, error) {
	key := client.ObjectKeyFromObject(s)
	versions, err := r.goldenObjects(ctx, s)
	if err != nil {
		return goldenFacts{}, false, err
	}
	for _, name := range referencedBy(&s.Spec) {
		more, err := r.configMapVersion(ctx, s.Namespace, name)
		if err != nil {
			return goldenFacts{}, false, err
		}
		versions = append(versions, more...)
	}
	identity := fmt.Sprintf("%s/%d/%s", s.UID, s.Generation, strings.Join(versions, ","))
	if f, ok := r.golden.get(key, identity); ok {
		return f, false, nil
	}
	policy := egressOf(r.Egress, s.Namespace)
	if err := cmp.Or(suite.Check(s), suite.CheckEgress(s, policy)); err != nil {
		f := goldenFacts{}
		f.stall, _ = suite.AsError(err)
		r.golden.put(key, identity, versions, f)
		return f, true, nil
	}
	refs, err := suite.LoadReferenced(ctx, s, suite.InCluster(r.Live, s.Namespace))
	if err != nil {
		e, ok := suite.AsError(err)
		if !ok {
			return goldenFacts{}, false, err
		}
		f := goldenFacts{stall: e}
		if !e.Transient && e.Reason != suite.ReasonConfigMapNotFound {
			r.golden.put(key, identity, versions, f)
		}
		return f, true, nil
	}
	end, err := r.Fetches.begin(s)
	if err != nil {
		return goldenFacts{}, false, err
	}
	defer end()
	set, err := suite.LoadGolden(ctx, s, suite.InCluster(r.Live, s.Namespace), suite.Deps{Egress: policy})
	if err != nil {
		e, ok := suite.AsError(err)
		if !ok {
			return goldenFacts{}, false, err
		}
		f := goldenFacts{stall: e, refs: &refs.Digests}
		// What is behind a URL can be mended without a change that is seen here.
		if !e.Transient && e.Reason != suite.ReasonGoldenSetNotFound && s.Spec.GoldenSet.HTTP == nil {
			r.golden.put(key, identity, versions, f)
		}
		return f, true, nil
	}
	cost := suite.CostOf(s, suite.RunOptions{}, set, refs)
	f := goldenFacts{
		summary:  status.GoldenSummary{Digest: set.Digest, Cases: len(set.Cases), Tags: len(set.Tags()), Calls: cost.Calls, Tokens: cost.Tokens},
		warnings: set.Warnings,
		fine:     suite.FineDrops(s, set),
		refs:     &refs.Digests,
	}
	f.read = true
	r.golden.put(key, identity, versions, f)
	return f, true, nil
}

// egressOf is the policy of a namespace; nil where there is none.
func egressOf(policies func(namespace string) call.Egress, namespace string) call.Egress {
	if policies == nil {
		return nil
	}
	return policies(namespace)
}

// goldenObjects names the versions of the ConfigMaps behind the golden set,
// as the metadata cache has them.
func (r *SuiteReconciler) goldenObjects(ctx context.Context, s *v1alpha1.EvalSuite) ([]string, error) {
	g := &s.Spec.GoldenSet
	switch {
	case g.ConfigMapRef != nil:
		return r.configMapVersion(ctx, s.Namespace, g.ConfigMapRef.Name)
	case g.ConfigMapSelector != nil:
		selector, err := metav1.LabelSelectorAsSelector(g.ConfigMapSelector)
		if err != nil || selector.Empty() {
			return nil, nil // suite.Check says so
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		if err := r.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return nil, fmt.Errorf("list ConfigMaps: %w", err)
		}
		var versions []string
		for i := range list.Items {
			versions = append(versions, version(&list.Items[i]))
		}
		slices.Sort(versions)
		return versions, nil
	}
	return nil, nil
}

// configMapVersion names the version of a ConfigMap; nothing where there is none.
func (r *SuiteReconciler) configMapVersion(ctx context.Context, namespace, name string) ([]string, error) {
	cm := configMapMetadata()
	err := r.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	return []string{version(cm)}, nil
}

func configMapMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return m
}

func version(m *metav1.PartialObjectMetadata) string {
	return string(m.UID) + "@" + m.ResourceVersion
}

// evaluationDigest is that of the suite as it is; empty where what it refers to
// could not be read.
func (s *snapshot) evaluationDigest() string {
	if s.golden.refs == nil {
		return ""
	}
	return suite.EvaluationDigest(s.suite, "", *s.golden.refs)
}

// scheduleFacts is the snapshot as the schedule sees it.
func (s *snapshot) scheduleFacts() schedule.Facts {
	return facts.Schedule(facts.Input{
		Suite: s.suite, Runs: s.runs, Targets: s.targets,
		EvaluationDigest: s.evaluationDigest(), GoldenSetDigest: s.golden.summary.Digest,
		Ready: s.stall() == nil, Now: s.now,
	})
}
