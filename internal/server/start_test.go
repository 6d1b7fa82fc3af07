package server

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
)

func TestStartARun(t *testing.T) {
	tests := []struct {
		name, body string
		want       Ask
	}{
		{"no body", "", Ask{By: "admin"}},
		{"an empty object", "{}", Ask{By: "admin"}},
		{"empty values are none", `{"endpoint": "", "revision": "", "tags": [], "stages": []}`, Ask{By: "admin", Tags: []string{}}},
		{"everything", ` {"endpoint": "canary", "revision": "abc", "tags": ["ko", "howto"], "topK": 3, "stages": ["Retrieval"]} `,
			Ask{Endpoint: "canary", Revision: "abc", Tags: []string{"ko", "howto"}, TopK: 3, Stages: []v1alpha1.Stage{"Retrieval"}, By: "admin"}},
		{"stages in another order", `{"stages": ["Answer", "Retrieval"]}`, Ask{Stages: []v1alpha1.Stage{"Retrieval", "Answer"}, By: "admin"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			got := w.call(t, "POST", suitePath, "all", test.body)
			if got.Code != 202 {
				t.Fatalf("the answer is %d: %s", got.Code, got.Body)
			}
			var answer map[string]string
			decode(t, got, &answer)
			location := "/api/v1/eval/rag/run/" + newID
			if diff := cmp.Diff(map[string]string{"id": newID, "name": "docs-bot-x7k2p", "location": location}, answer); diff != "" {
				t.Error(diff)
			}
			if got.Header().Get("Location") != location || got.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("the headers are %v", got.Header())
			}
			if diff := cmp.Diff([]Ask{test.want}, w.started); diff != "" {
				t.Error(diff)
			}
			// What is answered can be asked for at once, before the history has it.
			if polled := w.call(t, "GET", location, "all", ""); polled.Code != 200 {
				t.Errorf("the location answers %d: %s", polled.Code, polled.Body)
			}
		})
	}
}

// badBodies are refused with 400 and these words.
var badBodies = map[string]struct {
	body  string
	words []string
}{
	"no JSON":                    {`{endpoint}`, []string{"not JSON"}},
	"a cut object":               {`{"endpoint": "canary"`, []string{"not JSON"}},
	"trailing garbage":           {`{"endpoint": "canary"} {}`, []string{"not JSON", "after top-level value"}},
	"a BOM":                      {"\uFEFF{}", []string{"not JSON"}},
	"no UTF-8":                   {"{\"endpoint\": \"\xff\"}", []string{"UTF-8"}},
	"null":                       {`null`, []string{"null", "object"}},
	"a list":                     {`[]`, []string{"array", "object"}},
	"a string":                   {`"canary"`, []string{"string", "object"}},
	"an unknown field":           {`{"trigger": "Deploy"}`, []string{`unknown field "trigger"`, "endpoint, revision, tags, topK and stages"}},
	"a field in another case":    {`{"topk": 3}`, []string{`unknown field "topk"`}},
	"a duplicate field":          {`{"topK": 3, "topK": 5}`, []string{`duplicate field "topK"`}},
	"an unknown duplicate field": {`{"a": 3, "a": 5}`, []string{`"a"`}},
	"endpoint a number":          {`{"endpoint": 3}`, []string{"endpoint", "number", "a string"}},
	"endpoint null":              {`{"endpoint": null}`, []string{"endpoint", "null"}},
	"endpoint too long":          {`{"endpoint": "` + strings.Repeat("a", 64) + `"}`, []string{"endpoint", "63"}},
	"revision a list":            {`{"endpoint": "canary", "revision": []}`, []string{"revision", "array", "a string"}},
	"revision too long":          {`{"endpoint": "canary", "revision": "` + strings.Repeat("a", 129) + `"}`, []string{"revision", "128"}},
	"revision without endpoint":  {`{"revision": "abc"}`, []string{"revision", "endpoint"}},
	"tags a string":              {`{"tags": "ko"}`, []string{"tags", "a list of strings"}},
	"tags of numbers":            {`{"tags": ["ko", 3]}`, []string{"tags", "number"}},
	"tags of nulls":              {`{"tags": ["ko", null]}`, []string{"tags", "null"}},
	"an empty tag":               {`{"tags": ["ko", ""]}`, []string{"tags[1]"}},
	"a tag too long":             {`{"tags": ["` + strings.Repeat("a", 129) + `"]}`, []string{"tags[0]", "128"}},
	"a tag twice":                {`{"tags": ["ko", "ko"]}`, []string{"tags", `"ko"`, "twice"}},
	"too many tags":              {`{"tags": ["` + strings.Join(strings.Split("abcdefghijklmnopq", ""), `","`) + `"]}`, []string{"tags", "17", "16"}},
	"topK 0":                     {`{"topK": 0}`, []string{"topK", "1 to 1000"}},
	"topK negative":              {`{"topK": -1}`, []string{"topK", "-1"}},
	"topK too large":             {`{"topK": 1001}`, []string{"topK", "1001"}},
	"topK out of all bounds":     {`{"topK": 1e99}`, []string{"topK", "whole number"}},
	"topK a fraction":            {`{"topK": 2.5}`, []string{"topK", "whole number"}},
	"topK a string":              {`{"topK": "5"}`, []string{"topK", "string", "whole number"}},
	"stages a string":            {`{"stages": "Retrieval"}`, []string{"stages", "a list of strings"}},
	"stages of numbers":          {`{"stages": [1]}`, []string{"stages", "number"}},
	"stages of nulls":            {`{"stages": ["Retrieval", null]}`, []string{"stages", "null"}},
	"stages null":                {`{"stages": null}`, []string{"stages", "null"}},
	"a stage that there is not":  {`{"stages": ["Retrieval", "retrieval"]}`, []string{"stages[1]", `"retrieval"`, "Retrieval, Answer and Judge"}},
	"an empty stage":             {`{"stages": [""]}`, []string{"stages[0]"}},
	"a stage twice":              {`{"stages": ["Retrieval", "Retrieval"]}`, []string{"stages", "twice"}},
	"a stage without the first":  {`{"stages": ["Answer"]}`, []string{"stages", "Retrieval is missing", "[Retrieval, Answer]"}},
	"a stage without the second": {`{"stages": ["Judge", "Retrieval"]}`, []string{"stages", "Answer is missing"}},
	"many stages":                {`{"stages": ["` + strings.Repeat(`Retrieval", "`, 5000) + `"]}`, []string{"stages", "twice"}},
	"topK null":                  {`{"topK": null}`, []string{"topK", "null"}},
}

func TestBodiesThatAreRefused(t *testing.T) {
	for name, test := range badBodies {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			refused(t, w.call(t, "POST", suitePath, "all", test.body), 400, suitePath, test.words...)
			if len(w.started) > 0 {
				t.Errorf("a run was started: %+v", w.started)
			}
		})
	}
}

func TestABodyMustBeSentAsJSON(t *testing.T) {
	for contentType, status := range map[string]int{
		"application/json": 202, "application/json; charset=utf-8": 202, "application/x-www-form-urlencoded": 415, "text/plain": 415, ";": 415,
	} {
		got := newWorld(t).call(t, "POST", suitePath, "all", "{}", "Content-Type", contentType)
		if got.Code != status {
			t.Errorf("%q is %d, want %d: %s", contentType, got.Code, status, got.Body)
		}
		if status == 415 {
			refused(t, got, 415, suitePath, "application/json")
		}
	}
}

func TestWhatASuiteCannotRun(t *testing.T) {
	stalled := func(generation int64) func(*v1alpha1.EvalSuite) {
		return func(s *v1alpha1.EvalSuite) {
			s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, ObservedGeneration: generation, Message: "the ConfigMap golden is missing: create it"}}
		}
	}
	tests := []struct {
		name   string
		change func(*v1alpha1.EvalSuite)
		body   string
		status int
		words  []string
	}{
		{"an endpoint that it lacks", func(*v1alpha1.EvalSuite) {}, `{"endpoint": "prod"}`, 422, []string{`"prod"`, "canary and preview"}},
		{"an endpoint, and it has none", func(s *v1alpha1.EvalSuite) { s.Spec.Endpoints = nil }, `{"endpoint": "prod"}`, 422, []string{"it has none"}},
		{"an answer stage that it lacks", func(s *v1alpha1.EvalSuite) { s.Spec.Answer = nil }, `{"stages": ["Retrieval", "Answer"]}`, 422, []string{"spec.answer", "[Retrieval]"}},
		{"a judge that it lacks", func(*v1alpha1.EvalSuite) {}, `{"stages": ["Retrieval", "Answer", "Judge"]}`, 422, []string{"spec.judge", "[Retrieval, Answer]"}},
		{"it is stalled", stalled(2), "", 409, []string{"stalled", "the ConfigMap golden is missing"}},
		{"it was stalled before its last change", stalled(1), "", 202, nil},
		{"it is being deleted", func(s *v1alpha1.EvalSuite) { s.DeletionTimestamp = &metav1.Time{Time: monday} }, "", 409, []string{"deleted"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w.suites["rag/docs-bot"])
			got := w.call(t, "POST", suitePath, "all", test.body)
			if test.status == 202 {
				if got.Code != 202 {
					t.Errorf("the answer is %d: %s", got.Code, got.Body)
				}
				return
			}
			refused(t, got, test.status, suitePath, test.words...)
			if len(w.started) > 0 {
				t.Errorf("a run was started: %+v", w.started)
			}
		})
	}
}

func TestStartsThatFail(t *testing.T) {
	w := newWorld(t)
	w.refuse = &RefusedError{Message: "exceeded quota: runs"}
	refused(t, w.call(t, "POST", suitePath, "all", ""), 422, suitePath, "exceeded quota: runs")
	w.refuse = errOutage
	refused(t, w.call(t, "POST", suitePath, "all", ""), 503, suitePath, "try again")
	w.refuse = ErrNotFound
	refused(t, w.call(t, "POST", suitePath, "all", ""), 404, suitePath, `"docs-bot"`)
	w.cluster.err = errOutage
	refused(t, w.call(t, "POST", suitePath, "all", ""), 503, suitePath, "the suite")
}

func TestWaitsThatAreRefused(t *testing.T) {
	for _, query := range []string{"wait=", "wait=30", "wait=soon", "wait=-1s", "wait=61s", "wait=1h", "wait=1s&wait=2s", "wait=1s;", "wait=%zz", "hold=1s", "wait=NaNs"} {
		w := newWorld(t)
		refused(t, w.call(t, "POST", suitePath+"?"+query, "all", ""), 400, suitePath)
		if len(w.started) > 0 {
			t.Errorf("%s: a run was started", query)
		}
	}
}

// held calls with wait in a bubble of fake time, and says how long it took.
func held(t *testing.T, w *world, wait string) (*httptest.ResponseRecorder, time.Duration) {
	t.Helper()
	begin := time.Now()
	got := w.call(t, "POST", suitePath+"?wait="+wait, "all", "")
	return got, time.Since(begin)
}

func TestTheAnswerIsHeldUntilTheRunIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onFind = func(count int) {
			if count == 9 { // two seconds on
				w.mu().Lock()
				ended(w.cluster.runs[newID])
				w.mu().Unlock()
			}
		}
		got, took := held(t, w, "30s")
		if got.Code != 200 || took != 2*time.Second {
			t.Fatalf("the answer is %d after %s: %s", got.Code, took, got.Body)
		}
		var doc struct {
			Run     struct{ UID string }
			Verdict string
			Cases   []any
		}
		decode(t, got, &doc)
		if doc.Run.UID != newID || doc.Verdict != "Passed" || doc.Cases == nil || got.Header().Get("Location") != runPath+newID {
			t.Errorf("the answer is %s with %v", got.Body, got.Header())
		}
	})
}

func TestTheAnswerIsHeldNoLongerThanAsked(t *testing.T) {
	for wait, want := range map[string]time.Duration{"0s": 0, "500ms": 500 * time.Millisecond, "60s": time.Minute, "1m": time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			got, took := held(t, newWorld(t), wait)
			if got.Code != 202 || took != want {
				t.Errorf("wait=%s: the answer is %d after %s", wait, got.Code, took)
			}
		})
	}
}

func TestAHeldAnswerOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onFind = func(count int) {
			w.mu().Lock()
			defer w.mu().Unlock()
			switch count {
			case 2:
				w.cluster.err = errOutage
			case 5:
				w.cluster.err = nil
				ended(w.cluster.runs[newID])
			}
		}
		if got, took := held(t, w, "30s"); got.Code != 200 || took != time.Second {
			t.Errorf("the answer is %d after %s: %s", got.Code, took, got.Body)
		}
	})
}

func TestTheRunOfAHeldAnswerIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onFind = func(count int) {
			if count == 5 {
				w.mu().Lock()
				delete(w.cluster.runs, newID)
				w.mu().Unlock()
			}
		}
		if got, took := held(t, w, "30s"); got.Code != 202 || took != time.Second {
			t.Errorf("the answer is %d after %s: %s", got.Code, took, got.Body)
		}
	})
}

func TestAHeldAnswerWhoseRunCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onFind = func(int) {
			w.mu().Lock()
			ended(w.cluster.runs[newID])
			w.mu().Unlock()
		}
		w.memory.err = errors.New("disk I/O error")
		if got, _ := held(t, w, "30s"); got.Code != 202 || !contains(got.Body.String(), newID) {
			t.Errorf("the answer is %d: %s", got.Code, got.Body)
		}
	})
}

func TestACallerThatGoesIsWaitedForNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		r := httptest.NewRequest("POST", suitePath+"?wait=60s", nil).WithContext(ctx)
		r.Header.Set("Authorization", "Bearer all")
		w.handler.ServeHTTP(httptest.NewRecorder(), r)
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("it was waited for %s", took)
		}
	})
}
