package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/assay-dev/assay/internal/gate"
)

// asked is what one question to a gate gives.
type asked struct {
	verdict gate.Verdict
	err     error
	// hangs has the call end with its context.
	hangs bool
}

func TestAwait(t *testing.T) {
	const timeout = 9 * time.Second
	down := errors.New("connection refused")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "assay.dev", Resource: "evalsuites"}, "docs-bot", errors.New("no"))
	unknown := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "assay.dev", Kind: "EvalSuite"}}
	pending, pass := asked{verdict: gate.Pending}, asked{verdict: gate.Pass}

	for name, test := range map[string]struct {
		wait    bool
		asks    []asked // the last one is repeated
		verdict gate.Verdict
		err     error
		count   int
		took    time.Duration
	}{
		"a pass":                               {true, []asked{pass}, gate.Pass, nil, 1, 0},
		"a fail":                               {true, []asked{{verdict: gate.Fail}}, gate.Fail, nil, 1, 0},
		"what will not come is not waited for": {true, []asked{{verdict: gate.Inconclusive}}, gate.Inconclusive, nil, 1, 0},
		"pending, without waiting":             {false, []asked{pending, pass}, gate.Pending, nil, 1, 0},
		"an outage, without waiting":           {false, []asked{{err: down}, pass}, "", down, 1, 0},
		"pending, then a pass":                 {true, []asked{pending, pending, pass}, gate.Pass, nil, 3, 2 * gatePoll},
		"pending, then a fail":                 {true, []asked{pending, {verdict: gate.Fail}}, gate.Fail, nil, 2, gatePoll},
		"pending until the time is up":         {true, []asked{pending}, gate.Pending, nil, 5, timeout},
		"an outage, then a pass":               {true, []asked{{err: down}, pending, pass}, gate.Pass, nil, 3, 2 * gatePoll},
		"an outage until the time is up":       {true, []asked{{err: down}}, "", down, 5, timeout},
		"an outage after it was pending":       {true, []asked{pending, {err: down}}, "", down, 5, timeout},
		"the time is up in the middle":         {true, []asked{pending, {hangs: true}}, gate.Pending, nil, 2, timeout},
		"never an answer":                      {true, []asked{{hangs: true}}, "", context.DeadlineExceeded, 1, timeout},
		"who may not ask does not wait":        {true, []asked{{err: forbidden}, pass}, "", forbidden, 1, 0},
		"nor who asks where Assay is not":      {true, []asked{pending, {err: unknown}, pass}, "", unknown, 2, gatePoll},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, count := time.Now(), 0
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				answer, err := await(ctx, test.wait, func(ctx context.Context) (gate.Answer, error) {
					a := test.asks[min(count, len(test.asks)-1)]
					count++
					if a.hangs {
						<-ctx.Done()
						return gate.Answer{}, ctx.Err()
					}
					return gate.Answer{Verdict: a.verdict}, a.err
				})
				if answer.Verdict != test.verdict || !errors.Is(err, test.err) || err != nil && test.err == nil {
					t.Errorf("%q, error %v; want %q, error %v", answer.Verdict, err, test.verdict, test.err)
				}
				if took := time.Since(began); count != test.count || took != test.took {
					t.Errorf("asked %d times in %s, want %d in %s", count, took, test.count, test.took)
				}
			})
		})
	}
}

func TestGateWritesItsAnswer(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	passed := gate.Answer{Verdict: gate.Pass, Reason: "Passed", Message: "run docs-bot-1: all 2 bounds are met", Revision: "8c1f", Run: "docs-bot-1", EvaluatedAt: at}
	pending := gate.Answer{Verdict: gate.Pending, Reason: "RolloutInProgress", Message: "a rollout goes on", Since: at}
	for _, test := range []struct {
		format string
		answer gate.Answer
		want   string
	}{
		{formatTable, passed, "Pass (Passed): run docs-bot-1: all 2 bounds are met\n"},
		{formatTable, pending, "Pending (RolloutInProgress): a rollout goes on\n"},
		{formatJSON, passed, `{
  "verdict": "Pass",
  "revision": "8c1f",
  "run": "docs-bot-1",
  "reason": "Passed",
  "message": "run docs-bot-1: all 2 bounds are met",
  "evaluatedAt": "2026-11-30T12:00:00Z"
}
`},
		{formatJSON, pending, `{
  "verdict": "Pending",
  "revision": "",
  "run": "",
  "reason": "RolloutInProgress",
  "message": "a rollout goes on",
  "since": "2026-11-30T12:00:00Z"
}
`},
	} {
		var out bytes.Buffer
		if err := (&gateOptions{output: test.format}).write(&out, test.answer); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.format, diff)
		}
	}
}

// What is no question ends with 3, and never with a code that a pipeline takes for
// an answer.
func TestGateRefuses(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no suite":                 {nil, "accepts 1 arg"},
		"two suites":               {[]string{"docs-bot", "web"}, "accepts 1 arg"},
		"an unknown flag":          {[]string{"docs-bot", "--forever"}, "unknown flag"},
		"an output of its own":     {[]string{"docs-bot", "-o", "yaml"}, "use table or json"},
		"no duration":              {[]string{"docs-bot", "--timeout", "soon"}, "invalid"},
		"no time":                  {[]string{"docs-bot", "--wait", "--timeout", "0s"}, "above 0"},
		"less than none":           {[]string{"docs-bot", "--timeout", "-1m"}, "above 0"},
		"neither true nor false":   {[]string{"docs-bot", "--wait=maybe"}, "invalid"},
		"no cluster":               {[]string{"docs-bot"}, "set KUBECONFIG or give --kubeconfig"},
		"a file that is not":       {[]string{"docs-bot", "--kubeconfig", "/absent/config"}, "/absent/config"},
		"a context that is not":    {[]string{"docs-bot", "--context", "absent"}, "absent"},
		"a file that is no config": {[]string{"docs-bot", "--kubeconfig", "gate_test.go"}, "gate_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			assay(t, "", append([]string{"gate"}, test.args...)...).want(t, 3, "", test.says)
		})
	}
}
