//go:build e2e

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// The pages that are followed.
const (
	quickstartPage = "docs/quickstart.md"
	installPage    = "docs/install.md"
)

// TestHelm is the life of an install by the chart, from the quickstart to its removal.
func TestHelm(t *testing.T) {
	startAfresh(t)
	namespace(t, "assay-system") // the quickstart makes its own, rag

	step(t, "the quickstart", func(t *testing.T) {
		for _, section := range []string{"Install", "Something to test", "Ask it", "Break it", "Mend it"} {
			follow(t, quickstartPage, section)
		}
	})
	step(t, "helm test", func(t *testing.T) {
		if out := helm(t, "test", "assay", "-n", "assay-system"); strings.Contains(out, "Failed") {
			t.Error(out)
		}
	})
	step(t, "the Services", testServices)
	step(t, "a port forward", testPortForward)
	step(t, "a stop and a crash", testRestarts)

	before := kept(t)
	step(t, "an upgrade", func(t *testing.T) {
		helm(t, "upgrade", "assay", newerChart(t), "-n", "assay-system", "--wait", "--timeout", "90s")
		if running := operatorImage(t); running != newerImage() {
			t.Errorf("the operator runs %s, want %s", running, newerImage())
		}
		if table := kubectl(t, "get", "evs", "-n", "rag"); !strings.Contains(table, "NEWER") || !strings.Contains(table, "0 */6 * * *") {
			t.Errorf("the CRD was not upgraded:\n%s", table)
		}
		before.hold(t)
	})
	step(t, "a rollback", func(t *testing.T) {
		helm(t, "rollback", "assay", "1", "-n", "assay-system", "--wait", "--timeout", "90s")
		if running := operatorImage(t); running != image {
			t.Errorf("the operator runs %s, want %s", running, image)
		}
		if table := kubectl(t, "get", "evs", "-n", "rag"); strings.Contains(table, "NEWER") {
			t.Errorf("the CRD was not rolled back:\n%s", table)
		}
		before.hold(t)
	})
	step(t, "its removal", func(t *testing.T) {
		followOurs(t, installPage, "Uninstall")
		eventually(t, func(context.Context) error { // the pod finishes what it does
			if left := objects(t, "assay-system"); !slices.Equal(left, []string{"persistentvolumeclaim/assay-history"}) {
				return fmt.Errorf("these are left: %v, want the history alone", left)
			}
			return nil
		})
		before.hold(t)
	})
	step(t, "another install", func(t *testing.T) {
		followOurs(t, installPage, "")
		kubectl(t, "rollout", "status", "deployment/assay-controller-manager", "-n", "assay-system", "--timeout=90s")
		before.hold(t)
		before.holdHistory(t)
		followOurs(t, installPage, "Upgrade") // to what it is already
		before.hold(t)
		helm(t, "uninstall", "assay", "-n", "assay-system", "--wait")
	})
	step(t, "an install under another name", func(t *testing.T) {
		// Helm takes over what another release has left only when it is told to.
		out := administrator.refused(t, "helm", "install", "other", packaged(t), "-n", "assay-system")
		if !strings.Contains(out, "invalid ownership metadata") {
			t.Errorf("it is refused with %s, want Helm's word on ownership, which the documentation quotes", out)
		}
		helm(t, "install", "other", packaged(t), "-n", "assay-system", "--take-ownership")
		before.hold(t)
	})
}

func operatorImage(t *testing.T) string {
	t.Helper()
	return field(t, "{.spec.template.spec.containers[0].image}", "-n", "assay-system", "deployment/assay-controller-manager")
}

// objects lists what an install has made, but for the CRDs.
func objects(t *testing.T, namespace string) []string {
	t.Helper()
	const kinds = "deployment,replicaset,pod,service,serviceaccount,role,rolebinding,configmap,secret,persistentvolumeclaim,poddisruptionbudget,networkpolicy"
	left := strings.Fields(kubectl(t, "get", kinds, "-n", namespace, "-l", "app.kubernetes.io/name=assay", "-o", "name"))
	return append(left, strings.Fields(kubectl(t, "get", "clusterrole,clusterrolebinding", "-l", "app.kubernetes.io/name=assay", "-o", "name"))...)
}

// snapshot is what must outlive whatever is done to the operator.
type snapshot struct {
	suitesAndRuns, passing, history string
}

const uids = "{range .items[*]}{.kind} {.metadata.name} {.metadata.uid}\n{end}"

func kept(t *testing.T) snapshot {
	t.Helper()
	return snapshot{
		suitesAndRuns: field(t, uids, "-n", "rag", "evs,evr"),
		passing:       field(t, `{.status.conditions[?(@.type=="Passing")].status}`, "-n", "rag", "evs/docs-bot"),
		history:       historyOf(t, "docs-bot"),
	}
}

// hold holds that the same suites and runs are there, and that no run was started.
func (s snapshot) hold(t *testing.T) {
	t.Helper()
	if got := field(t, uids, "-n", "rag", "evs,evr"); got != s.suitesAndRuns {
		t.Errorf("suites and runs are\n%s\nand were\n%s", got, s.suitesAndRuns)
	}
	if got := field(t, `{.status.conditions[?(@.type=="Passing")].status}`, "-n", "rag", "evs/docs-bot"); got != s.passing {
		t.Errorf("Passing is %s and was %s", got, s.passing)
	}
}

// holdHistory holds that the operator still tells of the same runs.
func (s snapshot) holdHistory(t *testing.T) {
	t.Helper()
	if got := historyOf(t, "docs-bot"); got != s.history {
		t.Errorf("the history is\n%s\nand was\n%s", got, s.history)
	}
}

// testRestarts stops the operator in the middle of a run, and then kills it in the
// middle of another. Each goes on, and what was kept before is kept.
func testRestarts(t *testing.T) {
	earlier := historyOf(t, "docs-bot")
	// Slow enough that a run can be stopped in its middle: the first eight of ten
	// cases are done when the last two begin.
	kubectl(t, "patch", "deployment/docs-bot", "-n", "rag", "--type=json", "-p",
		`[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--latency=3s"}]`)
	pod := field(t, "{.items[0].metadata.name}", "-n", "assay-system", "pods", "-l", "app.kubernetes.io/component=controller-manager")
	for i, tc := range []struct {
		name        string
		grace, code int
		attempts    string
	}{
		{"a stop", 30, 0, "1"}, // handed on, which counts for no failed attempt
		{"a crash", 0, 137, "2"},
	} {
		step(t, tc.name, func(t *testing.T) {
			if i > 0 {
				kubectl(t, "annotate", "evs/docs-bot", "-n", "rag", "assay.dev/run-now="+fmt.Sprint(i))
			}
			run := runInItsMiddle(t)
			if err := cluster.StopContainer(t.Context(), pod, "manager", tc.grace); err != nil {
				t.Fatal(err)
			}
			kubectl(t, "wait", "evr/"+run, "-n", "rag", "--for=condition=Passed", "--timeout=90s")
			if attempts := field(t, "{.status.attempts}", "-n", "rag", "evr/"+run); attempts != tc.attempts {
				t.Errorf("the run took %s attempts, want %s", attempts, tc.attempts)
			}
			ended := field(t, "{.status.containerStatuses[0].lastState.terminated.exitCode}", "-n", "assay-system", "pod/"+pod)
			if ended != fmt.Sprint(tc.code) {
				t.Errorf("the operator ended with code %s, want %d", ended, tc.code)
			}
			log := kubectl(t, "logs", pod, "-n", "assay-system", "--previous")
			readable(t, log)
			if !strings.Contains(log, fmt.Sprintf(`"run":%q`, run)) {
				t.Errorf("the log says nothing of run %s:\n%s", run, log)
			}
		})
	}
	eventually(t, func(context.Context) error {
		if now := historyOf(t, "docs-bot"); !strings.HasSuffix(now, earlier) {
			return fmt.Errorf("the history is\n%s\nand was\n%s", now, earlier)
		}
		return nil
	})
}

// runInItsMiddle waits for a run of which some cases are kept, and not all.
func runInItsMiddle(t *testing.T) string {
	t.Helper()
	var name string
	api := apiAs(t, "edit")
	eventually(t, func(ctx context.Context) error {
		out, err := administrator.run(ctx, "kubectl", "get", "evr", "-n", "rag", "-o", "json")
		if err != nil {
			return err
		}
		var runs v1alpha1.EvalRunList
		if err := json.Unmarshal([]byte(out), &runs); err != nil {
			return err
		}
		open := slices.DeleteFunc(runs.Items, func(r v1alpha1.EvalRun) bool { return r.Status.Verdict != "" })
		if len(open) != 1 {
			return fmt.Errorf("%d runs are open, want one", len(open))
		}
		var document struct{ Cases []struct{ ID string } }
		if err := api.get(ctx, "/api/v1/eval/rag/run/"+string(open[0].UID), &document); err != nil {
			return err
		}
		if len(document.Cases) == 0 {
			return errors.New("no case is kept yet")
		}
		name = open[0].Name
		return nil
	})
	return name
}
