package judge

import (
	"fmt"
	"sync"
)

// Budget bounds what a run spends on its judge. It is safe for concurrent use;
// nil is no bound.
//
// A call begins only while the budget has room: every call in flight counts as
// one already, and the tokens of all calls that ended are below the bound. What
// a call takes is known only afterwards. So a run of n parallel cases goes over
// its tokens by at most what n calls take, and over its calls by no more than
// the retries of those in flight.
type Budget struct {
	maxTokens, maxCalls int64

	mu       sync.Mutex
	tokens   int64
	calls    int64
	inFlight int64
}

// NewBudget gives a budget of tokens (prompts and replies together) and calls; 0
// is no bound. Spent is what the run used before it was interrupted.
func NewBudget(maxTokens, maxCalls int64, spent Usage) *Budget {
	return &Budget{
		maxTokens: maxTokens,
		maxCalls:  maxCalls,
		tokens:    spent.PromptTokens + spent.CompletionTokens,
		calls:     spent.Calls,
	}
}

// begin takes a call out of the budget. Its error ends the run.
func (b *Budget) begin() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.maxTokens > 0 && b.tokens >= b.maxTokens:
		return exceeded("%d tokens of the run's budget of %d are spent: raise judge.maxTokensPerRun, or ask fewer cases", b.tokens, b.maxTokens)
	case b.maxCalls > 0 && b.calls+b.inFlight >= b.maxCalls:
		return exceeded("%d calls of the run's budget of %d are spent: raise judge.maxCallsPerRun, or ask fewer cases", b.calls+b.inFlight, b.maxCalls)
	}
	b.inFlight++
	return nil
}

// end puts in place of the call that began what it took.
func (b *Budget) end(calls, tokens int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
	b.calls += calls
	b.tokens += tokens
}

func exceeded(format string, args ...any) error {
	return &Error{Outcome: BudgetExceeded, EndsRun: true, Message: fmt.Sprintf(format, args...)}
}
