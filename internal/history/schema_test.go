package history

import (
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/assay-dev/assay/internal/history/historytest"
	"github.com/assay-dev/assay/internal/judge"
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
			`SELECT m.name || '.' || p.name || ' ' || lower(p.type) FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table' AND (m.name LIKE 'eval\_%' ESCAPE '\' OR m.name = 'judge_cache') AND m.name <> 'eval_migrations'`,
			`SELECT table_name || '.' || column_name || ' ' || CASE WHEN column_name = 'id' THEN 'integer' WHEN data_type = 'bytea' THEN 'blob' ELSE data_type END FROM information_schema.columns WHERE (table_name LIKE 'eval\_%' OR table_name = 'judge_cache') AND table_name <> 'eval_migrations'`,
		},
		"indexes": {
			`SELECT name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`,
			`SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%\_pkey' AND indexname NOT LIKE '%\_key'`,
		},
	} {
		want, got := columns(t, lite, q[0]), columns(t, post, q[1])
		if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
			t.Errorf("%d %s (-SQLite +PostgreSQL):\n%s", len(want), what, d)
		}
	}
}

// The server's statistics know nothing of the newest run, which is the one that
// people look at.
func TestANewRunIsReadAlongIndexes(t *testing.T) {
	for name, analyze := range map[string]string{"no statistics": `SELECT`, "statistics of another run": `ANALYZE`} {
		t.Run(name, func(t *testing.T) {
			s := open(t, historytest.Postgres(t), Options{})
			put(t, s, aRun("docs", 0), cases(0, 100)...)
			execute(t, s.write, analyze)
			put(t, s, aRun("docs", 1), cases(0, 3000)...)
			run, err := s.runID(t.Context(), aRun("docs", 1).UID)
			if err != nil {
				t.Fatal(err)
			}
			page, pageArgs := s.casesQuery(run, CaseQuery{}, cursor{order: 1000, id: "x"}, 51)
			items, itemsArgs, err := s.retrievedQuery(run, ids(cases(1000, 1050)))
			if err != nil {
				t.Fatal(err)
			}
			texts, textsArgs, err := s.textsQuery(run, ids(cases(1000, 1000+textCases)))
			if err != nil {
				t.Fatal(err)
			}
			compared, comparedArgs := s.compareQuery(run, "case-01000", comparePage)
			listed, listedArgs := s.comparedItemsQuery(run, "case-01000", "case-02000")
			for name, q := range map[string]struct {
				query string
				args  []any
				sorts bool // a page's items, which are few
			}{
				"page of cases": {page, pageArgs, false}, "items of that page": {items, itemsArgs, true}, "texts": {texts, textsArgs, true},
				"cases to compare": {compared, comparedArgs, false}, "items to compare": {listed, listedArgs, false},
			} {
				plan, err := collectStrings(t, s, "EXPLAIN "+q.query, q.args...)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				text := strings.Join(plan, "\n")
				if !strings.Contains(text, "Index Cond") || strings.Contains(text, "Filter") || strings.Contains(text, "Seq Scan") || strings.Contains(text, "JIT") || strings.Contains(text, "Sort") != q.sorts {
					t.Errorf("%s:\n%s", name, text)
				}
			}
		})
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

//go:embed testdata/version1.sql
var version1 string

// A database that the first version has used keeps its runs.
func TestADatabaseOfTheFirstVersionIsBroughtUpToDate(t *testing.T) {
	for name, c := range map[string]struct {
		dsn     func(*testing.T) string
		driver  string
		dialect goose.Dialect
		words   *strings.Replacer
	}{
		"SQLite":   {func(t *testing.T) string { return filepath.Join(t.TempDir(), "history.db") }, "sqlite", goose.DialectSQLite3, sqliteWords},
		"Postgres": {func(t *testing.T) string { return historytest.Postgres(t) }, "pgx", goose.DialectPostgres, postgresWords},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := c.dsn(t)
			db, err := sql.Open(c.driver, dsn)
			if err != nil {
				t.Fatal(err)
			}
			provider, err := newProvider(db, c.dialect, c.words)
			if err == nil {
				_, err = provider.UpTo(t.Context(), 1)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, query := range strings.Split(version1, ";\n") {
				execute(t, db, query)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}

			s := open(t, dsn, Options{})
			r := aRun("docs", 0)
			r.Endpoint, r.Accuracy, r.HallucinationRate = "", nil, nil
			for what, find := range map[string]func() (Run, error){
				"by UID":    func() (Run, error) { return s.Run(t.Context(), r.UID) },
				"by name":   func() (Run, error) { return s.RunByName(t.Context(), "team", "docs", "docs-0") },
				"as passed": func() (Run, error) { return s.LastPassed(t.Context(), "suite-uid") },
			} {
				got, err := find()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(r, got); d != "" {
					t.Errorf("the run %s (-want +got):\n%s", what, d)
				}
			}
			old := aCase(0)
			old.Answer, old.AnswerSeconds, old.Verdict, old.Relevance, old.Usage = nil, nil, nil, nil, judge.Usage{}
			old.History, old.ReferenceAnswer, old.Unanswerable = nil, "", false
			if d := cmp.Diff([]Case{old}, allCases(t, s, r.UID, CaseQuery{Tag: "mod-0"})); d != "" {
				t.Errorf("its cases (-want +got):\n%s", d)
			}
			kept := old
			kept.Question, kept.Tags, kept.Relevant, kept.Retrieved = "", nil, nil, nil
			if got, err := s.Checkpoint(t.Context(), r.UID); err != nil || !cmp.Equal(map[string]Case{old.ID: kept}, got) {
				t.Errorf("its checkpoint is %v, %v", got, err)
			}

			put(t, s, aRun("docs", 0), aCase(0), aCase(1))
			if d := cmp.Diff(cases(0, 2), allCases(t, s, r.UID, CaseQuery{})); d != "" {
				t.Errorf("written again (-want +got):\n%s", d)
			}
			checkSize(t, s, Size{Runs: 1, Cases: 2, Retrieved: 6})
		})
	}
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
		named, namedArgs := s.runByNameQuery("team", "docs", "docs-700")
		passed, passedArgs := s.lastPassedQuery("suite-uid")
		compared, comparedArgs := s.compareQuery(3, "case-00900", 51)
		listed, listedArgs := s.comparedItemsQuery(3, "case-00900", "case-00950")
		for name, q := range map[string]struct {
			query, index string
			args         []any
		}{
			"first page of runs": {first, "eval_runs_suite", args},
			"next page of runs":  {next, "eval_runs_suite", nextArgs},
			"page of cases":      {page, "eval_cases_position", pageArgs},
			"page with filters":  {tagged, "eval_cases_position", taggedArgs},
			"items of that page": {items, "eval_retrieved", itemsArgs},
			"run by name":        {named, "eval_runs_name", namedArgs},
			"last passed":        {passed, "eval_runs_passed", passedArgs},
			"cases to compare":   {compared, "eval_cases", comparedArgs},
			"items to compare":   {listed, "eval_retrieved", listedArgs},
		} {
			plan, err := collectStrings(t, s, prefix+q.query, q.args...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text := strings.Join(plan, "\n")
			if !strings.Contains(text, q.index) || strings.Contains(text, scan) || strings.Contains(text, sort) && !strings.HasPrefix(name, "items") {
				t.Errorf("%s:\n%s", name, text)
			}
		}
	})
}
