package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
)

func verdictText(correct, grounded, abstained bool) string {
	return fmt.Sprintf(`{"correct": %t, "grounded": %t, "abstained": %t, "reason": "r"}`, correct, grounded, abstained)
}

func TestGrade(t *testing.T) {
	whole := Input{Question: "q", Reference: "r", Answerable: true, Contexts: []string{"c"}, Answer: "a"}
	change := func(f func(*Input)) Input {
		in := whole
		f(&in)
		return in
	}
	noReference := change(func(in *Input) { in.Reference = " \n" })
	noContexts := change(func(in *Input) { in.Contexts = nil })
	emptyContexts := change(func(in *Input) { in.Contexts = []string{" ", "\u200b"} })
	unanswerable := change(func(in *Input) { in.Answerable = false })
	for name, tt := range map[string]struct {
		in    Input
		reply string
		want  Verdict
	}{
		"right":                              {whole, verdictText(true, true, false), Verdict{Correct: new(true), Grounded: true, Reason: "r"}},
		"wrong":                              {whole, verdictText(false, false, false), Verdict{Correct: new(false), Reason: "r"}},
		"no reference":                       {noReference, verdictText(true, true, false), Verdict{Grounded: true, Reason: "r"}},
		"no contexts":                        {noContexts, verdictText(true, true, false), Verdict{Correct: new(true), Reason: "r"}},
		"empty contexts":                     {emptyContexts, verdictText(true, true, false), Verdict{Correct: new(true), Reason: "r"}},
		"abstains":                           {whole, verdictText(true, false, true), Verdict{Correct: new(false), Grounded: true, Abstained: true, Reason: "r"}},
		"abstains without contexts":          {noContexts, verdictText(true, false, true), Verdict{Correct: new(false), Grounded: true, Abstained: true, Reason: "r"}},
		"abstains without a reference":       {noReference, verdictText(true, false, true), Verdict{Correct: new(false), Grounded: true, Abstained: true, Reason: "r"}},
		"abstains where there is no answer":  {unanswerable, verdictText(false, false, true), Verdict{Correct: new(true), Grounded: true, Abstained: true, Reason: "r"}},
		"answers where there is no answer":   {unanswerable, verdictText(true, true, false), Verdict{Correct: new(false), Grounded: true, Reason: "r"}},
		"abstained is left out of the reply": {whole, good, Verdict{Correct: new(true), Reason: "r"}},
		"abstained where it is left out, and no contexts": {noContexts, good, Verdict{Correct: new(true), Reason: "r"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, usage := grade(t, New(saying(tt.reply), Options{}), tt.in)
			if diff := cmp.Diff(tt.want, v); diff != "" {
				t.Error(diff)
			}
			if want := (Usage{Calls: 1, PromptTokens: 100, CompletionTokens: 10}); usage != want {
				t.Errorf("usage %+v", usage)
			}
		})
	}
}

func TestEmptyAnswerAbstainsUnasked(t *testing.T) {
	for _, answer := range []string{"", " \n\t", "\u00a0\u200b\ufeff"} {
		for _, answerable := range []bool{true, false} {
			model := saying()
			v, usage := grade(t, New(model, Options{}), Input{Question: "q", Answerable: answerable, Answer: answer})
			want := Verdict{Correct: new(!answerable), Grounded: true, Abstained: true, Reason: "the answer is empty"}
			if diff := cmp.Diff(want, v); diff != "" || model.calls() != 0 || usage != (Usage{}) {
				t.Errorf("%q: %s, %d calls, %+v", answer, diff, model.calls(), usage)
			}
		}
	}
}

func TestEmptyContextsAreNotSent(t *testing.T) {
	model := saying(good)
	in := korean
	in.Contexts = []string{"", "first", " \n", "second"}
	grade(t, New(model, Options{}), in)
	s := takeApart(t, model.sent[0])
	if s.get("CONTEXT 1") != "first" || s.get("CONTEXT 2") != "second" || s.get("CONTEXT 3") != "" {
		t.Errorf("data %v", s.data)
	}
}

func TestRelevance(t *testing.T) {
	model := saying(`{"scores": [5, 2], "reasoning": "r"}`)
	r, usage, err := New(model, Options{}).Relevance(t.Context(), "q", nil, []string{" ", "first", "", "second"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Relevance{Scores: []int{1, 5, 1, 2}, Average: 2.25, Reasoning: "r"}, r); diff != "" || usage.Calls != 1 {
		t.Error(diff, usage)
	}

	model = saying()
	r, _, err = New(model, Options{}).Relevance(t.Context(), "q", nil, []string{" ", ""})
	if err != nil || r.Average != 1 || model.calls() != 0 {
		t.Errorf("empty contexts: %+v, %v", r, err)
	}
	if _, _, err = New(model, Options{}).Relevance(t.Context(), "q", nil, nil); outcomeOf(err) != Failed {
		t.Errorf("no contexts: %v", err)
	}
}

// reaction is what a model does with each call.
func TestFailures(t *testing.T) {
	cut := &Response{Text: verdictText(true, true, false), Truncated: true, Calls: 1, PromptTokens: 100, CompletionTokens: 512}
	bad := &Response{Text: "I think so.", Calls: 1, PromptTokens: 100}
	fine := &Response{Text: verdictText(true, true, false), Calls: 1, PromptTokens: 100}
	refusal := &Response{Refusal: "no", Calls: 1, PromptTokens: 100}
	for name, tt := range map[string]struct {
		replies []*Response
		want    Outcome
		limits  []int
	}{
		"fine":                      {[]*Response{fine}, "", []int{512}},
		"cut once":                  {[]*Response{cut, fine}, "", []int{512, 1024}},
		"cut twice":                 {[]*Response{cut, cut, fine}, Truncated, []int{512, 1024}},
		"malformed once":            {[]*Response{bad, fine}, "", []int{512, 512}},
		"malformed twice":           {[]*Response{bad, bad, fine}, Malformed, []int{512, 512}},
		"cut, then malformed":       {[]*Response{cut, bad, fine}, "", []int{512, 1024, 1024}},
		"malformed, then cut":       {[]*Response{bad, cut, fine}, "", []int{512, 512, 1024}},
		"cut, malformed, cut":       {[]*Response{cut, bad, cut, fine}, Truncated, []int{512, 1024, 1024}},
		"malformed, cut, malformed": {[]*Response{bad, cut, bad, fine}, Malformed, []int{512, 512, 1024}},
		"refused":                   {[]*Response{refusal, fine}, Refused, []int{512}},
		"malformed, then refused":   {[]*Response{bad, refusal, fine}, Refused, []int{512, 512}},
	} {
		t.Run(name, func(t *testing.T) {
			model := &scripted{reply: func(_ context.Context, n int, _ Request) (*Response, error) { return tt.replies[n-1], nil }}
			cache := &store{}
			v, usage, err := New(model, Options{Cache: cache}).Grade(t.Context(), korean)
			if outcomeOf(err) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			var limits []int
			for _, r := range model.sent {
				limits = append(limits, r.MaxOutputTokens)
			}
			if diff := cmp.Diff(tt.limits, limits); diff != "" {
				t.Error(diff)
			}
			if n := int64(len(limits)); usage.Calls != n || usage.PromptTokens != 100*n {
				t.Errorf("usage %+v of %d calls", usage, n)
			}
			if failed := err != nil; failed != (len(cache.entries) == 0) || failed != (v == Verdict{}) {
				t.Errorf("%v leaves %+v, and %d verdicts in the cache", err, v, len(cache.entries))
			}
		})
	}
}

func TestModelErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		response *Response
		err      error
		want     Error
		usage    Usage
	}{
		"typed":         {&Response{Calls: 3, PromptTokens: 7}, &Error{Outcome: RateLimited, Message: "slow down"}, Error{Outcome: RateLimited, Message: "slow down"}, Usage{Calls: 3, PromptTokens: 7}},
		"wrapped":       {nil, fmt.Errorf("call: %w", &Error{Outcome: HTTPError, Message: "500"}), Error{Outcome: HTTPError, Message: "500"}, Usage{}},
		"untyped":       {nil, errors.New("boom"), Error{Outcome: Failed, Message: "boom"}, Usage{}},
		"a daily quota": {&Response{Calls: 1}, &Error{Outcome: QuotaExceeded, Message: "tomorrow", EndsRun: true}, Error{Outcome: QuotaExceeded, Message: "tomorrow", EndsRun: true}, Usage{Calls: 1}},
		"nothing":       {nil, nil, Error{Outcome: Malformed, Message: "the judge's reply cannot be read: it is empty"}, Usage{}},
	} {
		model := &scripted{reply: func(context.Context, int, Request) (*Response, error) { return tt.response, tt.err }}
		_, usage, err := New(model, Options{}).Grade(t.Context(), korean)
		var got *Error
		if !errors.As(err, &got) {
			t.Fatalf("%s: %T is no *Error", name, err)
		}
		if got.Outcome != tt.want.Outcome || got.Message != tt.want.Message || got.EndsRun != tt.want.EndsRun || usage != tt.usage {
			t.Errorf("%s: %+v, usage %+v", name, got, usage)
		}
	}
	panicking := &scripted{reply: func(context.Context, int, Request) (*Response, error) { panic("bug") }}
	if _, _, err := New(panicking, Options{}).Grade(t.Context(), korean); outcomeOf(err) != Failed || !strings.Contains(err.Error(), "bug") {
		t.Errorf("a panic gives %v", err)
	}
}

func TestMaxOutputTokens(t *testing.T) {
	model := saying(good)
	grade(t, New(model, Options{MaxOutputTokens: 64}), korean)
	if got := model.sent[0].MaxOutputTokens; got != 64 {
		t.Errorf("limit %d", got)
	}
}

func TestCache(t *testing.T) {
	cache := &store{}
	first, _ := grade(t, New(saying(good), Options{Cache: cache}), korean)
	model := saying()
	again, usage := grade(t, New(model, Options{Cache: cache}), korean)
	if diff := cmp.Diff(first, again); diff != "" || model.calls() != 0 || usage != (Usage{CacheHits: 1}) {
		t.Errorf("%s after %d calls, usage %+v", diff, model.calls(), usage)
	}
	for key := range cache.entries {
		if len(key) != 64 || strings.Trim(key, "0123456789abcdef") != "" {
			t.Errorf("key %s", key)
		}
	}
	contexts := []string{"a", " "}
	want, _, err := New(saying(`{"scores": [4], "reasoning": "r"}`), Options{Cache: cache}).Relevance(t.Context(), "q", nil, contexts)
	if err != nil {
		t.Fatal(err)
	}
	got, usage, err := New(saying(), Options{Cache: cache}).Relevance(t.Context(), "q", nil, contexts)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || usage != (Usage{CacheHits: 1}) {
		t.Errorf("%s, %v, %+v", diff, err, usage)
	}
}

// Whatever a verdict depends on is part of the key.
func TestCacheKey(t *testing.T) {
	options := Options{CacheScope: "ns", Identity: Identity{Provider: "OpenAI", Model: "m", URL: "u", Parameters: "{}"}}
	keyOf := func(o Options, in Input) string {
		cache := &store{}
		o.Cache = cache
		grade(t, New(saying(good), o), in)
		return slices.Collect(maps.Keys(cache.entries))[0]
	}
	relevanceKey := func(o Options, question string, history []golden.Turn, contexts ...string) string {
		cache := &store{}
		o.Cache = cache
		reply := fmt.Sprintf(`{"scores": [1%s], "reasoning": ""}`, strings.Repeat(", 1", len(contexts)-1))
		if _, _, err := New(saying(reply), o).Relevance(t.Context(), question, history, contexts); err != nil {
			t.Fatal(err)
		}
		return slices.Collect(maps.Keys(cache.entries))[0]
	}
	keys := map[string]string{}
	add := func(what, key string) {
		if other, taken := keys[key]; taken {
			t.Errorf("%s has the key of %s", what, other)
		}
		keys[key] = what
	}
	with := func(f func(*Options, *Input)) string {
		o, in := options, korean
		in.Contexts, in.History = slices.Clone(in.Contexts), slices.Clone(in.History)
		f(&o, &in)
		return keyOf(o, in)
	}
	add("the base", with(func(*Options, *Input) {}))
	add("namespace", with(func(o *Options, _ *Input) { o.CacheScope = "other" }))
	add("provider", with(func(o *Options, _ *Input) { o.Identity.Provider = "Anthropic" }))
	add("model", with(func(o *Options, _ *Input) { o.Identity.Model = "m2" }))
	add("url", with(func(o *Options, _ *Input) { o.Identity.URL = "u2" }))
	add("parameters", with(func(o *Options, _ *Input) { o.Identity.Parameters = `{"temperature":0}` }))
	add("prompt", with(func(o *Options, _ *Input) { o.Prompt = "own" }))
	add("question", with(func(_ *Options, in *Input) { in.Question += "?" }))
	add("history", with(func(_ *Options, in *Input) { in.History[0].Content = "x" }))
	add("role", with(func(_ *Options, in *Input) { in.History[0].Role = "system" }))
	add("reference", with(func(_ *Options, in *Input) { in.Reference = "x" }))
	add("answerable", with(func(_ *Options, in *Input) { in.Answerable = false }))
	add("a context", with(func(_ *Options, in *Input) { in.Contexts[1] = "x" }))
	add("order of contexts", with(func(_ *Options, in *Input) { slices.Reverse(in.Contexts) }))
	add("one context", with(func(_ *Options, in *Input) { in.Contexts = in.Contexts[:1] }))
	add("answer", with(func(_ *Options, in *Input) { in.Answer = "x" }))
	bare := Input{Question: "q", Contexts: []string{"c"}, Answer: "a"}
	add("bare", keyOf(options, bare))
	add("relevance", relevanceKey(options, "q", nil, "c"))
	add("relevance, question", relevanceKey(options, "q2", nil, "c"))
	add("relevance, history", relevanceKey(options, "q", korean.History, "c"))
	add("relevance, contexts", relevanceKey(options, "q", nil, "c", "d"))

	if (cacheKey{Kind: kindVerdict}).String() == (cacheKey{Kind: kindRelevance}).String() {
		t.Error("the kind is not part of the key")
	}
	k := cacheKey{Identity: ModelIdentity(options.Identity, "")}
	newer := k
	newer.Identity.ParserVersion++
	if k.String() == newer.String() || k.Identity.ParserVersion != ParserVersion {
		t.Error("the parser's version is not part of the key")
	}

	same := keyOf(options, korean)
	if again := with(func(_ *Options, in *Input) { in.Contexts = append(in.Contexts, " ") }); same != again {
		t.Error("an empty context, which is not sent, changes the key")
	}
}

func TestBrokenCache(t *testing.T) {
	for name, cache := range map[string]*store{
		"fails":        {broken: true},
		"garbage":      {entries: map[string][]byte{}},
		"empty object": {entries: map[string][]byte{}},
		"null":         {entries: map[string][]byte{}},
	} {
		j := New(saying(good), Options{Cache: cache})
		garbage := map[string]string{"garbage": "{", "empty object": "{}", "null": "null"}[name]
		if garbage != "" {
			grade(t, j, korean)
			for key := range cache.entries {
				cache.entries[key] = []byte(garbage)
			}
		}
		var failures []error
		model := saying(good)
		v, usage := grade(t, New(model, Options{Cache: cache, CacheFailed: func(err error) { failures = append(failures, err) }}), korean)
		if v.Correct == nil || !*v.Correct || usage.Calls != 1 || usage.CacheHits != 0 {
			t.Errorf("%s: %+v, %+v", name, v, usage)
		}
		if want := map[string]int{"fails": 2, "garbage": 1}[name]; len(failures) != want {
			t.Errorf("%s: told of %v", name, failures)
		}
	}
	// Scores of another number of contexts are no scores.
	cache := &store{}
	contexts := []string{"a", "b"}
	reply := `{"scores": [4, 2], "reasoning": "r"}`
	if _, _, err := New(saying(reply), Options{Cache: cache}).Relevance(t.Context(), "q", nil, contexts); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`{"result": {"scores": [4]}}`, `{"result": {"scores": [4, 9]}}`} {
		for key := range cache.entries {
			cache.entries[key] = []byte(kept)
		}
		r, usage, err := New(saying(reply), Options{Cache: cache}).Relevance(t.Context(), "q", nil, contexts)
		if err != nil || r.Average != 3 || usage.Calls != 1 {
			t.Errorf("%s: %+v, %+v, %v", kept, r, usage, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	id := ModelIdentity(Identity{Provider: "OpenAI", Model: "m"}, "own")
	want := Identity{Provider: "OpenAI", Model: "m", PromptDigest: PromptDigest("own"), ParserVersion: ParserVersion}
	if id != want {
		t.Errorf("%+v", id)
	}
	if _, err := json.Marshal(id); err != nil {
		t.Error(err)
	}
}
