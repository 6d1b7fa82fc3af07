package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// builder builds binaries from the modules that stand beside this command.
type builder struct {
	store   store
	modules string
	say     func(format string, a ...any)
	// output gets what the compiler complains of.
	output io.Writer
}

// build builds what of the names is missing, one after the other.
func (b builder) build(ctx context.Context, names []string) error {
	unlock, err := b.store.lock(ctx, func() { b.say("another build into %s is going on, waiting for it", b.store.dir) })
	if err != nil {
		return err
	}
	defer unlock()
	// The one who was waited for may have built what is missing here.
	names = b.store.missing(names)
	if len(names) == 0 {
		return nil
	}
	b.say("building %s from their Go modules into %s: about 8 minutes on two cores where Go's build cache is empty, a few seconds each where it is not; this happens once",
		strings.Join(names, ", "), b.store.dir)
	began := time.Now()
	for _, name := range names {
		if err := b.one(ctx, name); err != nil {
			return fmt.Errorf("building %s: %w", name, err)
		}
	}
	b.say("all built in %s", time.Since(began).Round(time.Second))
	return nil
}

func (b builder) one(ctx context.Context, name string) error {
	began := time.Now()
	file := filepath.Join(b.store.dir, "."+name+".new")
	defer func() { _ = os.Remove(file) }()
	command := exec.CommandContext(ctx, "go", "build", "-p", "2", "-ldflags", ldflags(name, b.store.versions[name]), "-o", file, sources[name].pkg)
	command.Dir = filepath.Join(b.modules, sources[name].folder)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false", "GOOS=", "GOARCH=")
	command.Stdout, command.Stderr = b.output, b.output
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	if err := command.Run(); err != nil {
		return err
	}
	if err := b.store.put(name, file); err != nil {
		return err
	}
	b.say("built %s %s in %s", name, b.store.versions[name], time.Since(began).Round(time.Second))
	return nil
}

// ldflags leave symbols out, and tell Kubernetes' binaries their version: a
// kube-apiserver that takes itself for v0.0.0 serves other API versions.
func ldflags(name, version string) string {
	if sources[name].module != "k8s.io/kubernetes" {
		return "-s -w"
	}
	const pkg = "k8s.io/component-base/version"
	major, minorNumber, _ := strings.Cut(minor(version), ".")
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, major, minorNumber)
}
