package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// pageBytes ends a page of cases early: what is read into memory at once has a
// bound, however long the texts are.
const pageBytes = 16 << 20

// CaseQuery is which page of a run's cases.
type CaseQuery struct {
	// Limit of the page; DefaultLimit where it is not positive, MaxLimit at most.
	// A page may have fewer cases than that and yet a Next, where they are large.
	Limit int
	// After is the Next of the page before; empty for the first page.
	After string
	// Tag and Outcome, where they are given, are what the cases have.
	Tag, Outcome string
}

// CasePage is one page of a run's cases, in the order of the golden set.
type CasePage struct {
	Cases []Case
	// Next is the cursor of the page that follows; empty after the last one.
	Next string
}

// Cases gives a page of a run's cases with all that was retrieved, or
// ErrNotFound. The error for a cursor that this list did not give is a
// *BadCursorError.
func (s *Store) Cases(ctx context.Context, uid string, q CaseQuery) (CasePage, error) {
	uid, q.Tag, q.Outcome = clean(uid), clean(q.Tag), clean(q.Outcome)
	after := cursor{order: math.MinInt64}
	list := scope("cases", uid, q.Tag, q.Outcome)
	if q.After != "" {
		var err error
		if after, err = decodeCursor(q.After, list); err != nil {
			return CasePage{}, err
		}
	}
	run, err := s.runID(ctx, uid)
	if err == nil {
		var page CasePage
		if page, err = s.casePage(ctx, run, q, after, list); err == nil {
			return page, nil
		}
	}
	if errors.Is(err, ErrNotFound) {
		return CasePage{}, err
	}
	return CasePage{}, fmt.Errorf("read the cases of run %q from the history: %w", uid, s.said(ctx, err))
}

func (s *Store) runID(ctx context.Context, uid string) (id int64, err error) {
	err = s.read.QueryRowContext(ctx, s.text(`SELECT id FROM eval_runs WHERE uid = $1 AND NOT deleted`), uid).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNotFound
	}
	return id, err
}

func (s *Store) casePage(ctx context.Context, run int64, q CaseQuery, after cursor, list string) (CasePage, error) {
	n := limit(q.Limit)
	query, args := s.casesQuery(run, q, after, n+1)
	var (
		page CasePage
		size int64
		more bool
	)
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	for rows.Next() {
		c, bytes, err := scanCase(rows)
		if err != nil {
			return page, err
		}
		if size += bytes; len(page.Cases) == n || len(page.Cases) > 0 && size > pageBytes {
			more = true
			break
		}
		page.Cases = append(page.Cases, c)
	}
	if err := rows.Err(); err != nil {
		return page, err
	}
	rows.Close() // for the connection to serve the next query
	if more {
		last := page.Cases[len(page.Cases)-1]
		page.Next = cursor{order: int64(last.Position), id: last.ID}.encode(list)
	}
	return page, s.retrieved(ctx, run, page.Cases)
}

func (e *engine) casesQuery(run int64, q CaseQuery, after cursor, limit int) (string, []any) {
	query := `SELECT case_id, position, digest, outcome, message, hit_rank, called, latency_seconds, metrics, tags, relevant, retrieved_bytes, question, answer_seconds, judge_usage, verdict, relevance, answer, contexts,
			unanswerable, reference_answer, turns
		FROM eval_cases WHERE run_id = $1 AND (position, case_id) > ($2, $3)`
	args := []any{run, after.order, after.id, limit}
	if q.Tag != "" {
		args = append(args, q.Tag)
		query += ` AND ` + e.hasTag(fmt.Sprintf("$%d", len(args)))
	}
	if q.Outcome != "" {
		args = append(args, q.Outcome)
		query += fmt.Sprintf(` AND outcome = $%d`, len(args))
	}
	return e.text(query + ` ORDER BY position, case_id LIMIT $4`), args
}

// scanCase gives a case, and how many bytes of text it has once its list is read.
func scanCase(rows *sql.Rows) (c Case, bytes int64, err error) {
	var (
		metrics, tags, relevant string
		answer                  answerColumns
		expected                goldenColumns
	)
	if err := rows.Scan(slices.Concat([]any{&c.ID, &c.Position, &c.Digest, &c.Outcome, &c.Message, &c.Rank, &c.Called, &c.LatencySeconds,
		&metrics, &tags, &relevant, &bytes, &c.Question, &c.AnswerSeconds}, answer.columns(), expected.columns())...); err != nil {
		return Case{}, 0, err
	}
	if err := errors.Join(fromList(metrics, &c.Metrics), fromList(tags, &c.Tags), fromList(relevant, &c.Relevant), answer.into(&c), expected.into(&c)); err != nil {
		return Case{}, 0, fmt.Errorf("case %q: %w", c.ID, err)
	}
	return c, bytes + int64(len(c.Question)+goldenBytes(&c)+answerBytes(c.Answer)), nil
}

// fromList reads a list or map, of which an empty one is nil.
func fromList(text string, into any) error {
	if len(text) <= len("[]") {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// retrieved fills in what the cases of a page got.
func (s *Store) retrieved(ctx context.Context, run int64, cases []Case) error {
	if len(cases) == 0 {
		return nil
	}
	at := make(map[string]*Case, len(cases))
	ids := make([]string, len(cases))
	for i := range cases {
		ids[i] = cases[i].ID
		at[ids[i]] = &cases[i]
	}
	query, args, err := s.retrievedQuery(run, ids)
	if err != nil {
		return err
	}
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			id string
			r  Retrieved
		)
		if err := rows.Scan(&id, &r.Rank, &r.ID, &r.Score, &r.Relevant, &r.Text); err != nil {
			return err
		}
		if c := at[id]; c != nil {
			c.Retrieved = append(c.Retrieved, r)
		}
	}
	return rows.Err()
}

func (e *engine) retrievedQuery(run int64, ids []string) (string, []any, error) {
	list, err := e.list(ids)
	return e.text(e.items(`case_id, item_rank, item_id, score, relevant, content`)), []any{run, list}, err
}

// Checkpoint gives what a run that goes on needs to know of the cases that it
// has, by id: all but Question, History, ReferenceAnswer, Unanswerable, Tags,
// Relevant, Retrieved and the Text and Contexts of an Answer. It is empty for a run that the store does not have.
func (s *Store) Checkpoint(ctx context.Context, runUID string) (map[string]Case, error) {
	cases, err := collect(ctx, s.read, s.text(`SELECT c.case_id, c.position, c.digest, c.outcome, c.message, c.hit_rank, c.called, c.latency_seconds, c.metrics,
			c.answer_seconds, c.judge_usage, c.verdict, c.relevance, CASE WHEN c.answer IS NOT NULL THEN '' END
		FROM eval_cases c JOIN eval_runs r ON r.id = c.run_id WHERE r.uid = $1 AND NOT r.deleted`), []any{clean(runUID)}, scanCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint of run %q from the history: %w", runUID, s.said(ctx, err))
	}
	out := make(map[string]Case, len(cases))
	for _, c := range cases {
		out[c.ID] = c
	}
	return out, nil
}

func scanCheckpoint(rows *sql.Rows) (c Case, err error) {
	var (
		metrics string
		answer  answerColumns
	)
	if err := rows.Scan(&c.ID, &c.Position, &c.Digest, &c.Outcome, &c.Message, &c.Rank, &c.Called, &c.LatencySeconds, &metrics,
		&c.AnswerSeconds, &answer.usage, &answer.verdict, &answer.relevance, &answer.answer); err != nil {
		return Case{}, err
	}
	if err := errors.Join(fromList(metrics, &c.Metrics), answer.into(&c)); err != nil {
		return Case{}, fmt.Errorf("case %q: %w", c.ID, err)
	}
	return c, nil
}
