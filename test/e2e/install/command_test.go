//go:build e2e

package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	pollInterval = 200 * time.Millisecond
	// patience is how long anything on the cluster may take; a test that is well never waits for it.
	patience = 2 * time.Minute
)

// user runs commands in the project's folder as somebody.
type user struct {
	kubeconfig string // the administrator's where it is empty
	stdin      string
}

var administrator user

// input gives the user's next command a standard input.
func (u user) input(text string) user {
	u.stdin = text
	return u
}

// run runs a command and returns all that it printed. Helm, kubectl and assay are
// those under test.
func (u user) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := u.command(ctx, name, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// tool is the path of a tool under test; of another, its name.
func tool(name string) string {
	switch name {
	case "kubectl":
		return filepath.Join(cluster.Bin, "kubectl")
	case "helm":
		return os.Getenv(helmBin)
	case "assay":
		return os.Getenv(assayBin)
	}
	return name
}

func (u user) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	kubeconfig := u.kubeconfig
	if kubeconfig == "" {
		kubeconfig = cluster.Kubeconfig
	}
	cmd := exec.CommandContext(ctx, tool(name), args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdin = strings.NewReader(u.stdin)
	cmd.WaitDelay = time.Second // what a shell has started may hold the pipes
	return cmd
}

// must runs a command that has to succeed without a warning: no Pod Security
// level is violated, no field is unknown, no version is deprecated.
func (u user) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := u.run(ctx, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	if warning.MatchString(out) {
		t.Errorf("%s %s warns:\n%s", name, strings.Join(args, " "), out)
	}
	return out
}

// refused runs a command that has to fail, and returns what it said.
func (u user) refused(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := u.run(t.Context(), name, args...)
	if err == nil {
		t.Fatalf("%s %s succeeded, want it refused:\n%s", name, strings.Join(args, " "), out)
	}
	return out
}

var warning = regexp.MustCompile(`(?m)^(Warning:|W\d{4} )|level=WARN`)

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return administrator.must(t, "kubectl", args...)
}

func helm(t *testing.T, args ...string) string {
	t.Helper()
	return administrator.must(t, "helm", args...)
}

// field is a field of an object, by its JSON path.
func field(t *testing.T, path string, object ...string) string {
	t.Helper()
	return kubectl(t, append([]string{"get", "-o", "jsonpath=" + path}, object...)...)
}

// eventually polls until the check gives nil.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	var last, before error // the last may only say that the time was up
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, patience, true, func(ctx context.Context) (bool, error) {
		before, last = last, check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v; before that: %v", err, last, before)
	}
}

// step is a subtest without which those after it are pointless.
func step(t *testing.T, name string, body func(t *testing.T)) {
	t.Helper()
	if !t.Run(name, body) {
		t.FailNow()
	}
}

// namespace makes a namespace in which Pod Security's strictest level holds, and
// warns: what a chart or a sample makes there must not violate it.
func namespace(t *testing.T, name string) {
	t.Helper()
	const level = "restricted"
	manifest := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q, "labels": {
		"pod-security.kubernetes.io/enforce": %[2]q, "pod-security.kubernetes.io/warn": %[2]q}}}`, name, level)
	administrator.input(manifest).must(t, "kubectl", "apply", "--server-side", "-f", "-")
}

// startAfresh leaves the cluster as it was, now and after the test; a test that
// failed first tells how the cluster looks.
func startAfresh(t *testing.T) {
	t.Helper()
	clean(t, t.Context())
	t.Cleanup(func() {
		if t.Failed() {
			report(t)
		}
		clean(t, context.Background())
	})
}

// clean removes every install, whatever is left of it.
func clean(t *testing.T, ctx context.Context) { //nolint:revive // t comes first, as everywhere here
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, args := range [][]string{
		{"delete", "namespace", "--ignore-not-found", "assay-system", "rag", "other"},
		{"delete", "crd", "--ignore-not-found", "evalsuites.assay.dev", "evalruns.assay.dev"},
		{"delete", "clusterrole,clusterrolebinding", "-l", "app.kubernetes.io/part-of=assay"},
		{"delete", "clusterrole", "--ignore-not-found", "assay-namespaced-view", "assay-namespaced-edit", "assay-namespaced-admin"},
		{"delete", "clusterrolebinding", "--ignore-not-found", "prometheus-reads-assay"},
	} {
		if _, err := administrator.run(ctx, "kubectl", args...); err != nil {
			t.Errorf("clean up: %v", err)
		}
	}
	// A volume whose claim is gone is kept for its data, and binds no other.
	names, err := administrator.run(ctx, "kubectl", "get", "pv", "-o", `jsonpath={.items[?(@.status.phase=="Released")].metadata.name}`)
	if err != nil {
		t.Errorf("clean up: %v", err)
	}
	for name := range strings.FieldsSeq(names) {
		if _, err := administrator.run(ctx, "kubectl", "patch", "pv", name, "--type=json", "-p", `[{"op": "remove", "path": "/spec/claimRef"}]`); err != nil {
			t.Errorf("clean up: %v", err)
		}
	}
}

// report logs how the cluster looks.
func report(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"get", "pods,deployments,services,pvc,pv,crd", "-A", "-o", "wide"},
		{"get", "evs,evr", "-A", "-o", "wide"},
		{"describe", "pods", "-n", "assay-system"},
		{"describe", "pods", "-n", "rag"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"logs", "-n", "assay-system", "-l", "app.kubernetes.io/name=assay", "--tail=100", "--all-containers"},
		{"logs", "-n", "assay-system", "-l", "app.kubernetes.io/name=assay", "--tail=50", "--previous"},
		{"logs", "-n", "rag", "-l", "app.kubernetes.io/name=assay", "--tail=100"},
		{"logs", "-n", "rag", "-l", "app=docs-bot", "--tail=20"},
	} {
		out, _ := administrator.run(context.Background(), "kubectl", args...)
		t.Logf("$ kubectl %s\n%s", strings.Join(args, " "), bytes.TrimSpace([]byte(out)))
	}
	t.Log(cluster.Logs())
}
