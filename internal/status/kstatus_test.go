package status

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/suite"
)

// What kubectl wait, Flux and Argo CD make of a suite, by the library that
// they read it with.
func TestKstatus(t *testing.T) {
	fold := func(f SuiteFacts) func(*v1alpha1.EvalSuite) {
		return func(s *v1alpha1.EvalSuite) { fold(s, f) }
	}
	stalled := func(e *suite.Error) SuiteFacts {
		f := facts()
		f.Golden, f.Stall = nil, e
		return f
	}
	mistake := &suite.Error{Reason: suite.ReasonSecretNotFound, Message: "the Secret is missing"}
	outage := &suite.Error{Reason: suite.ReasonGoldenSetUnreadable, Message: "the server is down", Transient: true, Err: errors.New("503")}
	for name, test := range map[string]struct {
		passes []func(*v1alpha1.EvalSuite)
		want   status.Status
		says   string
	}{
		"new":              {nil, status.InProgressStatus, ""},
		"ready, no run":    {[]func(*v1alpha1.EvalSuite){fold(facts())}, status.CurrentStatus, ""},
		"passing":          {[]func(*v1alpha1.EvalSuite){fold(facts(ended("a", 0)))}, status.CurrentStatus, ""},
		"failing":          {[]func(*v1alpha1.EvalSuite){fold(facts(ended("a", 0, failing)))}, status.CurrentStatus, ""},
		"stalled":          {[]func(*v1alpha1.EvalSuite){fold(stalled(mistake))}, status.FailedStatus, "the Secret is missing"},
		"outage":           {[]func(*v1alpha1.EvalSuite){fold(stalled(outage))}, status.InProgressStatus, "the server is down"},
		"recovered":        {[]func(*v1alpha1.EvalSuite){fold(stalled(mistake)), fold(facts())}, status.CurrentStatus, ""},
		"back from outage": {[]func(*v1alpha1.EvalSuite){fold(stalled(outage)), fold(facts())}, status.CurrentStatus, ""},
		"stalled by an edit": {[]func(*v1alpha1.EvalSuite){fold(facts(ended("a", 0))), func(s *v1alpha1.EvalSuite) { s.Generation++ }, fold(stalled(mistake))},
			status.FailedStatus, "the Secret is missing"},
		"edited, not yet looked at": {[]func(*v1alpha1.EvalSuite){fold(facts()), func(s *v1alpha1.EvalSuite) { s.Generation++ }}, status.InProgressStatus, ""},
		"being deleted": {[]func(*v1alpha1.EvalSuite){fold(facts()), func(s *v1alpha1.EvalSuite) {
			now := metav1.NewTime(noon)
			s.DeletionTimestamp = &now
		}}, status.TerminatingStatus, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			for _, pass := range test.passes {
				pass(s)
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
			if err != nil {
				t.Fatal(err)
			}
			object["apiVersion"], object["kind"] = v1alpha1.GroupVersion.String(), "EvalSuite"
			result, err := status.Compute(&unstructured.Unstructured{Object: object})
			if err != nil {
				t.Fatal(err)
			}
			if result.Status != test.want || test.says != "" && result.Message != test.says {
				t.Errorf("kstatus is %s (%s), want %s (%s)", result.Status, result.Message, test.want, test.says)
			}
		})
	}
}
