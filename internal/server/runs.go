package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/schedule"
	"github.com/assay-dev/assay/internal/suite"
)

// labelSuite on an EvalRun names its suite.
const labelSuite = "assay.dev/suite"

// ClusterRuns starts and finds EvalRuns in a cluster.
type ClusterRuns struct {
	// Client writes, and reads from a cache where it has one.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Namespaces that the operator works in; empty: all.
	Namespaces []string
}

// Suite gives a suite; ErrNotFound where there is none, or none that the
// operator works on.
func (c *ClusterRuns) Suite(ctx context.Context, namespace, name string) (*v1alpha1.EvalSuite, error) {
	if len(c.Namespaces) > 0 && !slices.Contains(c.Namespaces, namespace) {
		return nil, ErrNotFound
	}
	if !possible(namespace, name) {
		return nil, ErrNotFound
	}
	s := &v1alpha1.EvalSuite{}
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	switch {
	case apierrors.IsNotFound(err):
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("get EvalSuite %s/%s: %w", namespace, name, err)
	}
	return s, nil
}

// possible says whether a suite can have the name at all. One that no object can
// have, such as one with a slash, is not even a path to ask the API server at.
func possible(namespace, name string) bool {
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// Find gives a run by its UID; ErrNotFound where there is none.
func (c *ClusterRuns) Find(ctx context.Context, uid string) (*v1alpha1.EvalRun, error) {
	runs := &v1alpha1.EvalRunList{}
	if err := c.Client.List(ctx, runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list EvalRuns: %w", err)
	}
	for i := range runs.Items {
		if string(runs.Items[i].UID) == uid {
			return runs.Items[i].DeepCopy(), nil
		}
	}
	return nil, ErrNotFound
}

// Start creates an EvalRun. Where a revision of an endpoint is to be measured,
// an active run that measures it already is given instead: whoever repeats a
// call, because an answer was lost or as every hook of a canary does, starts nothing twice.
func (c *ClusterRuns) Start(ctx context.Context, s *v1alpha1.EvalSuite, ask Ask) (*v1alpha1.EvalRun, error) {
	run := newRun(s, ask)
	if err := controllerutil.SetControllerReference(s, run, c.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("own a run of EvalSuite %s: %w", s.Name, err)
	}
	if ask.Endpoint == "" || ask.Revision == "" {
		return run, c.create(ctx, run)
	}
	same, err := c.sameRuns(ctx, s, run)
	if err != nil {
		return nil, err
	}
	for i := range same {
		if c.active(ctx, &same[i], s) {
			return &same[i], nil
		}
	}
	// Two calls at the same moment, on two replicas too, give the run the same
	// name: it follows from what was asked and from the runs there were.
	run.GenerateName, run.Name = "", schedule.RunName(s.Name, string(s.UID), string(v1alpha1.TriggerAPI), identity(run, same))
	err = c.create(ctx, run)
	if !apierrors.IsAlreadyExists(err) {
		return run, err
	}
	have := &v1alpha1.EvalRun{}
	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(run), have); err != nil {
		return nil, fmt.Errorf("get EvalRun %s, which exists already: %w", run.Name, err)
	}
	if !sameAsked(have, run) || !metav1.IsControlledBy(have, s) {
		return nil, &RefusedError{Message: fmt.Sprintf("another EvalRun has the name %s: delete that one first", run.Name)}
	}
	return have, nil
}

func (c *ClusterRuns) create(ctx context.Context, run *v1alpha1.EvalRun) error {
	err := c.Client.Create(ctx, run)
	switch {
	case err == nil:
		return nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return &RefusedError{Message: err.Error()}
	case apierrors.IsNotFound(err):
		return ErrNotFound
	}
	return fmt.Errorf("create a run of EvalSuite %s: %w", run.Spec.SuiteRef.Name, err)
}

func newRun(s *v1alpha1.EvalSuite, ask Ask) *v1alpha1.EvalRun {
	run := &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: s.Name + "-",
			Namespace:    s.Namespace,
			Labels:       map[string]string{labelSuite: s.Name},
			Annotations:  map[string]string{v1alpha1.AnnotationTriggeredBy: ask.By},
		},
		Spec: v1alpha1.EvalRunSpec{
			SuiteRef: v1alpha1.SuiteReference{Name: s.Name},
			Trigger:  v1alpha1.TriggerAPI,
			Endpoint: ask.Endpoint,
			Revision: ask.Revision,
			Tags:     ask.Tags,
			Stages:   ask.Stages,
		},
	}
	if ask.TopK != 0 {
		run.Spec.TopK = ptr.To(ask.TopK)
	}
	return run
}

// sameRuns are the suite's runs that were asked the same, oldest first, read
// live: the cache may not have yet what another call just created.
func (c *ClusterRuns) sameRuns(ctx context.Context, s *v1alpha1.EvalSuite, want *v1alpha1.EvalRun) ([]v1alpha1.EvalRun, error) {
	list := &v1alpha1.EvalRunList{}
	if err := c.Live.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("list the runs of EvalSuite %s: %w", s.Name, err)
	}
	same := slices.DeleteFunc(list.Items, func(run v1alpha1.EvalRun) bool {
		owner := metav1.GetControllerOf(&run)
		return !sameAsked(&run, want) || owner != nil && owner.UID != s.UID
	})
	slices.SortFunc(same, func(a, b v1alpha1.EvalRun) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	return same, nil
}

// sameAsked compares what two runs are to measure, whatever started them.
func sameAsked(a, b *v1alpha1.EvalRun) bool {
	x, y := a.Spec, b.Spec
	return x.SuiteRef == y.SuiteRef && x.Endpoint == y.Endpoint && x.Revision == y.Revision &&
		ptr.Deref(x.TopK, 0) == ptr.Deref(y.TopK, 0) && slices.Equal(sorted(x.Stages), sorted(y.Stages)) && slices.Equal(sorted(x.Tags), sorted(y.Tags))
}

func sorted[T cmp.Ordered](set []T) []T { return slices.Sorted(slices.Values(set)) }

// active reports whether a run will still say something about today's suite.
func (c *ClusterRuns) active(ctx context.Context, run *v1alpha1.EvalRun, s *v1alpha1.EvalSuite) bool {
	if run.Status.Verdict != "" || !run.DeletionTimestamp.IsZero() || run.Annotations[v1alpha1.AnnotationCancel] != "" {
		return false
	}
	begun := run.Status.SuiteEvaluationDigest
	return begun == "" || begun == suite.DigestOf(ctx, s, run.Spec.Endpoint, suite.InCluster(c.Live, s.Namespace))
}

// identity is what a run's name follows from.
func identity(run *v1alpha1.EvalRun, before []v1alpha1.EvalRun) string {
	uids := make([]string, len(before))
	for i := range before {
		uids[i] = string(before[i].UID)
	}
	slices.Sort(uids)
	text, _ := json.Marshal([]any{run.Spec.Endpoint, run.Spec.Revision, sorted(run.Spec.Tags), ptr.Deref(run.Spec.TopK, 0), sorted(run.Spec.Stages), uids})
	return string(text)
}
