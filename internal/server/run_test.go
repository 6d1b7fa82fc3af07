package server

import (
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/report"
)

func TestARunThatIsDone(t *testing.T) {
	got := newWorld(t).call(t, "GET", runPath+doneID, "read", "")
	want := `{"run":{"uid":"` + doneID + `","name":"docs-bot-2","suite":"docs-bot","endpoint":"","namespace":"rag","trigger":"GoldenSet","revision":"r2","goldenSetDigest":"sha256:g2","corpusVersion":"v7","targets":[` + storedTarget + `],"configMaps":{"prompts":"sha256:p"},` +
		`"startTime":"2026-03-02T06:00:00Z","completionTime":"2026-03-02T06:01:12Z"},"verdict":"Failed","reason":"ObjectivesMissed","message":"hit_rate@5 is 0.67, below min 0.90","total":3,` +
		`"metrics":[` + storedMetric + `],` +
		`"objectives":[{"metric":"hit_rate@5","tag":"","bound":"maxDrop 0.05","value":0.6666666666666666,"outcome":"Unproven","message":"m"}],` +
		`"coverage":{"retrieval":1,"answer":0.5,"judge":0.25},"evidence":{"hitRight":1,"hitWrong":0,"missRight":0,"missWrong":1},"outcomes":{"Scored":3},` +
		`"usage":{"calls":3,"promptTokens":1200,"completionTokens":90,"cacheHits":1},"settings":` + storedSettings + `,"comparison":` + storedComparison + `,"cases":[` +
		`{"id":"q01","digest":"sha256:c1","question":"어디에 있나요? <b>","history":[{"role":"user","content":"안녕"}],"referenceAnswer":"거기","tags":["howto"],"outcome":"Scored","message":"","relevant":[{"id":"doc_001","grade":1}],"rank":2,"metrics":{"mrr":0.5},"retrieved":[` +
		`{"rank":1,"id":"doc_009","score":1.25,"relevant":false,"text":"the text of doc_009"},{"rank":2,"id":"doc_001","score":1,"relevant":true,"text":"the text of doc_001"}],"latencySeconds":0.004,` +
		`"answer":"여기","contexts":["the text of doc_009"],"answerLatencySeconds":0.25,"verdict":{"correct":false,"grounded":true,"abstained":false,"reason":"다른 곳"},"relevance":{"scores":[2],"average":2,"reasoning":"off"}},` +
		`{"id":"q02","digest":"sha256:c2","question":"where?","tags":["howto","ko"],"outcome":"RetrieverTimeout","message":"POST http://bot/: timeout","relevant":[{"id":"doc_002","grade":2}],"metrics":{},"retrieved":[],"latencySeconds":10},` +
		`{"id":"q03","digest":"sha256:c3","question":"why?","answerable":false,"tags":[],"outcome":"Scored","message":"","relevant":[],"metrics":{},"retrieved":[{"rank":1,"id":"7","relevant":false}],` +
		`"answerLatencySeconds":0.5,"verdict":{"correct":true,"grounded":true,"abstained":true,"reason":"it declines"}}]}` + "\n"
	if diff := cmp.Diff(want, got.Body.String()); got.Code != 200 || diff != "" {
		t.Errorf("%d\n%s", got.Code, diff)
	}
	if got.Header().Get("Cache-Control") != "private, no-cache" || got.Header().Get("ETag") == "" {
		t.Errorf("the headers are %v", got.Header())
	}
}

func TestARunThatIsOpen(t *testing.T) {
	for name, change := range map[string]func(*world){
		"with its object":    func(*world) {},
		"without its object": func(w *world) { delete(w.cluster.runs, openID) },
		"in an outage":       func(w *world) { w.cluster.err = errOutage },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change(w)
			got := w.call(t, "GET", runPath+openID, "read", "")
			var doc map[string]any
			decode(t, got, &doc)
			if _, has := doc["verdict"]; got.Code != 200 || has {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if cases := doc["cases"].([]any); len(cases) != 1 {
				t.Errorf("of the cases that are stored so far there are %d", len(cases))
			}
			if got.Header().Get("ETag") != "" || got.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("the headers are %v", got.Header())
			}
			if name == "with its object" && (doc["reason"] != "Running" || doc["total"] != 3.0) {
				t.Errorf("how far it is, it does not say: %s", got.Body)
			}
		})
	}
}

func TestARunThatTheStoreDoesNotHave(t *testing.T) {
	w := newWorld(t)
	got := w.call(t, "GET", runPath+queuedID, "read", "")
	want := `{"run":{"uid":"` + queuedID + `","name":"docs-bot-4","suite":"docs-bot","endpoint":"canary","namespace":"rag","trigger":"Manual","revision":"abc","goldenSetDigest":""},` +
		`"reason":"Queued","message":"the run waits for its turn","total":0,"metrics":[],"objectives":[],"coverage":{},"outcomes":{},"settings":{},"cases":[]}` + "\n"
	if diff := cmp.Diff(want, got.Body.String()); got.Code != 200 || diff != "" {
		t.Errorf("%d\n%s", got.Code, diff)
	}
	refused(t, w.call(t, "GET", runPath+queuedID+"?after=c1", "read", ""), 400, runPath+queuedID, "after")
}

func TestARunWhoseResultsTheStoreCouldNotTake(t *testing.T) {
	const summary = `"metrics":[{"name":"mrr","tag":"","value":0.733,"count":3,"low":0.5,"baseline":0.741,"delta":-0.008,"deltaLow":-0.1,"deltaHigh":0.1,"pValue":0.41,"smallestDrop":0.3,"referenceDelta":0.01},` +
		`{"name":"accuracy","tag":"ko","value":1,"count":1}],"objectives":[{"metric":"mrr","tag":"","bound":"min 0.50","value":0.733,"outcome":"Met","message":""}],` +
		`"coverage":{"retrieval":1,"answer":0.5,"judge":0.25},"evidence":{"hitRight":2,"hitWrong":0,"missRight":0,"missWrong":1},"outcomes":{"Scored":3},"usage":{"calls":2,"promptTokens":7,"completionTokens":0,"cacheHits":0},`
	for id, cases := range map[string]int{queuedID: 0, openID: 1} {
		w := newWorld(t)
		ended(w.cluster.runs[id])
		got := w.call(t, "GET", runPath+id, "read", "")
		var doc struct {
			Verdict, Reason, Message string
			Total                    int
			Run                      struct{ CompletionTime string }
			Cases                    []any
		}
		decode(t, got, &doc)
		if doc.Verdict != "Passed" || doc.Reason != "ObjectivesMet" || doc.Total != 3 || doc.Run.CompletionTime != "2026-03-02T04:01:00Z" || len(doc.Cases) != cases {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		if !contains(got.Body.String(), summary) {
			t.Errorf("the status's numbers are not there: %s", got.Body)
		}
	}
}

func TestCasesInPages(t *testing.T) {
	w := newWorld(t)
	var ids []string
	target := runPath + doneID + "?limit=1&outcome=Scored"
	for pages := 0; ; pages++ {
		if pages > 5 {
			t.Fatal("the pages have no end")
		}
		got := w.call(t, "GET", target, "read", "")
		var doc struct {
			Cases []struct{ ID string }
			Next  string
		}
		decode(t, got, &doc)
		if len(doc.Cases) != 1 {
			t.Fatalf("the page of one has %d", len(doc.Cases))
		}
		ids = append(ids, doc.Cases[0].ID)
		if doc.Next == "" {
			break
		}
		if target = linked(t, target, got); !contains(target, "after="+doc.Next) || !contains(target, "outcome=Scored") {
			t.Errorf("the link goes to %s, and next is %s", target, doc.Next)
		}
	}
	if !slices.Equal(ids, []string{"q01", "q03"}) {
		t.Errorf("the pages have %v", ids)
	}
}

func TestWhatIsAskedOfTheStore(t *testing.T) {
	for query, want := range map[string]history.CaseQuery{
		"":                                    {Limit: 100},
		"?limit=1000":                         {Limit: 1000},
		"?limit=2&after=c1&tag=ko":            {Limit: 2, After: "c1", Tag: "ko"},
		"?outcome=RetrieverTimeout&tag=a%20b": {Limit: 100, Outcome: "RetrieverTimeout", Tag: "a b"},
	} {
		w := newWorld(t)
		w.call(t, "GET", runPath+doneID+query, "read", "")
		if diff := cmp.Diff([]history.CaseQuery{want}, w.asked); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

func TestRunQueriesThatAreRefused(t *testing.T) {
	for query, word := range map[string]string{
		"limit=0": "1 to 1000", "limit=-1": "limit", "limit=1e9": "limit", "limit=1001": "limit", "limit=abc": "limit", "after=made-up": "after is no cursor",
		"before=c1": `"before" is no parameter`, "tag=a&tag=b": "tag", "outcome=%00": "outcome",
	} {
		refused(t, newWorld(t).call(t, "GET", runPath+doneID+"?"+query, "read", ""), 400, runPath+doneID, word)
	}
}

func TestRunIDs(t *testing.T) {
	for _, id := range []string{"1", "docs-bot-1", doneID[:35], doneID + "0", "{" + doneID + "}", "urn:uuid:" + doneID, "3f1e7a520c1b4d559a550d3f5f3c2b11", "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b1g", "\x00"} {
		refused(t, newWorld(t).call(t, "GET", (&url.URL{Path: runPath + id}).EscapedPath(), "read", ""), 400, (&url.URL{Path: runPath + id}).EscapedPath(), "is no run id", "UID")
	}
	if got := newWorld(t).call(t, "GET", runPath+"3F1E7A52-0C1B-4D55-9A55-0D3F5F3C2B11", "read", ""); got.Code != 200 {
		t.Errorf("an id in capitals is %d: %s", got.Code, got.Body)
	}
}

func TestAnAnswerThatTheCallerHas(t *testing.T) {
	w := newWorld(t)
	etag := w.call(t, "GET", runPath+doneID, "read", "").Header().Get("ETag")
	for header, status := range map[string]int{
		etag: 304, `"other", W/` + etag: 304, "*": 304, `"other"`: 200, "": 200, etag[1 : len(etag)-1]: 200,
	} {
		got := w.call(t, "GET", runPath+doneID, "read", "", "If-None-Match", header)
		if got.Code != status || (status == 304) != (got.Body.Len() == 0) {
			t.Errorf("If-None-Match: %s is %d with %d bytes, want %d", header, got.Code, got.Body.Len(), status)
		}
		if got.Header().Get("ETag") != etag || got.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("the headers are %v", got.Header())
		}
	}
	// Whoever may not see the run is not told that it has not changed.
	refused(t, w.call(t, "GET", runPath+doneID, "none", "", "If-None-Match", etag), 403, runPath+doneID)
	if other := w.call(t, "GET", runPath+doneID+"?limit=1", "read", "").Header().Get("ETag"); other == etag {
		t.Error("another page has the same ETag")
	}
	w.cases[doneID][0].Retrieved[0].Text = ""
	if got := w.call(t, "GET", runPath+doneID, "read", "", "If-None-Match", etag); got.Code != 200 {
		t.Errorf("an answer that changed is %d", got.Code)
	}
}

func TestARunOfADocumentThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.memory.runs[1].Document = []byte("[")
	refused(t, w.call(t, "GET", runPath+doneID, "read", ""), 500, runPath+doneID)
}

func TestNumbersThatAStatusLacks(t *testing.T) {
	d := documentOfObject(&v1alpha1.EvalRun{Status: v1alpha1.EvalRunStatus{
		Metrics:  []v1alpha1.RunMetric{{Name: "a", Value: "NaN"}, {Name: "b", Value: "x"}, {Name: "c"}, {Name: "d", Value: "1", Delta: "Inf"}},
		Coverage: &v1alpha1.Coverage{Judge: "-Inf"},
	}})
	if diff := cmp.Diff([]report.Metric{{Name: "d", Value: 1}}, d.Metrics); diff != "" || d.Coverage.Judge != nil {
		t.Errorf("%s %v", diff, d.Coverage.Judge)
	}
}

// TestARunIsARunDocument: what the API gives is what `assay compare` and `assay
// judge label` read.
func TestARunIsARunDocument(t *testing.T) {
	w := newWorld(t)
	d, err := report.Read(w.call(t, "GET", runPath+doneID, "read", "").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c := d.Cases[0]
	if c.Answer == nil || *c.Answer != "여기" || len(c.Contexts) != 1 || c.ReferenceAnswer != "거기" || len(c.History) != 1 || c.Answerable != nil ||
		c.Verdict == nil || *c.Verdict.Correct || !c.Verdict.Grounded || c.Relevance == nil || c.Relevance.Average != 2 || *c.AnswerLatencySeconds != 0.25 {
		t.Errorf("a case is %+v", c)
	}
	if c := d.Cases[2]; c.Answerable == nil || *c.Answerable {
		t.Errorf("a case without an answer in the corpus is %+v", c)
	}
	if d.Settings.Judge.Fingerprint() == "" || d.Settings.BLEUTokenizer != "Char" || d.Comparison == nil || d.Usage == nil || len(d.Run.Targets) != 1 {
		t.Errorf("the run is %+v", d)
	}
	if _, err := report.CompareDocuments(d, d, compare.Options{}); err != nil {
		t.Errorf("it cannot be compared: %v", err)
	}
	page, err := report.Read(w.call(t, "GET", runPath+doneID+"?limit=1", "read", "").Body.Bytes())
	if err != nil || page.Next == "" || page.Total != 3 {
		t.Fatalf("a page is %+v, %v", page, err)
	}
	if _, err := report.CompareDocuments(page, d, compare.Options{}); err == nil {
		t.Error("a page passes for a whole run")
	}
}
