package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// textCases is for how many cases texts are asked for at once.
const textCases = 500

// RetrievedTexts hands the texts that some cases of a run retrieved to f, one at a
// time: those of a case in the order that was scored, empty where content is not
// stored. It holds a connection while f runs. The error is ErrNotFound for a run
// that the store does not have; cases that it does not have are passed over.
func (s *Store) RetrievedTexts(ctx context.Context, uid string, cases []string, f func(caseID, text string)) error {
	err := s.retrievedTexts(ctx, clean(uid), cleanAll(cases), f)
	if err == nil || errors.Is(err, ErrNotFound) {
		return err
	}
	return fmt.Errorf("read the texts of run %q from the history: %w", uid, s.said(ctx, err))
}

func (s *Store) retrievedTexts(ctx context.Context, uid string, cases []string, f func(caseID, text string)) error {
	run, err := s.runID(ctx, uid)
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(cases, textCases) {
		if err := s.textsOf(ctx, run, ids, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) textsOf(ctx context.Context, run int64, ids []string, f func(caseID, text string)) error {
	query, args, err := s.textsQuery(run, ids)
	if err != nil {
		return err
	}
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		f(id, text)
	}
	return rows.Err()
}

func (e *engine) textsQuery(run int64, ids []string) (string, []any, error) {
	list, err := e.list(ids)
	return e.text(e.items(`case_id, content`)), []any{run, list}, err
}
