package eval

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// koreanPipeline is a case set with what every party says to each case: the
// retriever has the relevant id at the rank (0: nowhere) among ids that are
// relevant to nothing, the answer service and the judge say what stands there.
//
//go:embed testdata/korean_pipeline.json
var koreanPipeline []byte

type pipeline struct {
	TopK, PrimaryK int
	Expect         map[string]string
	Evidence       score.Evidence
	Cases          []struct {
		ID, Question, Relevant       string
		Rank                         int
		ReferenceAnswer              string `json:"reference_answer"`
		Answer                       string
		Correct, Grounded, Abstained bool
	}
}

func TestTheKoreanPipeline(t *testing.T) {
	var script pipeline
	if err := json.Unmarshal(koreanPipeline, &script); err != nil {
		t.Fatal(err)
	}
	var set []golden.Case
	at := map[string]int{} // question → place in the script
	found := 0
	for i, c := range script.Cases {
		set = append(set, golden.Case{ID: c.ID, Question: c.Question, Answerable: true, ReferenceAnswer: c.ReferenceAnswer,
			Relevant: []golden.Relevant{{ID: c.Relevant, Grade: 1}}})
		at[c.Question] = i
		if c.Rank > 0 {
			found++
		}
	}
	if len(set) != 30 || found != 26 {
		t.Fatalf("%d cases, %d found", len(set), found)
	}
	r := Run(t.Context(), Plan{
		Cases:       set,
		Score:       score.Spec{TopK: script.TopK, K: []int{1, 3, 5, 10}, PrimaryK: script.PrimaryK, Answer: true, Judge: true},
		Objectives:  []score.Objective{{Metric: "hit_rate@5", Min: "0.85"}, {Metric: "accuracy", Min: "0.80"}, {Metric: "hallucination_rate", Max: "0.05"}},
		MinCoverage: 0.95,
		Parallelism: 4,
	}, Parties{
		Retriever: retrieverFunc(func(_ context.Context, c *golden.Case, topK int) (*retriever.Reply, error) {
			ids := make([]string, topK)
			for i := range ids {
				ids[i] = fmt.Sprintf("noise/%02d.md", i)
			}
			if rank := script.Cases[at[c.Question]].Rank; rank > 0 {
				ids[rank-1] = c.Relevant[0].ID
			}
			return list(ids...), nil
		}),
		Answerer: answererFunc(func(_ context.Context, c *golden.Case, _ int, results []retriever.Result) (*answer.Reply, error) {
			return &answer.Reply{Answer: script.Cases[at[c.Question]].Answer, Contexts: []string{results[0].Text}, Attempts: 1}, nil
		}),
		Judge: scripted{verdict: func(_ context.Context, in judge.Input) (judge.Verdict, error) {
			c := script.Cases[at[in.Question]]
			return judge.Verdict{Correct: &c.Correct, Grounded: c.Grounded, Abstained: c.Abstained}, nil
		}},
	}, nil)

	for name, want := range script.Expect {
		m, ok := r.Summary.Mean(name, "")
		if got := fmt.Sprintf("%.2f", m.Value); !ok || got != want || m.Count != 30 {
			t.Errorf("%s = %s over %d (%t), want %s", name, got, m.Count, ok, want)
		}
	}
	if diff := cmp.Diff(&script.Evidence, r.Summary.Evidence); diff != "" {
		t.Error(diff)
	}
	if r.Decision.Verdict != score.Passed {
		t.Errorf("%+v", r.Decision)
	}
}
