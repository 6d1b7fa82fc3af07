//go:build e2e

package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const samples = "config/samples/quickstart/docs-bot/"

// applySample applies the quickstart's service, golden set and suite as somebody.
func applySample(t *testing.T, u user) {
	t.Helper()
	for _, file := range []string{"app.yaml", "golden.yaml", "suite.yaml"} {
		data, err := os.ReadFile(filepath.Join(root, samples, file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if file == "app.yaml" { // the namespace, which is there, is not everybody's to change
			_, text, _ = strings.Cut(text, "\n---\n")
		}
		u.input(text).must(t, "kubectl", "apply", "-f", "-")
	}
}

func waitPassing(t *testing.T, u user) {
	t.Helper()
	u.must(t, "kubectl", "wait", "evs/docs-bot", "-n", "rag", "--for=condition=Passing", "--timeout=90s")
}

// TestNamespaced installs Assay as somebody who has rights in one namespace and
// nowhere else, on a cluster that has been made ready for that.
func TestNamespaced(t *testing.T) {
	startAfresh(t)
	namespace(t, "rag")
	followOurs(t, installPage, "For some namespaces only")

	kubectl(t, "create", "serviceaccount", "tenant", "-n", "rag")
	kubectl(t, "create", "rolebinding", "tenant", "-n", "rag", "--clusterrole=admin", "--serviceaccount=rag:tenant")
	tenant := user{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := cluster.UserKubeconfig(tenant.kubeconfig, strings.TrimSpace(kubectl(t, "create", "token", "tenant", "-n", "rag"))); err != nil {
		t.Fatal(err)
	}
	tenant.refused(t, "kubectl", "get", "nodes")
	eventually(t, func(ctx context.Context) error { // a controller aggregates the roles
		out, err := tenant.run(ctx, "kubectl", "auth", "can-i", "patch", "evalruns/status", "-n", "rag")
		if err != nil {
			return fmt.Errorf("may the tenant? %s: %w", out, err)
		}
		return nil
	})
	tenant.must(t, "helm", "install", "assay", packaged(t), "-n", "rag", "--set", "namespaces={rag},crds.enabled=false", "--wait", "--timeout", "90s")
	applySample(t, tenant)
	waitPassing(t, tenant)
	tenant.must(t, "helm", "test", "assay", "-n", "rag")
	if wide := kubectl(t, "get", "clusterrole,clusterrolebinding", "-l", "app.kubernetes.io/instance=assay", "-o", "name"); wide != "" {
		t.Errorf("a namespaced install made %s", wide)
	}
	// Callers of the API are known without TokenReview, which the operator may not do here.
	api := caller{field(t, "{.spec.clusterIP}:{.spec.ports[0].port}", "-n", "rag", "service/assay-controller-manager-api"), token(t, "view")}
	eventually(t, func(ctx context.Context) error {
		var answer struct{ Verdict string }
		err := api.get(ctx, "/v1/gate/rag/docs-bot", &answer)
		if err == nil && answer.Verdict != "Pass" {
			err = fmt.Errorf("the gate says %s", answer.Verdict)
		}
		return err
	})
	readable(t, kubectl(t, "logs", "deployment/assay-controller-manager", "-n", "rag"))
	tenant.must(t, "helm", "uninstall", "assay", "-n", "rag", "--wait")
}

// TestMultiTenant installs the profile for clusters whose users do not trust each other.
func TestMultiTenant(t *testing.T) {
	startAfresh(t)
	namespace(t, "assay-system")
	namespace(t, "rag")
	namespace(t, "other")
	helm(t, "install", "assay", packaged(t), "-n", "assay-system", "--values", filepath.Join(chart, "values-multi-tenant.yaml"), "--wait", "--timeout", "90s")
	applySample(t, administrator)
	waitPassing(t, administrator)

	// The same suite in another namespace names a Service that is not its own.
	for _, file := range []string{"golden.yaml", "suite.yaml"} {
		data, err := os.ReadFile(filepath.Join(root, samples, file))
		if err != nil {
			t.Fatal(err)
		}
		administrator.input(strings.ReplaceAll(string(data), "namespace: rag", "namespace: other")).must(t, "kubectl", "apply", "-f", "-")
	}
	kubectl(t, "wait", "evs/docs-bot", "-n", "other", "--for=condition=Stalled", "--timeout=90s")
	stalled := field(t, `{range .status.conditions[?(@.type=="Stalled")]}{.reason}: {.message}{end}`, "-n", "other", "evs/docs-bot")
	if want := "docs-bot.rag.svc is a Service of namespace rag, which is not among the allowed namespaces"; !strings.HasPrefix(stalled, "EgressDenied: ") || !strings.Contains(stalled, want) {
		t.Errorf("the suite says %q, want it to be stalled and to say that %s", stalled, want)
	}
	if runs := kubectl(t, "get", "evr", "-n", "other", "-o", "name"); runs != "" {
		t.Errorf("the suite has run: %s", runs)
	}
}

// TestKustomize installs config/default, and then hands the install over to Helm.
func TestKustomize(t *testing.T) {
	startAfresh(t)
	kubectl(t, "apply", "--server-side", "-k", "config/default")
	kubectl(t, "rollout", "status", "deployment/assay-controller-manager", "-n", "assay-system", "--timeout=90s")
	namespace(t, "rag")
	applySample(t, administrator)
	waitPassing(t, administrator)
	before := kept(t)

	helm(t, "install", "assay", packaged(t), "-n", "assay-system", "--take-ownership", "--force-conflicts", "--wait", "--timeout", "90s")
	before.hold(t)
	before.holdHistory(t)
}
