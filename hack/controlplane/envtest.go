package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	setupEnvtest        = "sigs.k8s.io/controller-runtime/tools/setup-envtest"
	setupEnvtestVersion = "v0.25.1"

	// installLimit bounds how long setup-envtest itself may take to build.
	installLimit = time.Minute
	// downloadLimit bounds the download: a slow network is no better than none.
	downloadLimit = 20 * time.Second
)

// envtest downloads the binaries that the Kubernetes project publishes for tests.
type envtest struct {
	dir        string
	kubernetes string // the version, for example v1.37.2
	say        func(format string, a ...any)
}

// download gives the folder that setup-envtest put the binaries into.
func (e envtest) download(ctx context.Context) (string, error) {
	began := time.Now()
	tool, err := e.install(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadLimit)
	defer cancel()
	command := exec.CommandContext(ctx, tool, "use", minor(e.kubernetes)+".x", "--bin-dir", filepath.Join(e.dir, "envtest"), "-p", "path")
	out, err := output(command)
	if err != nil {
		return "", fmt.Errorf("setup-envtest: %w", err)
	}
	e.say("setup-envtest brought Kubernetes %s.x in %s", minor(e.kubernetes), time.Since(began).Round(time.Second))
	return strings.TrimSpace(out), nil
}

// install builds setup-envtest into the cache, once a version.
func (e envtest) install(ctx context.Context) (string, error) {
	dir := filepath.Join(e.dir, "setup-envtest-"+setupEnvtestVersion)
	tool := filepath.Join(dir, "setup-envtest")
	if len(missingIn(dir, []string{"setup-envtest"})) == 0 {
		return tool, nil
	}
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "install", setupEnvtest+"@"+setupEnvtestVersion)
	command.Env = append(os.Environ(), "GOBIN="+dir, "GOWORK=off")
	if _, err := output(command); err != nil {
		return "", fmt.Errorf("installing setup-envtest: %w", err)
	}
	return tool, nil
}

// minor is the release line of a version: 1.37 for v1.37.2.
func minor(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// output runs a command; its error is the last line that the command complained with.
func output(command *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	// What a killed go command has started may keep the pipes open.
	command.WaitDelay = 2 * time.Second
	err := command.Run()
	if err == nil {
		return stdout.String(), nil
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "", fmt.Errorf("%w: %s", err, last)
	}
	return "", err
}
