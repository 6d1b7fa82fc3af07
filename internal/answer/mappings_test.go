package answer

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/mapping"
	"github.com/assay-dev/assay/internal/retriever"
)

func TestCompileRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		mappings Mappings
		want     []string // one part of each problem, in order
	}{
		"open bracket":        {Mappings{Output: `{"answer": response.text`}, []string{"answer.output: 1:25: Syntax error"}},
		"output is a text":    {Mappings{Output: `"x"`}, []string{`answer.output: it gives string, but must give a map, for example {"answer": response.text`}},
		"results are a text":  {Mappings{Results: `"x"`}, []string{`answer.results: it gives string, but must give a list`}},
		"reply in request":    {Mappings{Request: `{"q": response.q}`}, []string{"answer.request: 1:7: undeclared reference to 'response': there is no reply yet when the request is made; in scope are question, topK, case, params, results, contexts"}},
		"vector":              {Mappings{Request: `{"q": vector}`}, []string{"answer.request: 1:7: undeclared reference to 'vector'; in scope are"}},
		"no such case field":  {Mappings{Request: `{"q": case.question}`}, []string{"answer.request: case has no question"}},
		"contexts of texts":   {Mappings{Request: `contexts.map(c, c + 1)`}, []string{"answer.request: 1:19: found no matching overload"}},
		"GET with a body":     {Mappings{Method: http.MethodGet, Request: `{}`, Query: `{"q": question}`}, []string{"answer.request: a GET has no body: use the query mapping instead of request, or set answer.method to POST"}},
		"GET without a query": {Mappings{Method: http.MethodGet}, []string{`answer.query: a GET asks by URL parameters alone: add answer.query, for example {"q": question}`}},
		"everything at once":  {Mappings{Request: `{`, Query: `nope`, Output: `1`, Results: `nope`, Error: `1`, CorpusVersion: `[]`}, []string{"answer.request: ", "answer.query: ", "answer.output: ", "answer.results: ", "answer.error: ", "answer.corpusVersion: "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(test.mappings)
			var all *CompileError
			if !errors.As(err, &all) {
				t.Fatalf("got %v, want a CompileError", err)
			}
			if len(all.Problems) != len(test.want) {
				t.Fatalf("got %d problems, want %d: %v", len(all.Problems), len(test.want), err)
			}
			for i, want := range test.want {
				if got := all.Problems[i].String(); !strings.Contains(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestReplies(t *testing.T) {
	self := `response.sources.map(s, {"id": s.path, "text": s.?text})`
	for name, test := range map[string]struct {
		mappings Mappings
		body     string
		want     Reply
	}{
		"answer alone":             {Mappings{}, `{"answer":"x","more":1}`, Reply{Answer: "x", Contexts: []string{"A", "", "다"}}},
		"an empty answer":          {Mappings{}, `{"answer":""}`, Reply{Contexts: []string{"A", "", "다"}}},
		"white space stays":        {Mappings{}, `{"answer":" \n한 "}`, Reply{Answer: " \n한 ", Contexts: []string{"A", "", "다"}}},
		"its own contexts":         {Mappings{}, `{"answer":"x","contexts":["B","","C","D","E"]}`, Reply{Answer: "x", Contexts: []string{"B", "", "C", "D", "E"}}},
		"none used":                {Mappings{}, `{"answer":"x","contexts":[]}`, Reply{Answer: "x", Contexts: []string{}}},
		"contexts null":            {Mappings{}, `{"answer":"x","contexts":null}`, Reply{Answer: "x", Contexts: []string{"A", "", "다"}}},
		"mapped":                   {Mappings{Output: `{"answer": response.choices[0].message.content, "contexts": response.docs.map(d, d.body)}`}, `{"choices":[{"message":{"content":"x"}}],"docs":[{"body":"B"}]}`, Reply{Answer: "x", Contexts: []string{"B"}}},
		"mapped optionals":         {Mappings{Output: `{"answer": response.?text.orValue(""), ?"contexts": response.?docs}`}, `{}`, Reply{Contexts: []string{"A", "", "다"}}},
		"items optional":           {Mappings{Output: `{"answer": "x", "contexts": [response.?a]}`}, `{"a":"A"}`, Reply{Answer: "x", Contexts: []string{"A"}}},
		"from the request":         {Mappings{Output: `{"answer": response.answer, "contexts": results.filter(r, r.id in response.used).map(r, r.text)}`}, `{"answer":"x","used":["c","d"]}`, Reply{Answer: "x", Contexts: []string{"다", "D"}}},
		"corpus version":           {Mappings{CorpusVersion: `headers["x-index-version"]`}, `{"answer":"x"}`, Reply{Answer: "x", Contexts: []string{"A", "", "다"}, CorpusVersion: "v7"}},
		"no error":                 {Mappings{Error: `response.?error.orValue("")`}, `{"answer":"x"}`, Reply{Answer: "x", Contexts: []string{"A", "", "다"}}},
		"a byte-order mark":        {Mappings{}, "\xef\xbb\xbf{\"answer\":\"x\"}", Reply{Answer: "x", Contexts: []string{"A", "", "다"}}},
		"retrieves by itself":      {Mappings{Results: self}, `{"answer":"x","sources":[{"path":"p","text":"P"},{"path":"q"}]}`, Reply{Answer: "x", Contexts: []string{"P", ""}, Results: []retriever.Result{{ID: "p", Text: "P"}, {ID: "q"}}}},
		"retrieves and tells":      {Mappings{Results: self}, `{"answer":"x","sources":[{"path":"p","text":"P"}],"contexts":["Q"]}`, Reply{Answer: "x", Contexts: []string{"Q"}, Results: []retriever.Result{{ID: "p", Text: "P"}}}},
		"retrieves and cuts":       {Mappings{Results: self}, `{"answer":"x","sources":[{"path":"1","text":"1"},{"path":"2","text":"2"},{"path":"3","text":"3"},{"path":"4","text":"4"}]}`, Reply{Answer: "x", Contexts: []string{"1", "2", "3"}, Results: []retriever.Result{{ID: "1", Text: "1"}, {ID: "2", Text: "2"}, {ID: "3", Text: "3"}, {ID: "4", Text: "4"}}}},
		"retrieves and has it not": {Mappings{Results: self}, `{"answer":"I do not know.","sources":[]}`, Reply{Answer: "I do not know.", Contexts: []string{}, Results: []retriever.Result{}}},
	} {
		t.Run(name, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Index-Version", "v7")
				reply(test.body)(w, r)
			}, mapped(t, test.mappings))
			results := found
			if client.SelfRetrieving() {
				results = nil
			}
			got, err := client.Answer(t.Context(), howTo, 10, results)
			if err != nil {
				t.Fatal(err)
			}
			got.Latency, got.Attempts = 0, 0
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadReplies(t *testing.T) {
	self := `response.sources.map(s, {"id": s.path})`
	for name, test := range map[string]struct {
		mappings Mappings
		body     string
		want     string
	}{
		"missing field":     {Mappings{Output: `{"answer": response.text}`}, `{}`, "answer.output: no such key: text"},
		"missing contexts":  {Mappings{Output: `{"answer": "x", "contexts": response.docs}`}, `{}`, "answer.output: no such key: docs"},
		"null list":         {Mappings{Output: `{"answer": "x", "contexts": response.docs.map(d, d.text)}`}, `{"docs":null}`, "answer.output: a null stands where a list is expected"},
		"output is a text":  {Mappings{Output: `response.text`}, `{"text":"x"}`, "answer.output: it gave a string, but must give a map"},
		"error is a map":    {Mappings{Error: `response.error`}, `{"answer":"x","error":{}}`, "answer.error: it gave a map, but must give a string"},
		"version is a list": {Mappings{CorpusVersion: `response.v`}, `{"answer":"x","v":[]}`, "answer.corpusVersion: it is a list"},
		"no list":           {Mappings{Results: self}, `{"answer":"x"}`, "answer.results: no such key: sources"},
		"no id":             {Mappings{Results: `response.sources`}, `{"answer":"x","sources":[{"text":"x"}]}`, `answer.results: the result at rank 1 has no "id"`},
		"null results":      {Mappings{Results: `response.?sources`}, `{"answer":"x"}`, "answer.results: it gave null, but the ranked list must be a list"},
		"no end":            {Mappings{Output: `{"answer": response.a.map(a, response.a.map(b, response.a.map(c, string(c)).join("")).join("")).join("")}`}, `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 300), ",") + `]}`, "answer.output: it cost more than the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			e := fail(t, serve(t, reply(test.body), mapped(t, test.mappings)))
			expect(t, e, Malformed, 1, test.want)
		})
	}
}

func TestSelfRetrieving(t *testing.T) {
	if mustCompile(t, Mappings{}).SelfRetrieving() || !mustCompile(t, Mappings{Results: `response.r`}).SelfRetrieving() {
		t.Error("a results mapping is what makes a service retrieve by itself")
	}
}

// The variables that cost something to make are made only for who reads them.
func TestResultsAreMadeWhereTheyAreRead(t *testing.T) {
	p := mustCompile(t, Mappings{Output: `{"answer": results[0].text}`})
	q := &question{c: howTo, results: found}
	if _, ok := q.vars(p.query, p.request)["results"]; ok {
		t.Error("the default request reads no results")
	}
	if _, ok := q.vars(p.output)["results"]; !ok {
		t.Error("the output reads results")
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		anAnswer, `{"answer":"","contexts":["a",""]}`, `{"answer":1}`, `{"contexts":[{}]}`, `[]`, `null`, `"x"`, "\xff", `{"answer":"x","contexts":null}`,
		`{"text":"x","docs":["a"],"list":[{"id":"a"}],"v":7}`, `{"text":"x","v":[]}`, `{"text":"x","error":"down"}`, `{"text":"x","list":[{}]}`,
	} {
		f.Add([]byte(body))
	}
	plain, err := Compile(Mappings{})
	if err != nil {
		f.Fatal(err)
	}
	own, err := Compile(Mappings{
		Output: `{"answer": response.text, "contexts": response.?docs}`, Results: `response.?list.orValue([])`,
		Error: `response.?error`, CorpusVersion: `response.?v`,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range []*Program{plain, own} {
			r, err := p.decode(t.Context(), &question{c: howTo, topK: 10, params: map[string]any{}}, nil, body)
			if (r == nil) == (err == nil) {
				t.Fatalf("got %v and %v", r, err)
			}
			if r == nil {
				continue
			}
			size := len(r.Answer)
			for _, c := range r.Contexts {
				size += len(c)
			}
			if size > maxText || len(r.Contexts) > maxContexts {
				t.Errorf("%d bytes, %d contexts", size, len(r.Contexts))
			}
			// The plain fields come out as encoding/json has them.
			checked, _ := mapping.CheckBody(body)
			v, err := mapping.DecodeJSON(checked)
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := v.(map[string]any); p == plain && (!ok || m["answer"] != r.Answer) {
				t.Errorf("got %q of %s", r.Answer, body)
			}
		}
	})
}
