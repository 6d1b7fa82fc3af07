package server

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/gate"
)

const (
	gatePath    = "/v1/gate/rag/docs-bot"
	flaggerPath = "/v1/flagger/rag/docs-bot"
)

func TestAGateSaysAll(t *testing.T) {
	got := newWorld(t).call(t, "GET", gatePath, "read", "")
	want := `{"verdict":"Pass","revision":"r9","run":"docs-bot-9","reason":"Passed","message":"run docs-bot-9: all met",` +
		`"evaluatedAt":"2026-03-02T05:00:00Z","metrics":{"accuracy":0.8,"hitRate":0.9167,"mrr":0.733}}` + "\n"
	if diff := cmp.Diff(want, got.Body.String()); got.Code != 200 || diff != "" {
		t.Errorf("%d\n%s", got.Code, diff)
	}
	if cached := got.Header().Get("Cache-Control"); cached != "no-store" {
		t.Errorf("the answer may be kept: %q", cached)
	}
}

// TestAGateIs200WhateverItSays: five answers of any other status end an analysis
// of Argo Rollouts.
func TestAGateIs200WhateverItSays(t *testing.T) {
	seoul := time.FixedZone("KST", 9*60*60)
	tests := map[string]struct {
		answer gate.Answer
		want   string
	}{
		"Fail": {gate.Answer{Verdict: gate.Fail, Reason: gate.ReasonObjectivesMissed, Message: "m", Revision: "r9", Run: "docs-bot-8", EvaluatedAt: monday},
			`{"verdict":"Fail","revision":"r9","run":"docs-bot-8","reason":"ObjectivesMissed","message":"m","evaluatedAt":"2026-03-02T04:00:00Z","metrics":{"hitRate":0.1,"mrr":0.1}}`},
		"Pending, since a known time": {gate.Answer{Verdict: gate.Pending, Reason: gate.ReasonRollout, Message: "m", Revision: "r9", Since: monday.In(seoul)},
			`{"verdict":"Pending","revision":"r9","run":"","reason":"RolloutInProgress","message":"m","since":"2026-03-02T04:00:00Z","metrics":{}}`},
		"Pending, for a run that has not ended": {gate.Answer{Verdict: gate.Pending, Reason: gate.ReasonRunning, Message: "m", Run: "docs-bot-9"},
			`{"verdict":"Pending","revision":"","run":"docs-bot-9","reason":"Running","message":"m","metrics":{}}`},
		"Inconclusive": {gate.Answer{Verdict: gate.Inconclusive, Reason: gate.ReasonNoResult, Message: "m", Revision: "r9"},
			`{"verdict":"Inconclusive","revision":"r9","run":"","reason":"NotYetEvaluated","message":"m","metrics":{}}`},
		"a run that the status keeps no longer": {gate.Answer{Verdict: gate.Inconclusive, Reason: gate.ReasonExpired, Message: "m", Run: "docs-bot-1", EvaluatedAt: monday},
			`{"verdict":"Inconclusive","revision":"","run":"docs-bot-1","reason":"Expired","message":"m","evaluatedAt":"2026-03-02T04:00:00Z","metrics":{}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = test.answer
			got := w.call(t, "GET", gatePath, "read", "")
			if diff := cmp.Diff(test.want+"\n", got.Body.String()); got.Code != 200 || diff != "" {
				t.Errorf("%d\n%s", got.Code, diff)
			}
		})
	}
}

func TestWhatAGateIsAsked(t *testing.T) {
	for target, want := range map[string]string{
		gatePath: `rag/docs-bot "" ""`,
		gatePath + "?revision=7d9f6c&endpoint=canary": `rag/docs-bot "canary" "7d9f6c"`,
		gatePath + "?revision=&endpoint=":             `rag/docs-bot "" ""`,
		gatePath + "?endpoint=%EC%B9%B4":              `rag/docs-bot "카" ""`,
	} {
		w := newWorld(t)
		if got := w.call(t, "GET", target, "read", ""); got.Code != 200 {
			t.Errorf("%s is %d: %s", target, got.Code, got.Body)
		}
		if diff := cmp.Diff([]string{want}, w.questions); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
}

func TestGateQueriesThatAreRefused(t *testing.T) {
	for query, word := range map[string]string{
		"revison=abc": `"revison" is no parameter of this call; it takes revision and endpoint`, "endpoint=a&endpoint=b": "2 times", "revision=%00": "revision",
		"revision=%ff": "revision", "endpoint=" + strings.Repeat("a", 2000): "endpoint", "%zz": "query", "revision=a;endpoint=b": "query",
	} {
		w := newWorld(t)
		refused(t, w.call(t, "GET", gatePath+"?"+query, "read", ""), 400, gatePath, word)
		if len(w.questions) > 0 {
			t.Errorf("%s: the gate was asked", query)
		}
	}
}

func TestAGateOfASuiteThatCannotBe(t *testing.T) {
	for _, name := range []string{"no%2Fname", "UPPER", "a..b", "%00", strings.Repeat("a", 300)} {
		w := newWorld(t)
		got := w.call(t, "GET", "/v1/gate/rag/"+name, "all", "")
		if got.Code != 200 || !contains(got.Body.String(), `"verdict":"Inconclusive"`) || !contains(got.Body.String(), `"reason":"SuiteNotFound"`) || len(w.questions) > 0 {
			t.Errorf("%s is %d: %s", name, got.Code, got.Body)
		}
		refused(t, w.call(t, "GET", "/v1/gate/rag/"+name, "none", ""), 403, "/v1/gate/rag/"+name)
	}
}

func TestAGateThatCannotFindOut(t *testing.T) {
	w := newWorld(t)
	w.gates.err = errOutage
	for method, path := range map[string]string{"GET": gatePath, "POST": flaggerPath + "/gate"} {
		got := w.call(t, method, path, "read", "")
		refused(t, got, 503, path, "API server", "try again")
		if got.Header().Get("Retry-After") == "" || contains(got.Body.String(), "192.0.2.1") {
			t.Errorf("%v %s", got.Header(), got.Body)
		}
	}
	// The numbers decide nothing: what keeps them from being read keeps no verdict back.
	w.gates.err, w.cluster.err = nil, errOutage
	if got := w.call(t, "GET", gatePath, "read", ""); got.Code != 200 || !contains(got.Body.String(), `"verdict":"Pass"`) || !contains(got.Body.String(), `"metrics":{}`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestFlagger(t *testing.T) {
	for _, verdict := range []gate.Verdict{gate.Pass, gate.Fail, gate.Pending, gate.Inconclusive, ""} {
		for hook, opens := range map[string]gate.Verdict{"/gate": gate.Pass, "/rollback": gate.Fail} {
			t.Run(fmt.Sprintf("%s of %q", hook, verdict), func(t *testing.T) {
				w := newWorld(t)
				w.answer = gate.Answer{Verdict: verdict, Reason: "Reason", Message: "the message"}
				got := w.call(t, "POST", flaggerPath+hook, "read", `{"name": "docs-bot", "namespace": "rag", "phase": "WaitingPromotion", "checksum": "5b8f"}`)
				if verdict != opens {
					refused(t, got, 409, flaggerPath+hook, string(verdict)+" (Reason): the message")
				} else if got.Code != 200 || !contains(got.Body.String(), `"verdict":"`+string(verdict)+`"`) {
					t.Errorf("%d %s", got.Code, got.Body)
				}
				// What is live, whatever the body says.
				if diff := cmp.Diff([]string{`rag/docs-bot "" ""`}, w.questions); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestFlaggerMaySendAnything(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "garbage": "\x00\xff{", "an endpoint": `{"endpoint": "canary", "revision": "abc"}`, "a form": "a=b", "60 KiB": strings.Repeat("x", 60<<10),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if got := w.call(t, "POST", flaggerPath+"/gate", "read", body, "Content-Type", "text/plain"); got.Code != 200 {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	w := newWorld(t)
	refused(t, w.call(t, "POST", flaggerPath+"/gate", "read", strings.Repeat("x", maxBody+1)), 413, flaggerPath+"/gate", "64 KiB")
	refused(t, w.call(t, "POST", flaggerPath+"/gate?endpoint=canary", "read", ""), 400, flaggerPath+"/gate", `"endpoint" is no parameter of this call; it takes none`)
	if len(w.questions) > 0 {
		t.Error("the gate was asked")
	}
}

// TestOpenFlagger: what it opens is /v1/flagger to callers without a token, and
// nothing else to nobody else.
func TestOpenFlagger(t *testing.T) {
	w := newWorld(t)
	o := w.options(logr.Discard())
	o.OpenFlagger = true
	w.handler = New(o)
	for _, test := range []struct {
		method, path, token string
		status              int
	}{
		{"POST", flaggerPath + "/gate", "", 200},
		{"POST", flaggerPath + "/rollback", "", 409},
		{"POST", "/v1/flagger/other/suite/gate", "", 200},
		{"POST", flaggerPath + "/gate", "read", 200},
		{"POST", flaggerPath + "/gate", "none", 403},
		{"POST", flaggerPath + "/gate", "made-up", 401},
		{"GET", flaggerPath + "/gate", "", 405},
		{"GET", gatePath, "", 401},
		{"POST", suitePath, "", 401},
		{"GET", historyPath, "", 401},
		{"GET", runPath + doneID, "", 401},
		{"GET", comparePath(oldID, doneID), "", 401},
		{"GET", flaggerPath, "", 404},
		{"POST", "/v1/flagger/../gate/rag/docs-bot", "", 404},
	} {
		if got := w.call(t, test.method, test.path, test.token, ""); got.Code != test.status {
			t.Errorf("%s %s by %q is %d, want %d: %s", test.method, test.path, test.token, got.Code, test.status, got.Body)
		}
	}
	for header, value := range map[string]string{"Authorization": "Basic eDp5", headerToken: ""} {
		r := httptest.NewRequest("POST", flaggerPath+"/gate", nil)
		r.Header.Set(header, value)
		got := httptest.NewRecorder()
		w.handler.ServeHTTP(got, r)
		if got.Code != 401 {
			t.Errorf("with %s %q it is %d", header, value, got.Code)
		}
	}
	closed := newWorld(t)
	for _, hook := range []string{"/gate", "/rollback"} {
		refused(t, closed.call(t, "POST", flaggerPath+hook, "", ""), 401, flaggerPath+hook, "token")
	}
}

func FuzzGate(f *testing.F) {
	for _, target := range []string{gatePath, gatePath + "?endpoint=canary&revision=abc", "/v1/gate/rag/%00?x", "/v1/gate/%2e%2e/docs-bot", "/v1/flagger/rag/docs-bot/gate", "/v1/gate/rag/docs-bot?revision=%ff"} {
		f.Add(target, []byte("{}"))
	}
	f.Fuzz(func(t *testing.T, target string, body []byte) {
		for _, method := range []string{"GET", "POST"} {
			r, ok := requestOf(method, target, body)
			if !ok {
				return
			}
			w := newWorld(t)
			w.answer = gate.Answer{Verdict: gate.Pending}
			got := httptest.NewRecorder()
			w.handler.ServeHTTP(got, r)
			if known := []int{200, 304, 400, 401, 403, 404, 405, 409, 413, 415, 422, 202}; !slices.Contains(known, got.Code) {
				t.Errorf("%s %q is %d: %s", method, target, got.Code, got.Body)
			}
			if got.Code == 200 && method == "POST" {
				t.Errorf("%q lets a rollout go on while the verdict is Pending: %s", target, got.Body)
			}
		}
	})
}
