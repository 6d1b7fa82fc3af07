package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// retriever is where the quickstart suite asks.
const retriever = "127.0.0.1:8090"

// verdictWithin is how long the demo waits for the quickstart's verdict.
const verdictWithin = 3 * time.Minute

// demo is what the show needs.
type demo struct {
	assay, kubectl, kubeconfig, logs string
	metrics, api                     string
	processes                        []*process
}

// terminal is true where somebody looks at the demo.
var terminal = term.IsTerminal(int(os.Stdout.Fd()))

func say(format string, args ...any) { fmt.Println(style(bold, "==> "+fmt.Sprintf(format, args...))) }

// Escapes of a terminal.
const (
	bold  = "\033[1m"
	faint = "\033[2m"
	reset = "\033[0m"
)

func style(escape, text string) string {
	if !terminal {
		return text
	}
	return escape + text + reset
}

// show starts everything, applies the suite and shows what becomes of it. It
// reports whether the suite passed.
func (d *demo) show(ctx context.Context) (bool, error) {
	if err := d.startAll(ctx); err != nil {
		return false, err
	}
	say("applying the quickstart suite: a golden set about this project's documentation, in English and Korean")
	if err := d.run(ctx, "apply", "-f", "config/samples/quickstart"); err != nil {
		return false, err
	}
	verdict, err := d.follow(ctx)
	if err != nil {
		return false, err
	}
	say("the run, and the suite that it belongs to")
	if err := d.run(ctx, "get", "evr,evs", "-o", "wide"); err != nil {
		return false, err
	}
	say("why it is %s: every objective, and the cases to look at first", verdict)
	if err := d.run(ctx, "get", "evr", "-o", objectives); err != nil {
		return false, err
	}
	if err := d.run(ctx, "get", "evr", "-o", worst); err != nil {
		return false, err
	}
	say("what came back, case by case: out of the history, by the HTTP API")
	if err := d.history(ctx); err != nil {
		return false, err
	}
	say("the gauges, as Prometheus scrapes them: over HTTPS, with a token that the API server knows")
	if err := d.gauges(ctx); err != nil {
		return false, err
	}
	return verdict == "Passed", nil
}

// What kubectl prints of a run's objectives and worst cases.
const (
	objectives = `go-template={{range .items}}{{range .status.objectives}}{{printf "  %-12s %s\n" .outcome .message}}{{end}}{{end}}`
	worst      = `go-template={{range .items}}{{range $i, $_ := .status.worstCases}}{{if lt $i 8}}{{printf "  case %-28s " .id}}{{if eq (printf "%v" .rank) "1"}}found first, and answered wrong{{else if .rank}}first relevant result at rank {{.rank}}{{else}}not found{{end}}{{"\n"}}{{end}}{{end}}{{end}}`
)

func (d *demo) startAll(ctx context.Context) error {
	say("starting the sample retriever: BM25 over docs/ and README.md, at http://%s/search", retriever)
	if err := d.start("sample-rag", nil, "sample-rag", "--dir", "docs", "--file", "README.md", "--exclude", "docs/adr", "--addr", retriever, "--latency", "200ms"); err != nil {
		return err
	}
	if err := d.until(ctx, "the start of the sample retriever", time.Minute, answers("http://"+retriever+"/healthz")); err != nil {
		return err
	}
	var err error
	if d.metrics, err = freeAddress(); err != nil {
		return err
	}
	if d.api, err = freeAddress(); err != nil {
		return err
	}
	probes, err := freeAddress()
	if err != nil {
		return err
	}
	say("starting the operator: assay operator")
	if err := d.start("operator", []string{"KUBECONFIG=" + d.kubeconfig}, "operator", "--metrics-bind-address", d.metrics, "--health-probe-bind-address", probes,
		"--api-bind-address", d.api, "--history", "sqlite://"+filepath.Join(d.logs, "history.db")); err != nil {
		return err
	}
	return d.until(ctx, "the start of the operator", time.Minute, answers("http://"+probes+"/readyz"))
}

// portIsFree checks that nobody listens where the sample retriever will: they
// would answer in its place, for the suite asks there and nowhere else.
func portIsFree() error {
	l, err := net.Listen("tcp", retriever)
	if err != nil {
		return fmt.Errorf("the quickstart suite asks at %s, which must be free: end what listens there: %w", retriever, err)
	}
	return l.Close()
}

// answers checks that a URL answers with 200.
func answers(url string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		return errors.Join(resp.Body.Close()) == nil && resp.StatusCode == http.StatusOK
	}
}

// follow shows the run's progress until it has a verdict.
func (d *demo) follow(ctx context.Context) (verdict string, err error) {
	say("following the run: kubectl get evr --watch")
	last := ""
	err = d.until(ctx, "the first run", verdictWithin, func(ctx context.Context) bool {
		out, err := d.output(ctx, "get", "evr", "-o", `jsonpath={range .items[*]}{.metadata.name}{"  "}{.spec.trigger}{"  "}{.status.progressText}{"  "}{.status.verdict}{"\n"}{end}`)
		if err != nil {
			return false
		}
		if line := strings.TrimSpace(out); line != last {
			last = line
			fmt.Println("   ", line)
		}
		verdict, err = d.output(ctx, "get", "evr", "-o", "jsonpath={.items[*].status.verdict}")
		return err == nil && verdict != ""
	})
	if err != nil {
		return "", err
	}
	// The suite takes the run's result over a moment later.
	return verdict, d.until(ctx, "the suite's status", time.Minute, func(ctx context.Context) bool {
		out, err := d.output(ctx, "get", "evs", "quickstart", "-o", "jsonpath={.status.lastRun.verdict}")
		return err == nil && out == verdict
	})
}

// gauges scrapes the operator as Prometheus does, with a ServiceAccount's
// token, and prints the series of all cases.
func (d *demo) gauges(ctx context.Context) error {
	body, err := d.get(ctx, "https://"+d.metrics+"/metrics")
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); headline(line) {
			fmt.Println("   ", line)
		}
	}
	return lines.Err()
}

// get asks the operator with the token of an account that may read.
func (d *demo) get(ctx context.Context, url string) ([]byte, error) {
	if _, err := d.output(ctx, "apply", "-f", "hack/demo/reader.yaml"); err != nil {
		return nil, err
	}
	token, err := d.output(ctx, "create", "token", "reader")
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", url, err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	// The operator signed its certificate itself, a moment ago, on this machine.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the operator: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask %s: it answered %s: %s", url, resp.Status, body)
	}
	return body, nil
}

// history shows the suite's last run and one of its cases, as the HTTP API tells them.
func (d *demo) history(ctx context.Context) error {
	const suite = "/api/v1/eval/rag/default/quickstart/history?limit=1"
	fmt.Println(style(faint, `$ curl -sk -H "Authorization: Bearer $(kubectl create token reader)" https://`+d.api+suite))
	body, err := d.get(ctx, "https://"+d.api+suite)
	if err != nil {
		return err
	}
	var list struct {
		Runs []struct{ ID, Name, Verdict string }
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Runs) == 0 {
		return fmt.Errorf("read the history: %w: %s", cmp.Or(err, errNoRun), body)
	}
	last := list.Runs[0]
	fmt.Printf("    %s  %s  id %s\n", last.Name, last.Verdict, last.ID)
	run := "/api/v1/eval/rag/run/" + last.ID + "?tag=korean&limit=1"
	fmt.Println(style(faint, "$ curl … https://"+d.api+run))
	if body, err = d.get(ctx, "https://"+d.api+run); err != nil {
		return err
	}
	var document struct {
		Cases []struct {
			ID, Question, Answer string
			Verdict              *struct{ Reason string }
			Retrieved            []struct {
				Rank     int
				ID       string
				Score    float64
				Relevant bool
			}
		}
	}
	if err := json.Unmarshal(body, &document); err != nil || len(document.Cases) == 0 {
		return fmt.Errorf("read the run: %w: %s", cmp.Or(err, errNoRun), body)
	}
	c := document.Cases[0]
	fmt.Printf("    case %s: %s\n", c.ID, c.Question)
	for _, r := range c.Retrieved[:min(5, len(c.Retrieved))] {
		mark := ""
		if r.Relevant {
			mark = "  ← relevant"
		}
		fmt.Printf("    rank %d  %-28s score %.2f%s\n", r.Rank, r.ID, r.Score, mark)
	}
	fmt.Printf("    answer  %s\n", c.Answer)
	if c.Verdict != nil {
		fmt.Printf("    judge   %s\n", c.Verdict.Reason)
	}
	return nil
}

// errNoRun is a history that lacks what was just run.
var errNoRun = errors.New("there is no run in it")

// headline picks the series that a person looks at first.
func headline(line string) bool {
	for _, name := range []string{"assay_hit_rate{", "assay_mrr{", "assay_accuracy{", "assay_hallucination_rate{", "assay_coverage{", "assay_suite_passing{", "assay_objective_met{", "assay_runs_total{"} {
		if strings.HasPrefix(line, name) {
			return strings.Contains(line, `tag=""`) || !strings.Contains(line, "tag=")
		}
	}
	return false
}

// run shows a kubectl command and what it prints.
func (d *demo) run(ctx context.Context, args ...string) error {
	shown := slices.Clone(args)
	for i, a := range shown {
		if strings.HasPrefix(a, "go-template=") {
			shown[i] = "go-template=…"
		}
	}
	fmt.Println(style(faint, "$ kubectl "+strings.Join(shown, " ")))
	cmd := command(ctx, d.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w", strings.Join(shown, " "), err)
	}
	return nil
}

func (d *demo) output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig)
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return "", fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// nextSteps says what to try while the demo is up.
func (d *demo) nextSteps() {
	say("it stays up until Ctrl-C. In another terminal, from this folder:")
	fmt.Printf(`
    export KUBECONFIG=%s
    alias kubectl=%s

  run it again, by hand
    kubectl annotate evs quickstart assay.dev/run-now="$(date +%%s)" --overwrite
    kubectl get evr --watch

  ask only the Korean questions, and only three results each
    kubectl create -f - <<'EOF'
    apiVersion: assay.dev/v1alpha1
    kind: EvalRun
    metadata: {generateName: quickstart-korean-}
    spec: {suiteRef: {name: quickstart}, tags: [korean], topK: 3}
    EOF

  break it: ask for more than BM25 can give, and read why it fails
    kubectl patch evs quickstart --type merge -p '{"spec": {"objectives": [{"metric": "hit_rate@1", "min": "0.99"}]}}'
    kubectl get evs
    kubectl events --for evs/quickstart

  everything that is known of the last run, and what each field means
    kubectl get evr -o yaml
    kubectl explain evalsuite.spec.objectives

  the same suite without a cluster
    bin/assay run -f config/samples/quickstart

  every run so far, and one of them whole, out of the history
    kubectl create token reader > /tmp/token
    curl -sk -H "Authorization: Bearer $(cat /tmp/token)" https://%s/api/v1/eval/rag/default/quickstart/history

  logs: %s/*.log

`, d.kubeconfig, d.kubectl, d.api, d.logs)
}

// wait keeps the demo up until it is stopped or a process ends.
func (d *demo) wait(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for _, p := range d.processes {
			if err := p.ended(); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
