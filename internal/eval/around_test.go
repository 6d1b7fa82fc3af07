package eval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/retriever"
)

// heard is what Around was told, by case.
type heard struct {
	mu    sync.Mutex
	lines []string
}

type aroundKey struct{}

func (h *heard) around(ctx context.Context, c *golden.Case) (context.Context, func(CaseResult, bool)) {
	return context.WithValue(ctx, aroundKey{}, c.ID), func(r CaseResult, asked bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lines = append(h.lines, fmt.Sprintf("%s %s rank %d asked %t", c.ID, r.Outcome, r.Rank, asked))
	}
}

// Around surrounds every case that somebody is asked for, however it ends.
func TestAround(t *testing.T) {
	h := &heard{}
	p := plan(cases(4))
	p.Cases[3].Answerable = false // nothing to ask for in a run of retrieval
	p.WarmupRequests, p.Around = 2, h.around
	var mu sync.Mutex
	var within []string
	runRetrieval(t.Context(), p, retrieverFunc(func(ctx context.Context, c *golden.Case, _ int) (*retriever.Reply, error) {
		of, _ := ctx.Value(aroundKey{}).(string)
		mu.Lock()
		within = append(within, c.ID+" in "+of)
		mu.Unlock()
		switch {
		case of == "":
			return list(), nil // a warm-up
		case c.ID == "q01":
			return nil, &retriever.Error{Outcome: "RetrieverTimeout"}
		case c.ID == "q02":
			panic("a bug")
		}
		return list("other", c.Relevant[0].ID), nil
	}), nil)
	slices.Sort(within)
	slices.Sort(h.lines)
	if diff := cmp.Diff([]string{"q00 in ", "q00 in q00", "q01 in ", "q01 in q01", "q02 in q02"}, within); diff != "" {
		t.Errorf("calls, -want +got:\n%s", diff)
	}
	want := []string{"q00 Scored rank 2 asked true", "q01 RetrieverTimeout rank 0 asked true", "q02 RetrieverError rank 0 asked true"}
	if diff := cmp.Diff(want, h.lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A case that the run ended under is no outcome of the service's.
func TestAroundAnInterruptedCase(t *testing.T) {
	h := &heard{}
	p := plan(cases(1))
	p.Around = h.around
	ctx, cancel := context.WithCancel(t.Context())
	runRetrieval(ctx, p, retrieverFunc(func(ctx context.Context, _ *golden.Case, _ int) (*retriever.Reply, error) {
		cancel()
		return nil, &retriever.Error{Outcome: "RetrieverTimeout", Err: ctx.Err()}
	}), nil)
	if diff := cmp.Diff([]string{"q00 RetrieverTimeout rank 0 asked false"}, h.lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
