package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
)

// Services repeat a secret wherever they can. It is scored as it came, and
// neither kept nor shown to the next service.
func TestSecretsAreTakenOutOfContent(t *testing.T) {
	const secret = "s3cret-token"
	shown := func(what, text string) {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the secret: %s", what, text)
		}
	}
	set := questions(2)
	set[0].Relevant = []golden.Relevant{{ID: secret, Grade: 1}}
	p := plan(set)
	p.Score.Answer, p.Score.Judge, p.KeepText = true, true, true
	p.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }
	parties := Parties{
		Retriever: retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
			if c.ID == set[1].ID {
				return nil, errors.New("no " + secret)
			}
			return &retriever.Reply{CorpusVersion: secret, Results: []retriever.Result{{ID: secret, Text: "text " + secret}}}, nil
		}),
		Answerer: answererFunc(func(_ context.Context, _ *golden.Case, _ int, results []retriever.Result) (*answer.Reply, error) {
			shown("the answer service", results[0].Text)
			return &answer.Reply{Answer: "answer " + secret, Contexts: []string{"context " + secret}}, nil
		}),
		Judge: scripted{verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
			shown("the judge", fmt.Sprint(in))
			return verdict(true, true), nil
		}},
	}
	result := Run(t.Context(), p, parties, func(c CaseResult) {
		shown("the record", fmt.Sprintf("%+v %+v", c, c.Answer))
		if c.Case.ID == set[0].ID {
			if c.Rank != 1 || c.Retrieved[0].ID != "[redacted]" || c.Retrieved[0].TextDigest != TextDigest(c.Retrieved[0].Text) {
				t.Errorf("rank %d in %+v, want what came scored and what is kept without the secret", c.Rank, c.Retrieved)
			}
		}
	})
	shown("the result", result.CorpusVersion)
	if result.Done != 2 || result.Errored != 1 {
		t.Errorf("%d cases ended, %d failed, want 2 and 1", result.Done, result.Errored)
	}
}
