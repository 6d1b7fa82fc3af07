//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// startArgoRollouts starts the real one.
func startArgoRollouts(t *testing.T) {
	t.Helper()
	installCRDs(t, "argo-rollouts", "github.com/argoproj/argo-rollouts", filepath.Join("manifests", "crds"))
	startController(t, "ARGO_ROLLOUTS_BIN",
		"--kubeconfig", adminFile, "--leader-elect=false", "--loglevel", "warn",
		"--metricsPort", freePort(t), "--healthzPort", freePort(t))
}

// testArgoRollouts tries the sample. All rollouts go on at once, for Argo asks every
// ten seconds.
func testArgoRollouts(t *testing.T, operator *assay) {
	failing, passing, late := newArgoRelease(t, operator), newArgoRelease(t, operator), newArgoRelease(t, operator)
	undecided := newArgoRelease(t, operator, "count: 180", "count: 2", "inconclusiveLimit: 180", "inconclusiveLimit: 2")
	unasked := newArgoRelease(t, operator, "consecutiveErrorLimit: 30", "consecutiveErrorLimit: 1")
	all := []*argoRelease{failing, passing, late, undecided, unasked}
	for _, r := range all {
		r.deploy(t, "1.0.0")
	}
	for _, r := range all {
		r.waitForPhase(t, "Healthy", "")
		r.serves(t, "1.0.0")
		if n := r.gate.asked(); n != 0 {
			t.Errorf("the gate was asked %d times for the first revision, which Argo does not hold back", n)
		}
	}
	failing.gate.decide("Fail")
	passing.gate.decide("Pass")
	unasked.gate.shutDown()
	for _, r := range all {
		r.deploy(t, "1.1.0")
	}

	t.Run("a fail is rolled back", func(t *testing.T) {
		failing.waitForPhase(t, "Degraded", "RolloutAborted")
		failing.isRolledBack(t, "1.0.0")
	})
	t.Run("a pass admits one revision and no later one", func(t *testing.T) {
		passing.waitForPhase(t, "Healthy", "")
		passing.serves(t, "1.1.0")
		passing.gate.decide("Pending")
		before := passing.gate.asked()
		passing.deploy(t, "1.2.0")
		passing.waitForQuestions(t, before+2)
		passing.serves(t, "1.1.0")
		passing.gate.decide("Fail")
		passing.waitForPhase(t, "Degraded", "RolloutAborted")
		passing.isRolledBack(t, "1.1.0")
	})
	t.Run("pending holds until there is a pass", func(t *testing.T) {
		late.waitForQuestions(t, 3)
		late.serves(t, "1.0.0")
		late.gate.decide("Pass")
		late.waitForPhase(t, "Healthy", "")
		late.serves(t, "1.1.0")
	})
	t.Run("no verdict in time waits for a person", func(t *testing.T) {
		undecided.waitForPhase(t, "Paused", "InconclusiveAnalysisRun")
		undecided.serves(t, "1.0.0")
	})
	t.Run("nobody to ask is rolled back", func(t *testing.T) {
		unasked.waitForPhase(t, "Degraded", "RolloutAborted")
		unasked.isRolledBack(t, "1.0.0")
	})
}

// rolloutManifest is a Rollout that is a suite's target.
const rolloutManifest = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: rag}
spec:
  replicas: 1
  selector: {matchLabels: {app: rag}}
  template:
    metadata: {labels: {app: rag}}
    spec:
      containers: [{name: rag, image: "example.com/rag:1"}]
  strategy: {canary: {}}
`

// newRolloutTarget is a suite with a Rollout as its target, in a cluster that does
// not know such a kind.
func newRolloutTarget(t *testing.T) *deployed {
	t.Helper()
	d := newNamespaceToDeploy(t)
	golden, _, _ := strings.Cut(deployedManifests, "---\napiVersion: apps/v1")
	d.apply(t, golden, "docs-bot", "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: rag}")
	eventually(t, func(ctx context.Context) error {
		s, err := d.getSuite(ctx, "docs-bot")
		if err != nil {
			return err
		}
		if targets := s.Status.Targets; len(targets) != 1 || !strings.Contains(targets[0].Message, "install its CRD") {
			return fmt.Errorf("targets are %+v, want one of a kind that is not installed", targets)
		}
		return nil
	})
	d.gate(t, "docs-bot").want(t, 2, "Pending", "RolloutInProgress")
	return d
}

// testRolloutTarget has the operator find out that the kind is installed now.
func testRolloutTarget(t *testing.T, d *deployed) {
	mustKubectl(t, "-n", d.namespace, "apply", "-f", writeFile(t, t.TempDir(), "rollout.yaml", []byte(rolloutManifest)))
	first := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed)
	d.wantEvidence(t, first, "example.com/rag:1")
	mustKubectl(t, "-n", d.namespace, "patch", "rollout/rag", "--type", "json", "-p",
		`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "example.com/rag:2"}]`)
	second := d.waitForVerdict(t, "docs-bot", v1alpha1.VerdictPassed, first.Name)
	if second.Spec.Trigger != v1alpha1.TriggerDeploy {
		t.Errorf("the run after the Rollout is triggered by %s, want Deploy", second.Spec.Trigger)
	}
	d.wantEvidence(t, second, "example.com/rag:2")
	d.wantRuns(t, "docs-bot", 2)
	d.gate(t, "docs-bot", "--revision", second.Status.TemplateHashes[0]).want(t, 0, "Pass", "Passed")
}

// argoRelease is a release whose workload is a Rollout.
type argoRelease struct{ *release }

func newArgoRelease(t *testing.T, operator *assay, edits ...string) *argoRelease {
	t.Helper()
	return &argoRelease{newRelease(t, operator, "argo-rollouts.yaml", edits...)}
}

func (r *argoRelease) rollout(ctx context.Context) (*unstructured.Unstructured, error) {
	rollout := &unstructured.Unstructured{}
	rollout.SetAPIVersion("argoproj.io/v1alpha1")
	rollout.SetKind("Rollout")
	err := cluster.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: "docs-bot"}, rollout)
	return rollout, err
}

// waitForPhase waits until Argo has seen the newest template and is in a phase
// for a reason: that of the condition Progressing or of a pause.
func (r *argoRelease) waitForPhase(t *testing.T, phase, reason string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		rollout, err := r.rollout(ctx)
		if err != nil {
			return err
		}
		status, _, _ := unstructured.NestedMap(rollout.Object, "status")
		if observed := status["observedGeneration"]; observed != fmt.Sprint(rollout.GetGeneration()) {
			return fmt.Errorf("generation %d is not observed yet, but %v", rollout.GetGeneration(), observed)
		}
		if status["phase"] != phase {
			return fmt.Errorf("the phase is %v, want %s: %v", status["phase"], phase, status["message"])
		}
		if reason != "" && !hasReason(status, reason) {
			return fmt.Errorf("nothing has the reason %s: %v, %v", reason, status["conditions"], status["pauseConditions"])
		}
		return nil
	})
}

// hasReason looks among conditions and pause conditions.
func hasReason(status map[string]any, reason string) bool {
	for _, field := range []string{"conditions", "pauseConditions"} {
		conditions, _, _ := unstructured.NestedSlice(status, field)
		for _, condition := range conditions {
			if condition.(map[string]any)["reason"] == reason {
				return true
			}
		}
	}
	return false
}

// serves checks that users get this version, from ready pods, and no other.
func (r *argoRelease) serves(t *testing.T, version string) {
	t.Helper()
	service := &corev1.Service{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "docs-bot-stable"}, service); err != nil {
		t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := cluster.List(t.Context(), pods, client.InNamespace(r.namespace), client.MatchingLabels(service.Spec.Selector)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) == 0 || service.Spec.Selector["rollouts-pod-template-hash"] == "" {
		t.Errorf("docs-bot-stable leads to %d pods, by %v", len(pods.Items), service.Spec.Selector)
	}
	for _, pod := range pods.Items {
		if got := pod.Spec.Containers[0].Image; got != image(version) {
			t.Errorf("docs-bot-stable leads to %s, want %s", got, image(version))
		}
	}
}

// isRolledBack checks that this version is served as before and the other is gone.
func (r *argoRelease) isRolledBack(t *testing.T, version string) {
	t.Helper()
	r.serves(t, version)
	eventually(t, func(ctx context.Context) error {
		sets := &appsv1.ReplicaSetList{}
		if err := cluster.List(ctx, sets, client.InNamespace(r.namespace)); err != nil {
			return err
		}
		for _, set := range sets.Items {
			want := int32(0)
			if set.Spec.Template.Spec.Containers[0].Image == image(version) {
				want = 2
			}
			if set.Status.Replicas != want || set.Status.AvailableReplicas != want {
				return fmt.Errorf("%s has %d replicas, want %d", set.Spec.Template.Spec.Containers[0].Image, set.Status.Replicas, want)
			}
		}
		return nil
	})
}
