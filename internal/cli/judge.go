package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/manifest"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/suite"
)

func newJudgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "judge",
		Short: "Hold the judge against verdicts that people gave",
	}
	cmd.AddCommand(newCalibrateCommand(), newLabelCommand())
	return cmd
}

type calibrateOptions struct {
	files, labels []string
	suite, output string
}

func newCalibrateCommand() *cobra.Command {
	var o calibrateOptions
	cmd := &cobra.Command{
		Use:   "calibrate -f FILE",
		Short: "Have a suite's judge judge labelled answers, and show how far it agrees",
		Long: `Have the judge of a suite judge answers that people have judged, with no
cluster, and show how far both agree: the confusion table, the agreement and
Cohen's kappa for "correct" and for "grounded".

The labels are those of the suite's judge.calibration, or those of --labels.

  0  the judge is trusted: both kappas reach minKappa
  1  it is not: one falls short
  2  nobody can tell: fewer than five labels in a class
  3  the command could not be carried out`,
		Example: `  assay judge calibrate -f suite.yaml -f labels.yaml
  assay judge calibrate -f suite.yaml --labels verdicts.jsonl -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&o.files, "filename", "f", nil, "manifest file, folder of manifests, or - for standard input; may be given again")
	f.StringArrayVar(&o.labels, "labels", nil, "labelled verdicts in place of the suite's (.jsonl, .json, .yaml, .csv); may be given again")
	f.StringVar(&o.suite, "suite", "", "name, or namespace/name, of the suite where the files hold several")
	f.StringVarP(&o.output, "output", "o", formatTable, "output format: table, json")
	for _, flag := range []string{"filename", "labels"} {
		_ = cmd.MarkFlagFilename(flag)
	}
	return cmd
}

func (o *calibrateOptions) run(cmd *cobra.Command) error {
	switch {
	case len(o.files) == 0:
		return errors.New("no manifest: give the suite's with -f FILE")
	case o.output != formatTable && o.output != formatJSON:
		return fmt.Errorf("unknown output format %q: use table or json", o.output)
	}
	grader, err := o.prepare(cmd)
	if err != nil {
		return err
	}
	defer grader.Close()
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	result, err := judge.Calibrate(ctx, grader.Judge, grader.Labels, grader.Parallelism)
	if err != nil {
		return fmt.Errorf("calibrating the judge: %w", err)
	}
	trust, message := result.Trusted(grader.MinKappa)
	d := &calibrationDocument{Judge: grader.Identity, Trust: trust, Message: message, Calibration: result}
	d.fill()
	if o.output == formatJSON {
		err = writeIndented(cmd.OutOrStdout(), d)
	} else {
		err = d.write(cmd.OutOrStdout())
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return map[judge.Trust]error{
		judge.Untrusted: exitCode(exitFailed), judge.TrustUnknown: exitCode(exitInconclusive),
	}[trust]
}

func (o *calibrateOptions) prepare(cmd *cobra.Command) (*suite.Grader, error) {
	manifests, err := manifest.Load(o.files, cmd.InOrStdin())
	if err != nil {
		return nil, withCount(err)
	}
	for _, warning := range manifests.Warnings {
		cmd.PrintErrln("warning:", warning)
	}
	s, err := manifests.Suite(o.suite)
	if err != nil {
		return nil, err
	}
	files, err := readFiles("--labels", o.labels)
	if err != nil {
		return nil, err
	}
	var labels []judge.Label
	if len(files) > 0 {
		set, err := judge.ReadLabels(files...)
		if err != nil {
			return nil, fmt.Errorf("the labelled verdicts cannot be read: %w", err)
		}
		for _, warning := range set.Warnings {
			cmd.PrintErrln("warning:", warning)
		}
		labels = set.Labels
	}
	source := manifests.Source(s.Namespace)
	grader, err := suite.PrepareGrader(cmd.Context(), s, labels, source, suite.Deps{Limits: retriever.NewLimits()})
	if err != nil {
		return nil, explain(err, source)
	}
	return grader, nil
}

// calibrationDocument is what assay judge calibrate -o json writes.
type calibrationDocument struct {
	Judge   judge.Identity `json:"judge"`
	Trust   judge.Trust    `json:"trust"`
	Message string         `json:"message"`
	// KappaCorrect and KappaGrounded are left out where they are not known.
	KappaCorrect  *float64 `json:"kappaCorrect,omitempty"`
	KappaGrounded *float64 `json:"kappaGrounded,omitempty"`
	*judge.Calibration
}

func (d *calibrationDocument) fill() {
	if kappa, known := d.Correct.Kappa(); known {
		d.KappaCorrect = &kappa
	}
	if kappa, known := d.Grounded.Kappa(); known {
		d.KappaGrounded = &kappa
	}
}

func (d *calibrationDocument) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "JUDGE   %s\nLABELS  %d\n", strings.TrimSpace(d.Judge.Provider+" "+d.Judge.Model), d.Labels)
	for _, q := range []struct {
		name  string
		table judge.Confusion
		kappa *float64
	}{{"CORRECT", d.Correct, d.KappaCorrect}, {"GROUNDED", d.Grounded, d.KappaGrounded}} {
		fmt.Fprintf(&b, "\n%-11s  %12s  %12s\n", q.name, "judge: yes", "judge: no")
		fmt.Fprintf(&b, "%-11s  %12d  %12d\n", "people: yes", q.table.TruePositives, q.table.FalseNegatives)
		fmt.Fprintf(&b, "%-11s  %12d  %12d\n", "people: no", q.table.FalsePositives, q.table.TrueNegatives)
		agreement, kappa := "none", "unknown"
		if share, ok := q.table.Agreement(); ok {
			agreement = score.Format(share)
		}
		if q.kappa != nil {
			kappa = score.Format(*q.kappa)
		}
		fmt.Fprintf(&b, "agreement %s, kappa %s\n", agreement, kappa)
	}
	for _, outcome := range slices.Sorted(maps.Keys(d.Ungraded)) {
		fmt.Fprintf(&b, "\n%s: %s got no verdict\n", outcome, counted(d.Ungraded[outcome], "label"))
	}
	fmt.Fprintf(&b, "\n%s: %s\n", d.Trust, d.Message)
	_, err := io.WriteString(w, b.String())
	return err
}

func newLabelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "label RESULT.json",
		Short: "Write a run's verdicts as labelled verdicts, for a person to correct",
		Long: `Write what the judge said in a run as labelled verdicts, one a line. Correct
"correct" and "grounded" where the judge was wrong, put the file into a
ConfigMap, and name it in judge.calibration: the suite then says how far its
judge agrees with you.

RESULT.json is a run document: from assay run -o json, or from the API's
GET /api/v1/eval/rag/run/{run_id}; - reads standard input. Cases without a
verdict are left out.`,
		Example: `  assay run -f suite.yaml -f golden.yaml -o json > result.json
  assay judge label result.json > verdicts.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runLabel(cmd, args[0]) },
	}
	return cmd
}

func runLabel(cmd *cobra.Command, name string) error {
	d, err := readDocument(cmd, name)
	if err != nil {
		return err
	}
	labels, left := labelsOf(d)
	if len(labels) == 0 {
		return fmt.Errorf("no case of %s has a verdict: the run needs spec.answer and spec.judge, and its texts (history.storeContent)", name)
	}
	if err := judge.WriteLabels(cmd.OutOrStdout(), labels); err != nil {
		return err
	}
	cmd.PrintErrf("%s written, %d cases without a verdict or without their texts left out\n", counted(len(labels), "label"), left)
	return nil
}

// labelsOf takes the judged cases of a run as labels, and counts the others.
func labelsOf(d *report.Document) (labels []judge.Label, left int) {
	for i := range d.Cases {
		c := &d.Cases[i]
		if c.Verdict == nil || c.Answer == nil {
			left++
			continue
		}
		labels = append(labels, judge.Label{
			ID: c.ID, Question: c.Question, History: c.History, Reference: c.ReferenceAnswer, Contexts: c.Contexts, Answer: *c.Answer,
			Answerable: c.Answerable == nil || *c.Answerable, Correct: c.Verdict.Correct, Grounded: &c.Verdict.Grounded, Reason: c.Verdict.Reason,
		})
	}
	return labels, left
}

// readDocument reads a run document from a file, or from standard input.
func readDocument(cmd *cobra.Command, name string) (*report.Document, error) {
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxDocumentBytes+1))
	} else {
		data, err = readUpTo(name, maxDocumentBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the run document: %w", err)
	}
	if len(data) > maxDocumentBytes {
		return nil, fmt.Errorf("reading the run document: it is over %d MiB", maxDocumentBytes>>20)
	}
	d, err := report.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// maxDocumentBytes bounds a run document: 100,000 cases with their texts.
const maxDocumentBytes = 1 << 30

func readUpTo(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, limit+1))
}

func writeIndented(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
