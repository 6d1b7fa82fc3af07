package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/internal/gate"
)

// theValidator checks against the document that the server serves.
var theValidator = sync.OnceValues(func() (validator.Validator, error) {
	document, err := libopenapi.NewDocument(openAPIDocument)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return v, nil
})

func TestTheDocumentIsOpenAPI(t *testing.T) {
	v, err := theValidator()
	if err != nil {
		t.Fatal(err)
	}
	if ok, errs := v.ValidateDocument(); !ok {
		for _, e := range errs {
			t.Errorf("%s: %s", e.Message, e.Reason)
		}
	}
	if version := parsed(t).OpenAPI; !strings.HasPrefix(version, "3.1.") {
		t.Errorf("the document is OpenAPI %s, want 3.1", version)
	}
}

// theDocument is what the tests read of /openapi.json.
type theDocument struct {
	OpenAPI string                                `json:"openapi"`
	Paths   map[string]map[string]json.RawMessage `json:"paths"`
}

func parsed(t *testing.T) theDocument {
	t.Helper()
	var d theDocument
	if err := json.Unmarshal(openAPIDocument, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEveryAnswerThatIsDescribedIsGiven makes a call for every answer in the
// document; call checks each against it.
func TestEveryAnswerThatIsDescribedIsGiven(t *testing.T) {
	const (
		start = "post /api/v1/eval/rag/{namespace}/{suite} "
		list  = "get /api/v1/eval/rag/{namespace}/{suite}/history "
		run   = "get /api/v1/eval/rag/run/{run_id} "
		diff  = "get /api/v1/eval/rag/compare "
		asked = "get /v1/gate/{namespace}/{suite} "
		ready = "post /v1/flagger/{namespace}/{suite}/gate "
		back  = "post /v1/flagger/{namespace}/{suite}/rollback "
	)
	big := strings.Repeat(" ", maxBody+1)
	absent := "/api/v1/eval/rag/rag/absent"
	get := func(path, token string, headers ...string) func(*testing.T, *world) int {
		return func(t *testing.T, w *world) int { return w.call(t, "GET", path, token, "", headers...).Code }
	}
	post := func(path, token, body string, headers ...string) func(*testing.T, *world) int {
		return func(t *testing.T, w *world) int { return w.call(t, "POST", path, token, body, headers...).Code }
	}
	tooMuch := func(path string) func(*testing.T, *world) int {
		return func(t *testing.T, w *world) int { return w.call(t, "GET", path, "all", big).Code }
	}
	broken := func(method, path string) func(*testing.T, *world) int {
		return func(t *testing.T, w *world) int {
			w.handler = New(Options{Access: w.rights, History: panicking{}}) // there is nothing behind it
			return w.call(t, method, path, "all", "").Code
		}
	}
	promote, rollback := flaggerPath+"/gate", flaggerPath+"/rollback"
	says := func(verdict gate.Verdict, path string) func(*testing.T, *world) int {
		return func(t *testing.T, w *world) int {
			w.answer.Verdict = verdict
			return w.call(t, "POST", path, "read", "").Code
		}
	}
	calls := map[string]func(*testing.T, *world) int{
		start + "200": func(t *testing.T, w *world) int {
			w.onFind = func(int) {
				w.mu().Lock()
				defer w.mu().Unlock()
				ended(w.cluster.runs[newID])
			}
			return w.call(t, "POST", suitePath+"?wait=30s", "all", `{"endpoint": "canary", "tags": ["ko"], "topK": 3, "stages": ["Retrieval"]}`).Code
		},
		start + "202": post(suitePath, "all", ""),
		start + "400": post(suitePath, "all", `{"topK": 0}`),
		start + "429": func(t *testing.T, w *world) (code int) {
			synctest.Test(t, func(t *testing.T) {
				full(t, w)
				code = w.call(t, "POST", suitePath+"?wait=60s", "all", "").Code
			})
			return code
		},
		start + "401": post(suitePath, "", ""),
		start + "403": post(suitePath, "read", ""),
		start + "404": post(absent, "all", ""),
		start + "409": func(t *testing.T, w *world) int {
			w.suites["rag/docs-bot"].DeletionTimestamp = &metav1.Time{Time: monday}
			return w.call(t, "POST", suitePath, "all", "").Code
		},
		start + "413": post(suitePath, "all", big),
		start + "415": post(suitePath, "all", "a=b", "Content-Type", "application/x-www-form-urlencoded"),
		start + "422": post(suitePath, "all", `{"endpoint": "prod"}`),
		start + "500": broken("POST", suitePath),
		start + "503": post(suitePath, "broken", ""),

		list + "200": get(historyPath+"?limit=1&before=c1", "read"),
		list + "400": get(historyPath+"?limit=0", "read"),
		list + "401": get(historyPath, ""),
		list + "403": get(historyPath, "none"),
		list + "404": get(absent+"/history", "read"),
		list + "413": tooMuch(historyPath),
		list + "500": broken("GET", historyPath),
		list + "503": get(historyPath, "broken"),

		run + "200": get(runPath+doneID+"?limit=1&after=c1&tag=ko&outcome=Scored", "read"),
		run + "304": get(runPath+doneID, "read", "If-None-Match", "*"),
		run + "400": get(runPath+doneID+"?limit=0", "read"),
		run + "401": get(runPath+doneID, ""),
		run + "403": get(runPath+doneID, "none"),
		run + "404": get(runPath+noID, "read"),
		run + "413": tooMuch(runPath + doneID),
		run + "500": broken("GET", runPath+doneID),
		run + "503": get(runPath+doneID, "broken"),

		diff + "200": get(comparePath(oldID, doneID)+"&cases=5", "read"),
		diff + "400": get(comparePath(oldID, "x"), "read"),
		diff + "401": get(comparePath(oldID, doneID), ""),
		diff + "403": get(comparePath(oldID, doneID), "none"),
		diff + "404": get(comparePath(oldID, noID), "read"),
		diff + "409": get(comparePath(doneID, openID), "read"),
		diff + "413": tooMuch(comparePath(oldID, doneID)),
		diff + "500": broken("GET", comparePath(oldID, doneID)),
		diff + "503": get(comparePath(oldID, doneID), "broken"),

		asked + "200": get(gatePath+"?endpoint=canary&revision=abc", "read"),
		asked + "400": get(gatePath+"?endpoin=canary", "read"),
		asked + "401": get(gatePath, ""),
		asked + "403": get(gatePath, "none"),
		asked + "413": tooMuch(gatePath),
		asked + "500": broken("GET", gatePath),
		asked + "503": get(gatePath, "broken"),

		ready + "200": says(gate.Pass, promote),
		ready + "400": post(promote+"?revision=abc", "read", ""),
		ready + "401": post(promote, "", ""),
		ready + "403": post(promote, "none", ""),
		ready + "409": says(gate.Pending, promote),
		ready + "413": post(promote, "read", big),
		ready + "500": broken("POST", promote),
		ready + "503": post(promote, "broken", ""),

		back + "200": says(gate.Fail, rollback),
		back + "400": post(rollback+"?revision=abc", "read", ""),
		back + "401": post(rollback, "", ""),
		back + "403": post(rollback, "none", ""),
		back + "409": says(gate.Pass, rollback),
		back + "413": post(rollback, "read", big),
		back + "500": broken("POST", rollback),
		back + "503": post(rollback, "broken", ""),

		"get /openapi.json 200": get("/openapi.json", ""),
		"get /openapi.json 413": tooMuch("/openapi.json"),
		"get /healthz 200":      get("/healthz", ""),
		"get /healthz 413":      tooMuch("/healthz"),
	}
	for path, item := range parsed(t).Paths {
		for method, text := range item {
			if method == "parameters" {
				continue
			}
			var operation struct{ Responses map[string]any }
			if err := json.Unmarshal(text, &operation); err != nil {
				t.Fatal(err)
			}
			for status := range operation.Responses {
				what := method + " " + path + " " + status
				t.Run(what, func(t *testing.T) {
					call := calls[what]
					if call == nil {
						t.Fatal("the document has it, and no call gets it")
					}
					if got := call(t, newWorld(t)); strconv.Itoa(got) != status {
						t.Errorf("the answer is %d", got)
					}
				})
				delete(calls, what)
			}
		}
	}
	for what := range calls {
		t.Errorf("the document does not have %s", what)
	}
}

func TestTheDocumentIsStrict(t *testing.T) {
	v, err := theValidator()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for name, change := range map[string]struct {
		path, from, to string
		status         int
	}{
		"a field that it lacks":       {runPath + doneID, `"total":3`, `"total":3,"secret":1`, 200},
		"a field left out":            {runPath + doneID, `"total":3,`, ``, 200},
		"a case's field left out":     {runPath + doneID, `"outcome":"RetrieverTimeout",`, ``, 200},
		"an item's field of its own":  {runPath + doneID, `"rank":1,"id":"doc_009"`, `"rank":1,"id":"doc_009","vector":[1]`, 200},
		"a number as a string":        {historyPath, `"mrr":0.5`, `"mrr":"0.5"`, 200},
		"a verdict that there is not": {historyPath, `"Failed"`, `"Flaky"`, 200},
		"a status that it lacks":      {historyPath, `{`, `{`, 418},
	} {
		got := w.call(t, "GET", change.path, "read", "")
		if !strings.Contains(got.Body.String(), change.from) {
			t.Fatalf("%s: the answer has no %s", name, change.from)
		}
		answer := got.Result()
		answer.StatusCode = change.status
		answer.Body = io.NopCloser(strings.NewReader(strings.Replace(got.Body.String(), change.from, change.to, 1)))
		if ok, _ := v.ValidateHttpResponse(httptest.NewRequest("GET", change.path, nil), answer); ok {
			t.Errorf("%s: it passes", name)
		}
	}
}

// conforms checks a call and its answer against /openapi.json: what is
// answered must be described, and a call that succeeds must be one that is described.
func conforms(t *testing.T, r *http.Request, answer *http.Response, body []byte) {
	t.Helper()
	if !described(r, answer.StatusCode) {
		return
	}
	v, err := theValidator()
	if err != nil {
		t.Fatal(err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if ok, errs := v.ValidateHttpResponse(r, answer); !ok {
		for _, e := range errs {
			t.Errorf("%s %s → %d is not as /openapi.json has it: %s: %s %+v\n%s", r.Method, r.URL, answer.StatusCode, e.Message, e.Reason, e.SchemaValidationErrors, body)
		}
	}
	if answer.StatusCode < 300 {
		if ok, errs := v.ValidateHttpRequest(r); !ok {
			for _, e := range errs {
				t.Errorf("%s %s succeeds, and /openapi.json does not have it: %s: %s", r.Method, r.URL, e.Message, e.Reason)
			}
		}
	}
}

// described leaves out what OpenAPI has no place for: paths and methods that there are not.
func described(r *http.Request, status int) bool {
	if status == http.StatusMethodNotAllowed || r.Method == http.MethodHead {
		return false
	}
	if r.URL.Path == "/healthz" || r.URL.Path == "/openapi.json" {
		return true
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch under, n := strings.Join(parts[:min(4, len(parts))], "/"), len(parts); {
	case slices.Contains(parts, ""):
		return false
	case parts[0] == "v1":
		return n == 4 && parts[1] == "gate" || n == 5 && parts[1] == "flagger" && (parts[4] == "gate" || parts[4] == "rollback")
	case under != "api/v1/eval/rag":
		return false
	case n == 5:
		return parts[4] == "compare"
	case n == 6 && parts[4] == "run":
		// A suite in a namespace called run has the path of a run.
		return r.Method == http.MethodGet
	default:
		return n == 6 || n == 7 && parts[6] == "history"
	}
}
