package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// RunByName gives the newest run of a suite that has this name, or ErrNotFound. A
// name may be used again once its EvalRun is gone.
func (s *Store) RunByName(ctx context.Context, namespace, suite, name string) (Run, error) {
	query, args := s.runByNameQuery(namespace, suite, name)
	r, err := s.newest(ctx, query, args)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Run{}, fmt.Errorf("look for run %q of %s/%s in the history: %w", name, namespace, suite, err)
	}
	return r, err
}

func (e *engine) runByNameQuery(namespace, suite, name string) (string, []any) {
	return e.text(`SELECT ` + runColumns + ` FROM eval_runs WHERE namespace = $1 AND suite = $2 AND name = $3 AND NOT deleted ORDER BY started_us DESC, uid DESC LIMIT 1`),
		[]any{clean(namespace), clean(suite), clean(name)}
}

// LastPassed gives the newest run of the suite that passed, over all cases and
// stages and on the default endpoint, or ErrNotFound. A suite that was deleted and
// made again has another UID, and so begins anew.
func (s *Store) LastPassed(ctx context.Context, suiteUID string) (Run, error) {
	query, args := s.lastPassedQuery(suiteUID)
	r, err := s.newest(ctx, query, args)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Run{}, fmt.Errorf("look for the last run of suite %q that passed in the history: %w", suiteUID, err)
	}
	return r, err
}

// lastPassedQuery has the condition of the index eval_runs_passed.
func (e *engine) lastPassedQuery(suiteUID string) (string, []any) {
	return e.text(`SELECT ` + runColumns + ` FROM eval_runs
		WHERE suite_uid = $1 AND verdict = 'Passed' AND full_run AND endpoint = '' AND NOT deleted ORDER BY started_us DESC, uid DESC LIMIT 1`),
		[]any{clean(suiteUID)}
}

func (s *Store) newest(ctx context.Context, query string, args []any) (Run, error) {
	r, err := scanRun(s.read.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, ErrNotFound
	}
	if err != nil {
		return Run{}, s.said(ctx, err)
	}
	return r, nil
}
