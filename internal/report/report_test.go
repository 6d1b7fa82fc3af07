package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/score"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// check holds text against a golden file.
func check(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it:\n%s", path, diff)
	}
}

var start = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

func meta() Meta {
	return Meta{
		Run: Run{UID: "0b5e", Name: "docs-bot-local-0b5e", Suite: "docs-bot", Namespace: "rag", Trigger: "Manual", Revision: "none",
			GoldenSetDigest: "sha256:60", StartTime: start, CompletionTime: start.Add(1234 * time.Millisecond)},
		Settings: Settings{TopK: 10, Unit: "Chunk", PrimaryK: 5, EvaluationDigest: "e7"},
	}
}

var metrics = []score.Metric{{Name: "hit_rate@5", Binary: true}, {Name: "mrr"}, {Name: "hit_rate@10", Binary: true}}

// cases are a hit, a miss with a Korean question, a failed call and one that is
// not due; they ended in this order.
func cases() []eval.CaseResult {
	relevant := []golden.Relevant{{ID: "docs/가이드.md", Grade: 2}, {ID: "b", Grade: 1}}
	return []eval.CaseResult{
		{Case: &golden.Case{ID: "q2", Digest: "d2", Question: "설치는 어떻게 하나요?\n운영 체제는 리눅스입니다.", Tags: []string{"한국어"}, Relevant: relevant, Answerable: true},
			Outcome: eval.Scored, Values: []float64{0, 0, 0}, Called: true, Latency: 4 * time.Millisecond,
			Retrieved: []eval.Retrieved{{ID: "x"}, {ID: "y", Score: ptr.To(math.Inf(1))}}},
		{Case: &golden.Case{ID: "q1", Digest: "d1", Question: "How do I install it?", Tags: []string{"howto", "한국어"}, Relevant: relevant[1:], Answerable: true},
			Outcome: eval.Scored, Values: []float64{1, 0.5, 1}, Rank: 2, Called: true, Latency: 2 * time.Millisecond,
			Retrieved: []eval.Retrieved{{ID: "x", Score: ptr.To(1.5)}, {ID: "b", Score: ptr.To(1.25), Relevant: true}}},
		{Case: &golden.Case{ID: "q3", Digest: "d3", Question: "\x1b[31mred\x1b[0m `a|b` <b> @someone", Relevant: relevant[1:], Answerable: true},
			Outcome: "RetrieverTimeout", Message: "POST bot/search: no answer within 10s | <html> @someone", Called: true, Latency: 10 * time.Second},
		{Case: &golden.Case{ID: "q4", Digest: "d4", Question: "who?"}, Outcome: eval.Scored},
	}
}

// result is the summary of the cases, as eval makes it, with the objectives.
func result(objectives ...score.Objective) *eval.Result {
	all := cases()
	scores := make([]score.CaseScore, len(all))
	outcomes := map[string]int{}
	for i, c := range all {
		outcomes[c.Outcome]++
		failed := c.Outcome != eval.Scored
		scores[i] = score.CaseScore{Tags: c.Case.Tags, Failed: failed, Values: c.Values, Retrieval: score.StageScore{
			Due: c.Case.Due(), Scored: c.Case.Due() && !failed, Timed: c.Called, Seconds: c.Latency.Seconds()}}
	}
	summary := score.Summarize(metrics, scores)
	return &eval.Result{
		Metrics: metrics, Summary: summary, Outcomes: outcomes, Total: 5, Done: 4, Errored: 1,
		Decision: score.Decide(score.Facts{Summary: summary, Objectives: objectives, MinCoverage: 0.5, Scored: 3, Total: 5}),
		Worst:    []eval.WorstCase{{ID: "q2", Outcome: eval.Scored}, {ID: "q3", Outcome: "RetrieverTimeout"}, {ID: "q1", Rank: 2, Outcome: eval.Scored}},
	}
}

var (
	failing = []score.Objective{
		{Metric: "hit_rate@5", Min: "0.90"}, {Metric: "mrr", Tag: "howto", Min: "0.40", Max: "0.9"}, {Metric: "recall@3", Min: "0.1"},
	}
	passing = failing[1:2]
)

func render(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGoldenFiles(t *testing.T) {
	failed := Build(meta(), result(failing...), cases())
	passed := Build(meta(), result(passing...), cases())
	open := Build(meta(), result(), nil)
	empty := Build(meta(), &eval.Result{Total: 3, Decision: score.Decision{Verdict: score.Error, Reason: "NothingScored", Message: "none of 3 cases could be scored"}}, nil)
	endpoint := Build(meta(), result(passing...), cases())
	endpoint.Run.Endpoint = "canary"

	for name, write := range map[string]func(io.Writer) error{
		"failed.json":         func(w io.Writer) error { return WriteJSON(w, failed) },
		"empty.json":          func(w io.Writer) error { return WriteJSON(w, empty) },
		"failed.xml":          func(w io.Writer) error { return WriteJUnit(w, failed) },
		"passed.xml":          func(w io.Writer) error { return WriteJUnit(w, passed) },
		"inconclusive.xml":    func(w io.Writer) error { return WriteJUnit(w, open) },
		"error.xml":           func(w io.Writer) error { return WriteJUnit(w, empty) },
		"failed.md":           func(w io.Writer) error { return WriteMarkdown(w, failed) },
		"endpoint.md":         func(w io.Writer) error { return WriteMarkdown(w, endpoint) },
		"error.md":            func(w io.Writer) error { return WriteMarkdown(w, empty) },
		"failed.txt":          func(w io.Writer) error { return WriteTable(w, failed, TableOptions{}) },
		"failed-narrow.txt":   func(w io.Writer) error { return WriteTable(w, failed, TableOptions{Width: 50}) },
		"failed-coloured.txt": func(w io.Writer) error { return WriteTable(w, failed, TableOptions{Color: true}) },
		"endpoint.txt":        func(w io.Writer) error { return WriteTable(w, endpoint, TableOptions{}) },
		"inconclusive.txt":    func(w io.Writer) error { return WriteTable(w, open, TableOptions{}) },
		"error.txt":           func(w io.Writer) error { return WriteTable(w, empty, TableOptions{}) },
	} {
		t.Run(name, func(t *testing.T) { check(t, name, render(t, write)) })
	}
}

// TestJSONKeepsEveryDigit reads the document back: it must give the very numbers.
func TestJSONKeepsEveryDigit(t *testing.T) {
	r := result()
	r.Summary.Means = []score.Mean{{Name: "hit_rate@5", Value: 11.0 / 12, Count: 12, Low: ptr.To(0.1 + 0.2)}}
	var got Document
	if err := json.Unmarshal(render(t, func(w io.Writer) error { return WriteJSON(w, Build(meta(), r, cases())) }), &got); err != nil {
		t.Fatal(err)
	}
	want := []Metric{{Name: "hit_rate@5", Value: 11.0 / 12, Count: 12, Low: ptr.To(0.1 + 0.2)}}
	if diff := cmp.Diff(want, got.Metrics); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// largestWrite keeps how much was written, and the most at a time.
type largestWrite struct{ total, most int }

func (l *largestWrite) Write(p []byte) (int, error) {
	l.total, l.most = l.total+len(p), max(l.most, len(p))
	return len(p), nil
}

// TestJSONIsNotHeldWhole: the document of a large run is hundreds of megabytes.
func TestJSONIsNotHeldWhole(t *testing.T) {
	d := Build(meta(), result(), cases())
	for len(d.Cases) < 10_000 {
		d.Cases = append(d.Cases, d.Cases[0])
	}
	var w largestWrite
	if err := WriteJSON(&w, d); err != nil {
		t.Fatal(err)
	}
	if w.total < 1<<20 || w.most > 64<<10 {
		t.Errorf("%d bytes, up to %d of them at a time", w.total, w.most)
	}
}

// TestTableCutsLongTags: a tag may have 128 characters, a terminal has 80 columns.
func TestTableCutsLongTags(t *testing.T) {
	r := result()
	r.Summary.Means = append(r.Summary.Means, score.Mean{Name: score.ErrorRate, Tag: strings.Repeat("태그", 64), Count: 1})
	out := string(render(t, func(w io.Writer) error { return WriteTable(w, Build(meta(), r, cases()), TableOptions{Width: 80}) }))
	for line := range strings.Lines(out) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "태그") && (width(line) > 80 || !strings.Contains(line, "…")) {
			t.Errorf("a line of %d columns: %s", width(line), line)
		}
	}
}

// TestTableHasNoControlCharacters: a question or a message must not reach the
// terminal as it is.
func TestTableHasNoControlCharacters(t *testing.T) {
	r := result(failing...)
	r.Decision.Message = "a\x1b]0;title\x07b\u202ec"
	out := string(render(t, func(w io.Writer) error { return WriteTable(w, Build(meta(), r, cases()), TableOptions{}) }))
	if out += Build(meta(), r, nil).Headline(); strings.ContainsAny(out, "\x1b\x07\u202e") {
		t.Errorf("control characters in\n%q", out)
	}
}

func TestJUnitTakesAnyText(t *testing.T) {
	all := cases()
	all[2].Message = "bytes \x00\x0b\uffff <end> ]]> & \""
	out := render(t, func(w io.Writer) error { return WriteJUnit(w, Build(meta(), result(failing...), all)) })
	var back junitSuites
	if err := xml.Unmarshal(out, &back); err != nil {
		t.Fatalf("no XML: %v\n%s", err, out)
	}
	if got := len(back.Suites[0].Cases); got != back.Suites[0].Tests {
		t.Errorf("%d test cases, tests=%d", got, back.Suites[0].Tests)
	}
}

func TestTableSaysWhatItLeavesOut(t *testing.T) {
	r := result()
	r.Worst = nil
	for i := range maxTags {
		r.Summary.Means = append(r.Summary.Means, score.Mean{Name: score.ErrorRate, Tag: string(rune('a' + i)), Count: 1})
	}
	var all []eval.CaseResult
	for i := range maxTableWorst + 3 {
		c := cases()[0]
		id := string(rune('a' + i))
		c.Case = &golden.Case{ID: id, Question: "q"}
		all = append(all, c)
		r.Worst = append(r.Worst, eval.WorstCase{ID: id, Outcome: eval.Scored})
	}
	out := string(render(t, func(w io.Writer) error { return WriteTable(w, Build(meta(), r, all), TableOptions{}) }))
	for _, line := range []string{"\nand 3 more: -o json lists every case\n", "\nand 2 more tags: -o json has every tag\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("the table lacks %q:\n%s", line, out)
		}
	}
}

// TestTableEndsWithTheVerdict: it is what stands on the screen at the end.
func TestTableEndsWithTheVerdict(t *testing.T) {
	d := Build(meta(), result(failing...), cases())
	out := string(render(t, func(w io.Writer) error { return WriteTable(w, d, TableOptions{}) }))
	if want := "\n\ndocs-bot: Failed (ObjectivesMissed)\n" + d.Message + "\n"; !strings.HasSuffix(out, want) {
		t.Errorf("the table does not end with %q:\n%s", want, out)
	}
}

// failingWriter takes n bytes.
type failingWriter struct{ n int }

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWritersGiveTheWritersError(t *testing.T) {
	d := Build(meta(), result(failing...), cases())
	for name, write := range map[string]func(io.Writer) error{
		"JSON":     func(w io.Writer) error { return WriteJSON(w, d) },
		"JUnit":    func(w io.Writer) error { return WriteJUnit(w, d) },
		"Markdown": func(w io.Writer) error { return WriteMarkdown(w, d) },
		"Table":    func(w io.Writer) error { return WriteTable(w, d, TableOptions{}) },
	} {
		if err := write(&failingWriter{n: 10}); err == nil {
			t.Errorf("%s: no error although the disk was full", name)
		}
	}
}
