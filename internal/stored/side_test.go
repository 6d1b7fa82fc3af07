package stored

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/score"
)

// listed are cases as a store gives them.
type listed []history.CompareCase

func (l listed) CompareCases(_ context.Context, _ string, f func(history.CompareCase) error) error {
	for _, c := range l {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// A call that was refused says nothing of how long the work takes, in a stored run
// as in one that goes.
func TestWhichStoredCallsAreTimed(t *testing.T) {
	var all listed
	for _, outcome := range []string{eval.Scored, "RetrieverTimeout", "RetrieverUnreachable", "AnswerTimeout", "AnswerHTTPError", "JudgeTimeout"} {
		all = append(all, history.CompareCase{ID: outcome, Outcome: outcome, Called: true, LatencySeconds: 0.5, AnswerSeconds: ptr.To(2.0)})
	}
	all = append(all, history.CompareCase{ID: "self-retrieving", Outcome: eval.Scored, Called: true, AnswerSeconds: ptr.To(2.0)}, history.CompareCase{ID: "not called", Outcome: eval.Scored, LatencySeconds: 0.5})
	side, err := Side(t.Context(), history.Run{UID: "uid", Document: []byte(`{}`)}, all)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range side.Cases {
		var timed []string
		for _, name := range []string{score.LatencyP95, score.AnswerLatencyP95} {
			if _, ok := c.Values[name]; ok {
				timed = append(timed, strings.TrimSuffix(name, "_latency_p95_seconds"))
			}
		}
		got[c.ID] = strings.Join(timed, " ")
	}
	want := map[string]string{
		eval.Scored: "retrieval answer", "RetrieverTimeout": "retrieval", "RetrieverUnreachable": "", "AnswerTimeout": "retrieval answer", "AnswerHTTPError": "retrieval",
		"JudgeTimeout": "retrieval answer", "self-retrieving": "answer", "not called": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
