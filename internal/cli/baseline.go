package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/score"
)

// baselineOf gives what a local run is compared with: the document of the flag, by
// the suite's rules. The runs of a cluster are out of its reach.
func (o *runOptions) baselineOf(cmd *cobra.Command, s *v1alpha1.EvalSuite) (*eval.Baseline, error) {
	b := &eval.Baseline{Policy: compare.Policy{
		MinConfidence:   s.Spec.Baseline.MinConfidence,
		OnNotComparable: compare.OnNotComparable(s.Spec.Baseline.OnNotComparable),
	}}
	if o.baseline == "" {
		b.Policy.Missing = "give the document of an earlier run with --baseline"
		return b, nil
	}
	d, err := readDocument(cmd, o.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	if d.Next != "" {
		return nil, fmt.Errorf("--baseline: %s is a page of run %s, which another follows: get the whole run", o.baseline, d.Run.Name)
	}
	if d.Verdict != score.Passed {
		cmd.PrintErrf("warning: the run of --baseline did not pass (%s): in a cluster it would be no baseline\n", cmp.Or(string(d.Verdict), "no verdict"))
	}
	side := d.Side()
	b.Base = &side
	return b, nil
}
