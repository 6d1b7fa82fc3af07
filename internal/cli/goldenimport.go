package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/goldentool"
)

// goldenImportOptions are the flags of assay golden import.
type goldenImportOptions struct {
	from       string
	qrels      string
	split      string
	topicField string
	names      map[string]string
	separator  string
	delimiter  string
	format     string
	output     string
	configMap  string
	namespace  string
	force      bool
}

func newGoldenImportCommand() *cobra.Command {
	var o goldenImportOptions
	cmd := &cobra.Command{
		Use:   "import --from SOURCE FILE",
		Short: "Make a golden set of the files of another tool",
		Long: `Write a golden set that is made of the files of another tool, and say on standard
error what is left out and why. Files whose names end in .gz are unpacked.

  beir       a folder with queries.jsonl and qrels/test.tsv; or queries.jsonl and --qrels
  trec       topics, as <top> or a line each of number, tab and text, and --qrels
  ragas      an evaluation data set or generated test set: JSON, JSONL or CSV
  promptfoo  a configuration, or its list of tests: YAML or JSON
  langsmith  the examples of a dataset: JSON or JSONL
  csv        a table (.csv, .tsv) with columns of any names, given with --map
  golden     a golden set of any format, to write it in another

The exit code is 0 when the set was written, and 3 when nothing was.`,
		Example: `  assay golden import --from beir scifact/ -O golden.yaml
  assay golden import --from trec topics.txt --qrels qrels.txt -O golden.jsonl --format jsonl
  assay golden import --from ragas testset.csv --configmap docs-bot-golden | kubectl apply --server-side -f -
  assay golden import --from csv faq.csv --map question=Prompt --map relevant="Doc IDs"`,
		Args: cobra.MinimumNArgs(1),
		RunE: o.run,
	}
	f := cmd.Flags()
	f.SortFlags = false
	sources, formats := make([]string, 0, len(goldentool.Sources)), make([]string, 0, len(goldentool.Formats))
	for _, s := range goldentool.Sources {
		sources = append(sources, string(s))
	}
	for _, format := range goldentool.Formats {
		formats = append(formats, string(format))
	}
	f.StringVar(&o.from, "from", "", "whose files they are: "+strings.Join(sources, ", "))
	f.StringVar(&o.qrels, "qrels", "", "beir, trec: file of relevance judgements")
	f.StringVar(&o.split, "split", "test", "beir: which judgements of a folder, for example train or dev")
	f.StringVar(&o.topicField, "topic-field", "title", "trec: which field of a topic is asked: title, desc or narr")
	f.StringToStringVar(&o.names, "map", nil, "name in the source of a field of a case, as FIELD=NAME; fields are id, name, question, relevant, reference_answer, tags, answerable and metadata.KEY; may be given again")
	f.StringVar(&o.separator, "separator", ";", "csv, ragas: what stands between the items of a list in a cell")
	f.StringVar(&o.delimiter, "delimiter", "", "csv, ragas: what stands between cells; by default the comma of .csv or the tab of .tsv")
	f.StringVar(&o.format, "format", string(golden.YAML), "format that is written: "+strings.Join(formats, ", "))
	f.StringVarP(&o.output, "output-file", "O", "", "file that is written; standard output by default")
	f.StringVar(&o.configMap, "configmap", "", "write the manifest of a ConfigMap of this name, with the set in it")
	f.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the ConfigMap")
	f.BoolVar(&o.force, "force", false, "overwrite the output file where it is there")
	for _, flag := range []string{"qrels", "output-file"} {
		_ = cmd.MarkFlagFilename(flag)
	}
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(sources, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *goldenImportOptions) check(args []string) error {
	from := goldentool.Source(o.from)
	switch {
	case o.from == "":
		return errors.New("--from is missing: say whose files they are; see assay golden import --help")
	case !slices.Contains(goldentool.Sources, from):
		return fmt.Errorf("--from is %q: use one of %v", o.from, goldentool.Sources)
	case len(args) > 1 && from != goldentool.Golden:
		return fmt.Errorf("one file is imported at a time, there are %d", len(args))
	case slices.Contains(args, "-"):
		return errors.New("standard input has no name whose ending picks the format: give a file")
	case o.qrels != "" && !from.WithQrels():
		return fmt.Errorf("--qrels means nothing for %s", from)
	case o.qrels == "" && from == goldentool.TREC:
		return errors.New("--qrels is missing: topics do not say which documents are relevant")
	case len(o.names) > 0 && (from.WithQrels() || from == goldentool.Golden):
		return fmt.Errorf("--map means nothing for %s, whose names are fixed", from)
	case !slices.Contains([]string{"title", "desc", "narr"}, o.topicField):
		return fmt.Errorf("--topic-field is %q: use title, desc or narr", o.topicField)
	case !slices.Contains(goldentool.Formats, golden.Format(o.format)):
		return fmt.Errorf("--format is %q: use yaml or jsonl", o.format)
	case o.separator == "":
		return errors.New("--separator is empty: give what stands between the items of a cell")
	case o.split == "" || o.split != filepath.Base(o.split):
		return fmt.Errorf("--split is %q: give a name such as test", o.split)
	case o.namespace != "" && o.configMap == "":
		return errors.New("--namespace is that of the ConfigMap: give --configmap too")
	case o.force && o.output == "":
		return errors.New("--force has nothing to overwrite: give --output-file too")
	}
	if o.configMap != "" {
		if wrong := validation.IsDNS1123Subdomain(o.configMap); len(wrong) > 0 {
			return fmt.Errorf("--configmap is %q, which is no name of a ConfigMap: %s", o.configMap, wrong[0])
		}
	}
	if o.namespace != "" {
		if wrong := validation.IsDNS1123Label(o.namespace); len(wrong) > 0 {
			return fmt.Errorf("--namespace is %q, which is no name of a namespace: %s", o.namespace, wrong[0])
		}
	}
	return nil
}

func (o *goldenImportOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	if o.output != "" && !o.force && fileExists(o.output) {
		return fmt.Errorf("%s is there already: give another --output-file, or --force to overwrite it", o.output)
	}
	options := goldentool.Options{Map: o.names, Separator: o.separator, TopicField: o.topicField}
	if o.delimiter != "" {
		var size int
		options.Delimiter, size = utf8.DecodeRuneInString(o.delimiter)
		if size != len(o.delimiter) || strings.ContainsRune("\"\r\n\ufffd", options.Delimiter) {
			return fmt.Errorf("--delimiter is %q: give one character", o.delimiter)
		}
	}
	input, err := o.read(args)
	if err != nil {
		return err
	}
	imported, err := goldentool.Import(goldentool.Source(o.from), input, options)
	if err != nil {
		return err
	}
	data, set, err := imported.Encode(golden.Format(o.format))
	if err != nil {
		return fmt.Errorf("what was imported is no golden set, nothing was written: %w", err)
	}
	for _, dropped := range imported.Dropped {
		cmd.PrintErrln("left out:", dropped)
	}
	for _, warning := range set.Warnings {
		// It names a line of what is only in memory yet.
		warning.File, warning.Line = "", 0
		cmd.PrintErrln("warning:", warning)
	}
	if o.configMap != "" {
		if data, err = goldentool.ConfigMap(o.configMap, o.namespace, golden.Format(o.format), data); err != nil {
			return err
		}
		if len(data) > goldentool.MaxAppliedBytes {
			cmd.PrintErrln("warning: the manifest is over 256 KiB: apply it with kubectl apply --server-side")
		}
	}
	if err := o.write(cmd, data); err != nil {
		return fmt.Errorf("writing the golden set: %w", err)
	}
	s := goldentool.Summarize(set)
	cmd.PrintErrf("%s, %d with relevant ids, %d with a reference answer\n", counted(s.Cases, "case"), s.Due, s.WithReference)
	return nil
}

// read reads the files; a folder of BEIR stands for its two.
func (o *goldenImportOptions) read(args []string) (goldentool.Input, error) {
	qrels := o.qrels
	if o.from == string(goldentool.BEIR) {
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			if qrels == "" {
				qrels = filepath.Join(args[0], "qrels", o.split+".tsv")
			}
			args = []string{filepath.Join(args[0], "queries.jsonl")}
		} else if qrels == "" {
			return goldentool.Input{}, errors.New("--qrels is missing: give it, or the folder of the data set in place of its queries")
		}
	}
	files, err := readFiles("import", args)
	if err != nil {
		return goldentool.Input{}, err
	}
	input := goldentool.Input{Files: files}
	if qrels != "" {
		judged, err := readFiles("--qrels", []string{qrels})
		if err != nil {
			return goldentool.Input{}, err
		}
		input.Qrels = judged[0]
	}
	return input, nil
}

func (o *goldenImportOptions) write(cmd *cobra.Command, data []byte) error {
	switch {
	case o.output == "":
		_, err := cmd.OutOrStdout().Write(data)
		return err
	case o.force && fileExists(o.output):
		was, err := os.ReadFile(o.output)
		if err != nil {
			return err
		}
		return replaceFile(o.output, was, data)
	}
	return createFile(o.output, data)
}
