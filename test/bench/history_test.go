package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/history/historytest"
)

func TestMain(m *testing.M) { os.Exit(historytest.Main(m)) }

const (
	storedCases = 20_000
	// batchCases is how many a run writes at once at most.
	batchCases = 1000
)

// stores opens an empty one of either engine, both of which wait for the disk.
var stores = []struct {
	name string
	dsn  func(testing.TB) string
}{
	{"SQLite", func(tb testing.TB) string { return filepath.Join(tb.TempDir(), "history.db") }},
	{"PostgreSQL", func(tb testing.TB) string {
		url := historytest.Postgres(tb)
		historytest.Durable(tb, url)
		return url
	}},
}

func openStore(tb testing.TB, dsn string) *history.Store {
	tb.Helper()
	s, err := history.Open(tb.Context(), dsn, history.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func storedRun(n int) history.Run {
	start := time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC)
	end := start.Add(time.Minute)
	return history.Run{
		UID: fmt.Sprintf("5f0c9a52-7f0e-4d0e-9d6c-%012d", n), Namespace: "team", Suite: "docs", Name: fmt.Sprintf("docs-%d", n), Trigger: "Schedule",
		Revision: "7d9f4c6b8d", StartTime: start, CompletionTime: &end, Verdict: "Passed", Reason: "ObjectivesMet", Total: storedCases,
		Document: []byte(`{"metrics":"` + strings.Repeat("x", 4000) + `"}`),
	}
}

// storedBatches are cases of ten results whose text has 300 bytes.
func storedBatches() [][]history.Case {
	var out [][]history.Case
	score, text := 0.5, strings.Repeat("words of ", 33)+"..."
	for i := range storedCases {
		if i%batchCases == 0 {
			out = append(out, make([]history.Case, 0, batchCases))
		}
		c := history.Case{
			ID: fmt.Sprintf("case-%05d", i), Digest: strings.Repeat("d", 64), Position: i, Tags: []string{fmt.Sprintf("tag-%d", i%4)},
			Question: fmt.Sprintf("How long is item %d kept, and who may ask for it?", i), Outcome: "Scored", Rank: 1, Called: true, LatencySeconds: 0.02,
			Relevant: []history.Relevant{{ID: "doc-0000", Grade: 1}},
			Metrics:  map[string]float64{"hit_rate@1": 1, "hit_rate@3": 1, "hit_rate@5": 1, "recall@5": 1, "mrr": 1, "ndcg@5": 1},
		}
		for k := range results {
			c.Retrieved = append(c.Retrieved, history.Retrieved{Rank: k + 1, ID: fmt.Sprintf("doc-%04d", k), Score: &score, Relevant: k == 0, Text: text})
		}
		out[len(out)-1] = append(out[len(out)-1], c)
	}
	return out
}

func write(tb testing.TB, s *history.Store, r history.Run, batches [][]history.Case) {
	tb.Helper()
	if err := s.PutRun(tb.Context(), r); err != nil {
		tb.Fatal(err)
	}
	for _, b := range batches {
		if err := s.PutCases(tb.Context(), r.UID, b); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkHistoryWrite writes a run, in batches, into a store that has others.
func BenchmarkHistoryWrite(b *testing.B) {
	batches := storedBatches()
	for _, engine := range stores {
		b.Run(engine.name, func(b *testing.B) {
			s := openStore(b, engine.dsn(b))
			n := 0
			for b.Loop() {
				write(b, s, storedRun(n), batches)
				n++
			}
			took := b.Elapsed().Seconds() / float64(n)
			size, err := s.Size(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(took, "s/run")
			b.ReportMetric(storedCases/took, "cases/s")
			b.ReportMetric(float64(size.Bytes)/float64(n)/mib, "MiB/run")
		})
	}
}

// BenchmarkHistoryCases reads a page of 50 cases from the middle of a run.
func BenchmarkHistoryCases(b *testing.B) {
	batches := storedBatches()
	for _, engine := range stores {
		s := openStore(b, engine.dsn(b))
		for name, batches := range map[string][][]history.Case{"200": {batches[0][:200]}, "20000": batches} {
			r := storedRun(len(name))
			write(b, s, r, batches)
			middle, err := s.Cases(b.Context(), r.UID, history.CaseQuery{Limit: 100})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(engine.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					page, err := s.Cases(b.Context(), r.UID, history.CaseQuery{Limit: 50, After: middle.Next})
					if err != nil || len(page.Cases) != 50 || len(page.Cases[49].Retrieved) != results {
						b.Fatalf("%d cases, %v", len(page.Cases), err)
					}
				}
			})
		}
	}
}

// BenchmarkHistoryRuns reads a page of 50 runs of a suite, behind the newest 50.
func BenchmarkHistoryRuns(b *testing.B) {
	for _, engine := range stores {
		for _, runs := range []int{100, 10_000} {
			s := openStore(b, engine.dsn(b))
			for n := range runs {
				if err := s.PutRun(b.Context(), storedRun(n)); err != nil {
					b.Fatal(err)
				}
			}
			first, err := s.Runs(b.Context(), "team", "docs", history.RunQuery{Limit: 50})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d", engine.name, runs), func(b *testing.B) {
				for b.Loop() {
					page, err := s.Runs(b.Context(), "team", "docs", history.RunQuery{Limit: 50, Before: first.Next})
					if err != nil || len(page.Runs) != 50 {
						b.Fatalf("%d runs, %v", len(page.Runs), err)
					}
				}
			})
		}
	}
}

// BenchmarkHistoryCheckpoint reads what a run that goes on needs of 20,000 cases.
func BenchmarkHistoryCheckpoint(b *testing.B) {
	batches := storedBatches()
	for _, engine := range stores {
		s := openStore(b, engine.dsn(b))
		write(b, s, storedRun(0), batches)
		b.Run(engine.name, func(b *testing.B) {
			for b.Loop() {
				if got, err := s.Checkpoint(b.Context(), storedRun(0).UID); err != nil || len(got) != storedCases {
					b.Fatalf("%d cases, %v", len(got), err)
				}
			}
		})
	}
}

// BenchmarkHistoryCompare reads what a comparison needs of a run of 20,000 cases.
func BenchmarkHistoryCompare(b *testing.B) {
	batches := storedBatches()
	for _, engine := range stores {
		s := openStore(b, engine.dsn(b))
		write(b, s, storedRun(0), batches)
		b.Run(engine.name, func(b *testing.B) {
			for b.Loop() {
				n, items := 0, 0
				err := s.CompareCases(b.Context(), storedRun(0).UID, func(c history.CompareCase) error {
					n, items = n+1, items+len(c.Retrieved)
					return nil
				})
				if err != nil || n != storedCases || items != storedCases*results {
					b.Fatalf("%d cases, %d items, %v", n, items, err)
				}
			}
		})
	}
}
