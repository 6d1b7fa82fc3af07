package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/telemetry"
)

const (
	// reopenAfter is how soon a store that could not be opened is tried again.
	reopenAfter = 5 * time.Second
	// pruneEvery is how often old runs are removed from the history.
	pruneEvery = time.Hour
	// pruneWithin bounds one such removal.
	pruneWithin = 10 * time.Minute
)

// store is the history, opened when it can be: a database that is down when
// the operator starts keeps no run from going.
type store struct {
	dsn   string
	log   logr.Logger
	clock clock.Clock

	mu     sync.Mutex
	opened *history.Store
	failed error
	tried  time.Time
}

// openStore opens the history. Only what will not get better by itself is an error.
func openStore(ctx context.Context, dsn string, log logr.Logger, c clock.Clock) (*store, error) {
	s := &store{dsn: dsn, log: log, clock: c}
	_, err := s.get(ctx)
	var newer *history.NewerSchemaError
	if errors.As(err, &newer) {
		return nil, err
	}
	return s, nil
}

// get gives the open store, or why there is none.
func (s *store) get(ctx context.Context) (*history.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil {
		return s.opened, nil
	}
	if s.failed != nil && s.clock.Since(s.tried) < reopenAfter {
		return nil, s.failed
	}
	s.tried = s.clock.Now()
	opened, err := history.Open(ctx, s.dsn, history.Options{Logger: s.log})
	if err != nil {
		s.failed = err
		s.log.Error(err, "the history cannot be opened; runs go on without it, and it is tried again")
		return nil, err
	}
	s.opened, s.failed = opened, nil
	s.log.Info("the history is open", "engine", opened.Driver())
	return opened, nil
}

// state says for people what the store is like. It does not wait for one that is
// being opened.
func (s *store) state(ctx context.Context) string {
	if s == nil {
		return "none is kept (--history)"
	}
	if !s.mu.TryLock() {
		return "being opened"
	}
	opened := s.opened
	s.mu.Unlock()
	if opened == nil {
		return "not open, the log says why; runs go on without it"
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := opened.Ping(ctx); err != nil {
		return opened.Driver() + ", open, but it does not answer; runs go on without it"
	}
	return opened.Driver() + ", open"
}

// close closes the store, if there is one and it was opened.
func (s *store) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		return nil
	}
	return s.opened.Close()
}

func (s *store) PutRun(ctx context.Context, run history.Run) error {
	h, err := s.get(ctx)
	if err != nil {
		return err
	}
	return h.PutRun(ctx, run)
}

func (s *store) PutCases(ctx context.Context, runUID string, cases []history.Case) error {
	h, err := s.get(ctx)
	if err != nil {
		return err
	}
	return h.PutCases(ctx, runUID, cases)
}

func (s *store) Checkpoint(ctx context.Context, runUID string) (map[string]history.Case, error) {
	h, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	return h.Checkpoint(ctx, runUID)
}

func (s *store) Run(ctx context.Context, uid string) (history.Run, error) {
	h, err := s.get(ctx)
	if err != nil {
		return history.Run{}, err
	}
	return h.Run(ctx, uid)
}

func (s *store) Runs(ctx context.Context, namespace, suite string, q history.RunQuery) (history.RunPage, error) {
	h, err := s.get(ctx)
	if err != nil {
		return history.RunPage{}, err
	}
	return h.Runs(ctx, namespace, suite, q)
}

func (s *store) Cases(ctx context.Context, uid string, q history.CaseQuery) (history.CasePage, error) {
	h, err := s.get(ctx)
	if err != nil {
		return history.CasePage{}, err
	}
	return h.Cases(ctx, uid, q)
}

func (s *store) LastPassed(ctx context.Context, suiteUID string) (history.Run, error) {
	h, err := s.get(ctx)
	if err != nil {
		return history.Run{}, err
	}
	return h.LastPassed(ctx, suiteUID)
}

func (s *store) RunByName(ctx context.Context, namespace, suite, name string) (history.Run, error) {
	h, err := s.get(ctx)
	if err != nil {
		return history.Run{}, err
	}
	return h.RunByName(ctx, namespace, suite, name)
}

func (s *store) CompareCases(ctx context.Context, uid string, f func(history.CompareCase) error) error {
	h, err := s.get(ctx)
	if err != nil {
		return err
	}
	return h.CompareCases(ctx, uid, f)
}

func (s *store) RetrievedTexts(ctx context.Context, uid string, cases []string, f func(caseID, text string)) error {
	h, err := s.get(ctx)
	if err != nil {
		return err
	}
	return h.RetrievedTexts(ctx, uid, cases, f)
}

// Verdicts of judges, by key: a judge.Cache.
func (s *store) Get(ctx context.Context, key string) ([]byte, error) {
	h, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	return h.CacheGet(ctx, key)
}

// Put keeps a verdict.
func (s *store) Put(ctx context.Context, key string, value []byte) error {
	h, err := s.get(ctx)
	if err != nil {
		return err
	}
	return h.CachePut(ctx, key, value)
}

// keeper removes old runs from the history and reports its size.
type keeper struct {
	store *store
	// suites names the runs that others are compared with: they stay.
	suites    client.Reader
	retention history.Retention
	metrics   *telemetry.Metrics
	log       logr.Logger
	clock     clock.WithTicker
}

// NeedLeaderElection keeps the removal to the leader.
func (k *keeper) NeedLeaderElection() bool { return true }

// Start keeps the history within its bounds until the context ends.
func (k *keeper) Start(ctx context.Context) error {
	tick := k.clock.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		if err := k.keep(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "the history could not be brought within its bounds; it is tried again in an hour")
		}
		select {
		case <-tick.C():
		case <-ctx.Done():
			return nil
		}
	}
}

func (k *keeper) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pruneWithin)
	defer cancel()
	h, err := k.store.get(ctx)
	if err != nil {
		return err
	}
	retention := k.retention
	if retention.Keep, err = k.comparedWith(ctx, h); err != nil {
		return fmt.Errorf("find the runs that others are compared with: %w", err)
	}
	deleted, err := h.Prune(ctx, retention, k.clock.Now())
	if err != nil {
		return fmt.Errorf("remove old runs: %w", err)
	}
	size, err := h.Size(ctx)
	if err != nil {
		return fmt.Errorf("measure the history: %w", err)
	}
	k.metrics.HistorySize(size.Bytes, size.Runs, size.Cases)
	k.log.Info("the history is within its bounds", "deletedRuns", deleted, "bytes", size.Bytes, "runs", size.Runs, "cases", size.Cases, "retrieved", size.Retrieved)
	return nil
}

// comparedWith are the UIDs of the runs that the suites compare others with.
func (k *keeper) comparedWith(ctx context.Context, h *history.Store) ([]string, error) {
	list := &v1alpha1.EvalSuiteList{}
	if err := k.suites.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list EvalSuites: %w", err)
	}
	var keep []string
	for i := range list.Items {
		s := &list.Items[i]
		names := []string{s.Spec.Baseline.RunName, s.Spec.Baseline.Reference}
		if b := s.Status.Baseline; b != nil {
			names = append(names, b.RunName)
		}
		for _, name := range names {
			if name == "" {
				continue
			}
			run, err := h.RunByName(ctx, s.Namespace, s.Name, name)
			switch {
			case errors.Is(err, history.ErrNotFound):
			case err != nil:
				return nil, err
			default:
				keep = append(keep, run.UID)
			}
		}
	}
	return keep, nil
}
