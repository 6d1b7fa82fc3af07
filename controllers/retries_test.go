package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func TestRetriesAreSoonAgainAfterALongOutage(t *testing.T) {
	retries := newRetries()
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "rag", Name: "docs-bot"}}
	for range 100 {
		if wait := retries.When(request); wait > longestRetry {
			t.Fatalf("the next try comes after %s, want %s at most", wait, longestRetry)
		}
	}
}

func TestFetchesLeavePlacesToOtherNamespaces(t *testing.T) {
	f := NewFetches(4)
	over := func(namespace string) *v1alpha1.EvalSuite {
		s := &v1alpha1.EvalSuite{}
		s.Namespace, s.Spec.GoldenSet.HTTP = namespace, &v1alpha1.GoldenHTTPSource{}
		return s
	}
	begin := func(s *v1alpha1.EvalSuite, want bool) func() {
		t.Helper()
		end, err := f.begin(s)
		if (err == nil) != want {
			t.Fatalf("begin in %q gave %v, want a place: %t", s.Namespace, err, want)
		}
		return end
	}
	end := begin(over("a"), true)
	begin(over("a"), true)
	begin(over("a"), false) // half of them are the most of a namespace
	begin(over("b"), true)
	begin(over("c"), true)
	begin(over("d"), false) // all are taken
	begin(&v1alpha1.EvalSuite{}, true)
	end()
	begin(over("d"), true)
	if len(f.active) != 4 {
		t.Errorf("it remembers %v, want four namespaces", f.active)
	}
}
