package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/internal/version"
)

// formatText is the line for people.
const formatText = "text"

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print which build this is: its version, the commit, when that commit was made,
the Go that compiled it and the platform.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case formatJSON:
				return writeIndented(cmd.OutOrStdout(), version.Get())
			case formatText:
				info := version.Get()
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "assay %s %s %s\n", version.String(), info.Go, info.Platform)
				return err
			}
			return fmt.Errorf("unknown output format %q: use text or json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", formatText, "output format: text, json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formatText, formatJSON}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
