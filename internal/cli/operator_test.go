package cli

import (
	"os"
	"path/filepath"
	"testing"
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
