package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

const (
	// maxKey is above every id that a golden set takes (1 KiB) and below what
	// PostgreSQL's index takes (2.7 kB).
	maxKey = 2 << 10
	// One statement writes so many cases, and begins no further one with so many
	// bytes of text: more is no faster.
	chunkCases = 1000
	chunkBytes = 8 << 20
)

// PutCases writes cases of a run, all or none. A case that the store has
// already, or that is there twice, is replaced by the later one. The run must have
// been put before: ErrNotFound.
func (s *Store) PutCases(ctx context.Context, runUID string, cases []Case) error {
	if err := s.putCases(ctx, runUID, cases); err != nil {
		if errors.Is(err, ErrNotFound) {
			return err
		}
		return fmt.Errorf("write %d cases of run %s into the history: %w", len(cases), runUID, s.said(ctx, err))
	}
	return nil
}

func (s *Store) putCases(ctx context.Context, runUID string, cases []Case) error {
	cases, err := distinct(cases)
	if err != nil || len(cases) == 0 {
		return err
	}
	// That some are there already is rare, and to look first costs as much as to
	// write them: the engine says so when it comes upon one.
	if err = s.inTx(ctx, func(tx *tx) error { return s.addCases(ctx, tx, runUID, cases) }); s.duplicate(err) {
		err = s.inTx(ctx, func(tx *tx) error { return s.replaceCases(ctx, tx, runUID, cases) })
	}
	return err
}

// addCases writes cases that are not there yet.
func (e *engine) addCases(ctx context.Context, tx *tx, runUID string, cases []Case) error {
	run, err := e.grow(ctx, tx, runUID, countsOf(cases))
	if err != nil {
		return err
	}
	for chunk := range chunks(cases) {
		if err := e.insertCases(ctx, tx, run, chunk); err != nil {
			return err
		}
	}
	return nil
}

// replaceCases writes cases in place of those that are there.
func (e *engine) replaceCases(ctx context.Context, tx *tx, runUID string, cases []Case) error {
	run, err := e.grow(ctx, tx, runUID, counts{})
	if err != nil {
		return err
	}
	grown := countsOf(cases)
	for chunk := range chunks(cases) {
		replaced, err := e.deleteCases(ctx, tx, run, chunk)
		if err != nil {
			return err
		}
		if err := e.insertCases(ctx, tx, run, chunk); err != nil {
			return err
		}
		grown.cases -= replaced.cases
		grown.retrieved -= replaced.retrieved
	}
	_, err = e.grow(ctx, tx, runUID, grown)
	return err
}

// distinct gives cleaned ids, each once: the last one counts.
func distinct(cases []Case) ([]Case, error) {
	at := make(map[string]int, len(cases))
	out := make([]Case, 0, len(cases))
	for _, c := range cases {
		c.ID = clean(c.ID)
		switch i, seen := at[c.ID]; {
		case c.ID == "":
			return nil, fmt.Errorf("a case without id %w", ErrInvalid)
		case len(c.ID) > maxKey:
			return nil, fmt.Errorf("a case id of %d bytes %w: the limit is %d", len(c.ID), ErrInvalid, maxKey)
		case seen:
			out[i] = c
		default:
			at[c.ID] = len(out)
			out = append(out, c)
		}
	}
	return out, nil
}

func chunks(cases []Case) func(yield func([]Case) bool) {
	return func(yield func([]Case) bool) {
		from, bytes := 0, 0
		for i := range cases {
			if i-from == chunkCases || bytes > chunkBytes {
				if !yield(cases[from:i]) {
					return
				}
				from, bytes = i, 0
			}
			bytes += len(cases[i].Question) + goldenBytes(&cases[i]) + retrievedBytes(cases[i]) + answerBytes(cases[i].Answer)
		}
		if from < len(cases) {
			yield(cases[from:])
		}
	}
}

func retrievedBytes(c Case) int {
	n := 0
	for i := range c.Retrieved {
		n += len(c.Retrieved[i].ID) + len(c.Retrieved[i].Text)
	}
	return n
}

func answerBytes(a *Answer) int {
	if a == nil {
		return 0
	}
	n := len(a.Text)
	for _, text := range a.Contexts {
		n += len(text)
	}
	return n
}

// counts are rows of a run.
type counts struct{ cases, retrieved int64 }

func countsOf(cases []Case) counts {
	n := counts{cases: int64(len(cases))}
	for i := range cases {
		n.retrieved += int64(len(cases[i].Retrieved))
	}
	return n
}

// grow keeps a run's counts in step with its rows, and gives its id. The run is
// locked until the end of the transaction, so that two writers of one run wait
// for each other.
func (e *engine) grow(ctx context.Context, tx *tx, runUID string, by counts) (run int64, err error) {
	err = tx.QueryRowContext(ctx, e.text(`UPDATE eval_runs SET stored_cases = stored_cases + $2, stored_retrieved = stored_retrieved + $3 WHERE uid = $1 AND NOT deleted RETURNING id`),
		clean(runUID), by.cases, by.retrieved).Scan(&run)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNotFound
	}
	return run, err
}

func (e *engine) deleteCases(ctx context.Context, tx *tx, run int64, cases []Case) (counts, error) {
	ids := make([]string, len(cases))
	for i := range cases {
		ids[i] = cases[i].ID
	}
	list, err := e.list(ids)
	if err != nil {
		return counts{}, err
	}
	return e.deleteWhere(ctx, tx, `run_id = $1 AND case_id `+e.oneOf("$2"), run, list)
}

// deleteWhere deletes from both tables of cases.
func (e *engine) deleteWhere(ctx context.Context, tx *tx, where string, args ...any) (n counts, err error) {
	for _, t := range []struct {
		name string
		n    *int64
	}{{"eval_retrieved", &n.retrieved}, {"eval_cases", &n.cases}} {
		result, err := tx.ExecContext(ctx, e.text(`DELETE FROM `+t.name+` WHERE `+where), args...)
		if err != nil {
			return counts{}, err
		}
		if *t.n, err = result.RowsAffected(); err != nil {
			return counts{}, err
		}
	}
	return n, nil
}

func (e *engine) insertCases(ctx context.Context, tx *tx, run int64, cases []Case) error {
	c, err := caseRows(run, cases)
	if err != nil {
		return err
	}
	if err := e.insert(ctx, tx, c); err != nil {
		return err
	}
	if r := retrievedRows(run, cases); r.rows > 0 {
		return e.insert(ctx, tx, r)
	}
	return nil
}

func caseRows(run int64, cases []Case) (batch, error) {
	n := len(cases)
	var (
		ids, digests, outcomes, messages = make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		positions, ranks, bytes          = make([]int64, n), make([]int64, n), make([]int64, n)
		called                           = make([]bool, n)
		latencies                        = make([]float64, n)
		metrics, tags, relevant          = make([]string, n), make([]string, n), make([]string, n)
		questions                        = make([]string, n)
		seconds                          = make([]*float64, n)
		answers                          = make([]answerColumns, n)
		expected                         = make([]goldenColumns, n)
	)
	for i := range cases {
		c := &cases[i]
		ids[i], digests[i], outcomes[i], messages[i] = c.ID, clean(c.Digest), clean(c.Outcome), clean(c.Message)
		positions[i], ranks[i], bytes[i] = int64(c.Position), int64(c.Rank), int64(retrievedBytes(*c))
		called[i], latencies[i], questions[i] = c.Called, orZero(c.LatencySeconds), clean(c.Question)
		seconds[i] = number(c.AnswerSeconds)
		var errs [5]error
		metrics[i], errs[0] = jsonText(finiteMetrics(c.Metrics))
		tags[i], errs[1] = jsonText(cleanAll(c.Tags))
		relevant[i], errs[2] = jsonText(cleanRelevant(c.Relevant))
		answers[i], errs[3] = answerColumnsOf(c)
		expected[i], errs[4] = goldenColumnsOf(c)
		if err := errors.Join(errs[:]...); err != nil {
			return batch{}, err
		}
	}
	return batch{table: "eval_cases", rows: n, columns: []column{
		every("run_id", run),
		col("case_id", ids),
		col("position", positions),
		col("digest", digests),
		col("outcome", outcomes),
		col("message", messages),
		col("hit_rank", ranks),
		col("called", called),
		col("latency_seconds", latencies),
		col("metrics", metrics),
		col("tags", tags),
		col("relevant", relevant),
		col("retrieved_bytes", bytes),
		col("question", questions),
		col("answer_seconds", seconds),
		orNull("judge_usage", func(i int) *string { return answers[i].usage }),
		orNull("verdict", func(i int) *string { return answers[i].verdict }),
		orNull("relevance", func(i int) *string { return answers[i].relevance }),
		orNull("answer", func(i int) *string { return answers[i].answer }),
		orNull("contexts", func(i int) *string { return answers[i].contexts }),
		{name: "unanswerable", at: func(i int) any { return expected[i].unanswerable }},
		orNull("reference_answer", func(i int) *string { return expected[i].reference }),
		orNull("turns", func(i int) *string { return expected[i].turns }),
	}}, nil
}

func retrievedRows(run int64, cases []Case) batch {
	n := 0
	for i := range cases {
		n += len(cases[i].Retrieved)
	}
	var (
		ids, items, texts = make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
		positions, ranks  = make([]int64, 0, n), make([]int64, 0, n)
		scores            = make([]*float64, 0, n)
		relevant          = make([]bool, 0, n)
	)
	for i := range cases {
		for j, r := range cases[i].Retrieved {
			ids, items, texts = append(ids, cases[i].ID), append(items, clean(r.ID)), append(texts, clean(r.Text))
			positions, ranks = append(positions, int64(j)), append(ranks, int64(r.Rank))
			scores, relevant = append(scores, number(r.Score)), append(relevant, r.Relevant)
		}
	}
	return batch{table: "eval_retrieved", rows: n, columns: []column{
		every("run_id", run),
		col("case_id", ids),
		col("position", positions),
		col("item_rank", ranks),
		col("item_id", items),
		col("score", scores),
		col("relevant", relevant),
		col("content", texts),
	}}
}

// finiteMetrics gives what JSON can write, which mostly is all there is.
func finiteMetrics(metrics map[string]float64) map[string]float64 {
	whole := metrics != nil
	for name, value := range metrics {
		whole = whole && finite(value) && clean(name) == name
	}
	if whole {
		return metrics
	}
	out := make(map[string]float64, len(metrics))
	for name, value := range metrics {
		if finite(value) {
			out[clean(name)] = value
		}
	}
	return out
}

func cleanRelevant(list []Relevant) []Relevant {
	out := make([]Relevant, len(list))
	for i, r := range list {
		out[i] = Relevant{ID: clean(r.ID), Grade: orZero(r.Grade)}
	}
	return out
}

func jsonText(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
