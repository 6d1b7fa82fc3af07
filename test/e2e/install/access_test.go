//go:build e2e

package install

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// caller asks one of the operator's two servers with the token of a ServiceAccount.
type caller struct{ address, token string }

// token makes a ServiceAccount of the namespace rag with a role there, and gives
// its token.
func token(t *testing.T, role string) string {
	t.Helper()
	account := "holder-of-" + role
	for _, args := range [][]string{
		{"create", "serviceaccount", account},
		{"create", "rolebinding", account, "--clusterrole=" + role, "--serviceaccount=rag:" + account},
	} {
		if out, err := administrator.run(t.Context(), "kubectl", append(args, "-n", "rag")...); err != nil && !strings.Contains(out, "already exists") {
			t.Fatal(err)
		}
	}
	return strings.TrimSpace(kubectl(t, "create", "token", account, "-n", "rag"))
}

// service is the address of a Service of the install's, as a pod sees it.
func service(t *testing.T, name string) string {
	t.Helper()
	return field(t, "{.spec.clusterIP}:{.spec.ports[0].port}", "-n", "assay-system", "service/"+name)
}

func apiAs(t *testing.T, role string) caller {
	t.Helper()
	return caller{service(t, "assay-controller-manager-api"), token(t, role)}
}

// ask gives status and body of an answer.
func (c caller) ask(ctx context.Context, path string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.address+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	// Nobody has signed the operator's certificate.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// get decodes an answer that must be a good one.
func (c caller) get(ctx context.Context, path string, into any) error {
	status, body, err := c.ask(ctx, path)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s is answered with %d: %s", path, status, body)
	}
	return json.Unmarshal(body, into)
}

// historyOf lists the runs that the operator keeps of a suite, newest first.
func historyOf(t *testing.T, suite string) string {
	t.Helper()
	var history struct {
		Runs []struct{ ID, Name, Verdict string }
	}
	api := apiAs(t, "edit")
	eventually(t, func(ctx context.Context) error { // who may what is remembered for some seconds
		return api.get(ctx, "/api/v1/eval/rag/rag/"+suite+"/history", &history)
	})
	var lines strings.Builder
	for _, run := range history.Runs {
		fmt.Fprintf(&lines, "%s %s %s\n", run.ID, run.Name, run.Verdict)
	}
	return lines.String()
}

// testServices asks both Services as those who may and those who may not.
func testServices(t *testing.T) {
	kubectl(t, "create", "clusterrolebinding", "prometheus-reads-assay", "--clusterrole=assay-metrics-reader", "--serviceaccount=rag:holder-of-view")
	viewer := token(t, "view")
	// A ServiceAccount has no rights of its own.
	stranger := strings.TrimSpace(kubectl(t, "create", "token", "default", "-n", "rag"))
	metrics, api := service(t, "assay-controller-manager-metrics"), service(t, "assay-controller-manager-api")
	const gate = "/v1/gate/rag/docs-bot"
	for _, tc := range []struct {
		name    string
		caller  caller
		path    string
		status  int
		holding string
	}{
		{"the metrics", caller{metrics, viewer}, "/metrics", http.StatusOK, `assay_suite_passing{namespace="rag",suite="docs-bot"} 1`},
		{"the metrics without a right", caller{metrics, stranger}, "/metrics", http.StatusForbidden, ""},
		{"the metrics without a token", caller{metrics, ""}, "/metrics", http.StatusUnauthorized, ""},
		{"the gate", caller{api, viewer}, gate, http.StatusOK, `"verdict":"Pass"`},
		{"the gate without a right", caller{api, stranger}, gate, http.StatusForbidden, `may not get the evalsuites`},
		{"the gate without a token", caller{api, ""}, gate, http.StatusUnauthorized, `needs a token`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eventually(t, func(ctx context.Context) error {
				status, body, err := tc.caller.ask(ctx, tc.path)
				if err == nil && (status != tc.status || !strings.Contains(string(body), tc.holding)) {
					err = fmt.Errorf("%d, want %d with %q in %s", status, tc.status, tc.holding, body)
				}
				return err
			})
		})
	}
}

var forwarding = regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+)`)

// testPortForward asks the API from outside of the cluster, as docs/api.md does.
func testPortForward(t *testing.T) {
	cmd := administrator.command(t.Context(), "kubectl", "port-forward", "-n", "assay-system", "service/assay-controller-manager-api", ":8444")
	cmd.Stdin = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	var address string
	for address == "" && lines.Scan() {
		if match := forwarding.FindStringSubmatch(lines.Text()); match != nil {
			address = match[1]
		}
	}
	if address == "" {
		t.Fatalf("kubectl forwards nothing: %v", lines.Err())
	}
	go func() { // what else it prints
		for lines.Scan() {
			continue
		}
	}()
	var answer struct {
		Verdict string
		Metrics map[string]float64
	}
	if err := (caller{address, token(t, "view")}).get(t.Context(), "/v1/gate/rag/docs-bot", &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Verdict != "Pass" || answer.Metrics["hitRate"] != 1 {
		t.Errorf("the gate answers %+v", answer)
	}
}

// leaseReleased is what controller-runtime calls an error when an operator that
// stops gives its lease up, as it should.
const leaseReleased = "error received after stop sequence was engaged"

// readable holds that every line of an operator's log is JSON with time, level and
// message, and that none is an error.
func readable(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var entry struct{ TS, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("this line of the log is no JSON: %s", line)
			continue
		}
		if entry.TS == "" || entry.Level == "" || entry.Msg == "" {
			t.Errorf("this line of the log lacks time, level or message: %s", line)
		}
		if entry.Level == "error" && entry.Msg != leaseReleased {
			t.Errorf("the operator complains: %s", line)
		}
	}
}
