package operator

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/telemetry"
)

// TestAStoreThatComesLater is a database that cannot be opened when the
// operator starts: it is asked for again, but not at every call.
func TestAStoreThatComesLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder must be
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Now())
	s, err := openStore(t.Context(), "sqlite://"+filepath.Join(dir, "history.db"), logr.Discard(), clock)
	if err != nil {
		t.Fatalf("a store that may come yet stops the operator: %v", err)
	}
	t.Cleanup(func() { _ = s.close() })
	put := func() error { return s.PutRun(t.Context(), history.Run{UID: "u", Namespace: "n", Suite: "s"}) }
	if put() == nil {
		t.Fatal("a store that is not there takes a run")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if put() == nil {
		t.Error("it was tried again at once")
	}
	clock.Step(reopenAfter)
	if err := put(); err != nil {
		t.Errorf("it was not tried again: %v", err)
	}
	if _, err := s.Run(t.Context(), "u"); err != nil {
		t.Error(err)
	}
}

func TestTheKeeperPrunesAndMeasures(t *testing.T) {
	s, err := openStore(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "history.db"), logr.Discard(), clocktesting.NewFakeClock(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	now := time.Now()
	for i, uid := range []string{"a", "b", "c"} {
		at := now.Add(time.Duration(i) * time.Minute)
		if err := s.PutRun(t.Context(), history.Run{UID: uid, Namespace: "n", Suite: "s", StartTime: at, CompletionTime: &at, Verdict: "Passed"}); err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewRegistry()
	k := &keeper{store: s, suites: fake.NewClientBuilder().WithScheme(Scheme()).Build(), retention: history.Retention{MaxRuns: 2}, metrics: telemetry.NewMetrics(registry), log: logr.Discard(), clock: clocktesting.NewFakeClock(now)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Start(ctx) }()
	for deadline := time.After(30 * time.Second); ; {
		want := "# HELP assay_history_runs Runs in the history store when it was last measured.\n# TYPE assay_history_runs gauge\nassay_history_runs 2\n"
		if testutil.GatherAndCompare(registry, strings.NewReader(want), "assay_history_runs") == nil {
			break
		}
		select {
		case <-deadline:
			t.Fatal("the history was not brought to two runs")
		case <-time.After(20 * time.Millisecond):
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := s.Run(t.Context(), "a"); err == nil {
		t.Error("the oldest run is still there")
	}
}

// Gates are answered, and runs started, by an operator that keeps no history.
func TestTheAPINeedsNoHistory(t *testing.T) {
	_, _, err := newOperator(t, func(o *Options) { o.APIAddress = "127.0.0.1:0" })
	if err != nil {
		t.Errorf("an API without a history: %v", err)
	}
}

// A DSN has a password, and a database that is away, or that does not like the DSN,
// is told of in the log.
func TestThePasswordOfTheHistoryIsNotLogged(t *testing.T) {
	for _, dsn := range []string{
		"postgres://assay:s3cr3t@127.0.0.1:1/assay?connect_timeout=1",
		"postgres://assay:s3cr3t@127.0.0.1:99999999/assay",
		"postgres://assay@127.0.0.1:1/assay?password=s3cr3t",
		"postgres://assay:s3cr3t%zz@127.0.0.1/assay",
	} {
		var logged strings.Builder
		log := funcr.New(func(prefix, args string) { logged.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 9})
		s, err := openStore(t.Context(), dsn, log, clocktesting.NewFakeClock(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		err = s.PutRun(t.Context(), history.Run{UID: "u"})
		if err == nil || !strings.Contains(logged.String(), "the history cannot be opened") {
			t.Errorf("%s is a store: %v\n%s", dsn, err, &logged)
		}
		if said := logged.String() + err.Error() + s.state(t.Context()); strings.Contains(said, "s3cr3t") {
			t.Errorf("the password is shown:\n%s", said)
		}
	}
}
