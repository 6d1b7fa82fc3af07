package server

import (
	"context"
	"errors"

	"github.com/assay-dev/assay/internal/history"
)

// errNoHistory is an operator that keeps no history.
var errNoHistory = errors.New("the operator keeps no history")

// whyNoHistory tells callers.
const whyNoHistory = "the operator keeps no history, so earlier runs cannot be read: start it with --history"

// noHistory is the history of an operator that keeps none.
type noHistory struct{}

func (noHistory) Run(context.Context, string) (history.Run, error) {
	return history.Run{}, errNoHistory
}

func (noHistory) Cases(context.Context, string, history.CaseQuery) (history.CasePage, error) {
	return history.CasePage{}, errNoHistory
}

func (noHistory) Runs(context.Context, string, string, history.RunQuery) (history.RunPage, error) {
	return history.RunPage{}, errNoHistory
}

func (noHistory) CompareCases(context.Context, string, func(history.CompareCase) error) error {
	return errNoHistory
}
