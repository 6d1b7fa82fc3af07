package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"github.com/assay-dev/assay/internal/gate"
	"github.com/assay-dev/assay/internal/gating"
)

const (
	// gatePoll is how often a gate that waits is asked.
	gatePoll = 2 * time.Second
	// askWithin bounds one question: an API server that hangs is one that is away.
	askWithin = 30 * time.Second
)

type gateOptions struct {
	clusterOptions
	revision, endpoint string
	wait               bool
	timeout            time.Duration
	output             string
}

func newGateCommand() *cobra.Command {
	var o gateOptions
	cmd := &cobra.Command{
		Use:   "gate SUITE",
		Short: "Say whether a rollout may go on, by the exit code",
		Long: `Say whether what runs now, or a revision that is given, has passed its suite, and
end with an exit code that a pipeline can go by.

The answer is about one key: the suite and its golden set as they are, the
revision, and the endpoint. A pass of an earlier revision, or one that has
expired, admits nothing.

  0  Pass: the newest verdict for that key is Passed
  1  Fail: it is Failed
  2  Inconclusive: there is none, it is undecided or has expired; or it is still
     to come (Pending) and --wait was not given or --timeout is over
  3  the command could not be carried out, or the cluster could not be reached`,
		Example: `  # after kubectl apply, in a pipeline: wait for the run of what was rolled out
  assay gate docs-bot -n rag --wait --timeout 15m

  # a canary that an EvalRun or a call of the API has tested
  assay gate docs-bot -n rag --endpoint canary --revision 6d4cf56db6`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.addFlags(f)
	f.StringVar(&o.revision, "revision", "", "revision that must have passed: the suite's, or one pod-template-hash; what runs now by default")
	f.StringVar(&o.endpoint, "endpoint", "", "name of one of the suite's endpoints; the suite's own URL by default")
	f.BoolVar(&o.wait, "wait", false, "wait while the answer is Pending: a rollout or a run goes, or is due")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long --wait waits")
	f.StringVarP(&o.output, "output", "o", formatTable, "output format: table, json")
	return cmd
}

func (o *gateOptions) run(cmd *cobra.Command, suite string) error {
	switch {
	case o.output != formatTable && o.output != formatJSON:
		return fmt.Errorf("unknown output format %q: use table or json", o.output)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout is %s: give a duration above 0, for example 15m", o.timeout)
	}
	reader, namespace, err := o.connect()
	if err != nil {
		return err
	}
	asked := gating.Cluster{Reader: reader, Clock: clock.RealClock{}}
	question := gate.Question{Endpoint: o.endpoint, Revision: o.revision}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	var told string
	answer, err := await(ctx, o.wait, func(ctx context.Context) (gate.Answer, error) {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		a, err := asked.Ask(ctx, namespace, suite, question)
		say := fmt.Sprintf("%s: %s", a.Verdict, a.Message)
		if err != nil {
			say = err.Error()
		}
		if o.wait && say != told && (err != nil || a.Verdict == gate.Pending) {
			told = say
			cmd.PrintErrln(say)
		}
		return a, err
	})
	if err != nil {
		return fmt.Errorf("ask the gate of EvalSuite %s/%s: %w", namespace, suite, err)
	}
	if err := o.write(cmd.OutOrStdout(), answer); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	if code := answer.Verdict.ExitCode(); code != exitPassed {
		return exitCode(code)
	}
	return nil
}

// await asks until the answer is no longer Pending or the context ends; once,
// where it is not to wait. A cluster that cannot be reached is asked again, for
// a pipeline should not fail of an API server that restarts; its error counts
// where it is the last word. One that refuses to answer will not change its mind.
func await(ctx context.Context, wait bool, ask func(context.Context) (gate.Answer, error)) (gate.Answer, error) {
	tick := time.NewTicker(gatePoll)
	defer tick.Stop()
	last, lastErr := ask(ctx)
	for wait && ctx.Err() == nil && !refused(lastErr) && (lastErr != nil || last.Verdict == gate.Pending) {
		select {
		case <-ctx.Done():
			return last, lastErr
		case <-tick.C:
		}
		answer, err := ask(ctx)
		if err != nil && ctx.Err() != nil {
			return last, lastErr // the time is up in the middle of a call
		}
		last, lastErr = answer, err
	}
	return last, lastErr
}

// refused tells of an error that asking again does not mend: the caller lacks a
// right, or Assay is not installed.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || meta.IsNoMatchError(err)
}

// gateDocument is the answer as the gate server gives it.
type gateDocument struct {
	Verdict     gate.Verdict `json:"verdict"`
	Revision    string       `json:"revision"`
	Run         string       `json:"run"`
	Reason      string       `json:"reason"`
	Message     string       `json:"message"`
	EvaluatedAt *time.Time   `json:"evaluatedAt,omitempty"`
	Since       *time.Time   `json:"since,omitempty"`
}

func (o *gateOptions) write(w io.Writer, a gate.Answer) error {
	if o.output == formatJSON {
		d := gateDocument{Verdict: a.Verdict, Revision: a.Revision, Run: a.Run, Reason: a.Reason, Message: a.Message}
		if !a.EvaluatedAt.IsZero() {
			d.EvaluatedAt = &a.EvaluatedAt
		}
		if !a.Since.IsZero() {
			d.Since = &a.Since
		}
		return writeIndented(w, d)
	}
	_, err := fmt.Fprintf(w, "%s (%s): %s\n", a.Verdict, a.Reason, a.Message)
	return err
}
