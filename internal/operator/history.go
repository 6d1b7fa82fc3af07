package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

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

// keeper removes old runs from the history and reports its size.
type keeper struct {
	store     *store
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
	deleted, err := h.Prune(ctx, k.retention, k.clock.Now())
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
