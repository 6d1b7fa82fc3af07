package eval

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
)

func TestTheWorstComeFirst(t *testing.T) {
	set := questions(10)
	set[8].Answerable = false
	lists := map[string]*retriever.Reply{
		"q00": list("x", "d00"),      // found at 2
		"q01": list("x", "y", "d01"), // found at 3
		"q02": list("d02"),           // wrong
		"q03": list("x", "d03"),      // made up, found at 2
		"q04": list("d04"),           // no answer
		"q05": list("x"),             // not found
		"q06": list("x"),             // not found, and no answer
		"q08": list("x"),             // has no answer, and got one
		"q09": list("d09"),           // all is well
	}
	r := Run(t.Context(), whole(set), Parties{
		Retriever: retrieverFunc(func(_ context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
			if reply, ok := lists[c.ID]; ok {
				return reply, nil
			}
			return nil, &retriever.Error{Outcome: retriever.HTTPError, Message: "500"}
		}),
		Answerer: answererFunc(func(ctx context.Context, c *golden.Case, topK int, results []retriever.Result) (*answer.Reply, error) {
			if c.ID == "q04" || c.ID == "q06" {
				return nil, &retriever.Error{Outcome: "AnswerHTTPError", Message: "500"}
			}
			return echo(ctx, c, topK, results)
		}),
		Judge: scripted{relevance: content.relevance, verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
			return verdict(in.Question != "q02" && in.Question != "q08", in.Question != "q03"), nil
		}},
	}, nil)
	want := []WorstCase{
		{ID: "q05", Rank: 0, Outcome: "Scored"}, {ID: "q06", Rank: 0, Outcome: "AnswerHTTPError"},
		{ID: "q04", Rank: 1, Outcome: "AnswerHTTPError"}, {ID: "q07", Rank: 0, Outcome: "RetrieverHTTPError"},
		{ID: "q03", Rank: 2, Outcome: "Scored"}, {ID: "q02", Rank: 1, Outcome: "Scored"}, {ID: "q08", Rank: 0, Outcome: "Scored"},
		{ID: "q01", Rank: 3, Outcome: "Scored"}, {ID: "q00", Rank: 2, Outcome: "Scored"},
	}
	if diff := cmp.Diff(want, r.Worst); diff != "" {
		t.Error(diff)
	}
}
