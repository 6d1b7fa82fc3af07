package samplerag

import (
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/manifest"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/suite"
)

// The quickstart's golden set is about this project's own pages. It must not
// rot: every relevant id is a page, and the suite's objectives are met.
func TestQuickstart(t *testing.T) {
	root := filepath.Join("..", "..")
	sample := filepath.Join(root, "config", "samples", "quickstart")
	ix := build(t, Options{Root: root, Exclude: []string{"docs/adr"}}, "docs", "README.md")
	if len(ix.Warnings()) > 0 {
		t.Errorf("pages were left out: %v", ix.Warnings())
	}

	manifests, err := manifest.Load([]string{sample}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := manifests.Suite("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(ix.Handler())
	t.Cleanup(server.Close)
	s.Spec.Retriever.URL, s.Spec.Answer.URL = server.URL+"/search", server.URL+"/answer"
	run, err := suite.Prepare(t.Context(), s, suite.RunOptions{}, manifests.Source(s.Namespace), suite.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Close)
	set := run.Golden
	if len(set.Warnings) > 0 {
		t.Errorf("warnings: %v", set.Warnings)
	}
	if len(set.Cases) < 45 {
		t.Errorf("%d questions, want at least 45", len(set.Cases))
	}
	checkIDs(t, set, ix.Documents())

	result := eval.Run(t.Context(), run.Plan, run.Parties, func(c eval.CaseResult) {
		if c.Case.Due() && (c.Rank == 0 || c.Rank > 5) {
			t.Logf("not among the first five: %s (%s), rank %d", c.Case.ID, c.Case.Question, c.Rank)
		}
		if v := c.Verdict; v != nil && (!v.Grounded || v.Correct != nil && !*v.Correct) {
			t.Logf("%s: %q: %s", c.Case.ID, c.Answer.Text, v.Reason)
		}
	})
	for _, o := range result.Decision.Objectives {
		t.Log(o.Message)
	}
	if d := result.Decision; d.Verdict != score.Passed {
		t.Errorf("%s, %s: %s", d.Verdict, d.Reason, d.Message)
	}
	// The demo shows all four headline numbers.
	for _, name := range []string{"hit_rate@5", score.MRR, score.Accuracy, score.HallucinationRate} {
		if _, ok := result.Summary.Mean(name, ""); !ok {
			t.Errorf("the quickstart measures no %s", name)
		}
	}
}

func checkIDs(t *testing.T, set *golden.Set, pages []string) {
	t.Helper()
	for _, c := range set.Cases {
		for _, r := range c.Relevant {
			if !slices.Contains(pages, r.ID) {
				t.Errorf("case %s: the relevant id %s is no page", c.ID, r.ID)
			}
		}
	}
}
