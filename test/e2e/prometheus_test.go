//go:build e2e

// Package e2e tests Assay against the real servers that it works with.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// prometheusBin is the environment variable with the path of the binary.
	prometheusBin = "PROMETHEUS_BIN"

	pollInterval = 200 * time.Millisecond
	// pollTimeout is far below the five minutes for which Prometheus goes on
	// answering with a series that was lost without a staleness marker: a test
	// that waits for a series to vanish fails without the marker.
	pollTimeout = 90 * time.Second
)

// promServer is a Prometheus that scrapes one target every second.
type promServer struct {
	url    string
	api    promv1.API
	log    *promLog
	exited chan struct{} // closed when the process has ended
}

// startPrometheus starts the Prometheus of PROMETHEUS_BIN, which scrapes
// https://target/metrics with the bearer token in tokenFile. The target's
// certificate must be signed by one in caFile; with no caFile it is not checked,
// as for the self-signed one that the operator makes for itself. It evaluates the
// rules of the files. The process ends with the test; a test that failed logs what
// it said.
func startPrometheus(t *testing.T, target, caFile, tokenFile string, rules ...string) *promServer {
	t.Helper()
	binary := os.Getenv(prometheusBin)
	if binary == "" {
		t.Fatalf("%s is not set: it must hold the path of a prometheus binary; `make e2e` builds one and sets it", prometheusBin)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, scrapeConfig(target, caFile, tokenFile, rules), 0o600); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	p := &promServer{log: &promLog{listening: make(chan string, 1)}, exited: make(chan struct{})}
	cmd := exec.CommandContext(ctx, binary,
		"--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0",
		"--log.format=json",
	)
	cmd.Stderr = p.log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatalf("starting the prometheus that %s names: %v", prometheusBin, err)
	}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // How it ended is in its log.
	}()
	t.Cleanup(func() {
		stop()
		<-p.exited
		if t.Failed() {
			t.Logf("prometheus said:\n%s", p.log)
		}
	})

	p.connect(t)
	return p
}

// scrapeConfig is the configuration of a Prometheus with one target. The target
// has the label namespace that the Prometheus operator gives it, which is not the
// suite's.
func scrapeConfig(target, caFile, tokenFile string, rules []string) []byte {
	tls := "insecure_skip_verify: true"
	if caFile != "" {
		tls = fmt.Sprintf("ca_file: %q", caFile)
	}
	return fmt.Appendf(nil, `global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 1s
rule_files: [%s]
scrape_configs:
  - job_name: assay
    scheme: https
    honor_labels: true
    authorization:
      credentials_file: %q
    tls_config:
      %s
    static_configs:
      - targets: [%q]
        labels: {namespace: assay-system}
`, strings.Join(rules, ", "), tokenFile, tls, target)
}

// connect waits until the server listens and says that it is ready.
func (p *promServer) connect(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pollTimeout)
	defer cancel()
	select {
	case address := <-p.log.listening:
		p.url = "http://" + address
	case <-p.exited:
		t.Fatal("prometheus ended before it listened")
	case <-ctx.Done():
		t.Fatalf("prometheus did not listen within %v", pollTimeout)
	}
	client, err := api.NewClient(api.Config{Address: p.url})
	if err != nil {
		t.Fatal(err)
	}
	p.api = promv1.NewAPI(client)
	if err := wait.PollUntilContextCancel(ctx, pollInterval, true, p.ready); err != nil {
		t.Fatalf("waiting for prometheus to be ready: %v", err)
	}
}

func (p *promServer) ready(ctx context.Context) (bool, error) {
	select {
	case <-p.exited:
		return false, errors.New("prometheus has ended")
	default:
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/-/ready", nil)
	if err != nil {
		return false, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, nil
	}
	return resp.StatusCode == http.StatusOK, resp.Body.Close()
}

// query evaluates a PromQL expression as of now.
func (p *promServer) query(ctx context.Context, expr string) (model.Vector, error) {
	value, _, _, err := p.api.Query(ctx, expr, time.Now())
	if err != nil {
		return nil, fmt.Errorf("query prometheus for %s: %w", expr, err)
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("query prometheus for %s: the answer is a %s, not a vector", expr, value.Type())
	}
	return vector, nil
}

// waitFor evaluates an expression until its result is as wanted, and returns it.
func (p *promServer) waitFor(t *testing.T, expr string, wanted func(model.Vector) bool) model.Vector {
	t.Helper()
	var last model.Vector
	var lastErr error
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, pollTimeout, true, func(ctx context.Context) (bool, error) {
		last, lastErr = p.query(ctx, expr)
		return lastErr == nil && wanted(last), nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v; last result:\n%v\nlast error: %v; target: %s", expr, err, last, lastErr, p.target())
	}
	return last
}

// waitForValue waits until an expression gives one series with this value.
func (p *promServer) waitForValue(t *testing.T, expr string, value float64) {
	t.Helper()
	p.waitFor(t, expr, func(v model.Vector) bool { return len(v) == 1 && float64(v[0].Value) == value })
}

// waitForNone waits until an expression gives no series.
func (p *promServer) waitForNone(t *testing.T, expr string) {
	t.Helper()
	p.waitFor(t, expr, func(v model.Vector) bool { return len(v) == 0 })
}

// firing gives the alerts that fire, by name and then by their other labels.
func (p *promServer) firing(ctx context.Context) (map[string][]model.LabelSet, error) {
	answer, err := p.api.Alerts(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask prometheus for its alerts: %w", err)
	}
	alerts := map[string][]model.LabelSet{}
	for _, alert := range answer.Alerts {
		if alert.State == promv1.AlertStateFiring {
			name := string(alert.Labels[model.AlertNameLabel])
			alerts[name] = append(alerts[name], alert.Labels)
		}
	}
	return alerts, nil
}

// target says how the last scrape went, for messages.
func (p *promServer) target() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	targets, err := p.api.Targets(ctx)
	if err != nil {
		return err.Error()
	}
	var states []string
	for _, target := range targets.Active {
		states = append(states, fmt.Sprintf("%s is %s %s", target.ScrapeURL, target.Health, target.LastError))
	}
	return strings.Join(states, "; ")
}

// promLog keeps what Prometheus logs and finds in it the address that it chose.
type promLog struct {
	listening chan string

	mu   sync.Mutex
	text bytes.Buffer
	line []byte // that has not ended yet
}

// Write implements io.Writer.
func (l *promLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	l.line = append(l.line, b...)
	for {
		line, rest, ended := bytes.Cut(l.line, []byte("\n"))
		if !ended {
			return len(b), nil
		}
		l.line = rest
		var entry struct{ Msg, Address string }
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "Listening on" {
			select {
			case l.listening <- entry.Address:
			default:
			}
		}
	}
}

// String implements fmt.Stringer.
func (l *promLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
