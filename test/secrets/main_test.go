package secrets

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/assay-dev/assay/internal/operator"
)

// What the tests of this package share: one API server with the CRDs, and the
// logs of all operators, at the most verbose level, as production writes them.
var (
	config  *rest.Config
	cluster client.Client
	logs    lockedBuffer
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	operator.SetLogger(zap.New(zap.WriteTo(&logs), zap.JSONEncoder(), zap.Level(zapcore.Level(-127))))
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "these tests need a real API server: run `make test`, or set KUBEBUILDER_ASSETS=$(go run ./hack/controlplane) first")
		return 1
	}
	server := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	// Without a network, kube-apiserver finds no address to advertise; nobody uses it.
	server.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1")
	var err error
	if config, err = server.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start the API server with the CRDs:", err)
		return 1
	}
	defer func() { _ = server.Stop() }()
	config.QPS, config.Burst = 500, 1000
	if cluster, err = client.New(config, client.Options{Scheme: operator.Scheme()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// lockedBuffer takes what several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write takes a piece.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String gives all that was written.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
