// Package bench measures what a run costs: scoring, calls and memory. README.md
// says how to run it.
package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

const (
	results     = 10
	parallelism = 8
)

// stub answers every question with the same ten results, whose text is as long
// as asked for. It does as little as a server can, so that what is measured is
// the client.
func stub(tb testing.TB, textBytes int) string {
	tb.Helper()
	var b strings.Builder
	b.WriteString(`{"results":[`)
	for i := range results {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"doc-%04d","text":"%s","score":%.4f,"metadata":{"source":"handbook","page":%d}}`,
			i, strings.Repeat("x", textBytes), 12.5-float64(i), i)
	}
	b.WriteString(`]}`)
	body := []byte(b.String())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}))
	tb.Cleanup(s.Close)
	return s.URL
}

// client is the real one, with the preset Assay or, where mapping is given, with
// the results mapped by it.
func client(tb testing.TB, url, mapping string) *retriever.Client {
	tb.Helper()
	program, err := retriever.Compile(retriever.Mappings{Preset: "Assay", Results: mapping})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := retriever.New(retriever.Config{URL: url, Program: program, MaxRetries: 2, MaxIdle: parallelism})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// goldenCases makes n cases that the stub finds at ranks 1 to 10, or not at all.
func goldenCases(n int) []golden.Case {
	out := make([]golden.Case, n)
	for i := range out {
		out[i] = golden.Case{
			ID:         fmt.Sprintf("case-%05d", i),
			Question:   fmt.Sprintf("How long is item %d kept, and who may ask for it?", i),
			Relevant:   []golden.Relevant{{ID: fmt.Sprintf("doc-%04d", i%(results+1)), Grade: 1}},
			Answerable: true,
			Tags:       []string{"tag-" + strconv.Itoa(i%4)},
		}
	}
	return out
}

func plan(cases []golden.Case) eval.Plan {
	return eval.Plan{
		Cases:       cases,
		Score:       score.Spec{TopK: results, K: []int{1, 3, 5, 10}, PrimaryK: 5},
		Objectives:  []score.Objective{{Metric: "hit_rate@5", Min: "0.10"}},
		MinCoverage: 0.95,
		Parallelism: parallelism,
	}
}

// run asks every case and fails where one was not scored.
func run(tb testing.TB, r eval.Retriever, cases []golden.Case, observe func(eval.CaseResult)) *eval.Result {
	tb.Helper()
	res := eval.Run(context.Background(), plan(cases), eval.Parties{Retriever: r}, observe)
	if res.Outcomes[eval.Scored] != len(cases) || res.Decision.Verdict != score.Passed {
		tb.Fatalf("outcomes %v, %s: %s", res.Outcomes, res.Decision.Verdict, res.Decision.Message)
	}
	return res
}
