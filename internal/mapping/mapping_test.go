package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

var (
	requestScope, replyScope = NewScopes(Variable{"contexts", cel.ListType(cel.StringType)})
	requestKind              = RequestKind("answer", requestScope)
	outputKind               = Kind{Field: "answer.output", Scope: replyScope, Gives: "a map", Accepts: []cel.Kind{cel.MapKind}}

	howTo = &golden.Case{ID: "q01", Question: "how?", Tags: []string{"ko"}, History: []golden.Turn{{Role: "user", Content: "hi"}}}
)

func mustCompile(t testing.TB, k Kind, source string) *Expression {
	t.Helper()
	e, problems := Compile(k, source)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return e
}

func TestScopes(t *testing.T) {
	for name, test := range map[string]struct {
		kind         Kind
		source, want string
	}{
		"common":           {requestKind, `[question, string(topK), case.id, params.x]`, ""},
		"its own":          {requestKind, `contexts`, ""},
		"the reply":        {outputKind, `{"a": response, "b": headers, "c": contexts, "q": question}`, ""},
		"no reply yet":     {requestKind, `headers`, "answer.request: 1:1: undeclared reference to 'headers': there is no reply yet when the request is made; in scope are question, topK, case, params, contexts"},
		"another's":        {requestKind, `vector`, "answer.request: 1:1: undeclared reference to 'vector'; in scope are question, topK, case, params, contexts"},
		"of the reply":     {outputKind, `{"a": vector}`, "answer.output: 1:7: undeclared reference to 'vector'; in scope are response, headers, question, topK, case, params, contexts"},
		"gives":            {outputKind, `[1]`, "answer.output: it gives list(int), but must give a map"},
		"known at runtime": {outputKind, `response`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Compile(test.kind, test.source)
			got := ""
			for _, p := range problems {
				got += p.String()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReads(t *testing.T) {
	for source, want := range map[string]bool{
		`contexts`:                                    true,
		`{"a": [contexts.map(c, c)]}`:                 true,
		`question`:                                    false,
		`case.tags.map(contexts, contexts)`:           false,
		`case.tags.map(c, contexts.size())`:           true,
		`contexts.exists(contexts, true)`:             true,
		`case.tags.exists(question, question == "x")`: false,
	} {
		e := mustCompile(t, requestKind, source)
		if got := e.Reads("contexts"); got != want || e.Source() != source {
			t.Errorf("%s: reads contexts: %v", e.Source(), got)
		}
	}
}

func variables() map[string]any {
	vars := Variables(howTo, 10, map[string]any{"n": int64(7)})
	vars["contexts"] = []string{"A", ""}
	return vars
}

func TestBody(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		limit  int
		want   string
		err    string
	}{
		"all":          {`{"q": question, "k": topK, "c": contexts, "id": case.id, "t": case.tags, "h": case.history, "m": case.metadata, "n": params.n}`, 1 << 20, `{"c":["A",""],"h":[{"content":"hi","role":"user"}],"id":"q01","k":10,"m":{},"n":7,"q":"how?","t":["ko"]}`, ""},
		"too many":     {`[1, 2, 3]`, 3 * itemWeight, "", "answer.request: it is too large"},
		"too long":     {`"0123456789"`, itemWeight + 9, "", "answer.request: it is too large"},
		"just so":      {`"0123456789"`, itemWeight + 10, `"0123456789"`, ""},
		"no JSON":      {`type(question)`, 1 << 20, "", "answer.request: JSON has no type"},
		"fails":        {`params.nope`, 1 << 20, "", "answer.request: no such key: nope"},
		"not a number": {`double("Infinity")`, 1 << 20, "", "JSON has no number +Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := mustCompile(t, requestKind, test.source).Body(t.Context(), variables(), test.limit)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				if strings.HasSuffix(test.err, "too large") && !errors.Is(err, ErrTooLarge) {
					t.Error("not an ErrTooLarge")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The mappings of one reply share what they may build.
func TestVariablesShareABound(t *testing.T) {
	// Four lists a step, of which each measures more than a third of MaxValue.
	e := mustCompile(t, outputKind, `{"n": [1, 2, 3, 4].map(i, [response]).size()}`)
	vars := variables()
	AddReply(vars, strings.Repeat("x", 6<<20), nil)
	var err error
	runs := 0
	for ; err == nil && runs < 20; runs++ {
		_, err = e.Eval(t.Context(), vars)
	}
	if err == nil || !strings.Contains(err.Error(), "it builds more than 128 MiB in all") {
		t.Errorf("got %v", err)
	}
	if runs < 2 {
		t.Errorf("it ended at the first run already")
	}
}

func TestAddReply(t *testing.T) {
	vars := variables()
	AddReply(vars, map[string]any{"a": int64(1)}, http.Header{"X-Twice": {"a", "b"}})
	value, err := mustCompile(t, outputKind, `{"v": headers["x-twice"] + string(response.a)}`).Eval(t.Context(), vars)
	if err != nil {
		t.Fatal(err)
	}
	limit := 1000
	got, err := Plain(value, &limit)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"v": "a, b1"}, got); diff != "" {
		t.Error(diff)
	}
}

// A mapping that was left out says nothing.
func TestNoExpression(t *testing.T) {
	var none *Expression
	if message, err := none.Message(t.Context(), nil); message != "" || err != nil {
		t.Error(message, err)
	}
	if version, err := none.Version(t.Context(), nil); version != "" || err != nil {
		t.Error(version, err)
	}
}

func TestEvalWrapsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	vars := variables()
	AddReply(vars, []any{int64(1)}, nil)
	_, err := mustCompile(t, outputKind, `{"a": [`+strings.Repeat(`[response],`, 40)+`1]}`).Eval(ctx, vars)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	for _, source := range []string{`{"answer": response.?a}`, `[1].map(x, x)`, `{`, `"x".matches("[")`, `response.a.b[0]`, `vector`, "\x00", `{1: 2, "a": b"x"}`} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e, problems := Compile(outputKind, source)
		if (e == nil) != (len(problems) > 0) {
			t.Fatalf("got %v and %v", e, problems)
		}
		if e == nil {
			return
		}
		vars := variables()
		AddReply(vars, map[string]any{"a": []any{int64(1)}}, nil)
		value, err := e.Eval(t.Context(), vars)
		if (value == nil) == (err == nil) {
			t.Errorf("got %v and %v", value, err)
		}
		if _, optional := value.(*types.Optional); optional {
			t.Error("an optional came out")
		}
	})
}

// What is decoded is what encoding/json decodes, with its integers kept.
func FuzzDecodeJSON(f *testing.F) {
	for _, body := range []string{`{"a":[1,-2.5,18446744073709551615,1e3,null,true]}`, `[]`, `"\ud800"`, `{}x`, `01`, `1e999`, "\xff"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		body, err := CheckBody(raw)
		if err != nil {
			return
		}
		v, err := DecodeJSON(body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q is not JSON", body)
		}
		again, err := EncodeJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := errors.Join(json.Unmarshal(body, &want), json.Unmarshal(again, &got)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if bytes.Contains(again, []byte(`\u003c`)) {
			t.Errorf("HTML is escaped: %s", again)
		}
	})
}
