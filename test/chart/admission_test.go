package chart_test

import (
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// warnings collects what the API server warns of.
type warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeader keeps a warning.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

// take gives the warnings since the last time.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// The API server takes every object of every install as it stands, with no field
// that it does not know and no warning, and every pod under the restricted Pod
// Security Standard.
func TestAPIServerTakesEverything(t *testing.T) {
	warned := &warnings{}
	strict := rest.CopyConfig(config)
	strict.WarningHandler = warned
	strict.QPS, strict.Burst = 1000, 1000
	plain, err := client.New(strict, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cluster := client.WithFieldValidation(plain, metav1.FieldValidationStrict)
	for _, name := range []string{system, "rag", "search", "monitoring"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		for _, mode := range []string{"enforce", "warn"} {
			namespace.Labels["pod-security.kubernetes.io/"+mode] = "restricted"
		}
		if err := cluster.Create(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
	}
	// A pod needs its account; the installs below are dry runs, and make none.
	for _, name := range []string{"assay-controller-manager", "assay-rag-controller-manager", "quality-controller-manager", "assay", "mine"} {
		addAccount(t, cluster, system, name)
	}
	for _, namespace := range []string{system, "rag", "search"} {
		addAccount(t, cluster, namespace, "default")
	}
	warned.take()

	seen := map[string]bool{}
	for _, row := range append([]row{{name: "defaults"}}, rows...) {
		all := render(t, row.values)
		for _, object := range all {
			if object.GroupVersionKind().Group == "monitoring.coreos.com" {
				continue // held to the Prometheus operator's own types above
			}
			if object.GetKind() == "CustomResourceDefinition" && seen[id(object)] {
				continue // the same in every install, and large
			}
			seen[object.GetKind()], seen[id(object)] = true, true
			err := cluster.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.DryRunAll, client.FieldOwner("helm"), client.ForceOwnership)
			if err != nil {
				t.Errorf("%s: %s: %v", row.name, id(object), err)
			}
			for _, text := range warned.take() {
				t.Errorf("%s: %s: warning: %s", row.name, id(object), text)
			}
		}
		for name, pod := range all.pods(t) {
			pod.Name = "admitted"
			if err := cluster.Create(t.Context(), &pod, client.DryRunAll); err != nil && !strings.Contains(err.Error(), "no PriorityClass with name high") {
				t.Errorf("%s: the pod of %s: %v", row.name, name, err)
			}
		}
		warned.take()
	}
	for _, kind := range []string{"Deployment", "Service", "ConfigMap", "PersistentVolumeClaim", "NetworkPolicy", "PodDisruptionBudget", "CustomResourceDefinition", "ClusterRole", "RoleBinding", "EvalSuite", "Pod"} {
		if !seen[kind] {
			t.Errorf("no %s was tried", kind)
		}
	}

	pod := render(t, "").pods(t)[managerID]
	pod.Name = "loose"
	pod.Spec.SecurityContext.RunAsNonRoot = ptr.To(false)
	if err := cluster.Create(t.Context(), &pod, client.DryRunAll); err == nil {
		t.Error("a pod as root is accepted: the namespace does not enforce the standard")
	}
}

func addAccount(t *testing.T, cluster client.Client, namespace, name string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := cluster.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
}
