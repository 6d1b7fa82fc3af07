//go:build e2e

// Package onenode runs the cluster of hack/cluster for tests: a Kubernetes of one
// node, with a real kubelet and container runtime.
package onenode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// NodeName is the node's name.
const NodeName = "node1"

// Cluster is the running cluster. A machine can have one at a time.
type Cluster struct {
	// State is the folder that holds everything the cluster writes.
	State string
	// Bin is the folder with kubectl and the cluster's own binaries.
	Bin string
	// Kubeconfig is the administrator's.
	Kubeconfig string

	scripts string
	lock    *os.File
}

// Up takes down what a run before this one may have left, and brings the cluster
// up from the binaries that hack/cluster/build-k8s.sh built. Root is the project's
// folder. The caller takes the cluster down again, whatever comes.
func Up(ctx context.Context, root string) (*Cluster, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the cache folder: %w", err)
	}
	state := orDefault(os.Getenv("K8S_STATE"), filepath.Join(os.TempDir(), "assay-e2e-cluster"))
	c := &Cluster{
		State:      state,
		Bin:        orDefault(os.Getenv("K8S_BIN"), filepath.Join(cache, "k8s-bin")),
		Kubeconfig: state + ".kubeconfig",
		scripts:    filepath.Join(root, "hack", "cluster"),
	}
	if c.lock, err = lock(state + ".lock"); err != nil {
		return nil, err
	}
	if err := errors.Join(c.script(ctx, "down.sh"), c.script(ctx, "up.sh", c.Kubeconfig)); err != nil {
		return nil, errors.Join(fmt.Errorf("bring the cluster up: %w", err), c.Down())
	}
	return c, nil
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// lock keeps a second test from taking down the cluster of the first. It ends
// with the process, however that ends.
func lock(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another test uses the cluster (lock %s): wait for it: %w", name, err), file.Close())
	}
	return file, nil
}

// Down stops the cluster and removes everything it wrote. It works without a
// context: the cluster goes when the test that used it was interrupted, too.
func (c *Cluster) Down() error {
	return errors.Join(c.script(context.Background(), "down.sh"), c.lock.Close())
}

// LoadImage makes an image of a static binary known to the node.
func (c *Cluster) LoadImage(ctx context.Context, image, binary string) error {
	return c.script(ctx, "load-image.sh", image, binary)
}

// StopContainer ends a container as the node would: with SIGTERM, and SIGKILL
// after the seconds of grace. The kubelet starts it anew in the same pod.
func (c *Cluster) StopContainer(ctx context.Context, pod, container string, grace int) error {
	out, err := c.crictl(ctx, "ps", "--quiet", "--state", "Running", "--label", "io.kubernetes.pod.name="+pod, "--name", "^"+container+"$")
	if err != nil {
		return err
	}
	id := strings.TrimSpace(out)
	if id == "" || strings.ContainsAny(id, " \n") {
		return fmt.Errorf("the containers %s of pod %s that run are %q, want one", container, pod, id)
	}
	_, err = c.crictl(ctx, "stop", "--timeout", fmt.Sprint(grace), id)
	return err
}

func (c *Cluster) crictl(ctx context.Context, args ...string) (string, error) {
	socket := "unix://" + filepath.Join(c.State, "run", "containerd.sock")
	out, err := exec.CommandContext(ctx, filepath.Join(c.Bin, "crictl"), append([]string{"--runtime-endpoint", socket}, args...)...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("crictl %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return string(out), err
}

// UserKubeconfig writes a kubeconfig with the token of a user, and no other rights.
func (c *Cluster) UserKubeconfig(file, token string) error {
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	return clientcmd.WriteToFile(*config, file)
}

// Logs gives the ends of the logs of the cluster's own processes.
func (c *Cluster) Logs() string {
	var text strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.State, "logs", "*.log"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		const end = 1 << 10
		fmt.Fprintf(&text, "--- %s\n%s\n", filepath.Base(file), data[max(0, len(data)-end):])
	}
	return text.String()
}

// script runs a script of hack/cluster.
func (c *Cluster) script(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.scripts, name), args...)
	cmd.Env = append(os.Environ(), "K8S_STATE="+c.State, "K8S_BIN="+c.Bin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
