package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/internal/egress"
	"github.com/assay-dev/assay/internal/operator"
)

// TestOperatorWithoutACluster: whoever tries it on a laptop gets a sentence, and
// no log with a stack trace.
func TestOperatorWithoutACluster(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"KUBECONFIG": "", "HOME": home, "KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": ""} {
		t.Setenv(name, value)
	}
	log, err := os.Create(filepath.Join(home, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = log
	t.Cleanup(func() {
		os.Stderr = before
		_ = log.Close()
	})
	assay(t, "", "operator").want(t, 3, "", "set KUBECONFIG or give --kubeconfig")
	if logged, err := os.ReadFile(log.Name()); err != nil || len(logged) > 0 {
		t.Errorf("logged %s, error %v", logged, err)
	}
}

// A DSN has a password, which must not stand in the arguments of a process.
func TestTheHistoryOfTheEnvironment(t *testing.T) {
	const dsn = "postgres://assay:s3cr3t@db.example/assay"
	pod := map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
	for name, test := range map[string]struct {
		args        []string
		environment map[string]string
		want        string
	}{
		"nothing":            {nil, pod, "sqlite:///var/lib/assay/history.db"},
		"a variable":         {nil, map[string]string{"ASSAY_HISTORY": dsn}, dsn},
		"an empty variable":  {nil, map[string]string{"ASSAY_HISTORY": "", "KUBERNETES_SERVICE_HOST": "10.96.0.1"}, "sqlite:///var/lib/assay/history.db"},
		"a flag":             {[]string{"--history=sqlite:///h.db"}, pod, "sqlite:///h.db"},
		"a flag wins":        {[]string{"--history=sqlite:///h.db"}, map[string]string{"ASSAY_HISTORY": dsn}, "sqlite:///h.db"},
		"an empty flag wins": {[]string{"--history="}, map[string]string{"ASSAY_HISTORY": dsn}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var o operator.Options
			f := pflag.NewFlagSet("operator", pflag.ContinueOnError)
			f.StringVar(&o.History, "history", "", "")
			if err := f.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			fromEnvironment(f, &o, func(name string) string { return test.environment[name] })
			if o.History != test.want {
				t.Errorf("got %q, want %q", o.History, test.want)
			}
		})
	}
}

func TestThePasswordOfTheHistoryIsNotShown(t *testing.T) {
	for name, value := range map[string]string{"KUBECONFIG": "", "HOME": t.TempDir(), "KUBERNETES_SERVICE_HOST": "", "ASSAY_HISTORY": "postgres://assay:s3cr3t@db.example/assay"} {
		t.Setenv(name, value)
	}
	for _, args := range [][]string{{"operator", "--help"}, {"operator"}, {"operator", "--histor"}} {
		got := assay(t, "", args...)
		if strings.Contains(got.stdout+got.stderr, "s3cr3t") {
			t.Errorf("%q shows the password:\n%s%s", args, got.stdout, got.stderr)
		}
		if args[len(args)-1] == "--help" && !strings.Contains(got.stdout, "$ASSAY_HISTORY") {
			t.Errorf("the help does not name the variable:\n%s", got.stdout)
		}
	}
}

func TestTheEgressFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want egress.Config
	}{
		"by default":              {nil, egress.Config{AllowedNamespaces: []string{"*"}, ClusterDomain: "cluster.local"}},
		"its own namespace alone": {[]string{"--egress-allowed-namespaces="}, egress.Config{AllowedNamespaces: []string{}, ClusterDomain: "cluster.local"}},
		"all": {
			[]string{"--egress-allowed-namespaces=models,search", "--egress-allowed-cidrs=127.0.0.1", "--egress-allowed-cidrs=10.0.0.0/8,192.0.2.7", "--egress-allowed-hosts=api.openai.com,*.example.com",
				"--egress-denied-cidrs=10.1.0.0/16", "--egress-denied-hosts=bad.example", "--cluster-domain=corp.example"},
			egress.Config{AllowedNamespaces: []string{"models", "search"}, AllowedCIDRs: []string{"127.0.0.1", "10.0.0.0/8", "192.0.2.7"}, AllowedHosts: []string{"api.openai.com", "*.example.com"},
				DeniedCIDRs: []string{"10.1.0.0/16"}, DeniedHosts: []string{"bad.example"}, ClusterDomain: "corp.example"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got egress.Config
			f := pflag.NewFlagSet("operator", pflag.ContinueOnError)
			addEgressFlags(f, &got)
			if err := f.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// In a pod, a suite must not reach what only the node should; on a laptop, the
// services that are tried stand on loopback.
func TestWhereTheOperatorRuns(t *testing.T) {
	for host, want := range map[string]bool{"10.96.0.1": true, "": false} {
		var o operator.Options
		fromEnvironment(pflag.NewFlagSet("operator", pflag.ContinueOnError), &o, func(name string) string {
			if name == "KUBERNETES_SERVICE_HOST" {
				return host
			}
			return ""
		})
		if o.Egress.InCluster != want {
			t.Errorf("with %q, in a cluster is %t", host, o.Egress.InCluster)
		}
	}
}
