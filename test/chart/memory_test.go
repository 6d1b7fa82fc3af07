package chart_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// GOMEMLIMIT is 80% of the limit, whichever way that is written.
func TestMemoryLimit(t *testing.T) {
	for limit, want := range map[string]string{
		"512Mi":       "409MiB",
		"1Gi":         "819MiB",
		"1.5Gi":       "1228MiB",
		"1G":          "762MiB",
		"500M":        "381MiB",
		"1Ti":         "838860MiB",
		"2T":          "1525878MiB",
		"262144Ki":    "204MiB",
		"262144k":     "200MiB",
		"536870912":   "409MiB",
		"'536870912'": "409MiB",
		"1Mi":         "1MiB",
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			all := render(t, "resources: {limits: {memory: "+limit+"}}", "--show-only", "templates/deployment.yaml")
			c := all.pods(t)[managerID].Spec.Containers[0]
			if got := c.Env[0]; got.Name != "GOMEMLIMIT" || got.Value != want {
				t.Errorf("%s=%s, want %s", got.Name, got.Value, want)
			}
			memory := resource.MustParse(want[:len(want)-1])
			if memory.Cmp(*c.Resources.Limits.Memory()) > 0 {
				t.Errorf("%s is above the limit", want)
			}
		})
	}
	for name, values := range map[string]string{"no memory": "resources: {limits: {memory: null}}", "no limits": "resources: {limits: null}", "nothing": "resources: null"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := render(t, values, "--show-only", "templates/deployment.yaml")
			if env := all.pods(t)[managerID].Spec.Containers[0].Env; len(env) != 0 {
				t.Errorf("there is no limit, and the environment is %v", env)
			}
		})
	}
}
