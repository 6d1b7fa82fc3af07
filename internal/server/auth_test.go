package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

const (
	suitePath   = "/api/v1/eval/rag/rag/docs-bot"
	historyPath = suitePath + "/history"
	runPath     = "/api/v1/eval/rag/run/"
)

func TestWhoMayDoWhat(t *testing.T) {
	tests := []struct {
		name, method, path, token string
		status                    int
		says                      []string
	}{
		{"start without a token", "POST", suitePath, "", 401, []string{"Authorization: Bearer TOKEN", "X-Assay-Authorization"}},
		{"history without a token", "GET", historyPath, "", 401, nil},
		{"run without a token", "GET", runPath + doneID, "", 401, nil},
		{"run that is none without a token", "GET", runPath + noID, "", 401, nil},
		{"start with a bad token", "POST", suitePath, "made-up", 401, []string{"does not accept the token"}},
		{"history with a bad token", "GET", historyPath, "made-up", 401, nil},

		{"start by who may get only", "POST", suitePath, "read", 403, []string{`"reader"`, "create evalruns.assay.dev", `"rag"`}},
		{"start by who may create only", "POST", suitePath, "create", 403, []string{"get the evalsuites.assay.dev", `"docs-bot"`}},
		{"start by nobody", "POST", suitePath, "none", 403, nil},
		{"history by nobody", "GET", historyPath, "none", 403, []string{`"nobody"`, "get", "Role"}},
		{"run by nobody", "GET", runPath + doneID, "none", 403, nil},
		{"queued run by nobody", "GET", runPath + queuedID, "none", 403, nil},

		{"start of no suite by who may look", "POST", "/api/v1/eval/rag/rag/absent", "all", 404, []string{`"absent"`, `"rag"`}},
		{"start of no suite by nobody", "POST", "/api/v1/eval/rag/rag/absent", "none", 403, nil},
		{"start of no suite by who may create only", "POST", "/api/v1/eval/rag/rag/absent", "create", 403, nil},
		{"history of no suite by who may look", "GET", "/api/v1/eval/rag/rag/absent/history", "read", 404, []string{`"absent"`}},
		{"history of no suite by nobody", "GET", "/api/v1/eval/rag/rag/absent/history", "none", 403, nil},
		{"no run", "GET", runPath + noID, "read", 404, []string{noID}},

		{"start in an outage", "POST", suitePath, "broken", 503, []string{"what you may do", "try again"}},
		{"history in an outage", "GET", historyPath, "broken", 503, nil},

		{"history by a reader", "GET", historyPath, "read", 200, nil},
		{"run by a reader", "GET", runPath + doneID, "read", 200, nil},
		{"queued run by a reader", "GET", runPath + queuedID, "read", 200, nil},
		{"start by an admin", "POST", suitePath, "all", 202, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			got := w.call(t, test.method, test.path, test.token, "")
			if test.status < 300 {
				if got.Code != test.status {
					t.Fatalf("the answer is %d, want %d: %s", got.Code, test.status, got.Body)
				}
				return
			}
			refused(t, got, test.status, test.path, test.says...)
			if len(w.started) > 0 {
				t.Errorf("a run was started: %+v", w.started)
			}
		})
	}
}

func TestTheChallenge(t *testing.T) {
	w := newWorld(t)
	if got := w.call(t, "GET", historyPath, "", "").Header().Get("WWW-Authenticate"); got != `Bearer realm="assay"` {
		t.Errorf("without a token the challenge is %s", got)
	}
	if got := w.call(t, "GET", historyPath, "made-up", "").Header().Get("WWW-Authenticate"); got != `Bearer realm="assay", error="invalid_token"` {
		t.Errorf("with a bad token the challenge is %s", got)
	}
}

func TestAnOutageOfTheAPIServer(t *testing.T) {
	w := newWorld(t)
	w.rights.err = errOutage
	got := w.call(t, "GET", historyPath, "all", "")
	refused(t, got, 503, historyPath, "whose token")
	if got.Header().Get("Retry-After") == "" {
		t.Error("it does not say when to try again")
	}
	if !contains(w.logged.String(), "connection refused") || contains(got.Body.String(), "connection refused") {
		t.Errorf("the cause belongs in the log %q, not in the answer %q", w.logged, got.Body)
	}
}

func TestWhereTheTokenMayStand(t *testing.T) {
	tests := []struct {
		name    string
		headers http.Header
		status  int
	}{
		{"Authorization", http.Header{"Authorization": {"Bearer read"}}, 200},
		{"any case of the scheme", http.Header{"Authorization": {"bearer  read"}}, 200},
		{"X-Assay-Authorization", http.Header{"X-Assay-Authorization": {"Bearer read"}}, 200},
		{"both: X-Assay-Authorization comes first", http.Header{"X-Assay-Authorization": {"Bearer read"}, "Authorization": {"Bearer none"}}, 200},
		{"both, the other way round", http.Header{"X-Assay-Authorization": {"Bearer none"}, "Authorization": {"Bearer read"}}, 403},
		{"no scheme", http.Header{"Authorization": {"read"}}, 401},
		{"another scheme", http.Header{"Authorization": {"Basic cmVhZDo="}}, 401},
		{"no token", http.Header{"Authorization": {"Bearer "}}, 401},
		{"two words", http.Header{"Authorization": {"Bearer read all"}}, 401},
		{"twice", http.Header{"Authorization": {"Bearer read", "Bearer all"}}, 401},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			r := httptest.NewRequest("GET", historyPath, nil)
			r.Header = test.headers
			got := httptest.NewRecorder()
			w.handler.ServeHTTP(got, r)
			if got.Code != test.status {
				t.Errorf("the answer is %d, want %d: %s", got.Code, test.status, got.Body)
			}
			if vary := got.Header().Get("Vary"); vary != "Authorization, X-Assay-Authorization" {
				t.Errorf("Vary is %q", vary)
			}
		})
	}
}
