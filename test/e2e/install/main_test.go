//go:build e2e

// Package install tries what a newcomer does on a real cluster: the chart is
// installed, upgraded and removed, the quickstart is followed word for word.
package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/assay-dev/assay/test/e2e/install/onenode"
)

const (
	// helmBin and assayBin are the environment variables with the paths of the real
	// Helm and of the static binary that the image is made of.
	helmBin  = "HELM_BIN"
	assayBin = "ASSAY_BIN"
	// newerVersion is that of the chart and image that are upgraded to.
	newerVersion = "0.1.99"
)

// What the tests of this package share.
var (
	cluster *onenode.Cluster
	// root is the project's folder, where the documentation's commands are run.
	root string
	// chart is the folder of the chart, image what it installs.
	chart, image string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if os.Getuid() != 0 || os.Getenv(helmBin) == "" || os.Getenv(assayBin) == "" {
		return 0, fmt.Errorf("these tests need root, %s and %s: run `make e2e-install`", helmBin, assayBin)
	}
	if root, err = filepath.Abs(filepath.Join("..", "..", "..")); err != nil {
		return 0, err
	}
	chart = filepath.Join(root, "charts", "assay")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if cluster, err = onenode.Up(ctx, root); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cluster.Down()) }()
	if err := prepare(ctx); err != nil {
		return 0, errors.Join(err, errors.New(cluster.Logs()))
	}
	ended := make(chan int, 1)
	go func() { ended <- m.Run() }()
	select {
	case code := <-ended:
		return code, nil
	case <-ctx.Done():
		return 0, errors.New("interrupted")
	}
}

// prepare gives the cluster what it lacks: the image, and volumes, for it has no
// StorageClass.
func prepare(ctx context.Context) error {
	var err error
	if image, err = chartImage(); err != nil {
		return err
	}
	for _, name := range []string{image, newerImage()} {
		if err := cluster.LoadImage(ctx, name, os.Getenv(assayBin)); err != nil {
			return err
		}
	}
	for i := range 4 {
		if err := createVolume(ctx, fmt.Sprintf("history-%d", i)); err != nil {
			return err
		}
	}
	return nil
}

const volume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  local: {path: %[2]q}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%[3]s]}]
`

// createVolume makes a volume of a folder of the node's: one that belongs to root, as new ones do.
func createVolume(ctx context.Context, name string) error {
	dir := filepath.Join(cluster.State, "volumes", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, err := administrator.input(fmt.Sprintf(volume, name, dir, onenode.NodeName)).run(ctx, "kubectl", "apply", "-f", "-")
	return err
}
