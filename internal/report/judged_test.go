package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/score"
)

// judgedMeta is of a run with a model behind its judge.
func judgedMeta(name string) Meta {
	m := meta()
	m.Run.Name, m.Run.UID, m.Run.Revision = name, "uid-"+name, "r-"+name
	m.Settings.BLEUTokenizer = "Char"
	m.Settings.Judge = &judge.Identity{Provider: "OpenAI", Model: "gpt-5-mini", Parameters: `{"maxOutputTokens":512}`, PromptDigest: "p1", ParserVersion: 1}
	return m
}

var judgedMetrics = append(metrics[:len(metrics):len(metrics)],
	score.Metric{Name: score.BLEU}, score.Metric{Name: score.Accuracy, Family: score.Accuracy, Binary: true},
	score.Metric{Name: score.HallucinationRate, Binary: true}, score.Metric{Name: score.ContextRelevance}, score.Metric{Name: score.AbstentionAccuracy, Binary: true})

// judgedCases are answers that are right, wrong and declined, one that no verdict
// came for, one that is missing, and one without an answer in the corpus.
func judgedCases() []eval.CaseResult {
	none := math.NaN()
	relevant := []golden.Relevant{{ID: "b", Grade: 1}}
	found := []eval.Retrieved{{ID: "b", Score: ptr.To(1.5), Relevant: true, Text: "Refunds are paid within 14 days."}}
	asked := func(id, question, reference string, tags ...string) *golden.Case {
		return &golden.Case{ID: id, Digest: "d" + id, Question: question, ReferenceAnswer: reference, Tags: tags, Relevant: relevant, Answerable: true}
	}
	told := func(text string) *eval.AnswerResult {
		return &eval.AnswerResult{Text: text, Contexts: []string{"Refunds are paid within 14 days."}, Latency: 250 * time.Millisecond, Attempts: 1}
	}
	all := []eval.CaseResult{
		{Case: asked("right", "환불은 언제 되나요?", "14일 안에", "korean"), Outcome: eval.Scored, Rank: 1, Retrieved: found, Answer: told("14일 안에 됩니다."),
			Values: []float64{1, 1, 1, 0.5, 1, 0, 4.5, none}, Verdict: &judge.Verdict{Correct: ptr.To(true), Grounded: true, Reason: "그렇게 적혀 있습니다"},
			Relevance: &judge.Relevance{Scores: []int{4, 5}, Average: 4.5, Reasoning: "both tell"}},
		{Case: asked("wrong", "How long does a refund take?", "14 days", "howto"), Outcome: eval.Scored, Rank: 1, Retrieved: found, Answer: told("A year | <b>or two</b>."),
			Values: []float64{1, 1, 1, 0, 0, 1, 2, none}, Verdict: &judge.Verdict{Correct: ptr.To(false), Reason: "it takes 14 days"},
			Relevance: &judge.Relevance{Scores: []int{2}, Average: 2}},
		{Case: asked("free", "Is it free?", "", "howto"), Outcome: eval.Scored, Rank: 1, Retrieved: found, Answer: told("Yes."),
			Values: []float64{1, 1, 1, none, none, 0, none, none}, Verdict: &judge.Verdict{Grounded: true, Reason: "no reference"}},
		{Case: asked("refused", "Is it legal?", "Yes"), Outcome: "JudgeRefused", Message: "the model declined", Rank: 2, Retrieved: found, Answer: told("Yes."),
			Values: []float64{0, 0.5, 1, 0.25, none, none, none, none}},
		{Case: asked("silent", "Is it fast?", "Yes"), Outcome: "AnswerTimeout", Message: "POST bot/answer: no answer within 60s", Rank: 1, Retrieved: found,
			Values: []float64{1, 1, 1, none, none, none, none, none}, AnswerLatency: time.Minute},
		{Case: &golden.Case{ID: "king", Digest: "dking", Question: "Who is the king?", History: []golden.Turn{{Role: "user", Content: "Hello"}}}, Outcome: eval.Scored, Answer: told("I do not know."),
			Values: []float64{none, none, none, none, none, 0, none, 1}, Verdict: &judge.Verdict{Correct: ptr.To(true), Grounded: true, Abstained: true, Reason: "it declines"}},
	}
	for i := range all {
		all[i].Called, all[i].Latency = true, 4*time.Millisecond
		if a := all[i].Answer; a != nil {
			all[i].AnswerLatency = a.Latency
		}
	}
	return all
}

// judgedResult sums the cases up, as eval does.
func judgedResult(cases []eval.CaseResult, objectives ...score.Objective) *eval.Result {
	scores := make([]score.CaseScore, len(cases))
	outcomes, scored := map[string]int{}, 0
	for i, c := range cases {
		outcomes[c.Outcome]++
		judged := c.Verdict != nil
		if c.Outcome == eval.Scored {
			scored++
		}
		scores[i] = score.CaseScore{
			Tags: c.Case.Tags, Failed: c.Outcome != eval.Scored, Values: c.Values,
			Retrieval: score.StageScore{Due: c.Case.Due(), Scored: c.Case.Due(), Timed: true, Seconds: c.Latency.Seconds()},
			Answer:    score.StageScore{Due: true, Scored: c.Answer != nil, Timed: true, Seconds: c.AnswerLatency.Seconds()},
			Judge:     score.StageScore{Due: c.Answer != nil, Scored: judged},
		}
	}
	summary := score.Summarize(judgedMetrics, scores)
	summary.Evidence = &score.Evidence{HitRight: 1, HitWrong: 1}
	return &eval.Result{
		Metrics: judgedMetrics, Summary: summary, Outcomes: outcomes, Total: len(cases), Done: len(cases), CorpusVersion: "c7",
		Decision: score.Decide(score.Facts{Spec: score.Spec{TopK: 10, K: []int{5, 10}, PrimaryK: 5, Answer: true, Judge: true, Relevance: true}, Summary: summary, Objectives: objectives, MinCoverage: 0.5, Scored: scored, Total: len(cases)}),
		Worst:    []eval.WorstCase{{ID: "refused", Rank: 2, Outcome: "JudgeRefused"}, {ID: "wrong", Rank: 1, Outcome: eval.Scored}},
		Usage:    judge.Usage{Calls: 6, PromptTokens: 4800, CompletionTokens: 360, CacheHits: 2},
	}
}

var judgedObjectives = []score.Objective{{Metric: score.Accuracy, Min: "0.8"}, {Metric: score.HallucinationRate, Max: "0.05", Tag: "howto"}}

// before is the same suite in better days, with a case that is gone since.
func before() *Document {
	cases := judgedCases()
	cases[1].Values = []float64{1, 1, 1, 0.75, 1, 0, 2, math.NaN()}
	cases[1].Verdict = &judge.Verdict{Correct: ptr.To(true), Grounded: true}
	cases[3].Values, cases[3].Rank = []float64{1, 1, 1, 0.25, 1, 0, math.NaN(), math.NaN()}, 1
	cases[3].Outcome, cases[3].Verdict = eval.Scored, &judge.Verdict{Correct: ptr.To(true), Grounded: true}
	cases[4].Values, cases[4].Rank = []float64{0, 0, 0, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}, 0
	gone := cases[0]
	gone.Case = &golden.Case{ID: "gone", Digest: "dgone", Question: "?", Relevant: cases[0].Case.Relevant, Answerable: true}
	cases = append(cases, gone)
	return Build(judgedMeta("before"), judgedResult(cases), cases)
}

// after is the run of judgedCases, compared with what was before.
func after() *Document {
	cases := judgedCases()
	r := judgedResult(cases, judgedObjectives...)
	r.Comparison = compare.Compare(before().Side(), Build(judgedMeta("after"), r, cases).Side(), compare.Options{Relative: []compare.Relative{{Metric: score.Accuracy, MaxDrop: "0.1"}}})
	return Build(judgedMeta("after"), r, cases)
}

func TestJudgedGoldenFiles(t *testing.T) {
	d := after()
	for name, write := range map[string]func(io.Writer) error{
		"judged.json":         func(w io.Writer) error { return WriteJSON(w, d) },
		"judged.xml":          func(w io.Writer) error { return WriteJUnit(w, d) },
		"judged.md":           func(w io.Writer) error { return WriteMarkdown(w, d) },
		"judged.txt":          func(w io.Writer) error { return WriteTable(w, d, TableOptions{}) },
		"judged-coloured.txt": func(w io.Writer) error { return WriteTable(w, d, TableOptions{Color: true}) },
	} {
		t.Run(name, func(t *testing.T) { check(t, name, render(t, write)) })
	}
}

func TestComparisonGoldenFiles(t *testing.T) {
	base, head := before(), after()
	other, judged, unknown := after(), after(), after()
	other.Settings.TopK = 3
	judged.Settings.Judge, judged.Settings.Unit = &judge.Identity{Provider: "Lexical", ParserVersion: 1}, "Document"
	unknown.Settings.Judge, unknown.Settings.BLEUTokenizer = nil, "Whitespace"
	stranger := after()
	stranger.Run.Name = "a\x1b[31m\u202estranger"
	for i := range stranger.Cases {
		stranger.Cases[i].Digest += "2"
	}
	many := after()
	for i := range 60 {
		tag := fmt.Sprintf("tag-%02d %s", i, strings.Repeat("태그", 30))
		for j := range many.Cases {
			many.Cases[j].Tags = append(many.Cases[j].Tags, tag)
		}
	}
	for name, test := range map[string]struct {
		head    *Document
		options TableOptions
		cases   int
	}{
		"comparison.txt":             {head, TableOptions{}, 0},
		"comparison-coloured.txt":    {head, TableOptions{Color: true}, 0},
		"comparison-one-case.txt":    {head, TableOptions{}, 1},
		"comparison-other-topk.txt":  {other, TableOptions{}, 0},
		"comparison-other-judge.txt": {judged, TableOptions{}, 0},
		"comparison-no-judge.txt":    {unknown, TableOptions{}, 0},
		"comparison-none.txt":        {stranger, TableOptions{}, 0},
		"comparison-many-tags.txt":   {many, TableOptions{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := CompareDocuments(base, test.head, compare.Options{MaxCases: test.cases})
			if err != nil {
				t.Fatal(err)
			}
			check(t, name, render(t, func(w io.Writer) error { return WriteComparison(w, c.Document(), test.options) }))
		})
	}
}

// A document that is read again is the same run to a comparison as the one that was
// written, and as the run itself.
func TestSide(t *testing.T) {
	d := after()
	read, err := Read(render(t, func(w io.Writer) error { return WriteJSON(w, d) }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Side(), read.Side()); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	side := d.Side()
	want := compare.Side{
		Run: "after", UID: "uid-after", Revision: "r-after", GoldenSetDigest: "sha256:60", EvaluationDigest: "e7",
		TopK: 10, Unit: "Chunk", Tokenizer: "Char", Judge: judgedMeta("").Settings.Judge.Fingerprint(), Total: 6,
	}
	cases := map[string]compare.Case{}
	for _, c := range side.Cases {
		cases[c.ID] = c
	}
	side.Cases = nil
	if diff := cmp.Diff(want, side); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	digest := eval.TextDigest("Refunds are paid within 14 days.")
	for id, want := range map[string]compare.Case{
		"wrong": {ID: "wrong", Digest: "dwrong", Tags: []string{"howto"}, Outcome: "Scored", Rank: 1, Retrieved: []string{"b"}, Relevant: []string{"b"}, Texts: []string{digest},
			Values: map[string]float64{"hit_rate@5": 1, "mrr": 1, "hit_rate@10": 1, "bleu": 0, "accuracy": 0, "hallucination_rate": 1, "context_relevance": 2, score.LatencyP95: 0.004, score.AnswerLatencyP95: 0.25}},
		// One that timed out counts with its limit.
		"silent": {ID: "silent", Digest: "dsilent", Tags: []string{}, Outcome: "AnswerTimeout", Rank: 1, Retrieved: []string{"b"}, Relevant: []string{"b"}, Texts: []string{digest},
			Values: map[string]float64{"hit_rate@5": 1, "mrr": 1, "hit_rate@10": 1, score.LatencyP95: 0.004, score.AnswerLatencyP95: 60}},
		// Retrieval is not due for it.
		"king": {ID: "king", Digest: "dking", Tags: []string{}, Outcome: "Scored", Retrieved: []string{},
			Values: map[string]float64{"hallucination_rate": 0, "abstention_accuracy": 1, score.LatencyP95: 0.004, score.AnswerLatencyP95: 0.25}},
	} {
		if diff := cmp.Diff(want, cases[id]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}

	bare := &Document{Cases: []Case{{ID: "a", Outcome: "AnswerHTTPError", AnswerLatencySeconds: ptr.To(0.01), LatencySeconds: ptr.To(0.0)}}}
	if values := bare.Side().Cases[0].Values; values == nil || len(values) != 0 {
		t.Errorf("a call that was refused says nothing of how long the work takes: %v", values)
	}
	// Retrieval is not due where the corpus has no answer, whatever ids stand there.
	bare.Cases[0].Answerable, bare.Cases[0].Relevant = ptr.To(false), []golden.Relevant{{ID: "b", Grade: 1}}
	if relevant := bare.Side().Cases[0].Relevant; relevant != nil {
		t.Errorf("a case without an answer in the corpus has the relevant ids %v", relevant)
	}
	if bare.Side().Judge != "" {
		t.Error("a run that nobody judged has a judge")
	}
}

func TestAPageIsNoRun(t *testing.T) {
	page := after()
	page.Next = "https://assay/api"
	for _, pair := range [][2]*Document{{page, after()}, {after(), page}} {
		if _, err := CompareDocuments(pair[0], pair[1], compare.Options{}); err == nil || !strings.Contains(err.Error(), "the document of run after is a page of it") {
			t.Errorf("got %v", err)
		}
	}
}

// What a service or a judge says must not reach the terminal as it is.
func TestComparisonsHaveNoControlCharacters(t *testing.T) {
	base, head := before(), after()
	for i := range head.Cases {
		evil := fmt.Sprintf("\x1b[31m%d\u202e\x07\n", i)
		head.Cases[i].ID, base.Cases[i].ID = evil, evil
		head.Cases[i].Digest, base.Cases[i].Digest = evil, evil
		head.Cases[i].Tags, head.Cases[i].Outcome = []string{evil}, evil
	}
	head.Run.Name, head.Run.Revision, head.Settings.Unit = "\x1b]0;x\x07", "\x1b[1m", "\x1b[2m"
	c, err := CompareDocuments(base, head, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := judgedResult(judgedCases())
	r.Comparison = c
	for name, write := range map[string]func(io.Writer) error{
		"comparison": func(w io.Writer) error { return WriteComparison(w, c.Document(), TableOptions{}) },
		"table":      func(w io.Writer) error { return WriteTable(w, Build(judgedMeta("x"), r, nil), TableOptions{}) },
		"markdown":   func(w io.Writer) error { return WriteMarkdown(w, Build(judgedMeta("x"), r, nil)) },
	} {
		if out := string(render(t, write)); strings.ContainsAny(out, "\x1b\x07\u202e") {
			t.Errorf("control characters in the %s:\n%q", name, out)
		}
	}
	if err := WriteComparison(&failingWriter{n: 10}, c.Document(), TableOptions{}); err == nil {
		t.Error("no error although the disk was full")
	}
}

func TestJUnitSaysWhoJudged(t *testing.T) {
	d := after()
	for name, want := range map[string]string{"judge": "OpenAI gpt-5-mini", "coverage.retrieval": "1", "coverage.answer": number(5.0 / 6), "coverage.judge": "0.8"} {
		found := false
		for _, p := range d.properties() {
			found = found || p == junitProperty{name, want}
		}
		if !found {
			t.Errorf("no property %s with %s in %v", name, want, d.properties())
		}
	}
	for _, p := range Build(meta(), result(), cases()).properties() {
		if p.Name == "judge" || p.Name == "coverage.answer" || p.Name == "coverage.judge" {
			t.Errorf("a run of retrieval alone has %v", p)
		}
	}
}

// FuzzComparison sets any document against a run: what is written is for a terminal
// and for a comment, whatever stands in it.
func FuzzComparison(f *testing.F) {
	var b strings.Builder
	if err := WriteJSON(&b, after()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	const evil = `\u001b[31m\u0007\u202e`
	f.Add(strings.ReplaceAll(`{"run": {"suite": "s", "name": "EVIL", "revision": "EVIL"}, "verdict": "EVIL", "settings": {"evaluationDigest": "e", "topK": 10, "unit": "EVIL", "bleuTokenizer": "EVIL", "judge": {"provider": "EVIL"}},
	  "cases": [{"id": "right", "digest": "dright", "rank": -1, "outcome": "EVIL", "tags": ["EVIL", ""], "metrics": {"accuracy": 1e308, "mrr": -1, "EVIL": 0}, "retrieved": [{"id": "EVIL"}]}]}`, "EVIL", evil))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Read([]byte(text))
		if err != nil || d.Next != "" || len(d.Cases) > 50 {
			return
		}
		tidy := func(write func(io.Writer) error) {
			var out strings.Builder
			if err := write(&out); err != nil || strings.ContainsAny(out.String(), "\x1b\x07\u202e") {
				t.Fatalf("%v in %q", err, out.String())
			}
		}
		for _, sides := range [][2]*Document{{before(), d}, {d, after()}} {
			c, err := CompareDocuments(sides[0], sides[1], compare.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tidy(func(w io.Writer) error { return WriteComparison(w, c.Document(), TableOptions{}) })
			own := after()
			own.Comparison = c.Document()
			tidy(func(w io.Writer) error { return WriteTable(w, own, TableOptions{}) })
			tidy(func(w io.Writer) error { return WriteMarkdown(w, own) })
			if err := WriteJSON(io.Discard, own); err != nil {
				t.Fatal(err)
			}
		}
	})
}
