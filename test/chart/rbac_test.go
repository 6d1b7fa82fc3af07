package chart_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

// clusterScoped are the kinds of the chart that only a cluster's administrator makes.
var clusterScoped = []string{"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Namespace"}

// Whoever owns a few namespaces and no more can install the chart, where the CRDs are.
func TestNamespacedInstallNeedsNoRightsOfTheCluster(t *testing.T) {
	allowed := []string{system, "rag", "search"}
	all := render(t, "{namespaces: [rag, search], crds: {enabled: false}, replicas: 2, history: {type: None}, networkPolicy: {enabled: true, egress: {enabled: true}}, "+
		"metrics: {serviceMonitor: {enabled: true}, rules: {enabled: true}, dashboard: {enabled: true}}}")
	for _, object := range all {
		if slices.Contains(clusterScoped, object.GetKind()) || !slices.Contains(allowed, object.GetNamespace()) {
			t.Errorf("%s is not in one of the namespaces %v", id(object), allowed)
		}
	}
	want := into[rbacv1.ClusterRole](t, render(t, "").get(t, "ClusterRole /assay-manager")).Rules
	for _, namespace := range []string{"rag", "search"} {
		if diff := cmp.Diff(want, into[rbacv1.Role](t, all.get(t, "Role "+namespace+"/assay-manager")).Rules); diff != "" {
			t.Errorf("the rights in %s are not those of the whole cluster (-want +got):\n%s", namespace, diff)
		}
	}
	if role := all.find("Role " + system + "/assay-manager"); role != nil {
		t.Errorf("the operator may work in %s, which is not among the namespaces", system)
	}
}

// The operator gets the Secrets that a suite names and can find no others; it may
// use no wildcard, and make no roles.
func TestRightsAreLeast(t *testing.T) {
	for _, values := range []string{"", "namespaces: [rag]"} {
		for _, object := range render(t, values) {
			if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" {
				continue
			}
			for _, rule := range into[rbacv1.ClusterRole](t, object).Rules {
				for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
					if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "*") }) {
						t.Errorf("%s has a wildcard: %+v", id(object), rule)
					}
				}
				if slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.Verbs, []string{"get"}) {
					t.Errorf("%s lets Secrets be %v", id(object), rule.Verbs)
				}
				if slices.Contains(rule.APIGroups, "rbac.authorization.k8s.io") {
					t.Errorf("%s has rights on roles: %+v", id(object), rule)
				}
			}
		}
	}
}

// Every binding binds a role of the chart to an account that the pods have.
func TestBindings(t *testing.T) {
	for _, values := range []string{"", "namespaces: [rag, search]", "{fullnameOverride: quality, serviceAccount: {name: robot}}"} {
		all := render(t, values)
		var account string
		for name, pod := range all.pods(t) {
			if strings.Contains(name, "controller-manager") {
				account = pod.Spec.ServiceAccountName
			}
		}
		all.get(t, "ServiceAccount "+system+"/"+account)
		bound := 0
		for _, object := range all {
			kind, isBinding := strings.CutSuffix(object.GetKind(), "Binding")
			if !isBinding {
				continue
			}
			bound++
			binding := into[rbacv1.ClusterRoleBinding](t, object)
			if binding.RoleRef.Kind != kind {
				t.Errorf("%s binds a %s", id(object), binding.RoleRef.Kind)
			}
			all.get(t, kind+" "+object.GetNamespace()+"/"+binding.RoleRef.Name)
			want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: system}}
			if diff := cmp.Diff(want, binding.Subjects); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id(object), diff)
			}
		}
		if bound < 3 {
			t.Errorf("%d bindings with %q", bound, values)
		}
	}
}
