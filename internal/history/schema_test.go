package history

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/history/historytest"
)

func TestANewerDatabaseIsRefused(t *testing.T) {
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "history.db") },
		"Postgres": func(t *testing.T) string { return historytest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			dsn := dsn(t)
			s := open(t, dsn, Options{})
			put(t, s, aRun("docs", 0))
			execute(t, s.write, `INSERT INTO eval_migrations (version_id, is_applied) VALUES (99, TRUE)`)
			_, err := Open(t.Context(), dsn, Options{})
			newer, ok := errors.AsType[*NewerSchemaError](err)
			if !ok || newer.Database != 99 || newer.Known >= 99 {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(err.Error(), "a newer Assay has used it; run that version or a later one") {
				t.Errorf("%v", err)
			}
			checkSize(t, s, Size{Runs: 1})
		})
	}
}

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "history.db") },
		"Postgres": func(t *testing.T) string { return historytest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			dsn := dsn(t)
			var wg sync.WaitGroup
			for n := range 3 {
				wg.Go(func() {
					s, err := Open(t.Context(), dsn, Options{})
					if err != nil {
						t.Error(err)
						return
					}
					err = s.PutRun(t.Context(), aRun("docs", n))
					if err = errors.Join(err, s.Ping(t.Context()), s.Close()); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			checkSize(t, open(t, dsn, Options{}), Size{Runs: 3})
		})
	}
}

func TestBothEnginesHaveOneSchema(t *testing.T) {
	columns := func(t *testing.T, s *Store, query string) (out []string) {
		out, err := collectStrings(t, s, query)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(out)
		return out
	}
	lite := open(t, "sqlite::memory:", Options{})
	post := open(t, historytest.Postgres(t), Options{})
	for what, q := range map[string][2]string{
		"columns": {
			`SELECT m.name || '.' || p.name || ' ' || lower(p.type) FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table' AND m.name LIKE 'eval\_%' ESCAPE '\' AND m.name <> 'eval_migrations'`,
			`SELECT table_name || '.' || column_name || ' ' || CASE column_name WHEN 'id' THEN 'integer' ELSE data_type END FROM information_schema.columns WHERE table_name LIKE 'eval\_%' AND table_name <> 'eval_migrations'`,
		},
		"indexes": {
			`SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'eval\_%' ESCAPE '\'`,
			`SELECT indexname FROM pg_indexes WHERE tablename LIKE 'eval\_%' AND indexname NOT LIKE '%\_pkey' AND indexname NOT LIKE '%\_key'`,
		},
	} {
		want, got := columns(t, lite, q[0]), columns(t, post, q[1])
		if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
			t.Errorf("%d %s (-SQLite +PostgreSQL):\n%s", len(want), what, d)
		}
	}
}

func collectStrings(t *testing.T, s *Store, query string, args ...any) (out []string, err error) {
	t.Helper()
	rows, err := s.read.QueryContext(t.Context(), query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row := make([]any, len(names))
		for i := range row {
			row[i] = new(any)
		}
		if err := rows.Scan(row...); err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprint(*row[len(row)-1].(*any)))
	}
	return out, rows.Err()
}

// Pages must cost the same in a long history as in a short one: every query
// goes along an index, and none sorts what it finds but the items of a page.
func TestPagesGoAlongIndexes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		for n := range 1500 {
			if err := s.PutRun(t.Context(), aRun("docs", n)); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 5 {
			put(t, s, aRun("docs", n), cases(0, 2000)...)
		}
		prefix, scan, sort := "EXPLAIN QUERY PLAN ", "SCAN eval_", "TEMP B-TREE"
		if s.Driver() == "postgres" {
			prefix, scan, sort = "EXPLAIN ", "Seq Scan", "Sort"
		}
		execute(t, s.write, `ANALYZE`)

		first, args := s.runsQuery("team", "docs", nil, 51)
		next, nextArgs := s.runsQuery("team", "docs", &cursor{order: noon.UnixMicro(), id: "x"}, 51)
		page, pageArgs := s.casesQuery(3, CaseQuery{}, cursor{order: 1000, id: "x"}, 51)
		tagged, taggedArgs := s.casesQuery(3, CaseQuery{Tag: "mod-1", Outcome: "Scored"}, cursor{order: 1000, id: "x"}, 51)
		items, itemsArgs, err := s.retrievedQuery(3, ids(cases(0, 50)))
		if err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]struct {
			query, index string
			args         []any
		}{
			"first page of runs": {first, "eval_runs_suite", args},
			"next page of runs":  {next, "eval_runs_suite", nextArgs},
			"page of cases":      {page, "eval_cases_position", pageArgs},
			"page with filters":  {tagged, "eval_cases_position", taggedArgs},
			"items of that page": {items, "eval_retrieved", itemsArgs},
		} {
			plan, err := collectStrings(t, s, prefix+q.query, q.args...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text := strings.Join(plan, "\n")
			if !strings.Contains(text, q.index) || strings.Contains(text, scan) || strings.Contains(text, sort) && name != "items of that page" {
				t.Errorf("%s:\n%s", name, text)
			}
		}
	})
}
