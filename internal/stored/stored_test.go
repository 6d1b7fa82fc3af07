package stored

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/recorder"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
)

var (
	start   = time.Date(2026, 3, 2, 4, 0, 0, 0, time.UTC)
	metrics = []score.Metric{{Name: score.MRR}, {Name: "hit_rate@5"}, {Name: score.Accuracy}}
)

// goldenCases are one that is answered wrong, one whose retriever fails, one that
// has no answer in the corpus, and one whose answer service fails.
func goldenCases() []golden.Case {
	relevant := []golden.Relevant{{ID: "가이드.md", Grade: 2}, {ID: "b", Grade: 1}}
	return []golden.Case{
		{ID: "q4", Digest: "d4", Question: "어디?", Relevant: relevant, ReferenceAnswer: "거기", Tags: []string{"ko", "where"}, Answerable: true,
			History: []golden.Turn{{Role: "user", Content: "안녕"}, {Role: "assistant", Content: "네"}}},
		{ID: "q2", Digest: "d2", Question: "how?", Relevant: relevant[1:], Answerable: true, Tags: []string{}},
		{ID: "q3", Digest: "d3", Question: "who?", Relevant: relevant[1:], Tags: []string{"ko"}},
		{ID: "q1", Digest: "d1", Question: "why?", Relevant: relevant[1:], Answerable: true, Tags: []string{}},
	}
}

func results(cases []golden.Case) []eval.CaseResult {
	nan := math.NaN()
	return []eval.CaseResult{
		{Case: &cases[0], Outcome: eval.Scored, Rank: 2, Values: []float64{0.5, 1, 0}, Called: true, Latency: 4 * time.Millisecond, AnswerLatency: time.Second,
			Retrieved: []eval.Retrieved{{ID: "x", Score: ptr.To(1.5), Text: "the text"}, {ID: "b", Relevant: true}},
			Answer:    &eval.AnswerResult{Text: "여기", Contexts: []string{"the text"}, Latency: time.Second},
			Verdict:   &judge.Verdict{Correct: ptr.To(false), Grounded: true, Reason: "다른 곳"},
			Relevance: &judge.Relevance{Scores: []int{2}, Average: 2, Reasoning: "off"}, Usage: judge.Usage{Calls: 2}},
		{Case: &cases[1], Outcome: "RetrieverTimeout", Message: "no answer within 10s", Called: true, Latency: 10 * time.Second},
		{Case: &cases[2], Outcome: eval.Scored, Values: []float64{nan, nan, nan}, Called: true, Latency: time.Millisecond, AnswerLatency: time.Millisecond,
			Retrieved: []eval.Retrieved{{ID: "b"}}, Answer: &eval.AnswerResult{Text: "I do not know", Latency: time.Millisecond},
			Verdict: &judge.Verdict{Correct: ptr.To(true), Grounded: true, Abstained: true, Reason: "it declines"}},
		{Case: &cases[3], Outcome: "AnswerHTTPError", Message: "status 500", Rank: 1, Values: []float64{1, 1, nan}, Called: true, Latency: time.Millisecond,
			AnswerLatency: 2 * time.Second, Retrieved: []eval.Retrieved{{ID: "b", Relevant: true}}},
	}
}

// record writes a run into a history as the operator does, and gives the document
// that `assay run -o json` would write.
func record(t *testing.T) (*history.Store, history.Run, *report.Document) {
	t.Helper()
	store, err := history.Open(t.Context(), "sqlite::memory:", history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	cases := goldenCases()
	result := &eval.Result{
		Metrics: metrics, Outcomes: map[string]int{eval.Scored: 2, "RetrieverTimeout": 1, "AnswerHTTPError": 1}, Total: 4, Done: 4, CorpusVersion: "v7",
		Summary:  score.Summary{Means: []score.Mean{{Name: score.MRR, Value: 1.0 / 3, Count: 2, Low: ptr.To(0.1), High: ptr.To(0.9)}}, Evidence: &score.Evidence{HitWrong: 1}},
		Decision: score.Decision{Verdict: score.Failed, Reason: "ObjectivesMissed", Message: "mrr fell", Objectives: []score.ObjectiveResult{{Metric: score.MRR, Bound: "min 0.9", Outcome: score.Missed}}},
		Usage:    judge.Usage{Calls: 2, PromptTokens: 900},
	}
	meta := report.Meta{
		Run: report.Run{
			UID: "uid", Name: "docs-bot-1", Suite: "docs-bot", Namespace: "rag", Trigger: "Deploy", Revision: "r1", GoldenSetDigest: "sha256:g", StartTime: start, CompletionTime: start.Add(time.Minute),
			Targets: []report.Target{{Kind: "Deployment", Name: "docs-bot", TemplateHash: "7d9f6c", Images: []string{"bot:1"}}}, ConfigMaps: map[string]string{"prompts": "sha256:p"},
		},
		Settings: report.Settings{TopK: 5, Unit: "Chunk", PrimaryK: 5, EvaluationDigest: "sha256:e", BLEUTokenizer: "Char", Judge: &judge.Identity{Provider: "Lexical", ParserVersion: 1}},
	}
	run := history.Run{
		UID: "uid", Name: "docs-bot-1", Suite: "docs-bot", SuiteUID: "s", Namespace: "rag", Trigger: "Deploy", Revision: "r1", GoldenSetDigest: "sha256:g", EvaluationDigest: "sha256:e",
		CorpusVersion: "v7", StartTime: start, CompletionTime: ptr.To(start.Add(time.Minute)), Verdict: "Failed", Reason: "ObjectivesMissed", Message: "mrr fell", Total: 4, Full: true,
	}
	if run.Document, err = json.Marshal(report.Build(meta, result, nil)); err != nil {
		t.Fatal(err)
	}
	r := recorder.New(store, run, cases, metrics)
	r.Start()
	for _, c := range results(cases) {
		r.Observe(c)
	}
	if loss := r.Finish(&run); loss.Any() {
		t.Fatal(loss.Message())
	}
	kept, err := store.Run(t.Context(), "uid")
	if err != nil {
		t.Fatal(err)
	}
	return store, kept, report.Build(meta, result, results(cases))
}

// TestARunComesBackAsItsDocument goes from a run's results through the recorder and
// the store: what the API gives must be what `assay run -o json` writes.
func TestARunComesBackAsItsDocument(t *testing.T) {
	store, run, want := record(t)
	got, err := Document(run)
	if err != nil {
		t.Fatal(err)
	}
	page, err := store.Cases(t.Context(), "uid", history.CaseQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range page.Cases {
		got.Cases = append(got.Cases, Case(&page.Cases[i]))
	}
	slices.SortFunc(got.Cases, func(a, b report.Case) int { return strings.Compare(a.ID, b.ID) })
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Errorf("(-written +stored):\n%s", diff)
	}
}

func asJSON(t *testing.T, d *report.Document) string {
	t.Helper()
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDocumentOfARunThatIsOpen(t *testing.T) {
	d, err := Document(history.Run{UID: "uid", Name: "n", Suite: "s", Namespace: "ns", Trigger: "API", StartTime: start, Total: 3})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"run":{"uid":"uid","name":"n","suite":"s","endpoint":"","namespace":"ns","trigger":"API","revision":"","goldenSetDigest":"","startTime":"2026-03-02T04:00:00Z"},` +
		`"reason":"","message":"","total":3,"metrics":[],"objectives":[],"coverage":{},"outcomes":{},"settings":{},"cases":[]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestADocumentThatIsNone(t *testing.T) {
	for _, text := range []string{"[", "null x", `{"metrics": 5}`, `{"run": {"startTime": "yesterday"}}`} {
		run := history.Run{UID: "uid", Document: []byte(text)}
		if _, err := Document(run); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := Side(t.Context(), run, nil); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", text, err)
		}
	}
	// What an older version wrote lacks fields, and is a document all the same.
	d, err := Document(history.Run{UID: "uid", Document: []byte("null")})
	if err != nil || d.Metrics == nil || d.Cases == nil || d.Outcomes == nil {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestNumbersThatJSONLacks(t *testing.T) {
	inf := math.Inf(-1)
	c := Case(&history.Case{
		Metrics: map[string]float64{"a": math.NaN(), "b": inf, "c": 0.5}, Retrieved: []history.Retrieved{{Score: &inf}}, AnswerSeconds: &inf, Called: true, LatencySeconds: math.NaN(),
	})
	if diff := cmp.Diff(map[string]float64{"c": 0.5}, c.Metrics); diff != "" || c.Retrieved[0].Score != nil || c.AnswerLatencySeconds != nil || c.LatencySeconds != nil {
		t.Errorf("%s %+v", diff, c)
	}
}

// TestTextsThatAreNotKept: an answer without its text is not an empty answer, which
// would be a label that says so.
func TestTextsThatAreNotKept(t *testing.T) {
	c := Case(&history.Case{ID: "q", Answer: &history.Answer{}, AnswerSeconds: ptr.To(0.5), Verdict: &judge.Verdict{Grounded: true}})
	if c.Answer != nil || c.Contexts != nil || c.Verdict == nil || c.AnswerLatencySeconds == nil {
		t.Errorf("%+v", c)
	}
}

// TestASideIsThatOfTheDocument: two runs compare alike, stored or written to a file.
func TestASideIsThatOfTheDocument(t *testing.T) {
	store, run, document := record(t)
	got, err := Side(t.Context(), run, store)
	if err != nil {
		t.Fatal(err)
	}
	want := document.Side()
	for i := range want.Cases {
		want.Cases[i].Texts = nil // the store keeps them apart
	}
	if diff := cmp.Diff(&want, got, cmp.Transformer("empty", func(list []string) []string { return append([]string{}, list...) })); diff != "" {
		t.Errorf("(-document +stored):\n%s", diff)
	}
}

func TestASideThatCannotBeRead(t *testing.T) {
	store, run, _ := record(t)
	if _, err := Side(t.Context(), history.Run{UID: "uid", Name: "n"}, store); !errors.Is(err, ErrNothingMeasured) {
		t.Errorf("a run that is open is %v", err)
	}
	run.UID = "gone"
	if _, err := Side(t.Context(), run, store); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a run that is gone is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run.UID = "uid"
	if _, err := Side(ctx, run, store); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone is %v", err)
	}
}

func TestNamesAreKeptOnce(t *testing.T) {
	n := interned{}
	for range 3 {
		n.of(strings.Clone("mrr"))
		n.of(strings.Clone("hit_rate@5"))
	}
	if len(n) != 2 {
		t.Errorf("%v", n)
	}
}
