package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/goldentool"
	"github.com/assay-dev/assay/internal/manifest"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/suite"
)

// goldenCheckOptions are the flags of assay golden check.
type goldenCheckOptions struct {
	files     []string
	suite     string
	retriever bool
	endpoint  string
	topK      int
	output    string
}

func newGoldenCheckCommand() *cobra.Command {
	var o goldenCheckOptions
	cmd := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Find what is wrong with a golden set, and which ids its retriever never finds",
		Long: `Read a golden set, show every problem and warning with file, line, case and
field, and count its cases. The set is that of the files, or with -f that of the
suite.

With --retriever the suite's retriever is asked every question too. A relevant id
that is in none of all the lists is probably written otherwise in the index: the
nearest ids that were retrieved are shown beside it, and how they differ.

  0  nothing is wrong
  1  the set has a problem, and no suite can use it
  2  with --retriever: an id was never found, or a question could not be asked
  3  the command could not be carried out`,
		Example: `  assay golden check golden.yaml

  # the set of a suite, as it stands in its ConfigMap
  assay golden check -f suite.yaml -f golden-configmap.yaml

  # do its ids fit what the retriever returns?
  assay golden check golden.yaml --retriever -f suite.yaml --top-k 100`,
		RunE: o.run,
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&o.files, "filename", "f", nil, "manifest file of the suite, folder of manifests, or - for standard input; may be given again")
	f.StringVar(&o.suite, "suite", "", "name, or namespace/name, of the suite where the files hold several")
	f.BoolVar(&o.retriever, "retriever", false, "ask the suite's retriever every question, and show which relevant ids it never finds")
	f.StringVar(&o.endpoint, "endpoint", "", "with --retriever: name of one of the suite's endpoints, which is asked instead of retriever.url")
	f.IntVar(&o.topK, "top-k", 0, "with --retriever: how many results are asked for, in place of retriever.topK")
	f.StringVarP(&o.output, "output", "o", formatTable, "output format: table, json")
	_ = cmd.MarkFlagFilename("filename")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formatTable, formatJSON}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *goldenCheckOptions) check(args []string) error {
	switch {
	case o.output != formatTable && o.output != formatJSON:
		return fmt.Errorf("unknown output format %q: use table or json", o.output)
	case len(args) == 0 && len(o.files) == 0:
		return errors.New("no golden set: give its files, or the suite's manifests with -f")
	case o.retriever && len(o.files) == 0:
		return errors.New("--retriever needs a suite to ask: give its manifests with -f FILE")
	case !o.retriever && (o.endpoint != "" || o.topK != 0):
		return errors.New("--endpoint and --top-k say how to ask: give --retriever too")
	case !o.retriever && len(args) > 0 && len(o.files) > 0:
		return errors.New("which golden set: the files, or that of the suite of -f? Give one, or --retriever to ask the suite about the files")
	case o.topK < 0 || o.topK > maxTopK:
		return fmt.Errorf("--top-k is %d: give a number from 1 to %d", o.topK, maxTopK)
	case slices.Contains(args, "-"):
		return errors.New("standard input has no name whose ending picks the format: give a file")
	}
	return nil
}

func (o *goldenCheckOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	files, err := readFiles("the golden set", args)
	if err != nil {
		return err
	}
	var s *v1alpha1.EvalSuite
	var source *manifest.Source
	if len(o.files) > 0 {
		if s, source, err = o.load(cmd); err != nil {
			return err
		}
	}
	d := newCheckDocument()
	set, err := readSet(cmd.Context(), files, s, source)
	switch problems := goldenProblems(err); {
	case problems != nil:
		d.Problems, d.ProblemCount = problemDocuments(problems.Problems), problems.Total
	case err != nil:
		return explain(err, source)
	default:
		d.Warnings = problemDocuments(set.Warnings)
		summary := goldentool.Summarize(set)
		d.Set = &summary
		if o.retriever {
			if err := o.ask(cmd, s, source, files, d); err != nil {
				return err
			}
		}
	}
	if o.output == formatJSON {
		err = writeIndented(cmd.OutOrStdout(), d)
	} else {
		err = d.write(cmd.OutOrStdout())
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return d.exit()
}

// load reads the suite, without what asking its retriever takes no part in.
func (o *goldenCheckOptions) load(cmd *cobra.Command) (*v1alpha1.EvalSuite, *manifest.Source, error) {
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
	s = s.DeepCopy()
	s.Spec.Objectives, s.Spec.Judge = nil, nil
	return s, manifests.Source(s.Namespace), nil
}

// readSet reads the files, or where there are none the set of the suite.
func readSet(ctx context.Context, files []golden.File, s *v1alpha1.EvalSuite, source *manifest.Source) (*golden.Set, error) {
	if len(files) > 0 {
		return golden.Read(files...)
	}
	return suite.LoadGolden(ctx, s, source, suite.Deps{})
}

// ask puts every question to the retriever. What it cannot do at all is an error.
func (o *goldenCheckOptions) ask(cmd *cobra.Command, s *v1alpha1.EvalSuite, source *manifest.Source, files []golden.File, d *checkDocument) error {
	options := suite.RunOptions{Endpoint: o.endpoint, TopK: o.topK, Golden: files, Stages: []v1alpha1.Stage{v1alpha1.StageRetrieval}}
	prepared, err := suite.Prepare(cmd.Context(), s, options, source, suite.Deps{Limits: retriever.NewLimits()})
	if err != nil {
		return explain(err, source)
	}
	defer prepared.Close()
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	search := goldentool.NewSearch(prepared.Plan.Cases)
	r := &retrieverDocument{TopK: prepared.TopK, Unit: prepared.Unit, Failed: map[string]int{}}
	bar := newProgress(cmd.ErrOrStderr(), s.Name, len(prepared.Plan.Cases))
	for i := range prepared.Plan.Cases {
		if prepared.Plan.Cases[i].Due() {
			r.Questions++
		}
	}
	result := eval.Run(ctx, prepared.Plan, prepared.Parties, func(c eval.CaseResult) {
		bar.done(c)
		switch {
		case !c.Case.Due():
		case c.Outcome == eval.Scored:
			r.Answered++
			search.Add(c.Case.ID, retrievedIDs(c.Retrieved))
		default:
			r.Failed[c.Outcome]++
			if r.Failure == "" {
				r.Failure = fmt.Sprintf("case %s: %s", c.Case.ID, c.Message)
			}
		}
	})
	bar.end()
	switch {
	case r.Questions == 0:
		return errors.New("there is nothing to ask: no case is answerable and has a relevant id")
	case r.Answered == 0 && r.Failure != "":
		return fmt.Errorf("the retriever answered none of %s: %s", counted(r.Questions, "question"), r.Failure)
	case r.Answered == 0:
		return fmt.Errorf("the retriever answered none of %s: %s", counted(r.Questions, "question"), result.Decision.Message)
	}
	r.Result = search.Result()
	d.Retriever = r
	return nil
}

func retrievedIDs(retrieved []eval.Retrieved) []string {
	ids := make([]string, len(retrieved))
	for i := range retrieved {
		ids[i] = retrieved[i].ID
	}
	return ids
}

// exit gives the exit code of what was found.
func (d *checkDocument) exit() error {
	switch {
	case d.ProblemCount > 0:
		return exitCode(exitFailed)
	case d.Retriever != nil && (len(d.Retriever.NeverFound) > 0 || d.Retriever.Answered < d.Retriever.Questions):
		return exitCode(exitInconclusive)
	}
	return nil
}

// problemDocuments gives problems for JSON.
func problemDocuments(problems []golden.Problem) []problemDocument {
	all := make([]problemDocument, 0, len(problems))
	for _, p := range problems {
		all = append(all, problemDocument{File: p.File, Line: p.Line, Case: p.Case, Field: p.Field, Message: strings.TrimSpace(p.Message), text: p.String()})
	}
	return all
}
