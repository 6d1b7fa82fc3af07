package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// DefaultLimit is how many rows a page has where the query gives no limit.
	DefaultLimit = 50
	// MaxLimit is how many rows a page has at most.
	MaxLimit = 1000
)

func limit(asked int) int {
	if asked <= 0 {
		return DefaultLimit
	}
	return min(asked, MaxLimit)
}

// RunQuery is which page of a suite's runs.
type RunQuery struct {
	// Limit of the page; DefaultLimit where it is not positive, MaxLimit at most.
	Limit int
	// Before is the Next of the page before; empty for the newest runs.
	Before string
}

// RunPage is one page of a suite's runs, newest first.
type RunPage struct {
	Runs []Run
	// Next is the cursor of the page that follows; empty after the last one.
	Next string
}

const runColumns = `uid, namespace, suite, suite_uid, name, triggered_by, endpoint, revision, golden_set_digest, evaluation_digest, corpus_version,
	full_run, started_us, completed_us, verdict, reason, message, total, hit_rate, mrr, accuracy, hallucination_rate, document`

var putRun = func() string {
	names := strings.Split(strings.Join(strings.Fields(runColumns), ""), ",")
	marks, sets := make([]string, len(names)), make([]string, 0, len(names)-1)
	for i, name := range names {
		marks[i] = fmt.Sprintf("$%d", i+1)
		if name != "uid" {
			sets = append(sets, name+" = excluded."+name)
		}
	}
	return "INSERT INTO eval_runs (" + runColumns + ") VALUES (" + strings.Join(marks, ", ") + ") ON CONFLICT (uid) DO UPDATE SET " + strings.Join(sets, ", ")
}()

// PutRun writes a run, at its start and at its end: what the store has under
// the same UID is replaced, but for its cases.
func (s *Store) PutRun(ctx context.Context, r Run) error {
	if r.UID == "" {
		return fmt.Errorf("write a run of %s/%s into the history: a run without UID %w", r.Namespace, r.Suite, ErrInvalid)
	}
	if len(r.Document) > 0 && !json.Valid(r.Document) {
		return fmt.Errorf("write run %s into the history: a document that is no JSON %w", r.UID, ErrInvalid)
	}
	if r.StartTime.IsZero() {
		r.StartTime = s.now()
	}
	var completed *int64
	if r.CompletionTime != nil {
		us := r.CompletionTime.UnixMicro()
		completed = &us
	}
	args := []any{r.UID, r.Namespace, r.Suite, r.SuiteUID, r.Name, r.Trigger, r.Endpoint, r.Revision, r.GoldenSetDigest, r.EvaluationDigest, r.CorpusVersion,
		r.Full, r.StartTime.UnixMicro(), completed, r.Verdict, r.Reason, r.Message, int64(r.Total), number(r.HitRate), number(r.MRR), number(r.Accuracy), number(r.HallucinationRate), string(r.Document)}
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = clean(text)
		}
	}
	if _, err := s.write.ExecContext(ctx, s.text(putRun), args...); err != nil {
		return fmt.Errorf("write run %s into the history: %w", r.UID, s.said(ctx, err))
	}
	return nil
}

// Run gives a run, also one whose suite is gone, or ErrNotFound.
func (s *Store) Run(ctx context.Context, uid string) (Run, error) {
	r, err := scanRun(s.read.QueryRowContext(ctx, s.text(`SELECT `+runColumns+` FROM eval_runs WHERE uid = $1 AND NOT deleted`), clean(uid)))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, ErrNotFound
	}
	if err != nil {
		return Run{}, fmt.Errorf("read run %q from the history: %w", uid, s.said(ctx, err))
	}
	return r, nil
}

// Runs gives a page of a suite's runs, by start and then UID, newest first. The
// runs of all suites that had the name are in it. The error for a cursor that
// this list did not give is a *BadCursorError.
func (s *Store) Runs(ctx context.Context, namespace, suite string, q RunQuery) (RunPage, error) {
	namespace, suite = clean(namespace), clean(suite)
	var before *cursor
	list := scope("runs", namespace, suite)
	if q.Before != "" {
		c, err := decodeCursor(q.Before, list)
		if err != nil {
			return RunPage{}, err
		}
		before = &c
	}
	n := limit(q.Limit)
	query, args := s.runsQuery(namespace, suite, before, n+1)
	runs, err := collect(ctx, s.read, query, args, func(rows *sql.Rows) (Run, error) { return scanRun(rows) })
	if err != nil {
		return RunPage{}, fmt.Errorf("read the history of %s/%s: %w", namespace, suite, s.said(ctx, err))
	}
	page := RunPage{Runs: runs}
	if len(runs) > n {
		page.Runs = runs[:n]
		last := page.Runs[n-1]
		page.Next = cursor{order: last.StartTime.UnixMicro(), id: last.UID}.encode(list)
	}
	return page, nil
}

func (e *engine) runsQuery(namespace, suite string, before *cursor, limit int) (string, []any) {
	query, args := `SELECT `+runColumns+` FROM eval_runs WHERE namespace = $1 AND suite = $2 AND NOT deleted`, []any{namespace, suite, limit}
	if before != nil {
		query += ` AND (started_us, uid) < ($4, $5)`
		args = append(args, before.order, before.id)
	}
	return e.text(query + ` ORDER BY started_us DESC, uid DESC LIMIT $3`), args
}

type scanner interface{ Scan(into ...any) error }

func scanRun(row scanner) (Run, error) {
	var (
		r         Run
		started   int64
		completed *int64
		document  string
	)
	err := row.Scan(&r.UID, &r.Namespace, &r.Suite, &r.SuiteUID, &r.Name, &r.Trigger, &r.Endpoint, &r.Revision, &r.GoldenSetDigest, &r.EvaluationDigest, &r.CorpusVersion,
		&r.Full, &started, &completed, &r.Verdict, &r.Reason, &r.Message, &r.Total, &r.HitRate, &r.MRR, &r.Accuracy, &r.HallucinationRate, &document)
	if err != nil {
		return Run{}, err
	}
	r.StartTime = time.UnixMicro(started).UTC()
	if completed != nil {
		t := time.UnixMicro(*completed).UTC()
		r.CompletionTime = &t
	}
	if document != "" {
		r.Document = json.RawMessage(document)
	}
	return r, nil
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, db *sql.DB, query string, args []any, scan func(*sql.Rows) (T, error)) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
