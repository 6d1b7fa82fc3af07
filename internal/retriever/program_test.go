package retriever

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/mapping"
)

func mustCompile(t testing.TB, m Mappings) *Program {
	t.Helper()
	p, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// slow gives the same program without its shortcuts past CEL.
func slow(p *Program) *Program {
	without := *p
	without.plainRequest, without.plainResults = false, false
	return &without
}

// outcomeOf says how a call ends whose reply could not be read.
func outcomeOf(err error) Outcome {
	if _, ok := errors.AsType[*call.Reported](err); ok {
		return Failed
	}
	return Malformed
}

var howTo = &golden.Case{
	ID:       "q01",
	Question: "어떻게 <b>리셋</b>하나요? \"now\"\n\u2028",
	Tags:     []string{"howto", "ko"},
	Metadata: map[string]any{"tenant": "docs", "big": int64(9007199254740993)},
	History:  []golden.Turn{{Role: "user", Content: "hi"}},
}

func TestEncode(t *testing.T) {
	for name, test := range map[string]struct {
		mappings Mappings
		query    string
		body     string
	}{
		"preset": {Mappings{}, "", `{"query":"어떻게 <b>리셋</b>하나요? \"now\"\n\u2028","top_k":10}`},
		"everything in scope": {
			Mappings{HasEmbedding: true, Request: `{"id": case.id, "tags": case.tags, "tenant": case.metadata.tenant, "big": case.metadata.big, "turns": case.history.map(h, h.role + ": " + h.content), "p": params.n, "f": params.f, "v": vector}`},
			"", `{"big":9007199254740993,"f":0.5,"id":"q01","p":18446744073709551615,"tags":["howto","ko"],"tenant":"docs","turns":["user: hi"],"v":[0.25,-1,3e-7]}`,
		},
		"CEL's own types": {
			Mappings{Request: `{"b": b"\x00\xff", "d": duration("90s"), "t": timestamp("2026-01-02T03:04:05Z"), "n": null, 1: true, "u": 7u, "o": params.?no, ?"left": params.?no}`},
			"", `{"1":true,"b":"AP8=","d":"1m30s","n":null,"o":null,"t":"2026-01-02T03:04:05Z","u":7}`,
		},
		"a list as body": {Mappings{Request: `[question.size(), topK]`}, "", `[25,10]`},
		"parameters": {
			Mappings{Method: http.MethodGet, Query: `{"q": "a b&c", "k": topK, "tag": case.tags, "f": 0.1, "yes": true, "left": null}`},
			"f=0.1&k=10&q=a+b%26c&tag=howto&tag=ko&yes=true", "",
		},
		"both": {Mappings{Query: `{"index": "docs"}`}, "index=docs", `{"query":"어떻게 <b>리셋</b>하나요? \"now\"\n\u2028","top_k":10}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustCompile(t, test.mappings)
			params, err := mapping.OwnParams(map[string]any{"n": json.Number("18446744073709551615"), "f": 0.5})
			if err != nil {
				t.Fatal(err)
			}
			q := &question{c: howTo, topK: 10, params: params, vector: []float64{0.25, -1, 3e-7}}
			for _, p := range []*Program{p, slow(p)} {
				request, err := p.encode(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.query, request.Query.Encode()); diff != "" {
					t.Error("query", diff)
				}
				if diff := cmp.Diff(test.body, string(request.Body)); diff != "" {
					t.Error("body", diff)
				}
			}
		})
	}
}

func TestEncodeFails(t *testing.T) {
	for name, test := range map[string]struct {
		mappings Mappings
		want     string
	}{
		"missing metadata":  {Mappings{Request: `{"t": case.metadata.nope}`}, "retriever.request: no such key: nope"},
		"not a number":      {Mappings{Request: `double("NaN")`}, "retriever.request: JSON has no number NaN"},
		"a type":            {Mappings{Request: `{"t": type(question)}`}, "retriever.request: JSON has no type"},
		"a key":             {Mappings{Request: `{1.5: "x"}`}, "retriever.request: a map's key must be a string, it is a double"},
		"not a map":         {Mappings{Query: `params.?nope`}, "retriever.query: it gave null, but must give a map"},
		"nested parameters": {Mappings{Query: `{"a": [[1]]}`}, `retriever.query: the parameter "a" is neither text nor number`},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustCompile(t, test.mappings)
			_, err := p.encode(t.Context(), &question{c: howTo, topK: 10, params: map[string]any{}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func score(f float64) *float64 { return &f }

// plainReplies are replies to the preset Assay. What Go reads of them and what
// CEL reads must be the same.
var plainReplies = map[string]struct {
	body string
	want []Result
	err  string
}{
	"all fields": {
		body: `{"took": 3, "results": [{"id": "a", "text": "T", "score": 1.5, "document": "d", "metadata": {"n": 9007199254740993, "f": 1.5, "l": [1, "x", null, {"k": true}]}, "more": [1, {"x": "]}"}]}], "next": null}`,
		want: []Result{{ID: "a", Text: "T", Score: score(1.5), Document: "d", Metadata: map[string]any{"n": int64(9007199254740993), "f": 1.5, "l": []any{int64(1), "x", nil, map[string]any{"k": true}}}}},
	},
	"id alone":             {body: `{"results":[{"id":"a"},{"id":"b"}]}`, want: []Result{{ID: "a"}, {ID: "b"}}},
	"none":                 {body: ` { "results" : [ ] } `, want: []Result{}},
	"nulls":                {body: `{"results":[{"id":"a","text":null,"score":null,"document":null,"metadata":null}]}`, want: []Result{{ID: "a"}}},
	"empty text":           {body: `{"results":[{"id":"a","text":""}]}`, want: []Result{{ID: "a"}}},
	"a byte-order mark":    {body: "\xef\xbb\xbf{\"results\":[]}", want: []Result{}},
	"escapes":              {body: `{"results":[{"id":"\ud55c\uae00\/1","text":"\"q\" \\ \n\t\ud83d\ude00 \ud800"}]}`, want: []Result{{ID: "한글/1", Text: "\"q\" \\ \n\t😀 \ufffd"}}},
	"escaped keys":         {body: `{"\u0072esults":[{"\u0069d":"a"}]}`, want: []Result{{ID: "a"}}},
	"case of keys counts":  {body: `{"Results": 1, "results":[{"ID":"x","id":"a","Text":"no"}]}`, want: []Result{{ID: "a"}}},
	"decomposed id":        {body: "{\"results\":[{\"id\":\"\u1112\u1161\u11ab.md\"}]}", want: []Result{{ID: "\u1112\u1161\u11ab.md"}}},
	"numbers as ids":       {body: `{"results":[{"id":7},{"id":-3},{"id":1234567},{"id":9007199254740993},{"id":18446744073709551615},{"id":-9223372036854775808}]}`, want: []Result{{ID: "7"}, {ID: "-3"}, {ID: "1234567"}, {ID: "9007199254740993"}, {ID: "18446744073709551615"}, {ID: "-9223372036854775808"}}},
	"decimals as ids":      {body: `{"results":[{"id":1.0},{"id":1.5},{"id":1e3}]}`, want: []Result{{ID: "1"}, {ID: "1.5"}, {ID: "1000"}}},
	"text ids stay":        {body: `{"results":[{"id":"007"},{"id":"1.10"}]}`, want: []Result{{ID: "007"}, {ID: "1.10"}}},
	"numbers as documents": {body: `{"results":[{"id":"a","document":42}]}`, want: []Result{{ID: "a", Document: "42"}}},
	"integer scores":       {body: `{"results":[{"id":"a","score":3},{"id":"b","score":-0},{"id":"c","score":1e-7},{"id":"d","score":18446744073709551615}]}`, want: []Result{{ID: "a", Score: score(3)}, {ID: "b", Score: score(0)}, {ID: "c", Score: score(1e-7)}, {ID: "d", Score: score(18446744073709551615)}}},
	"a key twice":          {body: `{"results":[{"id":"a","id":"b","text":"x","text":"y"}],"results":[{"id":"c"}]}`, want: []Result{{ID: "c"}}},
	"repeated ids":         {body: `{"results":[{"id":"a"},{"id":"a"}]}`, want: []Result{{ID: "a"}, {ID: "a"}}},

	"no id":                {body: `{"results":[{"id":"a"},{"text":"x"}]}`, err: `retriever.results: the result at rank 2 has no "id"`},
	"null id":              {body: `{"results":[{"id":null}]}`, err: `retriever.results: the result at rank 1 has no "id"`},
	"empty id":             {body: `{"results":[{"id":""}]}`, err: `retriever.results: the result at rank 1 has an "id" that is empty`},
	"a list as id":         {body: `{"results":[{"id":["a"]}]}`, err: `has an "id" that is a list, but must be a string or a number`},
	"a bool as id":         {body: `{"results":[{"id":true}]}`, err: `has an "id" that is a bool`},
	"digits lost":          {body: `{"results":[{"id":18446744073709551616}]}`, err: `has an "id" that is a number too large to keep every digit`},
	"text is a number":     {body: `{"results":[{"id":"a","text":1}]}`, err: `has a "text" that is an int, but must be a string`},
	"score is text":        {body: `{"results":[{"id":"a","score":"1"}]}`, err: `has a "score" that is a string, but must be a number`},
	"document is a map":    {body: `{"results":[{"id":"a","document":{}}]}`, err: `has a "document" that is a map`},
	"metadata is a list":   {body: `{"results":[{"id":"a","metadata":[]}]}`, err: `has "metadata" that is a list, but must be a map`},
	"metadata too deep":    {body: `{"results":[{"id":"a","metadata":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}]}`, err: `it nests deeper than 100 levels`},
	"a text as result":     {body: `{"results":["a"]}`, err: `the result at rank 1 is a string, but must be a map with an "id"`},
	"no results":           {body: `{"hits":[]}`, err: `retriever.results: no such key: results`},
	"results are null":     {body: `{"results":null}`, err: `it gave null, but the ranked list must be a list`},
	"results are a map":    {body: `{"results":{}}`, err: `it gave a map, but the ranked list must be a list`},
	"root is a list":       {body: `[]`, err: `retriever.results:`},
	"empty":                {body: " \n", err: `the body is empty`},
	"HTML":                 {body: `<html>`, err: `the body is not JSON: invalid character '<'`},
	"cut":                  {body: `{"results":[{"id":"a"`, err: `the body is not JSON: it ends in the middle of a value`},
	"followed by another":  {body: `{"results":[]}{}`, err: `something follows after the value`},
	"followed by garbage":  {body: `{"results":[]}x`, err: `something follows after the value`},
	"Latin-1":              {body: "{\"results\":[{\"id\":\"caf\xe9\"}]}", err: `the body is not UTF-8`},
	"a bomb":               {body: `{"results":[],"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, err: `exceeded max depth`},
	"a number's range":     {body: `{"results":[{"id":"a","score":1e999}]}`, err: `the number 1e999 is out of range`},
	"bad number":           {body: `{"results":[{"id":01}]}`, err: `the body is not JSON`},
	"bad number elsewhere": {body: `{"results":[],"x":01}`, err: `the body is not JSON`},
	"bad brackets":         {body: `{"results":[],"x":[}}`, err: `the body is not JSON`},
	"a comma too many":     {body: `{"results":[{"id":"a"},]}`, err: `the body is not JSON`},
	"control in a string":  {body: "{\"results\":[{\"id\":\"a\nb\"}]}", err: `the body is not JSON`},
}

func TestDecodePlain(t *testing.T) {
	p := mustCompile(t, Mappings{})
	for name, test := range plainReplies {
		t.Run(name, func(t *testing.T) {
			for _, p := range []*Program{p, slow(p)} {
				got, _, err := p.decode(t.Context(), &question{c: howTo, topK: 10}, nil, []byte(test.body))
				if test.err != "" {
					if err == nil || !strings.Contains(err.Error(), test.err) {
						t.Errorf("got %v, want %s", err, test.err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// What is common must not fall back to CEL, or the shortcut is none.
func TestPlainResultsTakesWhatIsCommon(t *testing.T) {
	for _, name := range []string{"all fields", "id alone", "none", "nulls", "escapes", "numbers as ids", "integer scores", "decomposed id"} {
		if _, ok := plainResults([]byte(plainReplies[name].body)); !ok {
			t.Errorf("%s: left to CEL", name)
		}
	}
}

func FuzzDecodePlain(f *testing.F) {
	for _, test := range plainReplies {
		if len(test.body) < 1000 {
			f.Add([]byte(test.body))
		}
	}
	p, err := Compile(Mappings{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q := &question{c: howTo, topK: 10}
		fast, _, fastErr := p.decode(t.Context(), q, nil, body)
		exact, _, err := slow(p).decode(t.Context(), q, nil, body)
		if fmt.Sprint(fastErr) != fmt.Sprint(err) {
			t.Fatalf("fast: %v\nCEL:  %v", fastErr, err)
		}
		if diff := cmp.Diff(exact, fast, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		for _, r := range fast {
			if r.ID == "" {
				t.Fatal("an empty id")
			}
		}
	})
}

func TestDecodeMapped(t *testing.T) {
	header := http.Header{"X-Index-Version": {"v7"}, "X-Twice": {"a", "b"}}
	for name, test := range map[string]struct {
		mappings Mappings
		body     string
		want     []Result
		version  string
		err      string
		outcome  Outcome
	}{
		"root is a list": {
			mappings: Mappings{Results: `response.map(r, {"id": string(r.id), "text": r.content, "score": r.similarity})`},
			body:     `[{"id": 1234567, "content": "x", "similarity": 1}, {"id": 9007199254740993, "content": "y", "similarity": 0.5}]`,
			want:     []Result{{ID: "1234567", Text: "x", Score: score(1)}, {ID: "9007199254740993", Text: "y", Score: score(0.5)}},
		},
		"the request's variables": {
			mappings: Mappings{Results: `response.ids.map(i, {"id": case.metadata.tenant + "/" + i, "text": question}).slice(0, topK - 9)`},
			body:     `{"ids": ["a", "b"]}`,
			want:     []Result{{ID: "docs/a", Text: howTo.Question}},
		},
		"optional results":      {mappings: Mappings{Results: `response.?results`}, body: `{"results":[{"id":"a"}]}`, want: []Result{{ID: "a"}}},
		"optional fields":       {mappings: Mappings{Results: `response.r.map(x, {"id": x.id, ?"text": x.?body})`}, body: `{"r":[{"id":"a"},{"id":"b","body":"t"}]}`, want: []Result{{ID: "a"}, {ID: "b", Text: "t"}}},
		"no results":            {mappings: Mappings{Results: `response.?results`}, body: `{}`, err: "it gave null", outcome: Malformed},
		"missing field":         {mappings: Mappings{Results: `response.r.map(x, {"id": x.path})`}, body: `{"r":[{"id":"a"}]}`, err: "retriever.results: no such key: path", outcome: Malformed},
		"null list":             {mappings: Mappings{Results: `response.r.map(x, {"id": x.path})`}, body: `{"r":null}`, err: "retriever.results: a null stands where a list is expected", outcome: Malformed},
		"wrong score":           {mappings: Mappings{Results: `[{"id": "a", "score": double("NaN")}]`}, body: `{}`, err: `has a "score" that is a double, but must be a number`, outcome: Malformed},
		"reported":              {mappings: Mappings{Error: `response.?errors.orValue([]).map(e, e.message).join("; ")`}, body: `{"errors":[{"message":"shard 3"},{"message":"shard 4"}],"results":[]}`, err: "shard 3; shard 4", outcome: Failed},
		"reported nothing":      {mappings: Mappings{Error: `response.error`}, body: `{"error":"","results":[]}`, want: []Result{}},
		"reported null":         {mappings: Mappings{Error: `response.error`}, body: `{"error":null,"results":[]}`, want: []Result{}},
		"reported not a text":   {mappings: Mappings{Error: `response.error`}, body: `{"error":{},"results":[]}`, err: "retriever.error: it gave a map, but must give a string", outcome: Malformed},
		"version from header":   {mappings: Mappings{CorpusVersion: `headers["x-index-version"]`}, body: `{"results":[]}`, version: "v7"},
		"several values":        {mappings: Mappings{CorpusVersion: `headers["x-twice"]`}, body: `{"results":[]}`, version: "a, b"},
		"version is a number":   {mappings: Mappings{CorpusVersion: `response.version`}, body: `{"results":[],"version":12345678901}`, version: "12345678901"},
		"version is null":       {mappings: Mappings{CorpusVersion: `response.version`}, body: `{"results":[],"version":null}`, version: ""},
		"version is not there":  {mappings: Mappings{CorpusVersion: `headers["x-nope"]`}, body: `{"results":[]}`, err: "retriever.corpusVersion: no such key: x-nope", outcome: Malformed},
		"version may not exist": {mappings: Mappings{CorpusVersion: `headers[?"x-nope"]`}, body: `{"results":[]}`, version: ""},
		"version is a list":     {mappings: Mappings{CorpusVersion: `response.version`}, body: `{"results":[],"version":[]}`, err: "retriever.corpusVersion: it is a list", outcome: Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustCompile(t, test.mappings)
			got, version, err := p.decode(t.Context(), &question{c: howTo, topK: 10}, header, []byte(test.body))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || outcomeOf(err) != test.outcome {
					t.Errorf("got %v, want %s: %s", err, test.outcome, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if version != test.version {
				t.Errorf("got version %q, want %q", version, test.version)
			}
		})
	}
}

func FuzzDecodeMapped(f *testing.F) {
	f.Add([]byte(`{"hits":{"hits":[{"_source":{"path":"a","body":"b"},"_score":1}]},"_shards":{"failed":0,"total":1}}`))
	f.Add([]byte(`{"hits":{"hits":null}}`))
	p, err := Compile(Mappings{Preset: "OpenSearch"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q := &question{c: howTo, topK: 10, params: map[string]any{"idField": "path", "textField": "body"}}
		results, _, err := p.decode(t.Context(), q, nil, body)
		if err == nil && results == nil {
			t.Error("neither results nor an error")
		}
	})
}

// A mapping that grows without end must end in an error, and not in memory.
func TestExpressionsAreBounded(t *testing.T) {
	items := make([]string, 300)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"%d"}`, i)
	}
	body := `{"a":[` + strings.Join(items, ",") + `],"text":"` + strings.Repeat("x", 1<<20) + `"}`
	for name, test := range map[string]struct{ results, want string }{
		"cost":              {`response.a.map(a, response.a.map(b, response.a.map(c, c.id)))`, "it cost more than the limit"},
		"texts that double": {`[response.text]` + strings.Repeat(".map(a, a + a)", 20), ""},
		"lists that double": {`[response.a]` + strings.Repeat(".map(a, a + a)", 60), ""},
		"lists in lists":    {`[[1]]` + strings.Repeat(".map(a, [a, a])", 40), "would grow beyond 16 MiB"},
		"maps in maps":      {`[{"a": 1}]` + strings.Repeat(`.map(a, {"a": a, "b": a})`, 40), "would grow beyond 16 MiB"},
		"replace":           {`[{"id": response.text.replace("", response.text)}]`, "replace() would grow beyond 16 MiB"},
		"join":              {`[{"id": response.a.map(x, "y").join(response.text)}]`, "join() would grow beyond 16 MiB"},
		"format":            {`[{"id": "%s".format([[` + strings.TrimSuffix(strings.Repeat("response.text, ", 9), ", ") + `]])}]`, "would grow beyond 16 MiB"},
		"matches":           {`[{"id": string(response.text.matches(response.text))}]`, "it cost more than the limit"},
		"range":             {`lists.range(response.text.size() * 9).map(x, {"id": x})`, "it costs too much"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(Mappings{Results: test.results})
			if err == nil {
				_, _, err = p.decode(t.Context(), &question{c: howTo, topK: 10}, nil, []byte(body))
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestExpressionEndsWithItsContext(t *testing.T) {
	items := strings.TrimSuffix(strings.Repeat("1,", 5000), ",")
	p := mustCompile(t, Mappings{Results: `response.map(a, {"id": a})`})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := p.decode(ctx, &question{c: howTo, topK: 10}, nil, []byte("["+items+"]"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTenThousandResults(t *testing.T) {
	const n = 10_000
	for name, test := range map[string]struct {
		mappings Mappings
		item     string
		around   [2]string
	}{
		"Assay":      {Mappings{}, `{"id":"%d","text":"a text","score":0.5}`, [2]string{`{"results":[`, `]}`}},
		"OpenSearch": {Mappings{Preset: "OpenSearch"}, `{"_id":"x","_score":0.5,"_source":{"path":"%d","body":"a text"}}`, [2]string{`{"timed_out":false,"_shards":{"total":1,"failed":0},"hits":{"hits":[`, `]}}`}},
		"long texts": {Mappings{Preset: "OpenAIVectorStore"}, `{"file_id":"f","filename":"%d","score":0.5,"more":"","content":[{"type":"text","text":"` + strings.Repeat("a text ", 90) + `"},{"type":"text","text":"a text"}]}`, [2]string{`{"data":[`, `]}`}},
		"OpenAI":     {Mappings{Preset: "OpenAIVectorStore"}, `{"file_id":"f","filename":"%d","score":0.5,"content":[{"type":"text","text":"a text"}]}`, [2]string{`{"data":[`, `]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			items := make([]string, n)
			for i := range items {
				items[i] = fmt.Sprintf(test.item, i)
			}
			body := test.around[0] + strings.Join(items, ",") + test.around[1]
			p := mustCompile(t, test.mappings)
			q := &question{c: howTo, topK: n, params: map[string]any{"idField": "path", "textField": "body"}}
			for _, p := range []*Program{p, slow(p)} {
				got, _, err := p.decode(t.Context(), q, nil, []byte(body))
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != n || got[n-1].ID != "9999" || !strings.HasSuffix(got[n-1].Text, "a text") {
					t.Errorf("got %d results, the last %+v", len(got), got[len(got)-1])
				}
			}
		})
	}
}
