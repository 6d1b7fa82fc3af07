// Package cli is Assay's command line: it reads flags, wires the parts
// together and prints what comes out.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/version"
)

// The exit codes. Whatever keeps a command from doing its work is exitError, so
// that a wrong flag is never taken for a failed run.
const (
	exitPassed       = 0
	exitFailed       = 1
	exitInconclusive = 2
	exitError        = 3
)

// exitCode ends a command that has said everything already.
type exitCode int

// Error is not meant to be read.
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// exitOf gives the exit code of a verdict; nil for Passed.
func exitOf(v score.Verdict) error {
	switch v {
	case score.Passed:
		return nil
	case score.Failed:
		return exitCode(exitFailed)
	case score.Inconclusive:
		return exitCode(exitInconclusive)
	}
	return exitCode(exitError)
}

// Execute runs the command line of the process and gives its exit code.
func Execute() int {
	return execute(context.Background(), NewRootCommand())
}

func execute(ctx context.Context, root *cobra.Command) int {
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitPassed
	}
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	_, _ = fmt.Fprintf(root.ErrOrStderr(), "error: %v\n", err)
	return exitError
}

// NewRootCommand builds the command tree.
func NewRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "RAG regression tests for Kubernetes",
		Long: `Assay asks a retriever every question of a golden set, scores what comes back
and says whether it is still good enough: in a cluster, on a schedule and on
changes (assay operator), or here and now with no cluster (assay run).`,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: displayName(os.Args[0])},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newRunCommand(), newCompareCommand(), newGateCommand(), newJudgeCommand(), newGoldenCommand(), newOperatorCommand(), newSampleRAGCommand(), newSupportBundleCommand(), newVersionCommand())
	return root
}

// displayName is how help texts call the program: kubectl runs a plugin by the
// name of its file.
func displayName(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return "assay"
}
