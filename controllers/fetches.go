package controllers

import (
	"errors"
	"sync"
	"time"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// fetchAgain is how soon a suite tries again to get a place among the fetches.
const fetchAgain = 500 * time.Millisecond

// errBusy ends a pass that found no place to fetch its golden set.
var errBusy = errors.New("too many golden sets are being fetched")

// Fetches bounds how many workers wait for golden sets that come over http. A
// server that hangs holds a worker for a minute: every other suite must still
// find one that is free, and a namespace with many such servers must leave
// places to the others.
type Fetches struct {
	limit int

	mu     sync.Mutex
	total  int
	active map[string]int // by namespace
}

// NewFetches makes one that lets limit fetches go at once, half of them in one namespace.
func NewFetches(limit int) *Fetches {
	return &Fetches{limit: limit, active: map[string]int{}}
}

// begin takes a place for the suite's fetch, which end gives back. A suite whose
// golden set lies in the cluster needs none.
func (f *Fetches) begin(s *v1alpha1.EvalSuite) (end func(), err error) {
	if s.Spec.GoldenSet.HTTP == nil {
		return func() {}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.total >= f.limit || f.active[s.Namespace] >= max(1, f.limit/2) {
		return nil, errBusy
	}
	f.total++
	f.active[s.Namespace]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.total--
		if f.active[s.Namespace]--; f.active[s.Namespace] == 0 {
			delete(f.active, s.Namespace)
		}
	}, nil
}
