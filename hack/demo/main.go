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
	err := run(ctx, *once)
	stop()
	switch {
	case errors.Is(err, context.Canceled):
		say("stopped")
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, once bool) (err error) {
	assets, err := controlPlane(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

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
	if _, err := server.Start(); err != nil {
		return fmt.Errorf("start the control plane: %w", errors.Join(err, server.Stop()))
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
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
