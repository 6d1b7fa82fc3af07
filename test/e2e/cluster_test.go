//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/assay-dev/assay/internal/operator"
)

const (
	// assayBin is the environment variable with the path of the binary under test.
	assayBin = "ASSAY_BIN"
	// helmBin is the environment variable with the path of the real Helm.
	helmBin = "HELM_BIN"
	// operatorUser is who the operator is in the chart, and has no more rights than that.
	operatorUser = "system:serviceaccount:assay-system:assay-controller-manager"
)

// What the tests of this package share: a control plane with a garbage
// collector, on which the chart is installed.
var (
	config     *rest.Config
	cluster    client.Client
	assets     string
	adminFile  string
	scratchDir string
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
	ctrl.SetLogger(logr.Discard()) // of envtest; the operator is a process of its own
	assets = os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" || os.Getenv(assayBin) == "" || os.Getenv(helmBin) == "" {
		return 0, fmt.Errorf("these tests need KUBEBUILDER_ASSETS, %s and %s: run `make e2e`", assayBin, helmBin)
	}
	if scratchDir, err = os.MkdirTemp("", "assay-e2e-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratchDir)) }()
	server := &envtest.Environment{}
	// Without a network, kube-apiserver finds no address to advertise; nobody uses it.
	server.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	if config, err = server.Start(); err != nil {
		return 0, fmt.Errorf("start the control plane: %w", errors.Join(err, server.Stop()))
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	adminFile = filepath.Join(scratchDir, "admin.kubeconfig")
	if err := os.WriteFile(adminFile, server.KubeConfig, 0o600); err != nil {
		return 0, err
	}
	stop, err := startControllerManager(filepath.Join(server.ControlPlane.GetAPIServer().CertDir, "sa-signer.key"))
	if err != nil {
		return 0, err
	}
	defer stop()
	if err := installChart(); err != nil {
		return 0, err
	}
	if cluster, err = client.New(config, client.Options{Scheme: operator.Scheme()}); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// installChart applies what the chart renders when it is told nothing: CRDs, and
// the roles that the operator of these tests has and no others.
func installChart() error {
	const namespace = "assay-system"
	var failed bytes.Buffer
	cmd := exec.Command(os.Getenv(helmBin), "template", "assay", filepath.Join("..", "..", "charts", "assay"), "--namespace", namespace, "--skip-tests")
	cmd.Stderr = &failed
	manifests, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("render the chart: %w: %s", err, &failed)
	}
	file := filepath.Join(scratchDir, "chart.yaml")
	if err := os.WriteFile(file, manifests, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"create", "namespace", namespace}, {"apply", "--server-side", "-f", file}} {
		if out, err := kubectl(args...); err != nil {
			return fmt.Errorf("install the chart: %w: %s", err, out)
		}
	}
	return nil
}

// startControllerManager starts what collects garbage, makes tokens work, with
// the key that kube-apiserver signs them with, and rolls Deployments out.
func startControllerManager(signingKey string) (stop func(), err error) {
	binary := filepath.Join(assets, "kube-controller-manager")
	log, err := os.Create(filepath.Join(scratchDir, "kube-controller-manager.log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary,
		"--kubeconfig="+adminFile,
		"--leader-elect=false",
		"--secure-port=0",
		"--service-account-private-key-file="+signingKey,
		"--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller,serviceaccount-token-controller,"+
			"clusterrole-aggregation-controller,deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller",
	)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start kube-controller-manager, which `go run ./hack/controlplane -with kube-controller-manager` builds: %w", err)
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = log.Close()
	}, nil
}

// kubectl runs kubectl as the administrator and returns what it printed.
func kubectl(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(assets, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+adminFile)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// eventually polls until the check gives nil.
func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	eventuallyWithin(t, pollTimeout, check)
}

// eventuallyWithin is for what takes its time.
func eventuallyWithin(t *testing.T, timeout time.Duration, check func(context.Context) error) {
	t.Helper()
	var last, before error // the last may only say that the time was up
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		before, last = last, check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v; before that: %v", err, last, before)
	}
}

// assay is a running `assay operator`, with the rights of the chart's roles and no others.
type assay struct {
	metrics string
	api     string
	cmd     *exec.Cmd
	log     *syncBuffer
	done    chan struct{}
}

// startAssay starts the operator with a history of its own and waits until it is
// ready. It ends with the test.
func startAssay(t *testing.T) *assay {
	t.Helper()
	return startAssayOn(t, "sqlite://"+filepath.Join(t.TempDir(), "history.db"))
}

// startAssayOn starts the operator on this history.
func startAssayOn(t *testing.T, history string, more ...string) *assay {
	t.Helper()
	a := &assay{metrics: freeAddress(t), api: freeAddress(t), log: &syncBuffer{}, done: make(chan struct{})}
	probes := freeAddress(t)
	a.cmd = exec.Command(os.Getenv(assayBin), append([]string{"operator",
		"--metrics-bind-address", a.metrics,
		"--health-probe-bind-address", probes,
		"--leader-elect-namespace", "assay-system",
		"--api-bind-address", a.api,
		"--history", history,
	}, more...)...)
	// Without the variable it takes itself to be out of a cluster, where it may ask
	// the stubs on loopback, even where the tests run in a pod.
	a.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfigOf(t, operatorUser), "KUBERNETES_SERVICE_HOST=")
	a.cmd.Stdout, a.cmd.Stderr = a.log, a.log
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait()
		close(a.done)
	}()
	t.Cleanup(func() {
		a.stop(syscall.SIGTERM)
		if lacksRight(a.log.String()) {
			t.Error("the operator lacks a right that it needs: see its log")
			t.Logf("the operator said:\n%s", a.log)
		} else if t.Failed() {
			t.Logf("the operator said:\n%s", a.log)
		}
	})
	eventually(t, func(ctx context.Context) error {
		select {
		case <-a.done:
			t.Fatalf("the operator ended:\n%s", a.log)
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+probes+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
	return a
}

// lacksRight tells whether a log speaks of a call that was not allowed. In a
// namespace that goes with its test, nobody may create anything.
func lacksRight(log string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "forbidden") && !strings.Contains(line, "because it is being terminated") {
			return true
		}
	}
	return false
}

// stop ends the operator with a signal and waits for it.
func (a *assay) stop(signal syscall.Signal) {
	select {
	case <-a.done:
		return
	default:
	}
	_ = a.cmd.Process.Signal(signal)
	<-a.done
}

// kubeconfigOf is the administrator's, who acts as a user.
func kubeconfigOf(t *testing.T, user string) string {
	t.Helper()
	c, err := clientcmd.LoadFromFile(adminFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, administrator := range c.AuthInfos {
		administrator.Impersonate = user
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// syncBuffer is a buffer that may be read while a process writes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// waitReady is how long kubectl waits.
const waitReady = "--timeout=90s"
