//go:build e2e

package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-dev/assay/test/e2e/install/onenode"
)

const (
	// image is the operator's, serviceImage the sample service's: both hold bin/assay.
	image        = "ghcr.io/assay-dev/assay:v0.1.0"
	serviceImage = "docs-bot:v1"
	// settled bounds how long the world takes to be as the pages take it for given.
	settled = 2 * time.Minute
)

// place is a cluster of one node on this machine, with Assay installed by its chart.
type place struct {
	*onenode.Cluster
	repository string
	// bin holds what a reader has on the PATH.
	bin string
}

var world *place

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	for _, name := range []string{"ASSAY_BIN", "HELM_BIN", "PROMTOOL_BIN"} {
		if os.Getuid() != 0 || os.Getenv(name) == "" {
			return 0, fmt.Errorf("these tests need root and %s: run `make e2e-docs`", name)
		}
	}
	repository, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		return 0, err
	}
	scratch, err := os.MkdirTemp("", "assay-docs-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cluster, err := onenode.Up(ctx, repository)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cluster.Down()) }()
	world = &place{Cluster: cluster, repository: repository, bin: filepath.Join(scratch, "bin")}
	if err := world.install(ctx); err != nil {
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

// tools puts what a reader has on the PATH into one folder.
func (o *place) tools() error {
	if err := os.MkdirAll(o.bin, 0o755); err != nil {
		return err
	}
	for name, target := range map[string]string{
		"assay":         os.Getenv("ASSAY_BIN"),
		"kubectl-assay": os.Getenv("ASSAY_BIN"),
		"helm":          os.Getenv("HELM_BIN"),
		"promtool":      os.Getenv("PROMTOOL_BIN"),
		"kubectl":       filepath.Join(o.Bin, "kubectl"),
	} {
		if err := os.Symlink(target, filepath.Join(o.bin, name)); err != nil {
			return err
		}
	}
	return nil
}

func (o *place) env() []string {
	return append(os.Environ(), "KUBECONFIG="+o.Kubeconfig, "PATH="+o.bin+":"+os.Getenv("PATH"))
}

func (o *place) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = o.env()
	cmd.Dir = o.repository
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}

func (o *place) kubectl(ctx context.Context, args ...string) string {
	out, err := o.command(ctx, filepath.Join(o.bin, "kubectl"), args...)
	if err != nil {
		return err.Error()
	}
	return out
}

// install loads the images and installs the operator as docs/install.md says, and
// the definitions of other tools' kinds that pages name.
func (o *place) install(ctx context.Context) error {
	if err := o.tools(); err != nil {
		return err
	}
	for _, name := range []string{image, serviceImage} {
		if err := o.LoadImage(ctx, name, os.Getenv("ASSAY_BIN")); err != nil {
			return err
		}
	}
	if err := o.installKinds(ctx); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"kubectl", "apply", "-f", "test/e2e/docs/testdata/world.yaml"},
		{"helm", "install", "assay", "charts/assay", "-n", "assay-system", "--create-namespace",
			"--set", "image.tag=v0.1.0", "--set", "history.persistence.enabled=false", "--wait", "--timeout", "3m"},
		{"kubectl", "config", "set-context", "--current", "--namespace=rag"},
	} {
		if _, err := o.command(ctx, filepath.Join(o.bin, args[0]), args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// made are the kinds of objects that pages leave behind.
const made = "evalsuites,evalruns,secrets,configmaps,serviceaccounts,roles,rolebindings,jobs,statefulsets,rollouts,analysistemplates,canaries"

// reset makes the namespace rag as pages take it for given: what one page did
// there is not the next one's. An empty one is left to the page.
func (o *place) reset(ctx context.Context, empty bool) error {
	ctx, cancel := context.WithTimeout(ctx, settled)
	defer cancel()
	steps := [][]string{{"delete", "namespace", "rag", "--ignore-not-found", "--wait"}}
	if !empty {
		// The service itself stays up: applied again, it is what it was.
		steps = [][]string{{"delete", made, "--all", "-n", "rag", "--wait"}, {"delete", made, "--all", "-n", "rag-staging", "--wait"}}
	}
	if !empty {
		files := filepath.Join("test", "e2e", "docs", "testdata")
		steps = append(steps,
			[]string{"apply", "-f", filepath.Join(files, "world.yaml")},
			[]string{"apply", "-f", filepath.Join(files, "docs.yaml"), "-f", filepath.Join(files, "files", "golden.yaml")},
			[]string{"rollout", "status", "deployment/docs-bot", "-n", "rag", "--timeout=90s"},
			[]string{"apply", "-f", filepath.Join(files, "files", "suite.yaml")},
			// Two runs: what two are compared with is there.
			[]string{"wait", "evs/docs-bot", "-n", "rag", "--for=condition=Passing", "--timeout=90s"},
			[]string{"annotate", "evs/docs-bot", "-n", "rag", "assay.dev/run-now=first"},
			[]string{"wait", "evs/docs-bot", "-n", "rag", "--for=jsonpath={.status.lastHandledRunNow}=first", "--timeout=60s"},
			[]string{"wait", "evr", "--all", "-n", "rag", "--for=condition=Complete", "--timeout=60s"},
		)
	}
	for _, args := range steps {
		if _, err := o.command(ctx, filepath.Join(o.bin, "kubectl"), args...); err != nil {
			return err
		}
	}
	return nil
}

// reader stands in a copy of what is in the repository, with the files beside it
// that pages speak of as the reader's own.
func (o *place) reader(dir string) (*reader, error) {
	ctx := context.Background()
	if _, err := o.command(ctx, "bash", "-c",
		`git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "$0" && cp test/e2e/docs/testdata/files/{suite,golden}.yaml "$0"`, dir); err != nil {
		return nil, err
	}
	hosts := "127.0.0.1 localhost\n"
	for line := range strings.Lines(o.kubectl(ctx, "get", "services", "-A", "-o",
		`jsonpath={range .items[*]}{.spec.clusterIP} {.metadata.name}.{.metadata.namespace}.svc{"\n"}{end}`)) {
		if !strings.HasPrefix(line, "None") {
			hosts += line
		}
	}
	// A kubeconfig of its own: a page may change the context.
	config, err := os.ReadFile(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, ".kubeconfig")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	env := append(o.env(), "KUBECONFIG="+file, "OPENAI_API_KEY=sk-none",
		"FILES="+filepath.Join(dir, "test", "e2e", "docs", "testdata", "files"))
	return &reader{dir: dir, env: env, hosts: hosts}, nil
}
