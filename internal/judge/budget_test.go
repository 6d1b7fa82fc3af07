package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func answered(n int) Input {
	in := korean
	in.Answer = fmt.Sprintf("answer %d", n)
	return in
}

func TestBudgetOfTokens(t *testing.T) {
	model := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
		return &Response{Text: good, Calls: 1, PromptTokens: 90, CompletionTokens: 10}, nil
	}}
	cache := &store{}
	j := New(model, Options{Budget: NewBudget(250, 0, Usage{}), Cache: cache})
	for n := range 3 {
		grade(t, j, answered(n))
	}
	_, usage, err := j.Grade(t.Context(), answered(3))
	var e *Error
	if !errors.As(err, &e) || e.Outcome != BudgetExceeded || !e.EndsRun || usage != (Usage{}) {
		t.Fatalf("%#v, %+v", err, usage)
	}
	if want := "300 tokens of the run's budget of 250 are spent: raise judge.maxTokensPerRun, or ask fewer cases"; e.Message != want {
		t.Errorf("message %q", e.Message)
	}
	// What is known already costs nothing.
	if _, usage := grade(t, j, answered(0)); usage.CacheHits != 1 {
		t.Errorf("%+v", usage)
	}
	if model.calls() != 3 {
		t.Errorf("%d calls", model.calls())
	}
}

func TestBudgetOfCalls(t *testing.T) {
	retrying := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
		return &Response{Text: good, Calls: 2}, nil
	}}
	j := New(retrying, Options{Budget: NewBudget(0, 5, Usage{Calls: 1})})
	for n := range 2 {
		grade(t, j, answered(n))
	}
	_, _, err := j.Grade(t.Context(), answered(2))
	if outcomeOf(err) != BudgetExceeded || !strings.Contains(err.Error(), "5 calls of the run's budget of 5") || retrying.calls() != 2 {
		t.Errorf("%v after %d calls", err, retrying.calls())
	}
}

// A repair and a retry are calls like any other.
func TestBudgetEndsBeforeARepair(t *testing.T) {
	model := saying("no verdict", good)
	_, usage, err := New(model, Options{Budget: NewBudget(0, 1, Usage{})}).Grade(t.Context(), korean)
	if outcomeOf(err) != BudgetExceeded || usage.Calls != 1 || model.calls() != 1 {
		t.Errorf("%v, %+v", err, usage)
	}
}

func TestBudgetGoesOnFromWhatWasSpent(t *testing.T) {
	spent := Usage{Calls: 7, PromptTokens: 60, CompletionTokens: 40}
	for _, b := range []*Budget{NewBudget(100, 0, spent), NewBudget(0, 7, spent)} {
		if _, _, err := New(saying(good), Options{Budget: b}).Grade(t.Context(), korean); outcomeOf(err) != BudgetExceeded {
			t.Error(err)
		}
	}
	for _, b := range []*Budget{NewBudget(101, 8, spent), NewBudget(0, 0, spent), nil} {
		grade(t, New(saying(good), Options{Budget: b}), korean)
	}
}

// A server that counts no tokens does not make judging free.
func TestBudgetOfAServerThatCountsNothing(t *testing.T) {
	model := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
		return &Response{Text: good, Calls: 1}, nil
	}}
	j := New(model, Options{Budget: NewBudget(100, 0, Usage{})})
	if _, usage := grade(t, j, answered(0)); usage.PromptTokens != 0 {
		t.Errorf("the usage claims %+v", usage)
	}
	if _, _, err := j.Grade(t.Context(), answered(1)); outcomeOf(err) != BudgetExceeded {
		t.Error(err)
	}
	failing := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
		return &Response{Calls: 1}, &Error{Outcome: HTTPError, Message: "500"}
	}}
	j = New(failing, Options{Budget: NewBudget(100, 0, Usage{})})
	for n := range 3 {
		if _, _, err := j.Grade(t.Context(), answered(n)); outcomeOf(err) != HTTPError {
			t.Error(err)
		}
	}
}

// Cases that run at once go over the budget by no more than themselves.
func TestBudgetOfParallelCases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parallel = 4
		model := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
			<-time.After(time.Minute)
			return &Response{Text: good, Calls: 1, PromptTokens: 100}, nil
		}}
		for _, tt := range []struct {
			budget *Budget
			most   int
		}{{NewBudget(0, 10, Usage{}), 10}, {NewBudget(1000, 0, Usage{}), 10 + parallel - 1}} {
			model.sent = nil
			j := New(model, Options{Budget: tt.budget})
			var wg sync.WaitGroup
			for worker := range parallel {
				wg.Go(func() {
					for n := range 10 {
						_, _, err := j.Grade(t.Context(), answered(10*worker+n))
						if err != nil && outcomeOf(err) != BudgetExceeded {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if n := model.calls(); n < 10 || n > tt.most {
				t.Errorf("%d calls, want 10 to %d", n, tt.most)
			}
		}
	})
}
