package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/goldentool"
	"github.com/assay-dev/assay/internal/report"
)

// goldenAddOptions are the flags of assay golden add.
type goldenAddOptions struct {
	file         string
	fromRun      string
	cases        []string
	id           string
	name         string
	question     string
	relevant     []string
	reference    string
	tags         []string
	unanswerable bool
}

func newGoldenAddCommand() *cobra.Command {
	var o goldenAddOptions
	cmd := &cobra.Command{
		Use:   "add FILE",
		Short: "Append a case to a golden set's file",
		Long: `Append a case to the file of a golden set: from flags, from a run document, or
from a file or standard input that holds one as YAML or JSON. Flags correct what
the other two give. The file keeps its comments, its order and its format; it is
begun where it is not there. A case that would make the set unusable, by an id
that is taken or a question that is missing, is refused, and the file stays as it
is.

The exit code is 0 when the case was added, and 3 when nothing was.`,
		Example: `  assay golden add golden.yaml --question "How do I get my money back?" --relevant billing/refunds.md --tag howto

  # a case that a run got wrong, with what would have been right
  assay golden add smoke.yaml --from-run result.json --case refund --relevant billing/refunds.md=2

  # a question from the log
  echo '{"question": "Who am I?", "answerable": false}' | assay golden add golden.jsonl -f -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.file, "filename", "f", "", "file with the case as YAML or JSON, or - for standard input; several in a list")
	f.StringVar(&o.fromRun, "from-run", "", "run document, as assay run -o json writes it, that has the case; or - for standard input")
	f.StringArrayVar(&o.cases, "case", nil, "with --from-run: id of the case; may be given again")
	f.StringVar(&o.id, "id", "", "id of the case; made from its question by default")
	f.StringVar(&o.name, "name", "", "name of the case, for people")
	f.StringVar(&o.question, "question", "", "what is asked")
	f.StringArrayVar(&o.relevant, "relevant", nil, "id that answers the question, as ID or ID=GRADE; may be given again")
	f.StringVar(&o.reference, "reference", "", "what a right answer says")
	f.StringArrayVar(&o.tags, "tag", nil, "tag of the case, beside those that it has; may be given again")
	f.BoolVar(&o.unanswerable, "unanswerable", false, "the corpus has no answer, and the right behaviour is to say so")
	for _, flag := range []string{"filename", "from-run"} {
		_ = cmd.MarkFlagFilename(flag)
	}
	return cmd
}

func (o *goldenAddOptions) check(name string) error {
	switch {
	case name == "-":
		return errors.New("a case is added to a file, not to standard output: give its name")
	case o.file != "" && o.fromRun != "":
		return errors.New("-f and --from-run both give the case: use one")
	case o.fromRun == "" && len(o.cases) > 0:
		return errors.New("--case picks a case of a run: give --from-run too")
	case o.fromRun == "" && o.file == "" && o.question == "":
		return errors.New("no case: give --question, --from-run or -f (- for standard input)")
	}
	return nil
}

func (o *goldenAddOptions) run(cmd *cobra.Command, name string) error {
	if err := o.check(name); err != nil {
		return err
	}
	cases, err := o.gather(cmd)
	if err != nil {
		return err
	}
	if err := o.correct(cmd, cases); err != nil {
		return err
	}
	was, err := readBounded(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the golden set: %w", err)
	}
	isNew := err != nil
	data, set, err := goldentool.Append(golden.File{Name: name, Data: was}, cases)
	if err != nil {
		return fmt.Errorf("nothing was added: %w", err)
	}
	if isNew {
		err = createFile(name, data)
	} else {
		err = replaceFile(name, was, data)
	}
	if err != nil {
		return fmt.Errorf("writing the golden set: %w", err)
	}
	cmd.PrintErrf("%s added to %s, which has %s\n", counted(len(cases), "case"), name, counted(len(set.Cases), "case"))
	for _, warning := range set.Warnings {
		cmd.PrintErrln("warning:", warning)
	}
	return nil
}

// gather gives the cases before flags correct them.
func (o *goldenAddOptions) gather(cmd *cobra.Command) ([]golden.Case, error) {
	switch {
	case o.fromRun != "":
		return o.fromDocument(cmd)
	case o.file == "-":
		data, err := readStdin(cmd)
		if err != nil {
			return nil, err
		}
		return goldentool.ReadCases("standard input", data)
	case o.file != "":
		data, err := readBounded(o.file)
		if err != nil {
			return nil, fmt.Errorf("reading the case: %w", err)
		}
		return goldentool.ReadCases(o.file, data)
	}
	return []golden.Case{{Answerable: true}}, nil
}

// fromDocument takes the cases out of a run document.
func (o *goldenAddOptions) fromDocument(cmd *cobra.Command) ([]golden.Case, error) {
	d, err := readDocument(cmd, o.fromRun)
	if err != nil {
		return nil, err
	}
	if len(o.cases) == 0 {
		failing := goldentool.Failing(d)
		if len(failing) == 0 {
			return nil, errors.New("which case? Give --case ID; the run has none that failed")
		}
		return nil, fmt.Errorf("which case? Give --case ID; these did not come out well: %s", someOf(failing))
	}
	var cases []golden.Case
	for _, id := range o.cases {
		at := slices.IndexFunc(d.Cases, func(c report.Case) bool { return c.ID == id })
		if at < 0 {
			return nil, fmt.Errorf("%s has no case %q", o.fromRun, id)
		}
		c, whole := goldentool.FromRun(&d.Cases[at])
		if !whole {
			cmd.PrintErrf("warning: case %q is not whole: a run document keeps no metadata, and no texts where the suite keeps none; add what is missing by hand\n", id)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// someOf lists the first few of many.
func someOf(items []string) string {
	const few = 12
	if len(items) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:few], ", "), len(items)-few)
	}
	return strings.Join(items, ", ")
}

// correct puts what the flags say into the cases.
func (o *goldenAddOptions) correct(cmd *cobra.Command, cases []golden.Case) error {
	given := cmd.Flags().Changed
	for _, flag := range []string{"id", "name", "question", "relevant", "reference"} {
		if given(flag) && len(cases) > 1 {
			return fmt.Errorf("--%s is about one case, and there are %d: add them one by one", flag, len(cases))
		}
	}
	relevant, err := parseRelevant(o.relevant)
	if err != nil {
		return err
	}
	for i := range cases {
		c := &cases[i]
		for flag, field := range map[string]*string{"id": &c.ID, "name": &c.Name, "question": &c.Question, "reference": &c.ReferenceAnswer} {
			if given(flag) {
				*field, _ = cmd.Flags().GetString(flag)
			}
		}
		if o.unanswerable {
			c.Answerable, c.Relevant = false, nil
		}
		if given("relevant") {
			c.Relevant = relevant
		}
		for _, tag := range o.tags {
			if !slices.Contains(c.Tags, tag) {
				c.Tags = append(c.Tags, tag)
			}
		}
	}
	return nil
}

// parseRelevant reads ID or ID=GRADE. What stands behind the last = is the grade
// where it is a number: an id that ends so itself is given with its grade.
func parseRelevant(args []string) ([]golden.Relevant, error) {
	var all []golden.Relevant
	for _, arg := range args {
		r := golden.Relevant{ID: arg, Grade: 1}
		if at := strings.LastIndexByte(arg, '='); at >= 0 {
			if grade, err := strconv.ParseFloat(arg[at+1:], 64); err == nil {
				r = golden.Relevant{ID: arg[:at], Grade: grade}
			}
		}
		switch {
		case strings.TrimSpace(r.ID) == "":
			return nil, fmt.Errorf("--relevant is %q: give an id", arg)
		case !(r.Grade > 0) || r.Grade > 1e9:
			return nil, fmt.Errorf("--relevant is %q: the grade must be above 0", arg)
		}
		all = append(all, r)
	}
	return all, nil
}
