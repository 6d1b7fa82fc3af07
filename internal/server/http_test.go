package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/assay-dev/assay/internal/history"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestMethodsThatAPathLacks(t *testing.T) {
	for _, test := range []struct{ method, path, allow string }{
		{"GET", suitePath, "POST"},
		{"DELETE", suitePath, "POST"},
		{"POST", historyPath, "GET, HEAD"},
		{"PUT", historyPath, "GET, HEAD"},
		{"POST", runPath + doneID, "GET, HEAD"},
		{"DELETE", runPath + doneID, "GET, HEAD"},
		{"OPTIONS", runPath + doneID, "GET, HEAD"},
		{"POST", comparePath(oldID, doneID), "GET, HEAD"},
		{"POST", gatePath, "GET, HEAD"},
		{"GET", flaggerPath + "/gate", "POST"},
		{"PUT", flaggerPath + "/rollback", "POST"},
		{"POST", "/openapi.json", "GET, HEAD"},
		{"POST", "/healthz", "GET, HEAD"},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			got := newWorld(t).call(t, test.method, test.path, "all", "")
			path, _, _ := strings.Cut(test.path, "?")
			refused(t, got, 405, path, test.allow)
			if allow := got.Header().Get("Allow"); allow != test.allow {
				t.Errorf("Allow is %q, want %q", allow, test.allow)
			}
		})
	}
}

func TestPathsThatThereAreNot(t *testing.T) {
	for _, path := range []string{
		"/", "/api", "/api/v1/eval/rag", "/api/v1/eval/rag/rag", "/api/v1/eval/rag/rag/docs-bot/", "/api/v1/eval/rag/rag/docs-bot/runs",
		"/api/v1/eval/rag//history", "/api/v1/eval/rag/rag/../rag/docs-bot/history", "//healthz", "/api/v1/eval/rag/run/" + doneID + "/", "/metrics", "/debug/pprof/",
		"/v1", "/v1/gate", "/v1/gate/rag", "/v1/gate/rag/docs-bot/", "/v1/flagger/rag/docs-bot", "/v1/flagger/rag/docs-bot/promote", "/v1/flagger//gate", compareBase + "/",
	} {
		t.Run(path, func(t *testing.T) {
			refused(t, newWorld(t).call(t, "GET", path, "all", ""), 404, path, "/openapi.json")
		})
	}
}

func TestANamespaceCalledRun(t *testing.T) {
	w := newWorld(t)
	if got := w.call(t, "POST", "/api/v1/eval/rag/run/docs-bot", "all", ""); got.Code != 202 {
		t.Errorf("starting a suite in it is %d: %s", got.Code, got.Body)
	}
	if got := w.call(t, "GET", "/api/v1/eval/rag/run/docs-bot/history", "all", ""); got.Code != 200 {
		t.Errorf("its history is %d: %s", got.Code, got.Body)
	}
}

func TestHealthAndDocumentNeedNoToken(t *testing.T) {
	w := newWorld(t)
	if got := w.call(t, "GET", "/healthz", "", ""); got.Code != 200 || got.Body.String() != "ok\n" {
		t.Errorf("/healthz is %d %q", got.Code, got.Body)
	}
	got := w.call(t, "GET", "/openapi.json", "", "")
	if got.Code != 200 || got.Header().Get("Content-Type") != "application/json" || !bytes.Equal(got.Body.Bytes(), openAPIDocument) {
		t.Errorf("/openapi.json is %d %q", got.Code, got.Header())
	}
}

func TestAPanicShowsNoStack(t *testing.T) {
	w := newWorld(t)
	o := w.options(logr.Discard())
	o.History = panicking{}
	w.handler = New(o)
	got := w.call(t, "GET", historyPath, "all", "")
	refused(t, got, 500, historyPath, "log")
	for _, secret := range []string{"goroutine", ".go:", "of the panic"} {
		if contains(got.Body.String(), secret) {
			t.Errorf("the answer says %q: %s", secret, got.Body)
		}
	}
}

type panicking struct{ Reader }

func (panicking) Runs(context.Context, string, string, history.RunQuery) (history.RunPage, error) {
	panic("the words of the panic")
}

// endless is a body that has no end and counts what was read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

func TestABodyOf100MiB(t *testing.T) {
	for name, length := range map[string]int64{"announced": 100 << 20, "not announced": -1} {
		t.Run(name, func(t *testing.T) {
			w, body := newWorld(t), &endless{}
			r := httptest.NewRequest("POST", suitePath, io.LimitReader(body, 100<<20))
			r.ContentLength = length
			r.Header.Set("Authorization", "Bearer all")
			got := httptest.NewRecorder()
			w.handler.ServeHTTP(got, r)
			conforms(t, r, got.Result(), got.Body.Bytes())
			refused(t, got, 413, suitePath, "64 KiB")
			if body.read > maxBody+64<<10 || length > 0 && body.read > 0 {
				t.Errorf("%d bytes of it were read", body.read)
			}
			if got.Header().Get("Connection") != "close" {
				t.Error("the connection stays open for the rest of it")
			}
			if len(w.started) > 0 {
				t.Error("a run was started")
			}
		})
	}
}

func TestABodyThatBreaksOff(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest("POST", suitePath, io.MultiReader(strings.NewReader(`{"endpoint"`), brokenOff{}))
	r.Header.Set("Authorization", "Bearer all")
	got := httptest.NewRecorder()
	w.handler.ServeHTTP(got, r)
	refused(t, got, 400, suitePath, "body")
}

type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestHeadIsAGetWithoutABody(t *testing.T) {
	w := newWorld(t)
	srv := httptest.NewServer(w.handler)
	defer srv.Close()
	r, err := http.NewRequestWithContext(t.Context(), "HEAD", srv.URL+runPath+doneID, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer read")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, _ := io.ReadAll(got.Body)
	if got.StatusCode != 200 || got.Header.Get("ETag") == "" || len(body) > 0 {
		t.Errorf("HEAD is %d, %v, %q", got.StatusCode, got.Header, body)
	}
}
