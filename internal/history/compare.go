package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// comparePage is how many cases are read at once.
const comparePage = 1000

// CompareCase is what a comparison of two runs needs to know of a case.
type CompareCase struct {
	ID      string
	Digest  string
	Tags    []string
	Outcome string
	// Rank, Called, LatencySeconds, AnswerSeconds and Metrics as in Case.
	Rank           int
	Called         bool
	LatencySeconds float64
	AnswerSeconds  *float64
	Metrics        map[string]float64
	// Relevant and Retrieved ids, the latter in the order that was scored.
	Relevant, Retrieved []string
}

// CompareCases hands every case of a run to f, by id, until f fails; its error is
// then the one that is returned. It reads no text, and holds no connection while
// f runs. The error is ErrNotFound for a run that the store does not have.
func (s *Store) CompareCases(ctx context.Context, uid string, f func(CompareCase) error) error {
	wrap := func(err error) error {
		if errors.Is(err, ErrNotFound) {
			return err
		}
		return fmt.Errorf("read the cases of run %q from the history: %w", uid, s.said(ctx, err))
	}
	run, err := s.runID(ctx, clean(uid))
	if err != nil {
		return wrap(err)
	}
	for after := ""; ; {
		page, err := s.comparePage(ctx, run, after)
		if err != nil {
			return wrap(err)
		}
		for _, c := range page {
			if err := f(c); err != nil {
				return err
			}
		}
		if len(page) < comparePage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

// comparePage reads the cases that come after an id.
func (s *Store) comparePage(ctx context.Context, run int64, after string) ([]CompareCase, error) {
	query, args := s.compareQuery(run, after, comparePage)
	page, err := collect(ctx, s.read, query, args, scanCompared)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	query, args = s.comparedItemsQuery(run, after, page[len(page)-1].ID)
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	i := 0
	for rows.Next() {
		var id, item string
		if err := rows.Scan(&id, &item); err != nil {
			return nil, err
		}
		for i < len(page) && page[i].ID != id { // both go by id
			i++
		}
		if i == len(page) {
			break // a case that was written in between
		}
		page[i].Retrieved = append(page[i].Retrieved, item)
	}
	return page, rows.Err()
}

func (e *engine) compareQuery(run int64, after string, limit int) (string, []any) {
	return e.text(`SELECT case_id, digest, outcome, hit_rank, called, latency_seconds, answer_seconds, metrics, tags, relevant
		FROM eval_cases WHERE run_id = $1 AND case_id > $2 ORDER BY case_id LIMIT $3`), []any{run, after, limit}
}

func (e *engine) comparedItemsQuery(run int64, after, last string) (string, []any) {
	return e.text(`SELECT case_id, item_id FROM eval_retrieved WHERE run_id = $1 AND case_id > $2 AND case_id <= $3 ORDER BY case_id, position`), []any{run, after, last}
}

func scanCompared(rows *sql.Rows) (c CompareCase, err error) {
	var (
		metrics, tags, relevant string
		graded                  []Relevant
	)
	if err := rows.Scan(&c.ID, &c.Digest, &c.Outcome, &c.Rank, &c.Called, &c.LatencySeconds, &c.AnswerSeconds, &metrics, &tags, &relevant); err != nil {
		return CompareCase{}, err
	}
	if err := errors.Join(fromList(metrics, &c.Metrics), fromList(tags, &c.Tags), fromList(relevant, &graded)); err != nil {
		return CompareCase{}, fmt.Errorf("case %q: %w", c.ID, err)
	}
	for _, r := range graded {
		c.Relevant = append(c.Relevant, r.ID)
	}
	return c, nil
}
