package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/manifest"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/suite"
	"github.com/assay-dev/assay/internal/tracing"
)

// The formats that a run is printed in.
const (
	formatTable    = "table"
	formatJSON     = "json"
	formatJUnit    = "junit"
	formatMarkdown = "markdown"
)

var runFormats = []string{formatTable, formatJSON, formatJUnit, formatMarkdown}

// maxGoldenBytes bounds a golden set's file, packed or not.
const maxGoldenBytes = 64 << 20

// maxTopK is the bound that the API has.
const maxTopK = 1000

// runOptions are the flags of assay run.
type runOptions struct {
	files    []string
	golden   []string
	suite    string
	endpoint string
	tags     []string
	topK     int
	upTo     string
	baseline string
	plan     bool
	output   string
	tracing  tracing.Options
}

func newRunCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run -f FILE",
		Short: "Run one suite with no cluster, from its manifests",
		Long: `Run one EvalSuite from its manifests, with no cluster: ask its retriever every
question of the golden set, score what comes back and decide on the objectives.
The manifests are those of the cluster, and the defaults and rules are the same.
ConfigMaps and Secrets that the suite names must be among the files.

The exit code is the verdict:

  0  Passed: every objective is met
  1  Failed: an objective is missed
  2  Inconclusive: no objective is missed, but one cannot be decided, or the
     suite has none, or the run was interrupted
  3  Error: nothing could be scored, or the command could not be carried out`,
		Example: `  # a suite and the ConfigMap with its golden set
  assay run -f suite.yaml -f golden.yaml

  # a golden set as it stands, of any format, in place of the suite's
  assay run -f suite.yaml --golden questions.jsonl

  # how many calls it would make; nobody is asked
  assay run -f suite.yaml -f golden.yaml --plan

  # against an earlier run: what moved, and whether a maxDrop is missed
  assay run -f suite.yaml -f golden.yaml -o json > before.json
  assay run -f suite.yaml -f golden.yaml --baseline before.json

  # for a pipeline
  assay run -f manifests/ --tags smoke -o junit > report.xml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&o.files, "filename", "f", nil, "manifest file, folder of manifests, or - for standard input; may be given again")
	f.StringArrayVar(&o.golden, "golden", nil, "golden set in place of the suite's (.yaml, .json, .jsonl, .csv, .tsv, each also with .gz); may be given again")
	f.StringVar(&o.suite, "suite", "", "name, or namespace/name, of the suite where the files hold several")
	f.StringVar(&o.endpoint, "endpoint", "", "name of one of the suite's endpoints, which is asked instead of retriever.url")
	f.StringSliceVar(&o.tags, "tags", nil, "only cases with one of these tags, for example smoke,korean")
	f.IntVar(&o.topK, "top-k", 0, "how many results are asked for and scored, in place of retriever.topK; cut-offs above it are left out")
	f.StringVar(&o.upTo, "up-to", "", "the last stage of the run: retrieval, answer or judge; all that the suite has by default")
	f.StringVar(&o.baseline, "baseline", "", "document of an earlier run (assay run -o json) that this one is compared with, or - for standard input; a maxDrop is held against it")
	f.BoolVar(&o.plan, "plan", false, "check everything and print what a run would do; nobody is called")
	f.StringVarP(&o.output, "output", "o", formatTable, "output format: "+strings.Join(runFormats, ", "))
	addTracingFlags(f, &o.tracing)
	for _, flag := range []string{"filename", "golden", "baseline"} {
		_ = cmd.MarkFlagFilename(flag)
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(runFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// stageNames are the stages of a run in their order.
var stageNames = []string{"retrieval", "answer", "judge"}

// stages are those up to the last one that is wanted; none: all.
func (o *runOptions) stages() []v1alpha1.Stage {
	all := []v1alpha1.Stage{v1alpha1.StageRetrieval, v1alpha1.StageAnswer, v1alpha1.StageJudge}
	return all[:slices.Index(stageNames, o.upTo)+1]
}

// noArguments refuses a manifest that is given without -f.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument %q: files are given with -f; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

func (o *runOptions) check() error {
	switch {
	case len(o.files) == 0:
		return errors.New("no manifest: give the suite's with -f FILE")
	case !slices.Contains(runFormats, o.output):
		return fmt.Errorf("unknown output format %q: use %s", o.output, strings.Join(runFormats, ", "))
	case o.plan && o.output != formatTable && o.output != formatJSON:
		return fmt.Errorf("a plan has no %s form: use -o table or -o json", o.output)
	case o.upTo != "" && !slices.Contains(stageNames, o.upTo):
		return fmt.Errorf("--up-to is %q: use %s", o.upTo, strings.Join(stageNames, ", "))
	case o.baseline == "-" && slices.Contains(o.files, "-"):
		return errors.New("-f - and --baseline - are both standard input: give one of them a file")
	case o.topK < 0 || o.topK > maxTopK:
		return fmt.Errorf("--top-k is %d: give a number from 1 to %d", o.topK, maxTopK)
	}
	return nil
}

func (o *runOptions) run(cmd *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	o.tracing.Log = func(message string, err error) { cmd.PrintErrln("warning:", traceWarning(message, err)) }
	traces, err := tracing.Setup(cmd.Context(), o.tracing)
	if err != nil {
		return err
	}
	defer traces.Stop()
	s, prepared, err := o.prepare(cmd.Context(), cmd, traces.Tracer())
	if err != nil {
		return err
	}
	defer prepared.Close()
	if o.plan {
		return o.writePlan(cmd.OutOrStdout(), newPlan(s, prepared))
	}
	// Before this there is nothing to keep: Ctrl-C ends the process, whatever it
	// waits for.
	ctx, stop := interruptible(tracing.FromEnvironment(cmd.Context()))
	defer stop()
	// No other format has texts: a run should not grow with its corpus for nothing.
	prepared.Plan.KeepText = o.output == formatJSON && ptr.Deref(s.Spec.History.StoreContent, true)
	d := carryOut(ctx, s, prepared, cmd.ErrOrStderr())
	if err := o.write(cmd.OutOrStdout(), d); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if o.output != formatTable {
		cmd.PrintErrln(d.Headline())
	}
	return exitOf(d.Verdict)
}

// interruptible gives a context that the first Ctrl-C ends, so that what was
// scored is still printed; the second one ends the process.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	release := context.AfterFunc(interrupted, func() {
		stop()
		cancel(&eval.Stop{Reason: eval.ReasonCanceled, Message: "the run was interrupted"})
	})
	return ctx, func() {
		release()
		stop()
		cancel(nil)
	}
}

// prepare reads and checks everything that the run needs. Nothing of it calls
// the retriever.
func (o *runOptions) prepare(ctx context.Context, cmd *cobra.Command, tracer *tracing.Tracer) (*v1alpha1.EvalSuite, *suite.Prepared, error) {
	manifests, err := manifest.Load(o.files, cmd.InOrStdin())
	if err != nil {
		return nil, nil, withCount(err)
	}
	for _, warning := range manifests.Warnings {
		cmd.PrintErrln("warning:", warning)
	}
	s, err := manifests.Suite(o.suite)
	if err != nil {
		return nil, nil, err
	}
	options := suite.RunOptions{Endpoint: o.endpoint, Tags: o.tags, TopK: o.topK, Stages: o.stages()}
	if options.Golden, err = readFiles("--golden", o.golden); err != nil {
		return nil, nil, err
	}
	source := manifests.Source(s.Namespace)
	prepared, err := suite.Prepare(ctx, s, options, source, suite.Deps{Limits: retriever.NewLimits(), Tracer: tracer})
	if err != nil {
		return nil, nil, explain(err, source)
	}
	if prepared.Plan.Baseline, err = o.baselineOf(cmd, s); err != nil {
		prepared.Close()
		return nil, nil, err
	}
	for _, warning := range prepared.Golden.Warnings {
		cmd.PrintErrln("warning:", warning)
	}
	for _, warning := range suite.FineDrops(s, prepared.Golden) {
		cmd.PrintErrln("warning:", warning)
	}
	return s, prepared, nil
}

// withCount says first how many problems the manifests have.
func withCount(err error) error {
	if all, ok := errors.AsType[*manifest.Error](err); ok && len(all.Problems) > 1 {
		return fmt.Errorf("%d problems in the manifests:\n%w", len(all.Problems), err)
	}
	return err
}

// explain adds to an error how to give what the files lack.
func explain(err error, source *manifest.Source) error {
	missing := source.Missing()
	if len(missing) == 0 {
		return err
	}
	hint := strings.Join(missing, "\n")
	if problem, ok := errors.AsType[*suite.Error](err); ok && problem.Reason == suite.ReasonGoldenSetNotFound {
		hint += "; a golden set as it stands is given with --golden"
	}
	return fmt.Errorf("%w\n%s", err, hint)
}

// readFiles reads the files of a flag; their names pick the format.
func readFiles(flag string, names []string) ([]golden.File, error) {
	var files []golden.File
	for _, name := range names {
		if name == "-" {
			return nil, fmt.Errorf("%s -: standard input has no name whose ending picks the format: give a file", flag)
		}
		data, err := readBounded(name)
		if err != nil {
			return nil, fmt.Errorf("reading the file of %s: %w", flag, err)
		}
		files = append(files, golden.File{Name: name, Data: data})
	}
	return files, nil
}

func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxGoldenBytes+1))
	if err == nil && len(data) > maxGoldenBytes {
		err = fmt.Errorf("%s is over %d MiB: split it, or compress it with gzip", name, maxGoldenBytes>>20)
	}
	return data, err
}

// carryOut asks every case and gives the run's document. Progress goes to
// stderr where that is a terminal.
func carryOut(ctx context.Context, s *v1alpha1.EvalSuite, prepared *suite.Prepared, stderr io.Writer) *report.Document {
	uid := string(uuid.NewUUID())
	meta := prepared.Meta(s, uid, s.Name+"-local-"+uid[:8], v1alpha1.TriggerManual)
	prepared.Plan.Head.Run, prepared.Plan.Head.UID = meta.Run.Name, uid
	bar := newProgress(stderr, s.Name, len(prepared.Plan.Cases))
	cases := make([]eval.CaseResult, 0, len(prepared.Plan.Cases))
	meta.Run.StartTime = now()
	ctx, trace := prepared.Trace(ctx, tracing.RunInfo{
		Namespace: s.Namespace, Suite: s.Name, Run: meta.Run.Name, UID: uid, Trigger: string(v1alpha1.TriggerManual),
	})
	result := eval.Run(ctx, prepared.Plan, prepared.Parties, func(c eval.CaseResult) {
		cases = append(cases, c)
		bar.done(c)
	})
	trace.End(result)
	meta.Run.CompletionTime = now()
	bar.end()
	return report.Build(meta, result, cases)
}

// colourWanted follows no-color.org.
func colourWanted() bool { return os.Getenv("NO_COLOR") == "" }

// now to the millisecond: more digits say nothing of a run.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func (o *runOptions) write(w io.Writer, d *report.Document) error {
	switch o.output {
	case formatJSON:
		return report.WriteJSON(w, d)
	case formatJUnit:
		return report.WriteJUnit(w, d)
	case formatMarkdown:
		return report.WriteMarkdown(w, d)
	}
	columns, terminal := terminalWidth(w)
	return report.WriteTable(w, d, report.TableOptions{Color: terminal && colourWanted(), Width: columns})
}
