package secrets

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Secrets are got by a name that a suite gives. Whoever may list them finds out
// what there is.
func TestTheOperatorOnlyGetsSecrets(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "manager_role.yaml"))
	must(t, err)
	role := &rbacv1.ClusterRole{}
	must(t, yaml.UnmarshalStrict(text, role))
	got := false
	for _, rule := range role.Rules {
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
			if slices.Contains(list, "*") {
				t.Errorf("a rule is for everything: %v", rule)
			}
		}
		if slices.Contains(rule.Resources, "secrets") {
			got = true
			if !slices.Equal(rule.Verbs, []string{"get"}) {
				t.Errorf("the operator may %v Secrets, want get alone", rule.Verbs)
			}
		}
	}
	if !got {
		t.Error("the role has no rule for Secrets")
	}
}
