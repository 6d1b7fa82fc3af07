package chart_test

import (
	"strings"
	"testing"

	"github.com/assay-dev/assay/internal/cli"
)

// Every flag that the chart writes, with whichever value, is one of the program's.
func TestFlagsExist(t *testing.T) {
	seen := map[string]bool{}
	all := []row{{name: "defaults"}}
	for _, row := range append(all, rows...) {
		for name, pod := range render(t, row.values).pods(t) {
			for _, container := range pod.Spec.Containers {
				command, rest, err := cli.NewRootCommand().Find(container.Args)
				if err != nil {
					t.Fatalf("%s, %s: %v", row.name, name, err)
				}
				if err := command.ParseFlags(rest); err != nil {
					t.Errorf("%s, %s: assay %s: %v", row.name, name, strings.Join(container.Args, " "), err)
				}
				if err := command.ValidateArgs(command.Flags().Args()); err != nil {
					t.Errorf("%s, %s: assay %s: %v", row.name, name, strings.Join(container.Args, " "), err)
				}
				for _, arg := range rest {
					flag, _, _ := strings.Cut(arg, "=")
					seen[flag] = true
				}
			}
		}
	}
	for _, flag := range []string{"--leader-elect", "--egress-allowed-namespaces", "--cluster-domain", "--tracing-endpoint", "--history", "--namespaces", "--wait"} {
		if !seen[flag] {
			t.Errorf("no row makes the chart write %s", flag)
		}
	}
}

// The defaults of the program are those of the chart, so that a flag may be left out.
func TestDefaultsOfTheProgram(t *testing.T) {
	command, _, err := cli.NewRootCommand().Find([]string{"operator"})
	if err != nil {
		t.Fatal(err)
	}
	written := strings.Join(render(t, "").pods(t)[managerID].Spec.Containers[0].Args, " ")
	for flag, want := range map[string]string{
		"egress-allowed-namespaces": "[*]", "egress-allowed-cidrs": "[]", "cluster-domain": "cluster.local",
		"tracing-endpoint": "", "tracing-sample-ratio": "1", "metrics-secure": "true", "api-secure": "true", "api-anonymous-flagger": "false", "zap-log-level": "", "zap-encoder": "",
	} {
		f := command.Flags().Lookup(flag)
		if f == nil {
			t.Errorf("assay operator has no --%s", flag)
			continue
		}
		if f.DefValue != want {
			t.Errorf("--%s is %q by default, and the chart takes it for %q", flag, f.DefValue, want)
		}
		if strings.Contains(written, "--"+flag) {
			t.Errorf("the chart writes --%s with its default", flag)
		}
	}
}
