// Command demo shows Assay at work: it starts a control plane of its own,
// installs the CRDs, starts the operator and the sample retriever, applies the
// quickstart suite and shows what a person would look at. It stays up until
// Ctrl-C and leaves nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	once := flag.Bool("once", false, "end after the first verdict: exit status 0 for Passed, else 1")
	flag.Parse()
	logf.SetLogger(logr.Discard()) // envtest's own talk is not part of the show

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *once)
	switch {
	case ctx.Err() != nil && !errors.Is(err, errCleanup):
		say("stopped")
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

// errCleanup is an error at the end, which a demo that is stopped reports too.
var errCleanup = errors.New("clean up")

func cleanup(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errCleanup, err)
}

func run(ctx context.Context, once bool) (err error) {
	if err := portIsFree(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, cleanup(os.RemoveAll(dir))) }()
	// What the tools leave behind when they are stopped halfway goes with it.
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	assets, err := controlPlane(ctx)
	if err != nil {
		return err
	}

	assay := filepath.Join("bin", "assay")
	say("building %s", assay)
	if err := command(ctx, "make", "--no-print-directory", "-s", "build").Run(); err != nil {
		return fmt.Errorf("build %s: %w", assay, err)
	}

	say("starting etcd and kube-apiserver, and installing the CRDs from config/crd")
	server := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join("config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	// Without a network, kube-apiserver finds no address to advertise; nobody uses it.
	server.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	if _, err := server.Start(); err != nil {
		return fmt.Errorf("start the control plane: %w", errors.Join(err, server.Stop()))
	}
	defer func() { err = errors.Join(err, cleanup(server.Stop())) }()
	d := &demo{
		assay:      assay,
		kubectl:    filepath.Join(assets, "kubectl"),
		kubeconfig: filepath.Join(dir, "kubeconfig"),
		logs:       dir,
	}
	if err := os.WriteFile(d.kubeconfig, server.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	defer d.stop()
	passed, err := d.show(ctx)
	if err != nil {
		return err
	}
	if once {
		if !passed {
			return errors.New("the quickstart suite did not pass")
		}
		return nil
	}
	d.nextSteps()
	return d.wait(ctx)
}
