package suite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func TestCutoffs(t *testing.T) {
	type cutoffs struct {
		K       []int
		Primary int
	}
	for name, test := range map[string]struct {
		scoring v1alpha1.Scoring
		topK    int
		want    cutoffs
	}{
		"all defaults":                          {v1alpha1.Scoring{}, 10, cutoffs{[]int{1, 3, 5, 10}, 5}},
		"topK 5 with nothing else":              {v1alpha1.Scoring{}, 5, cutoffs{[]int{1, 3, 5}, 5}},
		"topK 4: the largest that fits":         {v1alpha1.Scoring{}, 4, cutoffs{[]int{1, 3}, 3}},
		"topK 1":                                {v1alpha1.Scoring{}, 1, cutoffs{[]int{1}, 1}},
		"topK 1000":                             {v1alpha1.Scoring{}, 1000, cutoffs{[]int{1, 3, 5, 10}, 5}},
		"k without 5":                           {v1alpha1.Scoring{K: []int32{1, 3, 10}}, 10, cutoffs{[]int{1, 3, 10}, 3}},
		"k above 5 alone: the smallest":         {v1alpha1.Scoring{K: []int32{20, 7}}, 20, cutoffs{[]int{7, 20}, 7}},
		"k in any order":                        {v1alpha1.Scoring{K: []int32{10, 1, 5}}, 10, cutoffs{[]int{1, 5, 10}, 5}},
		"a primaryK of k":                       {v1alpha1.Scoring{K: []int32{1, 3, 10}, PrimaryK: 10}, 10, cutoffs{[]int{1, 3, 10}, 10}},
		"a primaryK without k":                  {v1alpha1.Scoring{PrimaryK: 4}, 10, cutoffs{[]int{1, 3, 4, 5, 10}, 4}},
		"a run's topK 3 leaves out the rest":    {v1alpha1.Scoring{K: []int32{1, 3, 10}}, 3, cutoffs{[]int{1, 3}, 3}},
		"a run's topK below every k is its k":   {v1alpha1.Scoring{K: []int32{5, 10}}, 3, cutoffs{[]int{3}, 3}},
		"a run's topK below primaryK":           {v1alpha1.Scoring{K: []int32{1, 2, 10}, PrimaryK: 10}, 3, cutoffs{[]int{1, 2}, 2}},
		"a run's topK above the suite's adds 0": {v1alpha1.Scoring{K: []int32{1, 3}}, 50, cutoffs{[]int{1, 3}, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			given := test.scoring.DeepCopy()
			ks, primary := Cutoffs(&test.scoring, test.topK)
			if diff := cmp.Diff(test.want, cutoffs{ks, primary}); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(*given, test.scoring); diff != "" {
				t.Errorf("the suite was changed: %s", diff)
			}
		})
	}
}

func TestPrimaryMetric(t *testing.T) {
	if got := PrimaryMetric(5); got != "hit_rate@5" {
		t.Errorf("got %s", got)
	}
}

func TestOptionsOf(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1alpha1.EvalRunSpec
		want RunOptions
		full bool
	}{
		"stages":        {v1alpha1.EvalRunSpec{Stages: []v1alpha1.Stage{v1alpha1.StageRetrieval}}, RunOptions{Stages: []v1alpha1.Stage{v1alpha1.StageRetrieval}}, false},
		"plain":         {v1alpha1.EvalRunSpec{}, RunOptions{}, true},
		"empty tags":    {v1alpha1.EvalRunSpec{Tags: []string{}}, RunOptions{Tags: []string{}}, true},
		"topK 0":        {v1alpha1.EvalRunSpec{TopK: ptr.To[int32](0)}, RunOptions{}, true},
		"topK 3":        {v1alpha1.EvalRunSpec{TopK: ptr.To[int32](3)}, RunOptions{TopK: 3}, false},
		"tags":          {v1alpha1.EvalRunSpec{Tags: []string{"a"}}, RunOptions{Tags: []string{"a"}}, false},
		"an endpoint":   {v1alpha1.EvalRunSpec{Endpoint: "canary"}, RunOptions{Endpoint: "canary"}, false},
		"with revision": {v1alpha1.EvalRunSpec{Endpoint: "canary", Revision: "v2"}, RunOptions{Endpoint: "canary", Revision: "v2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := OptionsOf(&test.spec)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if got.Full() != test.full {
				t.Errorf("full is %t", got.Full())
			}
			if whole := test.full || got.Endpoint != ""; got.Whole() != whole {
				t.Errorf("whole is %t", got.Whole())
			}
		})
	}
}

func TestSeveralErrorsAreOne(t *testing.T) {
	if err := join(nil); err != nil {
		t.Errorf("nothing found gives %v", err)
	}
	cause := errors.New("boom")
	secret, tls := errorf(ReasonSecretNotFound, "no secret"), errorf(ReasonInvalidTLS, "bad bundle: %w", cause)
	away := outage(ReasonSecretUnreadable, errors.New("etcd is away"))
	for name, test := range map[string]struct {
		found []*Error
		want  want
	}{
		"one":                    {[]*Error{away}, want{ReasonSecretUnreadable, true, []string{"etcd is away"}}},
		"two mistakes":           {[]*Error{secret, tls}, want{ReasonSecretNotFound, false, []string{"no secret; bad bundle: boom"}}},
		"an outage, a mistake":   {[]*Error{away, tls}, want{ReasonInvalidTLS, false, []string{"etcd is away; bad bundle"}}},
		"nothing but an outage":  {[]*Error{away, away}, want{ReasonSecretUnreadable, true, []string{"away; etcd"}}},
		"within another message": {[]*Error{secret}, want{ReasonSecretNotFound, false, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.check(t, fmt.Errorf("outer: %w", join(test.found)))
		})
	}
	if err := join([]*Error{secret, tls}); !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if _, ok := AsError(cause); ok {
		t.Error("any error is taken for an *Error")
	}
}
