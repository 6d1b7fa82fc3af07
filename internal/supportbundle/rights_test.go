package supportbundle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// What is checked is what config/rbac gives.
func TestRightsAreTheRoles(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "manager_role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(raw, &role); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			name, sub, _ := strings.Cut(resource, "/")
			r := right{group: rule.APIGroups[0], resource: name, subresource: sub}
			for _, verb := range rule.Verbs {
				want = append(want, verb+" "+r.String())
			}
		}
	}
	for _, r := range rights {
		for _, verb := range r.verbs {
			got = append(got, verb+" "+r.String())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-config/rbac +checked:\n%s", diff)
	}
}

// The end of a log is kept, in whole lines.
func TestTail(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		most int
		want string
	}{
		"short":           {"a\nb\n", 10, "a\nb\n"},
		"cut":             {"aaaa\nbbbb\ncccc\n", 10, "[the beginning was cut]\ncccc\n"},
		"one line":        {strings.Repeat("x", 300_000), 10, "[the beginning was cut]\n"},
		"empty":           {"", 10, ""},
		"many small ones": {strings.Repeat("line\n", 100_000), 12, "[the beginning was cut]\nline\nline\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tail(strings.NewReader(test.in), test.most)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestFile(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"docs-bot.yaml", "a/docs-bot.yaml"}, {"..", "a/_"}, {"../../etc/passwd", "a/.._.._etc_passwd"}, {"", "a/_"}, {"/", "a/_"}, {"a\x00b", "a/a_b"}, {"문서", "a/__"}, {".", "a/_"},
	} {
		if got := file("a", test.in); got != test.want || !filepath.IsLocal(got) {
			t.Errorf("%q gives %q, want %q", test.in, got, test.want)
		}
	}
}
