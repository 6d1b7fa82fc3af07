package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/suite"
)

// plan is what assay run --plan says: what the run would do.
type plan struct {
	Suite     string `json:"suite"`
	Namespace string `json:"namespace"`
	Endpoint  string `json:"endpoint"`
	Method    string `json:"method"`
	URL       string `json:"url"`
	// AnswerURL is left out of a run without an answer stage.
	AnswerURL string `json:"answerURL,omitempty"`
	// Cases of the run, and how many of them the retriever is asked: those that
	// are answerable and have a relevant id.
	Cases           int    `json:"cases"`
	Asked           int    `json:"asked"`
	Tags            int    `json:"tags"`
	GoldenSetDigest string `json:"goldenSetDigest"`
	// Calls is how many HTTP calls the run makes, before retries and before what
	// the judge knows from earlier runs.
	Calls int64 `json:"calls"`
	// EstimatedTokens is roughly what the judge reads and writes; left out where
	// it asks no model.
	EstimatedTokens int64 `json:"estimatedTokens,omitempty"`

	Parallelism int             `json:"parallelism"`
	Metrics     []string        `json:"metrics"`
	Objectives  []string        `json:"objectives"`
	Settings    report.Settings `json:"settings"`
}

func newPlan(s *v1alpha1.EvalSuite, prepared *suite.Prepared) *plan {
	p := &plan{
		Suite:           s.Name,
		Namespace:       s.Namespace,
		Endpoint:        prepared.Endpoint,
		Method:          string(s.Spec.Retriever.Method),
		URL:             s.Spec.Retriever.URL,
		Cases:           len(prepared.Plan.Cases),
		GoldenSetDigest: prepared.GoldenSetDigest,
		Calls:           prepared.Cost.Calls,
		EstimatedTokens: prepared.Cost.Tokens,
		Parallelism:     prepared.Plan.Parallelism,
		Metrics:         []string{},
		Objectives:      []string{},
		Settings:        prepared.Meta(s, "", "", "").Settings,
	}
	p.URL, p.AnswerURL = prepared.URLs()
	tags := map[string]bool{}
	for i := range prepared.Plan.Cases {
		c := &prepared.Plan.Cases[i]
		if c.Due() || p.AnswerURL != "" {
			p.Asked++
		}
		for _, tag := range c.Tags {
			tags[tag] = true
		}
	}
	p.Tags = len(tags)
	// Prepare made a scorer of the same spec already.
	if scorer, err := score.NewScorer(prepared.Plan.Score); err == nil {
		for _, m := range scorer.Metrics() {
			p.Metrics = append(p.Metrics, m.Name)
		}
	}
	for _, o := range prepared.Plan.Objectives {
		p.Objectives = append(p.Objectives, describeObjective(o))
	}
	return p
}

// describeObjective gives metric, tag and bounds: "hit_rate@5 of tag howto, min 0.90".
func describeObjective(o score.Objective) string {
	text := o.Metric
	if o.Tag != "" {
		text += " of tag " + o.Tag
	}
	if o.Min != "" {
		text += ", min " + o.Min
	}
	if o.Max != "" {
		text += ", max " + o.Max
	}
	if o.MaxDrop != "" {
		text += ", maxDrop " + o.MaxDrop
	}
	return text
}

func (o *runOptions) writePlan(w io.Writer, p *plan) error {
	if o.output == formatJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(p)
	}
	objectives := strings.Join(p.Objectives, "; ")
	if objectives == "" {
		objectives = "none: no run can pass or fail"
	}
	where := p.Method + " " + p.URL
	if p.Endpoint != "" {
		where += " (endpoint " + p.Endpoint + ")"
	}
	var b strings.Builder
	lines := [][2]string{{"SUITE", p.Namespace + "/" + p.Suite}}
	if p.URL != "" {
		lines = append(lines, [2]string{"RETRIEVER", where})
	}
	if p.AnswerURL != "" {
		lines = append(lines, [2]string{"ANSWER", p.AnswerURL})
	}
	calls := fmt.Sprintf("%d before retries, at most %d at a time", p.Calls, p.Parallelism)
	if j := p.Settings.Judge; j != nil {
		lines = append(lines, [2]string{"JUDGE", strings.TrimSpace(j.Provider + " " + j.Model)})
		if p.EstimatedTokens > 0 {
			calls += fmt.Sprintf("; roughly %d tokens of the judge, less what it knows from earlier runs", p.EstimatedTokens)
		}
	}
	lines = append(lines, [][2]string{
		{"GOLDEN SET", fmt.Sprintf("%s, %d of them asked, %s, %s", counted(p.Cases, "case"), p.Asked, counted(p.Tags, "tag"), p.GoldenSetDigest)},
		{"CALLS", calls},
		{"SETTINGS", fmt.Sprintf("topK %d, unit %s", p.Settings.TopK, p.Settings.Unit)},
		{"METRICS", byFamily(p.Metrics)},
		{"OBJECTIVES", objectives},
	}...)
	for _, line := range lines {
		fmt.Fprintf(&b, "%-10s  %s\n", line[0], line[1])
	}
	b.WriteString("\nNothing was sent.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// byFamily puts the cut-offs of a metric together: "hit_rate@{1,3,5}, mrr".
func byFamily(names []string) string {
	var families []string
	cutoffs := map[string][]string{}
	for _, name := range names {
		family, k, cut := strings.Cut(name, "@")
		if cutoffs[family] == nil {
			families = append(families, family)
			cutoffs[family] = []string{}
		}
		if cut {
			cutoffs[family] = append(cutoffs[family], k)
		}
	}
	for i, family := range families {
		switch ks := cutoffs[family]; len(ks) {
		case 0:
		case 1:
			families[i] += "@" + ks[0]
		default:
			families[i] += "@{" + strings.Join(ks, ",") + "}"
		}
	}
	return strings.Join(families, ", ")
}
