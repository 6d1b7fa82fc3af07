//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// flaggerTimeout is for a phase that Flagger takes many looks to reach: it looks
// every ten seconds.
const flaggerTimeout = 4 * time.Minute

// startFlagger starts the real one. No metrics are analysed, so that it needs no
// metrics server.
func startFlagger(t *testing.T) {
	t.Helper()
	installCRDs(t, "flagger", "github.com/fluxcd/flagger", filepath.Join("artifacts", "flagger", "crd.yaml"))
	startController(t, "FLAGGER_BIN",
		"-kubeconfig", adminFile, "-mesh-provider", "kubernetes", "-control-loop-interval", "1s",
		"-log-level", "info", "-port", freePort(t), "-metrics-server", "http://"+freeAddress(t))
}

// testFlagger tries the sample. All canaries go on at once.
func testFlagger(t *testing.T, operator *assay) {
	failing, passing, late, unasked := newFlaggerRelease(t, operator), newFlaggerRelease(t, operator), newFlaggerRelease(t, operator), newFlaggerRelease(t, operator)
	all := []*flaggerRelease{failing, passing, late, unasked}
	for _, r := range all {
		r.deploy(t, "1.0.0")
	}
	for _, r := range all {
		r.waitForPhase(t, "Initialized")
		r.serves(t, "1.0.0")
		if n := r.gate.asked(); n != 0 {
			t.Errorf("the gate was asked %d times for the first revision, which Flagger does not hold back", n)
		}
	}
	failing.gate.decide("Fail")
	passing.gate.decide("Pass")
	unasked.gate.shutDown()
	for _, r := range all {
		r.deploy(t, "1.1.0")
	}

	t.Run("a fail is rolled back", func(t *testing.T) {
		failing.waitForPhase(t, "Failed")
		failing.serves(t, "1.0.0")
		failing.hasNoCanary(t)
	})
	t.Run("nobody to ask holds", func(t *testing.T) {
		unasked.waitForPhase(t, "WaitingPromotion")
		unasked.waitForSecondRefusal(t)
		unasked.serves(t, "1.0.0")
	})
	t.Run("pending holds until there is a pass", func(t *testing.T) {
		late.waitForPhase(t, "WaitingPromotion")
		late.waitForQuestions(t, 2)
		late.serves(t, "1.0.0")
		late.gate.decide("Pass")
	})
	t.Run("a pass admits one revision and no later one", func(t *testing.T) {
		passing.waitForPhase(t, "Succeeded")
		passing.serves(t, "1.1.0")
		passing.hasNoCanary(t)
		passing.gate.decide("Pending")
		before := passing.gate.asked()
		passing.deploy(t, "1.2.0")
		passing.waitForQuestions(t, before+2)
		passing.serves(t, "1.1.0")
		passing.gate.decide("Fail")
		passing.waitForPhase(t, "Failed")
		passing.serves(t, "1.1.0")
	})
	t.Run("a late pass is promoted", func(t *testing.T) {
		late.waitForPhase(t, "Succeeded")
		late.serves(t, "1.1.0")
	})
}

// flaggerRelease is a release whose workload is a Deployment with a Canary.
type flaggerRelease struct{ *release }

func newFlaggerRelease(t *testing.T, operator *assay) *flaggerRelease {
	t.Helper()
	return &flaggerRelease{newRelease(t, operator, "flagger.yaml")}
}

func (r *flaggerRelease) status(ctx context.Context) (map[string]any, error) {
	canary := &unstructured.Unstructured{}
	canary.SetAPIVersion("flagger.app/v1beta1")
	canary.SetKind("Canary")
	if err := cluster.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: "docs-bot"}, canary); err != nil {
		return nil, err
	}
	status, _, err := unstructured.NestedMap(canary.Object, "status")
	return status, err
}

func (r *flaggerRelease) waitForPhase(t *testing.T, phase string) {
	t.Helper()
	eventuallyWithin(t, flaggerTimeout, func(ctx context.Context) error {
		status, err := r.status(ctx)
		if err != nil {
			return err
		}
		if status["phase"] != phase {
			return fmt.Errorf("the phase is %v, want %s: %v", status["phase"], phase, status)
		}
		return nil
	})
}

// waitForSecondRefusal waits for what Flagger does when promotion is refused to a
// canary that was waiting already: it takes one iteration back.
func (r *flaggerRelease) waitForSecondRefusal(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		status, err := r.status(ctx)
		if err != nil {
			return err
		}
		if status["phase"] != "WaitingPromotion" || status["iterations"] != int64(0) {
			return fmt.Errorf("the status is %v, want 0 iterations, waiting for promotion", status)
		}
		return nil
	})
}

// serves checks that the Deployment that users get has this version, and is up.
func (r *flaggerRelease) serves(t *testing.T, version string) {
	t.Helper()
	primary := &appsv1.Deployment{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "docs-bot-primary"}, primary); err != nil {
		t.Fatal(err)
	}
	if got := primary.Spec.Template.Spec.Containers[0].Image; got != image(version) || primary.Status.AvailableReplicas != 1 {
		t.Errorf("docs-bot-primary has %s in %d pods, want %s in 1", got, primary.Status.AvailableReplicas, image(version))
	}
}

// hasNoCanary checks that the Deployment that was changed is scaled down.
func (r *flaggerRelease) hasNoCanary(t *testing.T) {
	t.Helper()
	canary := &appsv1.Deployment{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "docs-bot"}, canary); err != nil {
		t.Fatal(err)
	}
	if n := ptr.Deref(canary.Spec.Replicas, 1); n != 0 {
		t.Errorf("docs-bot is scaled to %d, want 0", n)
	}
}
