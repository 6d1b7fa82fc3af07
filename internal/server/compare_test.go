package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/history"
)

const compareBase = "/api/v1/eval/rag/compare"

func comparePath(base, head string) string {
	return compareBase + "?" + url.Values{"base": {base}, "head": {head}}.Encode()
}

// compared is a world in which the old run has cases: q01 was found first, and q02
// answered.
func compared(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	was := storedCases()
	was[0].Rank, was[0].Metrics = 1, map[string]float64{"mrr": 1, "hit_rate@1": 1}
	was[1].Outcome, was[1].Rank, was[1].Metrics = "Scored", 3, map[string]float64{"mrr": 1.0 / 3}
	w.cases[oldID] = was
	w.cases[doneID][0].Metrics["hit_rate@1"] = 0
	return w
}

func TestTwoRunsAreCompared(t *testing.T) {
	w := compared(t)
	got := w.call(t, "GET", comparePath(oldID, doneID), "read", "")
	var d compare.Document
	decode(t, got, &d)
	if got.Code != 200 || got.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	if d.Base.Name != "docs-bot-1" || d.Base.UID != oldID || d.Head.UID != doneID || !d.Comparable || d.Common != 3 || !d.RevisionChanged || !d.GoldenSetChanged {
		t.Errorf("%+v", d)
	}
	if len(d.Worse) != 2 || d.WorseCount != 2 || d.BetterCount != 0 {
		t.Fatalf("worse are %+v", d.Worse)
	}
	for _, c := range d.Worse {
		if c.ID == "q01" && (c.Rank != 2 || c.BaselineRank != 1) || c.ID == "q02" && (c.Outcome != "RetrieverTimeout" || c.BaselineOutcome != "Scored") {
			t.Errorf("a case that got worse is %+v", c)
		}
	}
	var mrr compare.DocumentMetric
	for _, m := range d.Metrics {
		if m.Name == "mrr" && m.Tag == "" {
			mrr = m
		}
	}
	if mrr.Count != 1 || mrr.Value != 0.5 || mrr.Baseline != 1 || mrr.Delta != -0.5 {
		t.Errorf("mrr is %+v", mrr)
	}
	// The other way round, they got better.
	decode(t, w.call(t, "GET", comparePath(doneID, oldID), "read", ""), &d)
	if len(d.Better) != 2 || len(d.Worse) != 0 {
		t.Errorf("the other way round: %+v", d)
	}
	// Capitals are the same id.
	if got := w.call(t, "GET", comparePath(strings.ToUpper(oldID), doneID), "read", ""); got.Code != 200 {
		t.Errorf("an id in capitals is %d: %s", got.Code, got.Body)
	}
}

func TestHowManyCasesAComparisonLists(t *testing.T) {
	w := compared(t)
	var is, was []history.Case
	for i := range 50 {
		c := history.Case{ID: fmt.Sprintf("q%03d", i), Digest: "d", Outcome: "Scored", Rank: 2, Metrics: map[string]float64{"mrr": 0.5}}
		is = append(is, c)
		c.Rank, c.Metrics = 1, map[string]float64{"mrr": 1}
		was = append(was, c)
	}
	w.cases[doneID], w.cases[oldID] = is, was
	for query, want := range map[string]int{"": 20, "&cases=1": 1, "&cases=30": 30, "&cases=1000": 50} {
		var d compare.Document
		decode(t, w.call(t, "GET", comparePath(oldID, doneID)+query, "read", ""), &d)
		if len(d.Worse) != want || d.WorseCount != 50 {
			t.Errorf("%q lists %d of %d", query, len(d.Worse), d.WorseCount)
		}
	}
}

func TestComparisonsThatAreRefused(t *testing.T) {
	for query, word := range map[string]string{
		"":                                                  "base is missing",
		"base=" + oldID:                                     "head is missing",
		"head=" + doneID:                                    "base is missing",
		"base=&head=" + doneID:                              "base is missing",
		"base=docs-bot-1&head=" + doneID:                    `base is "docs-bot-1", which is no run id`,
		"base=" + oldID + "&head=" + doneID[1:]:             "head is",
		"base={" + oldID + "}&head=" + doneID:               "base is",
		"base=" + oldID + "&head=%00":                       "head",
		"base=" + oldID + "&base=" + doneID:                 "2 times",
		"base=" + oldID + "&head=" + doneID + "&cases=0":    "cases",
		"base=" + oldID + "&head=" + doneID + "&cases=1001": "1 to 1000",
		"base=" + oldID + "&head=" + doneID + "&cases=1e2":  "cases",
		"base=" + oldID + "&head=" + doneID + "&cases=-1":   "cases",
		"base=" + oldID + "&head=" + doneID + "&limit=1":    `"limit" is no parameter of this call; it takes base, head and cases`,
		"%zz": "query",
	} {
		refused(t, compared(t).call(t, "GET", compareBase+"?"+query, "read", ""), 400, compareBase, word)
	}
}

func TestWhoMayCompare(t *testing.T) {
	secretID := "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b20"
	w := compared(t)
	secret := w.memory.runs[1]
	secret.UID, secret.Suite, secret.Name = secretID, "secret", "secret-1"
	w.memory.runs = append(w.memory.runs, secret)
	queuedSecretID := "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b21"
	queued := queuedRun()
	queued.Spec.SuiteRef.Name = "secret"
	w.cluster.runs[queuedSecretID] = queued
	for _, test := range []struct {
		name, base, head, token string
		status                  int
	}{
		{"both may be seen", oldID, doneID, "read", 200},
		{"another suite's, by who may see all", secretID, doneID, "all", 200},
		{"the base may not be seen", secretID, doneID, "read", 403},
		{"the head may not be seen", doneID, secretID, "read", 403},
		{"one is not there", doneID, noID, "read", 404},
		{"one is not there, and the other may not be seen", noID, secretID, "read", 403},
		{"one is open, and the other may not be seen", openID, secretID, "read", 403},
		{"one is not there, and the other, not stored, may not be seen", noID, queuedSecretID, "read", 403},
		{"nobody", oldID, doneID, "none", 403},
		{"one has not ended", doneID, openID, "read", 409},
		{"one has not begun", queuedID, doneID, "read", 409},
		{"no token", oldID, doneID, "", 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := w.call(t, "GET", comparePath(test.base, test.head), test.token, "")
			if got.Code != test.status {
				t.Errorf("it is %d, want %d: %s", got.Code, test.status, got.Body)
			}
			if test.status == 403 && contains(got.Body.String(), "secret-1") {
				t.Errorf("a run is named to who may not see it: %s", got.Body)
			}
		})
	}
}

func TestARunThatMeasuredNothing(t *testing.T) {
	w := compared(t)
	refused(t, w.call(t, "GET", comparePath(doneID, openID), "read", ""), 409, compareBase, "docs-bot-3", "has not ended")
	refused(t, w.call(t, "GET", comparePath(doneID, queuedID), "read", ""), 409, compareBase, "docs-bot-4", "has not begun")
	w.memory.runs[2].Document, w.memory.runs[2].Verdict, w.memory.runs[2].Reason = nil, "Error", "AttemptsExceeded"
	refused(t, w.call(t, "GET", comparePath(oldID, doneID), "read", ""), 409, compareBase, "docs-bot-1", "measured nothing", "AttemptsExceeded")
	w.memory.runs[2].Document = []byte(`{"metrics": 5}`)
	refused(t, w.call(t, "GET", comparePath(oldID, doneID), "read", ""), 500, compareBase)
}

func TestAComparisonOutOfABrokenStore(t *testing.T) {
	w := compared(t)
	w.compared = func(context.Context) error { return errors.New("disk I/O error") }
	refused(t, w.call(t, "GET", comparePath(oldID, doneID), "read", ""), 503, compareBase, "history store")
	w.compared = func(context.Context) error { return history.ErrNotFound }
	refused(t, w.call(t, "GET", comparePath(oldID, doneID), "read", ""), 404, compareBase, "dropped")
	w.memory.err = errors.New("database is locked")
	refused(t, w.call(t, "GET", comparePath(oldID, doneID), "read", ""), 503, compareBase, "history store")
	w = compared(t)
	w.cluster.err = errOutage
	refused(t, w.call(t, "GET", comparePath(noID, doneID), "read", ""), 503, compareBase, "API server")
}

// TestComparisonsAreBounded: so many go on at once, fewer of large runs, and none
// for ever.
func TestComparisonsAreBounded(t *testing.T) {
	for total, want := range map[int]int32{3: maxComparisons, maxCompared / 4: 2, maxCompared: 1} {
		synctest.Test(t, func(t *testing.T) { checkBounds(t, total, want) })
	}
}

func checkBounds(t *testing.T, total int, want int32) {
	w := compared(t)
	w.memory.runs[1].Total, w.memory.runs[2].Total = total, total
	slow := &slowStore{memory: w.memory}
	o := w.options(logr.Discard())
	o.History = slow
	w.handler = New(o)
	begin := time.Now()
	var all sync.WaitGroup
	for range maxComparisons + 3 {
		all.Go(func() {
			got := w.call(t, "GET", comparePath(oldID, doneID), "read", "")
			refused(t, got, 503, compareBase, "try again later")
		})
	}
	all.Wait()
	if most := slow.most.Load(); most != want {
		t.Errorf("of runs of %d cases, %d comparisons went on at once, want %d", total, most, want)
	}
	if took := time.Since(begin); took > compareTimeout {
		t.Errorf("they took %s", took)
	}
	// Their places are free again.
	slow.quick.Store(true)
	if got := w.call(t, "GET", comparePath(oldID, doneID), "read", ""); got.Code != 200 {
		t.Errorf("the next one is %d: %s", got.Code, got.Body)
	}
}

// slowStore hands out no case before the caller gives up.
type slowStore struct {
	*memory
	now, most atomic.Int32
	quick     atomic.Bool
}

func (s *slowStore) CompareCases(ctx context.Context, uid string, f func(history.CompareCase) error) error {
	if s.quick.Load() {
		return s.memory.CompareCases(ctx, uid, f)
	}
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	<-ctx.Done()
	return fmt.Errorf("read the cases: %w", ctx.Err())
}
