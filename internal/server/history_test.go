package server

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/history"
)

func TestHistory(t *testing.T) {
	got := newWorld(t).call(t, "GET", historyPath, "read", "")
	want := `{"namespace":"rag","suite":"docs-bot","runs":[` +
		`{"id":"` + openID + `","name":"docs-bot-3","startTime":"2026-03-02T08:00:00Z","trigger":"API","endpoint":"","revision":"","full":true,"change":[],"reason":""},` +
		`{"id":"` + doneID + `","name":"docs-bot-2","startTime":"2026-03-02T06:00:00Z","completionTime":"2026-03-02T06:01:12Z","trigger":"GoldenSet","endpoint":"","revision":"r2","full":true,` +
		`"change":["goldenSet","revision"],"hitRate":0.6666666666666666,"mrr":0.5,"accuracy":0.8,"hallucinationRate":0,"verdict":"Failed","reason":"ObjectivesMissed"},` +
		`{"id":"` + oldID + `","name":"docs-bot-1","startTime":"2026-03-02T04:00:00Z","completionTime":"2026-03-02T04:01:00Z","trigger":"Spec","endpoint":"","revision":"r1","full":true,` +
		`"change":[],"hitRate":1,"mrr":1,"verdict":"Passed","reason":"ObjectivesMet"}]}` + "\n"
	if diff := cmp.Diff(want, got.Body.String()); got.Code != 200 || diff != "" {
		t.Errorf("%d\n%s", got.Code, diff)
	}
	if got.Header().Get("Cache-Control") != "no-store" || got.Header().Get("Link") != "" {
		t.Errorf("the headers are %v", got.Header())
	}
}

func TestHistoryInPages(t *testing.T) {
	w := newWorld(t)
	var seen []historyRun
	target := historyPath + "?limit=1"
	for pages := 0; ; pages++ {
		if pages > 5 {
			t.Fatal("the pages have no end")
		}
		got := w.call(t, "GET", target, "read", "")
		var page historyPage
		decode(t, got, &page)
		if len(page.Runs) != 1 {
			t.Fatalf("the page of one has %d", len(page.Runs))
		}
		seen = append(seen, page.Runs...)
		if page.Next == "" {
			break
		}
		if target = linked(t, target, got); !contains(target, "before="+page.Next) || !contains(target, "limit=1") {
			t.Errorf("the link goes to %s, and next is %s", target, page.Next)
		}
	}
	if len(seen) != 3 || seen[0].ID != openID || seen[1].ID != doneID || seen[2].ID != oldID {
		t.Errorf("the pages have %+v", seen)
	}
	// What changed does not depend on where a page ends.
	if diff := cmp.Diff([]string{"goldenSet", "revision"}, seen[1].Change); diff != "" {
		t.Error(diff)
	}
}

// linked follows the Link header.
func linked(t *testing.T, from string, got *httptest.ResponseRecorder) string {
	t.Helper()
	text, ok := strings.CutSuffix(got.Header().Get("Link"), `>; rel="next"`)
	if !ok {
		t.Fatalf("the link is %q", got.Header().Get("Link"))
	}
	base, err := url.Parse(from)
	if err != nil {
		t.Fatal(err)
	}
	next, err := base.Parse(strings.TrimPrefix(text, "<"))
	if err != nil {
		t.Fatal(err)
	}
	return next.String()
}

func TestTheLimitOfAHistory(t *testing.T) {
	w := newWorld(t)
	w.memory.runs = nil
	for i := range 300 {
		w.memory.runs = append(w.memory.runs, history.Run{UID: fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), Namespace: "rag", Suite: "docs-bot", Trigger: "Schedule", StartTime: monday})
	}
	for query, want := range map[string]int{"": 50, "?limit=1": 1, "?limit=200": 200, "?limit=007": 7} {
		var page historyPage
		decode(t, w.call(t, "GET", historyPath+query, "read", ""), &page)
		if len(page.Runs) != want || page.Next == "" {
			t.Errorf("%q: %d runs, want %d, next %q", query, len(page.Runs), want, page.Next)
		}
	}
}

func TestHistoryQueriesThatAreRefused(t *testing.T) {
	for query, word := range map[string]string{
		"limit=0": "1 to 200", "limit=-1": "limit", "limit=1e9": "limit", "limit=1000000000": "limit", "limit=201": "limit", "limit=abc": `"abc"`, "limit=": "limit",
		"limit=5.0": "limit", "limit=%2B5": "limit", "limit= 5": "limit", "limit=99999999999999999999": "limit", "limit=1&limit=2": "2 times",
		"before=made-up": "before is no cursor", "before=%00": "before", "before=%ff": "before", "before=" + strings.Repeat("a", 2000): "before",
		"after=c1": `"after" is no parameter`, "limt=5": "limit and before", "%zz": "query",
	} {
		got := newWorld(t).call(t, "GET", historyPath+"?"+strings.ReplaceAll(query, " ", "%20"), "read", "")
		t.Run(query, func(t *testing.T) { refused(t, got, 400, historyPath, word) })
	}
}

func TestAHistoryOfNoRuns(t *testing.T) {
	got := newWorld(t).call(t, "GET", "/api/v1/eval/rag/rag/idle/history", "read", "")
	if got.Code != 200 || got.Body.String() != `{"namespace":"rag","suite":"idle","runs":[]}`+"\n" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestTheHistoryOfASuiteThatIsGone(t *testing.T) {
	w := newWorld(t)
	delete(w.suites, "rag/docs-bot")
	if got := w.call(t, "GET", historyPath, "read", ""); got.Code != 200 || !contains(got.Body.String(), doneID) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestAStoreThatFails(t *testing.T) {
	w := newWorld(t)
	w.memory.err = errors.New("database is locked: /data/history.db")
	for _, path := range []string{historyPath, runPath + doneID} {
		got := w.call(t, "GET", path, "read", "")
		refused(t, got, 503, path, "history store")
		if contains(got.Body.String(), "/data") {
			t.Errorf("the answer tells of the server's insides: %s", got.Body)
		}
	}
	if !contains(w.logged.String(), "database is locked") {
		t.Errorf("the log does not say why: %s", w.logged)
	}
}

func TestWhatChanged(t *testing.T) {
	run := func(change func(*history.Run)) history.Run {
		r := history.Run{Full: true, GoldenSetDigest: "g1", EvaluationDigest: "e1", Revision: "r1", CorpusVersion: "c1"}
		change(&r)
		return r
	}
	same := run(func(*history.Run) {})
	tests := []struct {
		name  string
		older []history.Run // newest first
		now   history.Run
		want  []string
	}{
		{"the first run", nil, same, []string{}},
		{"nothing", []history.Run{same}, same, []string{}},
		{"the golden set", []history.Run{same}, run(func(r *history.Run) { r.GoldenSetDigest = "g2" }), []string{"goldenSet"}},
		{"the spec", []history.Run{same}, run(func(r *history.Run) { r.EvaluationDigest = "e2" }), []string{"spec"}},
		{"the revision", []history.Run{same}, run(func(r *history.Run) { r.Revision = "r2" }), []string{"revision"}},
		{"the corpus", []history.Run{same}, run(func(r *history.Run) { r.CorpusVersion = "c2" }), []string{"corpus"}},
		{"all of it", []history.Run{same}, history.Run{Full: true, GoldenSetDigest: "g", EvaluationDigest: "e", Revision: "r", CorpusVersion: "c"}, []string{"goldenSet", "spec", "revision", "corpus"}},
		{"it knows nothing, for it could not begin", []history.Run{same}, history.Run{Full: true}, []string{}},
		{"the one before knows nothing", []history.Run{{Full: true}, same}, run(func(r *history.Run) { r.GoldenSetDigest = "g2" }), []string{"goldenSet"}},
		{"another endpoint in between", []history.Run{run(func(r *history.Run) { r.Endpoint, r.Full, r.EvaluationDigest = "canary", false, "e9" }), same}, same, []string{}},
		{"a subset in between", []history.Run{run(func(r *history.Run) { r.Full, r.GoldenSetDigest = false, "g9" }), same}, same, []string{}},
		{"there and back again", []history.Run{run(func(r *history.Run) { r.Revision = "r2" }), same}, same, []string{"revision"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for split := range len(test.older) + 1 { // wherever the page ends
				page := append([]history.Run{test.now}, test.older[:split]...)
				if diff := cmp.Diff(test.want, historyRuns(page, test.older[split:])[0].Change); diff != "" {
					t.Errorf("with %d on the page: %s", split, diff)
				}
			}
		})
	}
	if got := historyRuns([]history.Run{{HitRate: ptr.To(0.0)}}, nil)[0]; got.HitRate == nil || *got.HitRate != 0 {
		t.Errorf("a hit rate of 0 is %v", got.HitRate)
	}
}
