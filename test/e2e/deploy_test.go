//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// deployedManifests are a Deployment with a prompt in a ConfigMap, and a golden set
// of the questions that gatedRetriever knows.
const deployedManifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: prompt}
data: {prompt.txt: Answer briefly.}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: golden}
data:
  golden.yaml: |
    - {id: q1, question: "How do I rotate the signing key?", relevant: docs/keys.md}
    - {id: q2, question: "Which ports does the server listen on?", relevant: docs/network.md}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: rag}
spec:
  replicas: 2
  selector: {matchLabels: {app: rag}}
  template:
    metadata: {labels: {app: rag}}
    spec:
      containers:
      - {name: rag, image: "example.com/rag:1", envFrom: [{configMapRef: {name: prompt}}]}
`

// replicatedManifests are two workloads that make no ReplicaSets.
const replicatedManifests = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: index}
spec:
  replicas: 2
  serviceName: index
  selector: {matchLabels: {app: index}}
  template:
    metadata: {labels: {app: index}}
    spec:
      containers: [{name: index, image: "example.com/index:1"}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cache}
spec:
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      containers: [{name: cache, image: "example.com/cache:1"}]
`

// suiteOnDeploy is a suite with targets.
const suiteOnDeploy = `
---
apiVersion: assay.dev/v1alpha1
kind: EvalSuite
metadata: {name: %s}
spec:
  goldenSet: {configMapRef: {name: golden}}
  retriever: {url: %s, timeoutSeconds: 600}
  objectives: [{metric: hit_rate@5, min: "0.90"}]
  onDeploy: {settleSeconds: 1, targets: [%s]}
`

const deploymentTarget = "{kind: Deployment, name: rag}"

// TestRunsOnDeploy has the real controllers of workloads roll out, the operator
// notice, and `assay gate` say what may go on.
func TestRunsOnDeploy(t *testing.T) {
	addNode(t)
	history := "sqlite://" + filepath.Join(t.TempDir(), "history.db")
	operator := startAssayOn(t, history)
	missed := newDeployed(t, "docs-bot")
	t.Run("with the operator up", func(t *testing.T) {
		t.Run("rollouts and restarts", func(t *testing.T) { t.Parallel(); testRollouts(t) })
		t.Run("a newer revision", func(t *testing.T) { t.Parallel(); testSuperseded(t) })
		t.Run("a run of another trigger", func(t *testing.T) { t.Parallel(); testRevisionChanged(t) })
		t.Run("a StatefulSet and a DaemonSet", func(t *testing.T) { t.Parallel(); testOtherWorkloads(t) })
		t.Run("two suites", func(t *testing.T) { t.Parallel(); testTwoSuites(t) })
		t.Run("a rollout that never finishes", func(t *testing.T) { t.Parallel(); testNeverFinishes(t) })
		t.Run("a suite that is deleted", func(t *testing.T) { t.Parallel(); testDeleted(t) })
	})

	first := missed.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	missed.gate(t, "docs-bot").want(t, 0, "Pass", "Passed")
	operator.stop(syscall.SIGTERM)
	missed.setImage(t, "deployment/rag", "rag", "example.com/rag:2")
	missed.waitForRollout(t, "deployment/rag")
	missed.gate(t, "docs-bot").want(t, 2, "Pending", "")
	missed.gate(t, "docs-bot", "--wait", "--timeout", "1s").want(t, 2, "Pending", "")
	missed.gate(t, "docs-bot", "--revision", missed.templateHash(t)).want(t, 2, "Pending", "")
	startAssayOn(t, history)
	second := missed.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed, first.Name)
	if second.Spec.Trigger != v1alpha1.TriggerDeploy || second.Status.Revision == first.Status.Revision {
		t.Errorf("the operator that came back ran %s of revision %s after %s", second.Spec.Trigger, second.Status.Revision, first.Status.Revision)
	}
	missed.gate(t, "docs-bot").want(t, 0, "Pass", "Passed")
	missed.wantRuns(t, "docs-bot", 2)
}

func testRollouts(t *testing.T) {
	d := newDeployed(t, "docs-bot")
	first := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	if first.Spec.Trigger != v1alpha1.TriggerSpec {
		t.Errorf("the first run is triggered by %s, want Spec", first.Spec.Trigger)
	}
	d.gate(t, "docs-bot", "--wait").want(t, 0, "Pass", "Passed")

	d.retriever.behave("Fail")
	d.setImage(t, "deployment/rag", "rag", "example.com/rag:2")
	second := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictFailed, first.Name)
	if second.Spec.Trigger != v1alpha1.TriggerDeploy {
		t.Errorf("the second run is triggered by %s, want Deploy", second.Spec.Trigger)
	}
	d.gate(t, "docs-bot", "--wait").want(t, 1, "Fail", "ObjectivesMissed")
	d.gate(t, "docs-bot", "--revision", first.Status.TemplateHashes[0]).want(t, 2, "Inconclusive", "RevisionNotEvaluated")
	s := d.wantEvidence(t, second, "example.com/rag:2")
	if settled := s.Status.RolledOutTime.Add(time.Second); second.Status.StartTime.Time.Before(settled) {
		t.Errorf("the run began at %s, before the rollout had settled at %s", second.Status.StartTime, settled)
	}

	// Restarts and scaling: the revision is the same, so that only what somebody
	// asks for starts a run.
	pods := &corev1.Pod{}
	if err := cluster.DeleteAllOf(t.Context(), pods, client.InNamespace(d.namespace)); err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, "-n", d.namespace, "scale", "deployment/rag", "--replicas=4")
	d.waitForRollout(t, "deployment/rag")
	d.retriever.behave("Pass")
	mustKubectl(t, "-n", d.namespace, "annotate", "evs/docs-bot", "assay.dev/run-now=after-restarts")
	third := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed, first.Name, second.Name)
	if third.Spec.Trigger != v1alpha1.TriggerManual || third.Status.Revision != second.Status.Revision {
		t.Errorf("the run after restarts is %s of revision %s, want Manual of %s", third.Spec.Trigger, third.Status.Revision, second.Status.Revision)
	}
	// When all pods were gone at once, what came back had to settle anew.
	eventually(t, func(ctx context.Context) error {
		s, err := d.getSuite(ctx, "docs-bot")
		if err != nil {
			return err
		}
		if at := s.Status.RolledOutTime; at == nil || time.Since(at.Time) < 2*time.Second {
			return fmt.Errorf("not settled: rolled out at %s", at)
		}
		return nil
	})
	d.wantRuns(t, "docs-bot", 3)

	mustKubectl(t, "-n", d.namespace, "patch", "configmap/prompt", "-p", `{"data": {"prompt.txt": "Answer at length."}}`)
	fourth := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed, first.Name, second.Name, third.Name)
	if fourth.Spec.Trigger != v1alpha1.TriggerDeploy || fourth.Status.Revision == third.Status.Revision {
		t.Errorf("a changed prompt gives %s of revision %s, after %s", fourth.Spec.Trigger, fourth.Status.Revision, third.Status.Revision)
	}
	if diff := cmp.Diff(third.Status.TemplateHashes, fourth.Status.TemplateHashes); diff != "" {
		t.Errorf("template hashes changed with the prompt (-before +after):\n%s", diff)
	}
	d.wantRuns(t, "docs-bot", 4)
	// One template hash counts for the live revision; a revision's own name for itself.
	d.gate(t, "docs-bot", "--revision", fourth.Status.TemplateHashes[0]).want(t, 0, "Pass", "Passed")
	d.gate(t, "docs-bot", "--revision", third.Status.Revision).want(t, 0, "Pass", "Passed")
}

func testSuperseded(t *testing.T) {
	d := newDeployed(t, "docs-bot")
	first := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	d.retriever.behave("Pending")
	d.setImage(t, "deployment/rag", "rag", "example.com/rag:2")
	older := d.waitForStart(t, "docs-bot", first.Name)
	d.gate(t, "docs-bot").want(t, 2, "Pending", "Running") // whatever the revision before had
	d.setImage(t, "deployment/rag", "rag", "example.com/rag:3")
	superseded := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictInconclusive, first.Name)
	if superseded.Name != older.Name || superseded.Status.Reason != "Superseded" {
		t.Errorf("%s ended %s, want %s Superseded", superseded.Name, superseded.Status.Reason, older.Name)
	}
	newer := d.waitForStart(t, "docs-bot", first.Name, older.Name)
	d.gate(t, "docs-bot").want(t, 2, "Pending", "Running")
	waiting := d.startGate(t, "docs-bot", "--wait")
	d.retriever.behave("Pass")
	waiting.wait(t).want(t, 0, "Pass", "Passed")
	if run := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed, first.Name, older.Name); run.Name != newer.Name {
		t.Errorf("%s passed, want %s", run.Name, newer.Name)
	}
	d.wantRuns(t, "docs-bot", 3)
}

func testRevisionChanged(t *testing.T) {
	d := newDeployed(t, "docs-bot")
	first := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	d.retriever.behave("Pending")
	mustKubectl(t, "-n", d.namespace, "annotate", "evs/docs-bot", "assay.dev/run-now=now")
	d.waitForStart(t, "docs-bot", first.Name)
	d.setImage(t, "deployment/rag", "rag", "example.com/rag:2")
	d.waitForRollout(t, "deployment/rag")
	d.retriever.behave("Pass")
	manual := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictInconclusive, first.Name)
	if manual.Spec.Trigger != v1alpha1.TriggerManual || manual.Status.Reason != "RevisionChanged" {
		t.Errorf("the run during a rollout is %s and ended %s, want Manual, RevisionChanged", manual.Spec.Trigger, manual.Status.Reason)
	}
	deployed := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed, first.Name, manual.Name)
	if deployed.Spec.Trigger != v1alpha1.TriggerDeploy {
		t.Errorf("the run after it is %s, want Deploy", deployed.Spec.Trigger)
	}
	d.wantRuns(t, "docs-bot", 3)
}

func testOtherWorkloads(t *testing.T) {
	d := newNamespaceToDeploy(t)
	d.apply(t, deployedManifests+"---"+replicatedManifests, "docs-bot", "{kind: StatefulSet, name: index}, {kind: DaemonSet, name: cache}")
	first := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	if n := len(first.Status.TemplateHashes); n != 2 {
		t.Errorf("the run has %d template hashes, want one a target: %v", n, first.Status.TemplateHashes)
	}
	seen := []string{first.Name}
	for _, workload := range []string{"statefulset/index", "daemonset/cache"} {
		kind, name, _ := strings.Cut(workload, "/")
		d.setImage(t, workload, name, "example.com/"+name+":2")
		run := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed, seen...)
		if run.Spec.Trigger != v1alpha1.TriggerDeploy {
			t.Errorf("the run after a rollout of the %s is %s, want Deploy", kind, run.Spec.Trigger)
		}
		d.wantEvidence(t, run, "example.com/"+name+":2")
		seen = append(seen, run.Name)
	}
	d.wantRuns(t, "docs-bot", 3)
	d.gate(t, "docs-bot").want(t, 0, "Pass", "Passed")
}

func testTwoSuites(t *testing.T) {
	suites := []string{"docs-bot", "docs-bot-ko"}
	d := newDeployed(t, suites...)
	first := map[string]string{}
	for _, s := range suites {
		first[s] = d.waitForVerdict(t, s, v1alpha1.VerdictPassed).Name
	}
	d.setImage(t, "deployment/rag", "rag", "example.com/rag:2")
	revisions := map[string]bool{}
	for _, s := range suites {
		run := d.waitForVerdict(t, s, v1alpha1.VerdictPassed, first[s])
		revisions[run.Status.Revision] = true
	}
	if len(revisions) != 1 {
		t.Errorf("two suites on the same target see revisions %v", revisions)
	}
	for _, s := range suites {
		d.wantRuns(t, s, 2)
	}
}

func testNeverFinishes(t *testing.T) {
	d := newDeployed(t, "docs-bot")
	first := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	d.setImage(t, "deployment/rag", "rag", "example.com/rag:"+brokenTag)
	d.waitForReplicaSet(t, "example.com/rag:"+brokenTag)
	eventually(t, func(ctx context.Context) error {
		s, err := d.getSuite(ctx, "docs-bot")
		if err == nil && s.Status.RolloutSince == nil {
			err = errors.New("the suite does not say since when the rollout goes")
		}
		return err
	})
	d.gate(t, "docs-bot", "--wait", "--timeout", "3s").want(t, 2, "Pending", "RolloutInProgress")
	answer := d.gate(t, "docs-bot")
	answer.want(t, 2, "Pending", "RolloutInProgress")
	s := d.suite(t, "docs-bot")
	if since := answer.document(t).Since; since == nil || !since.Equal(s.Status.RolloutSince.Time) {
		t.Errorf("the gate is Pending since %v, want %s as the status has it", since, s.Status.RolloutSince)
	}
	if len(s.Status.Targets) != 1 || *s.Status.Targets[0].RolledOut || s.Status.Targets[0].Message == "" {
		t.Errorf("targets are %+v, want one that says what it waits for", s.Status.Targets)
	}
	d.wantRuns(t, "docs-bot", 1)
	// Taken back: the revision that has passed is live again, and nothing is run.
	d.setImage(t, "deployment/rag", "rag", "example.com/rag:1")
	d.waitForRollout(t, "deployment/rag")
	d.gate(t, "docs-bot", "--wait").want(t, 0, "Pass", "Passed")
	if run := d.gate(t, "docs-bot").document(t).Run; run != first.Name {
		t.Errorf("the gate goes by run %s, want %s", run, first.Name)
	}
}

func testDeleted(t *testing.T) {
	d := newDeployed(t, "docs-bot")
	d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	d.gate(t, "docs-bot").want(t, 0, "Pass", "Passed")
	mustKubectl(t, "-n", d.namespace, "delete", "evs/docs-bot", waitReady)
	d.gate(t, "docs-bot").want(t, 2, "Inconclusive", "SuiteNotFound")
	d.gate(t, "docs-bot", "--endpoint", "../canary", "--revision", "%00 \"").want(t, 2, "Inconclusive", "SuiteNotFound")

	for name, args := range map[string][]string{
		"nobody answers":     {"docs-bot", "--kubeconfig", d.nobody(t)},
		"no suite is named":  {},
		"an unknown flag":    {"docs-bot", "--forever"},
		"an unknown context": {"docs-bot", "--context", "absent"},
		"no time to wait":    {"docs-bot", "--wait", "--timeout", "0s"},
	} {
		if got := d.startGate(t, args...).wait(t); got.code != 3 || got.stdout != "" || got.stderr == "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want 3 and a sentence", name, got.code, got.stdout, got.stderr)
		}
	}
}

// deployed is a namespace with workloads whose pods get ready, and a retriever
// behind them that is as good as the test says.
type deployed struct {
	namespace  string
	retriever  *gatedRetriever
	kubeconfig string
}

// newDeployed deploys version 1 of the Deployment, and suites on it.
func newDeployed(t *testing.T, suites ...string) *deployed {
	t.Helper()
	d := newNamespaceToDeploy(t)
	manifests := deployedManifests
	for _, s := range suites[1:] {
		manifests += fmt.Sprintf(suiteOnDeploy, s, d.retriever.URL+"/canary", deploymentTarget)
	}
	d.apply(t, manifests, suites[0], deploymentTarget)
	return d
}

// newNamespaceToDeploy has a pipeline's account with the rights that the Helm
// sample gives it, and no others.
func newNamespaceToDeploy(t *testing.T) *deployed {
	t.Helper()
	d := &deployed{namespace: newNamespace(t), retriever: newGatedRetriever(t)}
	d.retriever.behave("Pass")
	startKubelet(t, d.namespace)
	sample, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "gates", "helm-hook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	account, _, found := strings.Cut(string(sample), "---\napiVersion: batch/v1")
	if !found {
		t.Fatal("the Helm sample has no Job after its account")
	}
	mustKubectl(t, "-n", d.namespace, "apply", "-f", writeFile(t, t.TempDir(), "account.yaml", []byte(account)))
	d.kubeconfig = kubeconfigOf(t, "system:serviceaccount:"+d.namespace+":docs-bot-gate")
	return d
}

func (d *deployed) apply(t *testing.T, manifests, suite, targets string) {
	t.Helper()
	manifests += fmt.Sprintf(suiteOnDeploy, suite, d.retriever.URL+"/canary", targets)
	mustKubectl(t, "-n", d.namespace, "apply", "-f", writeFile(t, t.TempDir(), "deployed.yaml", []byte(manifests)))
}

func (d *deployed) setImage(t *testing.T, workload, container, image string) {
	t.Helper()
	mustKubectl(t, "-n", d.namespace, "set", "image", workload, container+"="+image)
}

func (d *deployed) waitForRollout(t *testing.T, workload string) {
	t.Helper()
	mustKubectl(t, "-n", d.namespace, "rollout", "status", workload, waitReady)
}

// waitForReplicaSet waits until a Deployment has taken up its newest template.
func (d *deployed) waitForReplicaSet(t *testing.T, image string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		sets := &appsv1.ReplicaSetList{}
		if err := cluster.List(ctx, sets, client.InNamespace(d.namespace)); err != nil {
			return err
		}
		for _, set := range sets.Items {
			if set.Spec.Template.Spec.Containers[0].Image == image {
				return nil
			}
		}
		return fmt.Errorf("no ReplicaSet of %s", image)
	})
}

// templateHash is the newest of the Deployment.
func (d *deployed) templateHash(t *testing.T) string {
	t.Helper()
	current := &appsv1.Deployment{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: "rag"}, current); err != nil {
		t.Fatal(err)
	}
	sets := &appsv1.ReplicaSetList{}
	if err := cluster.List(t.Context(), sets, client.InNamespace(d.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, set := range sets.Items {
		if set.Spec.Template.Spec.Containers[0].Image == current.Spec.Template.Spec.Containers[0].Image {
			return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		}
	}
	t.Fatal("the Deployment has no ReplicaSet of its template")
	return ""
}

func (d *deployed) getSuite(ctx context.Context, name string) (*v1alpha1.EvalSuite, error) {
	s := &v1alpha1.EvalSuite{}
	return s, cluster.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: name}, s)
}

func (d *deployed) suite(t *testing.T, name string) *v1alpha1.EvalSuite {
	t.Helper()
	s, err := d.getSuite(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runsOf are the runs of a suite, without those that were seen already.
func (d *deployed) runsOf(ctx context.Context, suite string, seen ...string) ([]v1alpha1.EvalRun, error) {
	known := map[string]bool{}
	for _, name := range seen {
		known[name] = true
	}
	list := &v1alpha1.EvalRunList{}
	if err := cluster.List(ctx, list, client.InNamespace(d.namespace)); err != nil {
		return nil, err
	}
	var runs []v1alpha1.EvalRun
	for _, run := range list.Items {
		if run.Spec.SuiteRef.Name == suite && !known[run.Name] {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// waitForRun waits for a run of the suite, other than those seen, that is as wanted.
func (d *deployed) waitForRun(t *testing.T, suite string, seen []string, wanted func(*v1alpha1.EvalRun) bool) *v1alpha1.EvalRun {
	t.Helper()
	var found *v1alpha1.EvalRun
	eventually(t, func(ctx context.Context) error {
		runs, err := d.runsOf(ctx, suite, seen...)
		if err != nil {
			return err
		}
		var states []string
		for i := range runs {
			if wanted(&runs[i]) {
				found = &runs[i]
				return nil
			}
			states = append(states, fmt.Sprintf("%s %s %s %s", runs[i].Spec.Trigger, runs[i].Status.Revision, runs[i].Status.Verdict, runs[i].Status.Reason))
		}
		s, err := d.getSuite(ctx, suite)
		if err != nil {
			return err
		}
		for _, target := range s.Status.Targets {
			states = append(states, fmt.Sprintf("%s %s: %s", target.Kind, target.Name, target.Message))
		}
		return fmt.Errorf("no such run: %q", states)
	})
	return found
}

// waitForVerdict waits for another run with this verdict.
func (d *deployed) waitForVerdict(t *testing.T, suite string, verdict v1alpha1.Verdict, seen ...string) *v1alpha1.EvalRun {
	t.Helper()
	return d.waitForRun(t, suite, seen, func(run *v1alpha1.EvalRun) bool { return run.Status.Verdict == verdict })
}

// waitForStart waits for another run that is going.
func (d *deployed) waitForStart(t *testing.T, suite string, seen ...string) *v1alpha1.EvalRun {
	t.Helper()
	return d.waitForRun(t, suite, seen, func(run *v1alpha1.EvalRun) bool { return run.Status.StartTime != nil && run.Status.Verdict == "" })
}

func (d *deployed) wantRuns(t *testing.T, suite string, n int) {
	t.Helper()
	runs, err := d.runsOf(t.Context(), suite)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != n {
		var triggers []string
		for _, run := range runs {
			triggers = append(triggers, fmt.Sprintf("%s (%s): %s", run.Spec.Trigger, run.Annotations[v1alpha1.AnnotationTriggeredBy], run.Status.Reason))
		}
		t.Errorf("%s has %d runs, want %d: %q", suite, len(runs), n, triggers)
	}
}

// wantEvidence checks that run, suite and result say what was measured, an image
// among it, and returns the suite.
func (d *deployed) wantEvidence(t *testing.T, run *v1alpha1.EvalRun, image string) *v1alpha1.EvalSuite {
	t.Helper()
	var s *v1alpha1.EvalSuite
	eventually(t, func(ctx context.Context) (err error) {
		if s, err = d.getSuite(ctx, run.Spec.SuiteRef.Name); err != nil {
			return err
		}
		if len(s.Status.Results) == 0 || s.Status.Results[0].Run != run.Name {
			return fmt.Errorf("the newest result is not %s's", run.Name)
		}
		// The digests are read when pods are ready, which may be a moment later.
		if ids := strings.Join(imageIDs(s), " "); !strings.Contains(ids, image+"@sha256:") {
			return fmt.Errorf("digests of the pods' images are %q, want one of %s", ids, image)
		}
		return nil
	})
	result := s.Status.Results[0]
	if s.Status.Revision != run.Status.Revision || result.Revision != run.Status.Revision || s.Status.RolledOutTime == nil || s.Status.RolloutSince != nil {
		t.Errorf("the suite is at revision %s, rolled out at %s, its result at %s; want %s", s.Status.Revision, s.Status.RolledOutTime, result.Revision, run.Status.Revision)
	}
	var hashes []string
	for _, target := range s.Status.Targets {
		hashes = append(hashes, target.TemplateHash)
	}
	sortStrings := cmp.Transformer("sort", func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, item := range list {
			set[item] = true
		}
		return set
	})
	for where, pair := range map[string][2][]string{
		"template hashes of targets": {run.Status.TemplateHashes, hashes},
		"template hashes of result":  {run.Status.TemplateHashes, result.TemplateHashes},
		"images of result":           {run.Status.Images, result.Images},
	} {
		if diff := cmp.Diff(pair[0], pair[1], sortStrings); diff != "" || len(pair[0]) == 0 {
			t.Errorf("%s (-run +suite):\n%s", where, diff)
		}
	}
	if !strings.Contains(strings.Join(result.Images, " "), image) {
		t.Errorf("images of the result are %v, want %s among them", result.Images, image)
	}
	return s
}

func imageIDs(s *v1alpha1.EvalSuite) []string {
	var ids []string
	for _, target := range s.Status.Targets {
		ids = append(ids, target.ImageIDs...)
	}
	return ids
}

// gated is an `assay gate` that has ended.
type gated struct {
	code           int
	stdout, stderr string
}

// gatedDocument is what it writes with -o json.
type gatedDocument struct {
	Verdict, Reason, Run string
	Since                *time.Time
}

// gate asks the gate of a suite, as a pipeline does.
func (d *deployed) gate(t *testing.T, suite string, flags ...string) gated {
	t.Helper()
	return d.startGate(t, append([]string{suite}, flags...)...).wait(t)
}

func (d *deployed) startGate(t *testing.T, args ...string) *gating {
	t.Helper()
	g := &gating{stdout: &syncBuffer{}, stderr: &syncBuffer{}}
	g.cmd = exec.CommandContext(t.Context(), os.Getenv(assayBin), append([]string{"gate", "-n", d.namespace, "-o", "json"}, args...)...)
	g.cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig)
	g.cmd.Stdout, g.cmd.Stderr = g.stdout, g.stderr
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

// nobody is the kubeconfig of a cluster that does not answer.
func (d *deployed) nobody(t *testing.T) string {
	t.Helper()
	c, err := clientcmd.LoadFromFile(d.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range c.Clusters {
		cluster.Server = "https://" + freeAddress(t)
	}
	file := filepath.Join(t.TempDir(), "nobody.kubeconfig")
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// gating is an `assay gate` that may still wait.
type gating struct {
	cmd            *exec.Cmd
	stdout, stderr *syncBuffer
}

func (g *gating) wait(t *testing.T) gated {
	t.Helper()
	err := g.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return gated{g.cmd.ProcessState.ExitCode(), g.stdout.String(), g.stderr.String()}
}

// want checks code and answer; an empty reason is any.
func (g gated) want(t *testing.T, code int, verdict, reason string) {
	t.Helper()
	d := g.document(t)
	if g.code != code || d.Verdict != verdict || reason != "" && d.Reason != reason {
		t.Errorf("assay gate: exit %d, %s (%s); want %d, %s (%s)\n%s%s", g.code, d.Verdict, d.Reason, code, verdict, reason, g.stdout, g.stderr)
	}
}

func (g gated) document(t *testing.T) gatedDocument {
	t.Helper()
	var d gatedDocument
	if err := json.Unmarshal([]byte(g.stdout), &d); err != nil {
		t.Errorf("assay gate: exit %d: %v\n%s%s", g.code, err, g.stdout, g.stderr)
	}
	return d
}

// addNode adds what a DaemonSet has a pod for.
func addNode(t *testing.T) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	if err := cluster.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Delete(context.Background(), node) })
	node.Spec.Taints = nil // of one that is not ready: nobody says that it is
	if err := cluster.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}
