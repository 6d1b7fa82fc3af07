package history

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// openFor is how long a run without an end counts as going on.
	openFor = 24 * time.Hour
	// pruneCases is how many cases one transaction deletes, so that writers wait
	// for milliseconds.
	pruneCases = 500
)

// Retention is what is kept; the zero value keeps all runs.
type Retention struct {
	// MaxRuns a suite, the newest; 0: no limit.
	MaxRuns int
	// MaxAge since the start; 0: no limit.
	MaxAge time.Duration
	// Keep is UIDs of runs that are kept all the same, such as baselines.
	Keep []string
	// VerdictMaxAge is how long a verdict in the cache may be without use; 0:
	// DefaultVerdictAge, below 0: no limit.
	VerdictMaxAge time.Duration
	// MaxVerdicts in the cache, those used last; 0: DefaultMaxVerdicts, below 0: no
	// limit.
	MaxVerdicts int
}

// Prune deletes runs and cached verdicts beyond the retention, and says how many
// runs. Runs that have not ended stay for a day from their start. A run vanishes
// at once, its rows are deleted in small transactions; what a Prune that was
// stopped left, the next one finishes.
func (s *Store) Prune(ctx context.Context, r Retention, now time.Time) (deleted int, err error) {
	runs, err := s.beyond(ctx, r, now)
	for _, run := range runs {
		if err == nil {
			if err = s.deleteRun(ctx, run); err == nil {
				deleted++
			}
		}
	}
	var verdicts int64
	if err == nil {
		verdicts, err = s.pruneCache(ctx, r, now)
	}
	if err == nil && int64(deleted)+verdicts > 0 {
		err = s.shrink(ctx)
	}
	if err != nil {
		return deleted, fmt.Errorf("prune the history: %w", s.said(ctx, err))
	}
	return deleted, nil
}

// beyond gives the ids of the runs to delete.
func (s *Store) beyond(ctx context.Context, r Retention, now time.Time) ([]int64, error) {
	type row struct {
		id      int64
		uid     string
		deleted bool
	}
	cutoff := int64(math.MinInt64)
	if r.MaxAge > 0 {
		cutoff = now.Add(-r.MaxAge).UnixMicro()
	}
	rows, err := collect(ctx, s.read, s.text(`SELECT id, uid, deleted FROM (
			SELECT id, uid, deleted, started_us, completed_us,
				ROW_NUMBER() OVER (PARTITION BY namespace, suite, deleted ORDER BY started_us DESC, uid DESC) AS age
			FROM eval_runs) AS runs
		WHERE deleted OR ((CAST($1 AS BIGINT) > 0 AND age > $1) OR started_us < $2) AND (completed_us IS NOT NULL OR started_us <= $3)
		ORDER BY started_us, uid`),
		[]any{int64(max(r.MaxRuns, 0)), cutoff, now.Add(-openFor).UnixMicro()},
		func(rows *sql.Rows) (x row, err error) { return x, rows.Scan(&x.id, &x.uid, &x.deleted) })
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, x := range rows {
		if x.deleted || !slices.Contains(r.Keep, x.uid) {
			out = append(out, x.id)
		}
	}
	return out, nil
}

func (s *Store) deleteRun(ctx context.Context, run int64) error {
	if _, err := s.write.ExecContext(ctx, s.text(`UPDATE eval_runs SET deleted = TRUE WHERE id = $1`), run); err != nil {
		return err
	}
	for {
		var n counts
		err := s.inTx(ctx, func(tx *tx) (err error) {
			n, err = s.deleteWhere(ctx, tx, `run_id = $1 AND case_id IN (SELECT case_id FROM eval_cases WHERE run_id = $1 ORDER BY case_id LIMIT $2)`, run, pruneCases)
			if err != nil {
				return err
			}
			if n.cases == 0 {
				_, err := tx.ExecContext(ctx, s.text(`DELETE FROM eval_runs WHERE id = $1`), run)
				return err
			}
			_, err = tx.ExecContext(ctx, s.text(`UPDATE eval_runs SET stored_cases = stored_cases - $2, stored_retrieved = stored_retrieved - $3 WHERE id = $1`),
				run, n.cases, n.retrieved)
			return err
		})
		if err != nil || n.cases == 0 {
			return err
		}
	}
}
