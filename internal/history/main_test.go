package history

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history/historytest"
	"github.com/assay-dev/assay/internal/judge"
)

func TestMain(m *testing.M) {
	if inChild(m) {
		return
	}
	os.Exit(historytest.Main(m))
}

// onBoth runs a test on every kind of store.
func onBoth(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return "sqlite://" + filepath.Join(t.TempDir(), "history.db") },
		"Memory":   func(*testing.T) string { return "sqlite::memory:" },
		"Postgres": func(t *testing.T) string { return historytest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, dsn(t), Options{})) })
	}
}

func open(t *testing.T, dsn string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// told gives a logger and what was said to it.
func told() (Options, *[]string) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	return Options{Logger: log, Now: func() time.Time { return noon }}, &lines
}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// aRun is a run with every field set; n hours after noon, lasting a minute.
func aRun(suite string, n int) Run {
	start := noon.Add(time.Duration(n) * time.Hour)
	return Run{
		UID: fmt.Sprintf("uid-%s-%05d", suite, n), Namespace: "team", Suite: suite, SuiteUID: "suite-uid", Name: fmt.Sprintf("%s-%d", suite, n),
		Trigger: "Schedule", Endpoint: "canary", Revision: "rev-1", GoldenSetDigest: "sha256:g", EvaluationDigest: "sha256:e", CorpusVersion: "c-7",
		Full: true, StartTime: start, CompletionTime: ptr(start.Add(time.Minute)), Verdict: "Passed", Reason: "ObjectivesMet", Message: "all met",
		Total: 3, HitRate: ptr(0.1 + 0.2), MRR: ptr(1.0 / 3), Accuracy: ptr(2.0 / 3), HallucinationRate: ptr(0.0), Document: []byte(`{"metrics": [ 1.50, "é" ]}`),
	}
}

// aCase is a case with every field set.
func aCase(i int) Case {
	return Case{
		ID: fmt.Sprintf("case-%05d", i), Digest: "sha256:c", Question: fmt.Sprintf("What is %d? 질문", i), Position: i,
		History: []golden.Turn{{Role: "user", Content: "안녕"}, {Role: "assistant", Content: `"hello"`}}, ReferenceAnswer: fmt.Sprintf("%d, 답", i), Unanswerable: i%2 == 0,
		Tags: []string{"all", fmt.Sprintf("mod-%d", i%3)}, Outcome: "Scored", Message: "m", Rank: 2, Called: true, LatencySeconds: 0.1 + 0.2,
		Relevant: []Relevant{{ID: "doc-b", Grade: 1}, {ID: "doc-z", Grade: 0.5}},
		Metrics:  map[string]float64{"hit_rate@5": 1, "mrr": 1.0 / 3},
		Retrieved: []Retrieved{
			{Rank: 1, ID: "doc-a", Score: ptr(-0.1), Text: "first"},
			{Rank: 2, ID: "doc-b", Relevant: true, Text: "둘째"},
			{Rank: 3, ID: "doc-a"},
		},
		Answer:        &Answer{Text: fmt.Sprintf("It is %d. 답", i), Contexts: []string{"first", "둘째 <b>", ""}},
		AnswerSeconds: ptr(0.7),
		Verdict:       &judge.Verdict{Correct: ptr(i%2 == 0), Grounded: true, Reason: "이유: \"it says so\""},
		Relevance:     &judge.Relevance{Scores: []int{5, 1, 1}, Average: 7.0 / 3, Reasoning: "only the first"},
		Usage:         judge.Usage{Calls: 2, PromptTokens: 1 << 40, CompletionTokens: 30, CacheHits: 1},
	}
}

func cases(from, to int) []Case {
	var out []Case
	for i := from; i < to; i++ {
		out = append(out, aCase(i))
	}
	return out
}

func put(t *testing.T, s *Store, r Run, cases ...Case) {
	t.Helper()
	if err := s.PutRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.PutCases(t.Context(), r.UID, cases); err != nil {
		t.Fatal(err)
	}
}

// allCases reads every page.
func allCases(t *testing.T, s *Store, uid string, q CaseQuery) (out []Case) {
	t.Helper()
	for {
		page, err := s.Cases(t.Context(), uid, q)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page.Cases...)
		if page.Next == "" {
			return out
		}
		q.After = page.Next
	}
}

func ids(cases []Case) []string {
	var out []string
	for _, c := range cases {
		out = append(out, c.ID)
	}
	return out
}

func uids(runs []Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.UID)
	}
	return out
}

// rows counts what is really there.
func rows(t *testing.T, s *Store, table string) (n int64) {
	t.Helper()
	if err := s.read.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
