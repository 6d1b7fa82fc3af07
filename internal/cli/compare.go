package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/report"
)

type compareOptions struct {
	output string
	cases  int
}

func newCompareCommand() *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare BASE.json HEAD.json",
		Short: "Show what moved between two runs",
		Long: `Set one run against another, on the cases that have not changed between them:
every metric with its difference, the 95 % interval of that and how likely it is
by chance alone, all cases and by tag; and the cases that got worse and better,
with their ranks then and now.

BASE.json and HEAD.json are run documents, as assay run -o json writes them; one
of them may be -, standard input.`,
		Example: `  assay run -f suite.yaml -f golden.yaml -o json > before.json
  assay run -f suite.yaml -f golden.yaml -o json > after.json
  assay compare before.json after.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", formatTable, "output format: table, json")
	f.IntVar(&o.cases, "cases", 20, "how many cases that got worse, and how many that got better, are shown")
	return cmd
}

func (o *compareOptions) run(cmd *cobra.Command, baseName, headName string) error {
	switch {
	case o.output != formatTable && o.output != formatJSON:
		return fmt.Errorf("unknown output format %q: use table or json", o.output)
	case o.cases < 1:
		return fmt.Errorf("--cases is %d: give a number of at least 1", o.cases)
	case baseName == "-" && headName == "-":
		return fmt.Errorf("only one of the two runs can come from standard input")
	}
	base, err := readDocument(cmd, baseName)
	if err != nil {
		return err
	}
	head, err := readDocument(cmd, headName)
	if err != nil {
		return err
	}
	c, err := report.CompareDocuments(base, head, compare.Options{MaxCases: o.cases})
	if err != nil {
		return err
	}
	if o.output == formatJSON {
		return writeIndented(cmd.OutOrStdout(), c.Document())
	}
	columns, terminal := terminalWidth(cmd.OutOrStdout())
	return report.WriteComparison(cmd.OutOrStdout(), c.Document(), report.TableOptions{Color: terminal && colourWanted(), Width: columns})
}
