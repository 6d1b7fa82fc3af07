package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/recorder"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// timedStore adds up how long the store takes to write.
type timedStore struct {
	*history.Store
	took atomic.Int64
}

func (s *timedStore) time(write func() error) error {
	began := time.Now()
	defer func() { s.took.Add(int64(time.Since(began))) }()
	return write()
}

func (s *timedStore) PutRun(ctx context.Context, run history.Run) error {
	return s.time(func() error { return s.Store.PutRun(ctx, run) })
}

func (s *timedStore) PutCases(ctx context.Context, uid string, cases []history.Case) error {
	return s.time(func() error { return s.Store.PutCases(ctx, uid, cases) })
}

// quick is a retriever that takes ten milliseconds, which few do, and gives ten
// results of 300 bytes.
type quick struct{ reply retriever.Reply }

func (q *quick) Retrieve(ctx context.Context, _ *golden.Case, _ int) (*retriever.Reply, error) {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
		return nil, &retriever.Error{Outcome: retriever.Timeout, Message: "stopped", Err: ctx.Err()}
	}
	reply := q.reply
	return &reply, nil
}

// shareOfARun is a run of 20,000 cases.
func shareOfARun() (eval.Plan, eval.Parties) {
	set := make([]golden.Case, storedCases)
	for i := range set {
		set[i] = golden.Case{ID: fmt.Sprintf("case-%05d", i), Question: fmt.Sprintf("How long is item %d kept?", i), Digest: strings.Repeat("d", 64),
			Relevant: []golden.Relevant{{ID: "doc-0000", Grade: 1}}, Answerable: true}
	}
	q := &quick{reply: retriever.Reply{Attempts: 1}}
	for k := range results {
		q.reply.Results = append(q.reply.Results, retriever.Result{ID: fmt.Sprintf("doc-%04d", k), Text: strings.Repeat("words of ", 33) + "..."})
	}
	return eval.Plan{Cases: set, Score: score.Spec{TopK: results, K: []int{1, 3, 5, 10}, PrimaryK: 5, Unit: score.Chunk}, Parallelism: parallelism, KeepText: true},
		eval.Parties{Retriever: q}
}

// spent is the time and the processor time of this process that f took.
func spent(tb testing.TB, f func()) (wall, cpu time.Duration) {
	tb.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			tb.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began, before := time.Now(), used()
	f()
	return time.Since(began), used() - before
}

// BenchmarkHistoryShareOfARun records a run while it goes and reports which
// share of its time the store was at work: 0.1 is a tenth. Beside it stand what
// recording adds to the time of the run and to the processor time of this
// process; that of a PostgreSQL server is not in it.
func BenchmarkHistoryShareOfARun(b *testing.B) {
	plan, parties := shareOfARun()
	scorer, err := score.NewScorer(plan.Score)
	if err != nil {
		b.Fatal(err)
	}
	bareWall, bareCPU := spent(b, func() { eval.Run(b.Context(), plan, parties, nil) })
	for _, engine := range stores {
		b.Run(engine.name, func(b *testing.B) {
			store := &timedStore{Store: openStore(b, engine.dsn(b))}
			n := 0
			wall, cpu := spent(b, func() {
				for b.Loop() {
					run := storedRun(n)
					n++
					rec := recorder.New(store, run, plan.Cases, scorer.Metrics())
					rec.Start()
					eval.Run(b.Context(), plan, parties, rec.Observe)
					if loss := rec.Finish(&run); loss.Any() {
						b.Fatal(loss.Message())
					}
				}
			})
			runs := time.Duration(n)
			b.ReportMetric(time.Duration(store.took.Load()).Seconds()/wall.Seconds(), "store/run")
			b.ReportMetric((time.Duration(store.took.Load()) / runs).Seconds(), "store-s/run")
			b.ReportMetric((wall/runs).Seconds()/bareWall.Seconds(), "run/bare")
			b.ReportMetric((cpu/runs - bareCPU).Seconds(), "more-cpu-s/run")
		})
	}
}
