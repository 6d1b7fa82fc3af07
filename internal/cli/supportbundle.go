package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/assay-dev/assay/internal/supportbundle"
)

const (
	maxBundleRuns    = 1000
	bundleLogBytes   = 2 << 20
	bundleNameFormat = "assay-support-bundle-20060102-150405.tar.gz"
)

type supportBundleOptions struct {
	clusterOptions
	all               bool
	suite             string
	operatorNamespace string
	runs              int
	goldenSets        bool
	output            string
}

func newSupportBundleCommand() *cobra.Command {
	var o supportBundleOptions
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect what somebody needs who is to find out what is wrong",
		Long: `Collect what somebody needs who is to find out what is wrong with Assay in a
cluster, into one archive: versions, the operator with its logs and rights, suites,
the newest runs, Events, and what suites name and is not there. summary.txt in it
says what stands out, and is printed.

Secrets are removed: of a Secret, only whether it and its keys exist is kept. What
you may not read is listed with the reason and left out. Look through the files
before you hand them on: case ids, URLs of services and messages are in them.

  0  the bundle is written, also where something could not be collected
  3  the command could not be carried out, or the cluster could not be reached`,
		Example: `  # the suites of one namespace
  assay support-bundle -n rag

  # everything that you may read
  assay support-bundle -A -o bundle.tar.gz

  # what would be in it
  assay support-bundle -n rag --suite docs-bot -o - | tar tz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.addFlags(f)
	f.Lookup("namespace").Usage = "namespace of the suites; that of the kubeconfig's context by default"
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "suites and runs of all namespaces")
	f.StringVar(&o.suite, "suite", "", "only the suite of this name, and its runs")
	f.StringVarP(&o.output, "output", "o", "", "file to write, or - for standard output; a new assay-support-bundle-….tar.gz by default")
	f.IntVar(&o.runs, "runs", 10, "runs of each suite, the newest")
	f.StringVar(&o.operatorNamespace, "operator-namespace", "", "namespace that the operator runs in; it is looked for by default")
	f.BoolVar(&o.goldenSets, "include-golden-sets", false, "collect what stands in the ConfigMaps that suites name, questions and answers included")
	_ = cmd.MarkFlagFilename("output", "gz")
	return cmd
}

func (o *supportBundleOptions) check(cmd *cobra.Command) error {
	switch {
	case o.all && o.namespace != "":
		return errors.New("-n and -A exclude each other: give one namespace, or all")
	case o.runs < 1 || o.runs > maxBundleRuns:
		return fmt.Errorf("--runs is %d: give a number from 1 to %d", o.runs, maxBundleRuns)
	}
	for flag, name := range map[string]string{"--namespace": o.namespace, "--operator-namespace": o.operatorNamespace} {
		if name != "" && len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("%s is %q, which is no name of a namespace", flag, name)
		}
	}
	if o.suite != "" && len(validation.IsDNS1123Subdomain(o.suite)) > 0 {
		return fmt.Errorf("--suite is %q, which is no name of a suite", o.suite)
	}
	if out, ok := cmd.OutOrStdout().(*os.File); ok && o.output == "-" && term.IsTerminal(int(out.Fd())) {
		return errors.New("-o - would write an archive to the terminal: pipe it, or give a file")
	}
	return nil
}

func (o *supportBundleOptions) run(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	cfg, namespace, err := o.config()
	if err != nil {
		return err
	}
	from, err := supportbundle.Connect(cfg)
	if err != nil {
		return err
	}
	options := supportbundle.Options{
		Namespaces: []string{namespace}, Suite: o.suite, OperatorNamespace: o.operatorNamespace,
		Runs: o.runs, LogBytes: bundleLogBytes, GoldenSets: o.goldenSets, Now: time.Now(),
	}
	if o.all {
		options.Namespaces = nil
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return o.collect(ctx, cmd, from, options)
}

// collect writes the bundle and says what stands out.
func (o *supportBundleOptions) collect(ctx context.Context, cmd *cobra.Command, from supportbundle.Sources, options supportbundle.Options) error {
	name := o.output
	if name == "" {
		name = options.Now.Format(bundleNameFormat)
	}
	out, done, err := create(cmd, name)
	if err != nil {
		return err
	}
	bundle, err := supportbundle.Collect(ctx, from, options)
	if err == nil {
		err = bundle.Write(out)
	}
	if err = done(err); err != nil {
		return err
	}
	cmd.PrintErr(bundle.Summary())
	if name != "-" {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), name)
	}
	return err
}

// create opens a new file that its owner alone may read. What it returns closes it,
// and removes it where it came to nothing.
func create(cmd *cobra.Command, name string) (io.Writer, func(error) error, error) {
	if name == "-" {
		return cmd.OutOrStdout(), func(err error) error { return err }, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, nil, fmt.Errorf("%s exists already: give another name with -o", name)
	case err != nil:
		return nil, nil, fmt.Errorf("write the bundle: %w", err)
	}
	return f, func(err error) error {
		if closed := f.Close(); err == nil && closed != nil {
			err = fmt.Errorf("write the bundle: %w", closed)
		}
		if err != nil {
			_ = os.Remove(name)
		}
		return err
	}, nil
}
