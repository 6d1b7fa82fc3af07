package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/recorder"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// timedStore adds up how long the store takes.
type timedStore struct {
	*history.Store
	took atomic.Int64
}

func (s *timedStore) PutCases(ctx context.Context, uid string, cases []history.Case) error {
	defer func(began time.Time) { s.took.Add(int64(time.Since(began))) }(time.Now())
	return s.Store.PutCases(ctx, uid, cases)
}

// patient is a retriever that is as quick as a good one: it takes fifty
// milliseconds and gives ten results of 300 bytes.
type patient struct{ reply retriever.Reply }

func (p *patient) Retrieve(ctx context.Context, _ *golden.Case, _ int) (*retriever.Reply, error) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
		return nil, &retriever.Error{Outcome: retriever.Timeout, Message: "stopped", Err: ctx.Err()}
	}
	reply := p.reply
	return &reply, nil
}

// BenchmarkHistoryShareOfARun records a run while it goes and reports which
// share of its time the store was at work: 0.1 is a tenth.
func BenchmarkHistoryShareOfARun(b *testing.B) {
	const cases = 2000
	set := make([]golden.Case, cases)
	for i := range set {
		set[i] = golden.Case{ID: fmt.Sprintf("case-%05d", i), Question: fmt.Sprintf("How long is item %d kept?", i), Digest: strings.Repeat("d", 64),
			Relevant: []golden.Relevant{{ID: "doc-0000", Grade: 1}}, Answerable: true}
	}
	p := &patient{reply: retriever.Reply{Attempts: 1}}
	for k := range results {
		p.reply.Results = append(p.reply.Results, retriever.Result{ID: fmt.Sprintf("doc-%04d", k), Text: strings.Repeat("words of ", 33) + "..."})
	}
	plan := eval.Plan{Cases: set, Score: score.Spec{TopK: results, K: []int{1, 3, 5, 10}, PrimaryK: 5, Unit: score.Chunk}, Parallelism: parallelism, KeepText: true}
	scorer, err := score.NewScorer(plan.Score)
	if err != nil {
		b.Fatal(err)
	}
	for _, engine := range stores {
		b.Run(engine.name, func(b *testing.B) {
			store := &timedStore{Store: openStore(b, engine.dsn(b))}
			n := 0
			for b.Loop() {
				run := storedRun(n)
				n++
				rec := recorder.New(store, run, set, scorer.Metrics())
				rec.Start()
				eval.Run(b.Context(), plan, p, rec.Observe)
				if loss := rec.Finish(&run); loss.Any() {
					b.Fatal(loss.Message())
				}
			}
			b.ReportMetric(float64(store.took.Load())/float64(b.Elapsed()), "store/run")
		})
	}
}
