package samplerag

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/score"
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

	var cm corev1.ConfigMap
	read(t, filepath.Join(sample, "golden.yaml"), &cm)
	var suite v1alpha1.EvalSuite
	read(t, filepath.Join(sample, "suite.yaml"), &suite)
	ref := suite.Spec.GoldenSet.ConfigMapRef
	if ref == nil || ref.Name != cm.Name {
		t.Fatalf("the suite's golden set is %+v, the ConfigMap %q", ref, cm.Name)
	}
	set, err := golden.Read(golden.File{Name: ref.Key, Data: []byte(cm.Data[ref.Key])})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Warnings) > 0 {
		t.Errorf("warnings: %v", set.Warnings)
	}
	if len(set.Cases) < 45 {
		t.Errorf("%d questions, want at least 45", len(set.Cases))
	}
	checkIDs(t, set, ix.Documents())

	decision := measure(t, ix, set, &suite)
	for _, o := range decision.Objectives {
		t.Log(o.Message)
	}
	if decision.Verdict != score.Passed {
		t.Errorf("%s, %s: %s", decision.Verdict, decision.Reason, decision.Message)
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

// measure is a run without the wire.
func measure(t *testing.T, ix *Index, set *golden.Set, suite *v1alpha1.EvalSuite) score.Decision {
	t.Helper()
	topK := int(suite.Spec.Retriever.TopK)
	spec := score.Spec{TopK: topK, K: []int{1, 3, 5, 10}, PrimaryK: 5, Unit: score.Unit(suite.Spec.Scoring.Unit)}
	var objectives []score.Objective
	for _, o := range suite.Spec.Objectives {
		tag := ""
		if o.Tag != nil {
			tag = *o.Tag
		}
		objectives = append(objectives, score.Objective{Metric: o.Metric, Tag: tag, Min: o.Min, Max: o.Max})
		spec.Named = append(spec.Named, o.Metric)
	}
	scorer, err := score.NewScorer(spec)
	if err != nil {
		t.Fatal(err)
	}
	var scores []score.CaseScore
	for _, c := range set.Cases {
		hits, err := ix.Search(t.Context(), c.Question, topK)
		if err != nil {
			t.Fatalf("case %s: %v", c.ID, err)
		}
		var items []score.Item
		for _, h := range hits {
			items = append(items, score.Item{ID: h.ID, Document: h.Document})
		}
		var relevant []score.Relevant
		for _, r := range c.Relevant {
			relevant = append(relevant, score.Relevant{ID: r.ID, Grade: r.Grade})
		}
		cs := score.CaseScore{Tags: c.Tags, Due: c.Due(), Called: true}
		if cs.Due {
			cs.Values = make([]float64, len(scorer.Metrics()))
			if rank := scorer.Score(relevant, items, cs.Values); rank == 0 || rank > 5 {
				t.Logf("not among the first five: %s (%s), rank %d", c.ID, c.Question, rank)
			}
		}
		scores = append(scores, cs)
	}
	return score.Decide(score.Facts{
		Summary:     score.Summarize(scorer.Metrics(), scores),
		Objectives:  objectives,
		MinCoverage: 0.95,
		Scored:      len(scores),
		Total:       len(scores),
	})
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
