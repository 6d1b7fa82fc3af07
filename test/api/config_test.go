package api_test

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const operatorUser = "system:serviceaccount:assay-system:assay-controller-manager"

// install applies a kustomization of config/ and returns what is in it.
func install(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	objects := kustomization(t, name)
	for _, object := range objects {
		apply(t, object)
	}
	return objects
}

func kustomization(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	return documents(t, []byte(kubectl(t)("kustomize", filepath.Join("..", "..", "config", name))))
}

// The operator may do what it does, and no more.
func TestRightsOfTheOperator(t *testing.T) {
	install(t, "default")
	const everywhere, own = "rag", "assay-system"
	for _, row := range []struct {
		namespace, verb, group, resource string
		allowed                          bool
	}{
		{everywhere, "list", "assay.dev", "evalsuites", true},
		{everywhere, "watch", "assay.dev", "evalsuites", true},
		{everywhere, "patch", "assay.dev", "evalsuites/status", true},
		{everywhere, "update", "assay.dev", "evalsuites", false},
		{everywhere, "delete", "assay.dev", "evalsuites", false},
		{everywhere, "create", "assay.dev", "evalruns", true},
		{everywhere, "delete", "assay.dev", "evalruns", true},
		{everywhere, "patch", "assay.dev", "evalruns", true},
		{everywhere, "patch", "assay.dev", "evalruns/status", true},
		{everywhere, "watch", "", "configmaps", true},
		{everywhere, "update", "", "configmaps", false},
		{everywhere, "get", "", "secrets", true},
		{everywhere, "list", "", "secrets", false},
		{everywhere, "watch", "", "secrets", false},
		{everywhere, "create", "events.k8s.io", "events", true},
		{everywhere, "create", "", "pods", false},
		{everywhere, "update", "coordination.k8s.io", "leases", false},
		{own, "create", "coordination.k8s.io", "leases", true},
		{own, "update", "coordination.k8s.io", "leases", true},
		{"", "create", "authentication.k8s.io", "tokenreviews", true},
		{"", "create", "authorization.k8s.io", "subjectaccessreviews", true},
		{"", "list", "", "nodes", false},
	} {
		resource, subresource, _ := strings.Cut(row.resource, "/")
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: operatorUser,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: row.namespace, Verb: row.verb, Group: row.group, Resource: resource, Subresource: subresource,
			},
		}}
		if err := cluster.Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != row.allowed {
			t.Errorf("%s %s.%s in %q: allowed %t, want %t", row.verb, row.resource, row.group, row.namespace, review.Status.Allowed, row.allowed)
		}
	}
}

// Whoever may view, edit or administer a namespace gets the same of its suites.
func TestRightsOfUsersAreAggregated(t *testing.T) {
	install(t, "rbac")
	for name, want := range map[string][]string{
		"viewer": {"view", "edit", "admin"},
		"editor": {"edit", "admin"},
	} {
		role := &rbacv1.ClusterRole{}
		if err := cluster.Get(t.Context(), client.ObjectKey{Name: name}, role); err != nil {
			t.Fatal(err)
		}
		for _, aggregate := range []string{"view", "edit", "admin"} {
			got := role.Labels["rbac.authorization.k8s.io/aggregate-to-"+aggregate] == "true"
			if wanted := strings.Contains(strings.Join(want, " "), aggregate); got != wanted {
				t.Errorf("%s is aggregated to %s: %t, want %t", name, aggregate, got, wanted)
			}
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					read := verb == "get" || verb == "list" || verb == "watch"
					if !read && (name == "viewer" || strings.HasSuffix(resource, "/status")) {
						t.Errorf("%s may %s %s: status is the operator's, and a viewer only looks", name, verb, resource)
					}
				}
			}
		}
	}
}

// The namespace takes only what the restricted Pod Security Standard allows.
func TestOperatorPodIsRestricted(t *testing.T) {
	install(t, "default")
	deployment := &appsv1.Deployment{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "assay-system", Name: "assay-controller-manager"}, deployment); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "operator", Namespace: deployment.Namespace, Labels: deployment.Spec.Template.Labels},
		Spec:       deployment.Spec.Template.Spec,
	}
	if err := cluster.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("the pod is refused: %v", err)
	}
	loose := pod.DeepCopy()
	loose.Spec.SecurityContext.RunAsNonRoot = ptr.To(false)
	if err := cluster.Create(t.Context(), loose, client.DryRunAll); err == nil {
		t.Error("a pod as root is accepted: the namespace does not enforce the standard")
	}
	container := pod.Spec.Containers[0]
	if !ptr.Deref(container.SecurityContext.ReadOnlyRootFilesystem, false) {
		t.Error("the root file system can be written")
	}
	for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.String() != "probes" {
			t.Errorf("probe = %+v, want %s on port probes", probe, path)
		}
	}
}

// Prometheus finds the Service that selects the operator's pods.
func TestServiceMonitorFindsTheOperator(t *testing.T) {
	objects := install(t, "default")
	var monitor *unstructured.Unstructured
	for _, object := range kustomization(t, "prometheus") {
		if object.GetKind() == "ServiceMonitor" {
			monitor = object
		}
	}
	if monitor == nil {
		t.Fatal("config/prometheus has no ServiceMonitor")
	}
	selector, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	if err != nil || len(selector) == 0 {
		t.Fatalf("selector = %v, %v", selector, err)
	}
	// One Service, and not the API's, which has a port of the same name.
	var service *unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() != "Service" || !labels.SelectorFromSet(selector).Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if service != nil {
			t.Fatalf("selects %s and %s", service.GetName(), object.GetName())
		}
		service = object
	}
	if service == nil || service.GetName() != "assay-controller-manager-metrics" {
		t.Fatalf("selects %v", service)
	}
	if got, want := monitor.GetNamespace(), service.GetNamespace(); got != want {
		t.Errorf("namespace = %s, want %s", got, want)
	}
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	if got, want := endpoints[0].(map[string]any)["port"], ports[0].(map[string]any)["name"]; got != want {
		t.Errorf("port = %v, want %v", got, want)
	}

	deployment := &appsv1.Deployment{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "assay-system", Name: "assay-controller-manager"}, deployment); err != nil {
		t.Fatal(err)
	}
	pods, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	for label, value := range pods {
		if got := deployment.Spec.Template.Labels[label]; got != value {
			t.Errorf("the pods' label %s = %q, want %q", label, got, value)
		}
	}
}
