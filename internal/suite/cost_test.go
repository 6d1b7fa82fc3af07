package suite

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
)

func TestCostOfAnswersAndJudge(t *testing.T) {
	set := &golden.Set{}
	for i := range 10 {
		c := golden.Case{Question: fmt.Sprintf("How long does a refund take, question %d?", i), ReferenceAnswer: "Fourteen days.", Answerable: i > 0}
		if i > 1 {
			c.Relevant = []golden.Relevant{{ID: "x", Grade: 1}}
		}
		set.Cases = append(set.Cases, c)
	}
	label := judge.Label{Question: "How long does a refund take?", Reference: "Fourteen days.", Contexts: []string{"Refunds take fourteen days."}, Answer: "Fourteen days.", Answerable: true, Grounded: ptr.To(true)}
	const (
		answers = `{answer: {url: "http://bot/answer"}}`
		model   = `{judge: {provider: OpenAI, model: m}}`
		lexical = `{judge: {provider: Lexical}}`
		own     = `{retriever: {url: null}, answer: {results: '[]'}}`
	)
	upTo := func(stages ...v1alpha1.Stage) RunOptions { return RunOptions{Stages: stages} }
	for name, test := range map[string]struct {
		patches []string
		options RunOptions
		labels  int
		calls   int64
		tokens  bool
	}{
		"retrieval alone":           {nil, RunOptions{}, 0, 8, false},
		"answers: every case":       {[]string{answers}, RunOptions{}, 0, 20, false},
		"warm-up of retrieval":      {[]string{answers, `{retriever: {warmupRequests: 3}}`}, RunOptions{}, 0, 23, false},
		"vectors":                   {[]string{answers, `{retriever: {embedding: {url: "http://e/v1", model: m}, request: '{"v": vector}'}}`}, RunOptions{}, 0, 30, false},
		"a service of its own list": {[]string{answers, own}, RunOptions{}, 0, 10, false},
		"its warm-up":               {[]string{answers, own, `{retriever: {warmupRequests: 3}}`}, RunOptions{}, 0, 13, false},
		"words alone":               {[]string{answers, lexical}, RunOptions{}, 5, 20, false},
		"a model":                   {[]string{answers, model}, RunOptions{}, 0, 30, true},
		"contexts graded":           {[]string{answers, model, relevance}, RunOptions{}, 0, 40, true},
		"labels":                    {[]string{answers, model}, RunOptions{}, 5, 35, true},
		"up to retrieval":           {[]string{answers, model}, upTo(v1alpha1.StageRetrieval), 5, 8, false},
		"up to answers":             {[]string{answers, model}, upTo(v1alpha1.StageRetrieval, v1alpha1.StageAnswer), 5, 20, false},
		"own list, up to retrieval": {[]string{answers, own, model}, upTo(v1alpha1.StageRetrieval), 5, 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			refs := Referenced{}
			for range test.labels {
				refs.Labels = append(refs.Labels, label)
			}
			got := CostOf(suiteOf(t, test.patches...), test.options, set, refs)
			if got.Calls != test.calls || (got.Tokens > 0) != test.tokens {
				t.Errorf("%d calls and %d tokens, want %d calls", got.Calls, got.Tokens, test.calls)
			}
		})
	}

	// Each part of a prompt adds to the estimate what it has.
	tokens := func(refs Referenced, o RunOptions, patches ...string) int64 {
		return CostOf(suiteOf(t, append([]string{answers, model}, patches...)...), o, set, refs).Tokens
	}
	plain := tokens(Referenced{}, RunOptions{})
	if least, most := int64(10*(5*contextTokens+answerTokens)), int64(10*(5*contextTokens+answerTokens+2000)); plain < least || plain > most {
		t.Errorf("ten verdicts over five contexts are %d tokens, want %d to %d", plain, least, most)
	}
	if got, want := tokens(Referenced{}, RunOptions{}, `{answer: {contexts: 1}}`), plain-10*4*contextTokens; got != want {
		t.Errorf("with one context for five: %d tokens, want %d", got, want)
	}
	if got, want := tokens(Referenced{}, RunOptions{TopK: 3}), plain-10*2*contextTokens; got != want {
		t.Errorf("with topK 3: %d tokens, want %d", got, want)
	}
	if got := tokens(Referenced{}, RunOptions{}, relevance); got < plain+10*5*contextTokens {
		t.Errorf("contexts that are graded too: %d tokens after %d", got, plain)
	}
	long := strings.Repeat("Judge. ", 4000)
	if got := tokens(Referenced{Prompt: long}, RunOptions{}); got < plain+10*3000 {
		t.Errorf("a long prompt: %d tokens after %d", got, plain)
	}
	one := label
	one.Contexts = []string{strings.Repeat("x", 40_000)}
	if got := tokens(Referenced{Labels: []judge.Label{one}}, RunOptions{}); got < plain+10_000 {
		t.Errorf("a label with a long context: %d tokens after %d", got, plain)
	}
	set.Cases[0].Question, set.Cases[1].ReferenceAnswer = strings.Repeat("질문", 1000), strings.Repeat("답", 1000)
	if got := tokens(Referenced{}, RunOptions{}); got < plain+2900 {
		t.Errorf("long texts in Korean: %d tokens after %d", got, plain)
	}
}
