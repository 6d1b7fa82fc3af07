//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startController starts a controller of somebody else's, as the administrator.
// The variable holds the path of its binary. It ends with the test; a test that
// failed logs what it said.
func startController(t *testing.T, variable string, args ...string) {
	t.Helper()
	binary := os.Getenv(variable)
	if binary == "" {
		t.Fatalf("%s is not set: it must hold the path of a binary; `make e2e` builds one and sets it", variable)
	}
	log := &syncBuffer{}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting the binary that %s names: %v", variable, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", variable, log)
		}
	})
}

// freePort is a port that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// installCRDs installs the CRDs that a tool's module carries: tool is the module
// under hack/tools that requires it, path is a file or a folder in it.
func installCRDs(t *testing.T, tool, module, path string) {
	t.Helper()
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Paths:              []string{filepath.Join(moduleDir(t, tool, module), path)},
		ErrorIfPathMissing: true,
	})
	if err != nil {
		t.Fatalf("installing the CRDs of %s: %v", module, err)
	}
}

// moduleDir is the folder in the module cache, downloaded if it must be.
func moduleDir(t *testing.T, tool, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join("..", "..", "hack", "tools", tool)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("finding %s: %v\n%s%s", module, err, out, &stderr)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("reading what go mod download says of %s: %v", module, err)
	}
	return found.Dir
}
