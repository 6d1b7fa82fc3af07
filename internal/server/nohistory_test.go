package server

import (
	"testing"

	"github.com/go-logr/logr"
)

// TestAnOperatorThatKeepsNoHistory answers gates, starts runs and shows those that
// the cluster has.
func TestAnOperatorThatKeepsNoHistory(t *testing.T) {
	w := newWorld(t)
	o := w.options(logr.Discard())
	o.History = nil
	w.handler = New(o)
	if got := w.call(t, "GET", gatePath, "read", ""); got.Code != 200 || !contains(got.Body.String(), `"verdict":"Pass"`) {
		t.Errorf("the gate is %d: %s", got.Code, got.Body)
	}
	if got := w.call(t, "POST", flaggerPath+"/gate", "read", ""); got.Code != 200 {
		t.Errorf("Flagger's gate is %d: %s", got.Code, got.Body)
	}
	got := w.call(t, "POST", suitePath, "all", "")
	if got.Code != 202 {
		t.Errorf("the start is %d: %s", got.Code, got.Body)
	}
	if got := w.call(t, "GET", got.Header().Get("Location"), "all", ""); got.Code != 200 {
		t.Errorf("the run is %d: %s", got.Code, got.Body)
	}
	ended(w.cluster.runs[openID])
	if got := w.call(t, "GET", runPath+openID, "read", ""); got.Code != 200 || !contains(got.Body.String(), `"verdict":"Passed"`) || !contains(got.Body.String(), `"cases":[]`) {
		t.Errorf("a run is %d: %s", got.Code, got.Body)
	}
	refused(t, w.call(t, "GET", runPath+doneID, "read", ""), 404, runPath+doneID, "there is no run")
	refused(t, w.call(t, "GET", historyPath, "read", ""), 404, historyPath, "keeps no history", "--history")
	refused(t, w.call(t, "GET", historyPath, "none", ""), 403, historyPath)
	refused(t, w.call(t, "GET", comparePath(oldID, doneID), "read", ""), 404, compareBase, "keeps no history")
}
