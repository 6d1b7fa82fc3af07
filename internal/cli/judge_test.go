package cli

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/score"
)

// bot answers every question of tenYAML from the document behind it: the first
// five as it stands there, the others with something that stands nowhere.
type bot struct {
	*httptest.Server
	searches, answers, verdicts atomic.Int64
	// judgeStatus is what the judge's model answers with, where it is not 0.
	judgeStatus int
}

func newBot(t *testing.T) *bot {
	t.Helper()
	b := &bot{}
	mux := http.NewServeMux()
	mux.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
		b.searches.Add(1)
		n := number(r)
		_ = json.NewEncoder(w).Encode(map[string]any{"results": []any{map[string]any{"id": fmt.Sprint("doc", n), "text": fmt.Sprintf("The fee of plan %d is %d euros.", n, 10+n)}}})
	})
	mux.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
		b.answers.Add(1)
		answer := "Nobody knows tomorrow's weather."
		if n := number(r); n < 5 {
			answer = fmt.Sprintf("The fee of plan %d is %d euros.", n, 10+n)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"answer": answer})
	})
	mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		b.verdicts.Add(1)
		if b.judgeStatus != 0 {
			http.Error(w, `{"error": {"message": "no GPU"}}`, b.judgeStatus)
			return
		}
		_, _ = w.Write([]byte(`{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{\"reason\": \"r\", \"correct\": true, \"grounded\": true}"}}], "usage": {"prompt_tokens": 3000, "completion_tokens": 20}}`))
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	return b
}

// number is the plan that a request asks for.
func number(r *http.Request) (n int) {
	var asked struct{ Query, Question string }
	_ = json.NewDecoder(r.Body).Decode(&asked)
	_, _ = fmt.Sscanf(asked.Query+asked.Question, "How much is plan %d?", &n)
	return n
}

// tenYAML is a golden set with ten cases.
func tenYAML() string {
	var b strings.Builder
	b.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: golden}\ndata:\n  golden.yaml: |\n")
	for n := range 10 {
		fmt.Fprintf(&b, "    - {id: q%d, question: \"How much is plan %d?\", relevant: doc%d, reference_answer: The fee of plan %d is %d euros., tags: [%s]}\n", n, n, n, n, 10+n, []string{"fees", "prices"}[n%2])
	}
	return b.String()
}

const (
	lexical = "judge: {provider: Lexical, contextRelevance: true}"
	model   = "judge: {provider: OpenAI, model: gpt-5-mini, url: JUDGE/v1, maxRetries: 0}"
)

// suite writes the manifests of a suite over the bot with answers.
func (b *bot) suite(t *testing.T, more ...string) string {
	t.Helper()
	text := suiteYAML(b.URL, append([]string{"answer: {url: " + b.URL + "/answer}"}, more...)...) + tenYAML()
	return file(t, "suite.yaml", strings.ReplaceAll(text, "JUDGE", b.URL))
}

func TestRunWithAnswersAndJudge(t *testing.T) {
	b := newBot(t)
	path := b.suite(t, lexical, `objectives: [{metric: hit_rate@5, min: "0.9"}, {metric: accuracy, min: "0.9"}]`)
	got := assay(t, "", "run", "-f", path, "-o", "json")
	got.want(t, 1, `"provider": "Lexical"`, "docs-bot: Failed (ObjectivesMissed): accuracy is 0.5000 (over 10 cases), below min 0.9\n")
	d, err := report.Read([]byte(got.stdout))
	if err != nil {
		t.Fatal(err)
	}
	means := map[string]float64{}
	for _, m := range d.Metrics {
		if m.Tag == "" {
			means[m.Name] = m.Value
		}
	}
	want := map[string]float64{score.Accuracy: 0.5, score.HallucinationRate: 0.5, score.AbstentionRate: 0, "hit_rate@1": 1, score.ErrorRate: 0}
	for name, value := range want {
		if got, ok := means[name]; !ok || got != value {
			t.Errorf("%s is %v, %t; want %v", name, got, ok, value)
		}
	}
	if d.Evidence == nil || *d.Evidence != (report.Evidence{HitRight: 5, HitWrong: 5}) || d.Settings.BLEUTokenizer != "Whitespace" || d.Usage != nil {
		t.Errorf("evidence %+v, settings %+v, usage %+v", d.Evidence, d.Settings, d.Usage)
	}
	one := 1.0
	if diff := cmp.Diff(report.Coverage{Retrieval: &one, Answer: &one, Judge: &one}, d.Coverage); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
	c, yes := d.Cases[0], true
	if c.Answer == nil || *c.Answer != "The fee of plan 0 is 10 euros." || c.AnswerLatencySeconds == nil || c.Retrieved[0].Text != c.Contexts[0] || c.ReferenceAnswer == "" {
		t.Errorf("case q0 is %+v", c)
	}
	if diff := cmp.Diff(&judge.Verdict{Correct: &yes, Grounded: true}, c.Verdict, cmpopts.IgnoreFields(judge.Verdict{}, "Reason")); diff != "" || !strings.HasPrefix(c.Verdict.Reason, "lexical: ") {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if c.Relevance == nil || len(c.Relevance.Scores) != 1 || c.Metrics[score.ContextRelevance] != c.Relevance.Average {
		t.Errorf("relevance is %+v, metrics %v", c.Relevance, c.Metrics)
	}

	table := assay(t, "", "run", "-f", path)
	for _, line := range []string{
		"\naccuracy ", "\nhallucination_rate ", "\nTAG     HIT_RATE@5  MRR     ACCURACY  HALLUCINATION_RATE  ERROR_RATE  CASES\nfees    1.0000      1.0000  0.6000    0.4000              0.0000      5\n",
		"\nCOVERAGE  retrieval 1.0000, answer 1.0000, judge 1.0000\nEVIDENCE  found: 5 right, 5 wrong; not found: 0 right, 0 wrong\nJUDGE     Lexical\n",
	} {
		table.want(t, 1, line, "")
	}
	junit := assay(t, "", "run", "-f", path, "-o", "junit")
	junit.want(t, 1, `<failure type="Missed" message="accuracy is 0.5000`, "docs-bot: Failed")
	if err := xml.Unmarshal([]byte(junit.stdout), new(struct{})); err != nil {
		t.Error(err)
	}
	assay(t, "", "run", "-f", path, "-o", "markdown").want(t, 1, "| `accuracy` | 0.5000 |", "docs-bot: Failed")

	// What is not to be kept is not written either.
	quiet := assay(t, "", "run", "-f", b.suite(t, lexical, "history: {storeContent: false}"), "-o", "json")
	quiet.want(t, 2, `"verdict": {`, "docs-bot: Inconclusive (NoObjectives)")
	if strings.Contains(quiet.stdout, "weather") || strings.Contains(quiet.stdout, `"text"`) {
		t.Errorf("it holds texts:\n%.2000s", quiet.stdout)
	}
}

func TestRunUpToAStage(t *testing.T) {
	for name, test := range map[string]struct {
		flags    []string
		searches int64
		answers  int64
		verdicts int64
		code     int
		stdout   string
	}{
		"all":       {nil, 10, 10, 10, 0, "docs-bot: Passed"},
		"judge":     {[]string{"--up-to", "judge"}, 10, 10, 10, 0, "docs-bot: Passed"},
		"answer":    {[]string{"--up-to", "answer"}, 10, 10, 0, 2, "docs-bot: Inconclusive (MetricAbsent)"},
		"retrieval": {[]string{"--up-to", "retrieval"}, 10, 0, 0, 2, "docs-bot: Inconclusive (MetricAbsent)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBot(t)
			path := b.suite(t, model, `objectives: [{metric: hit_rate@5, min: "0.9"}, {metric: accuracy, min: "0.9"}]`)
			assay(t, "", append([]string{"run", "-f", path}, test.flags...)...).want(t, test.code, test.stdout, "")
			if got := [3]int64{b.searches.Load(), b.answers.Load(), b.verdicts.Load()}; got != [3]int64{test.searches, test.answers, test.verdicts} {
				t.Errorf("%v calls to retriever, answer service and judge", got)
			}
		})
	}
}

func TestPlanOfAnswersAndJudge(t *testing.T) {
	b := newBot(t)
	path := b.suite(t, model, "objectives: [{metric: accuracy, min: \"0.5\", maxDrop: \"0.2\"}]", "endpoints: [{name: canary, answerURL: http://canary/answer}, {name: lists, retrieverURL: http://canary/search}]")
	got := assay(t, "", "run", "-f", path, "--plan", "--endpoint", "canary")
	for _, line := range []string{
		"RETRIEVER   POST " + b.URL + "/search (endpoint canary)\nANSWER      http://canary/answer\nJUDGE       OpenAI gpt-5-mini\nGOLDEN SET  10 cases, 10 of them asked, 2 tags, sha256:",
		"CALLS       30 before retries, at most 1 at a time; roughly ", " tokens of the judge, less what it knows from earlier runs\n",
		"r_precision, bleu, accuracy, hallucination_rate, abstention_accuracy, abstention_rate\n", "OBJECTIVES  accuracy, min 0.5, maxDrop 0.2\n",
	} {
		got.want(t, 0, line, "")
	}
	var p plan
	if err := json.Unmarshal([]byte(assay(t, "", "run", "-f", path, "--plan", "-o", "json").stdout), &p); err != nil {
		t.Fatal(err)
	}
	if p.AnswerURL != b.URL+"/answer" || p.Calls != 30 || p.EstimatedTokens < 10_000 || p.Settings.Judge == nil || p.Settings.Judge.Model != "gpt-5-mini" {
		t.Errorf("the plan is %+v", p)
	}
	assay(t, "", "run", "-f", path, "--plan", "--endpoint", "lists").
		want(t, 0, "RETRIEVER   POST http://canary/search (endpoint lists)\nANSWER      "+b.URL+"/answer\n", "")
	// With answers, a case that retrieval is not due for is asked as well.
	none := file(t, "none.yaml", "- {id: a, question: \"Who is the king?\", answerable: false}\n")
	assay(t, "", "run", "-f", path, "--plan", "--golden", none).want(t, 0, "GOLDEN SET  1 case, 1 of them asked, ", "")
	assay(t, "", "run", "-f", path, "--plan", "--golden", none, "--up-to", "retrieval").want(t, 0, "GOLDEN SET  1 case, 0 of them asked, ", "")
	short := assay(t, "", "run", "-f", path, "--plan", "--up-to", "retrieval")
	short.want(t, 0, "CALLS       10 before retries, at most 1 at a time\n", "")
	if strings.Contains(short.stdout, "ANSWER  ") || strings.Contains(short.stdout, "JUDGE  ") {
		t.Errorf("a plan of retrieval alone has:\n%s", short.stdout)
	}
	own := file(t, "suite.yaml", strings.Replace(suiteYAML(b.URL, "answer: {url: "+b.URL+"/answer, results: 'response.found'}"), "    url: "+b.URL+"/search\n    maxRetries: 0\n", "    topK: 3\n", 1)+tenYAML())
	alone := assay(t, "", "run", "-f", own, "--plan")
	alone.want(t, 0, "ANSWER      "+b.URL+"/answer\n", "")
	if strings.Contains(alone.stdout, "RETRIEVER") {
		t.Errorf("a suite without a retriever has:\n%s", alone.stdout)
	}
	if b.searches.Load()+b.answers.Load()+b.verdicts.Load() != 0 {
		t.Error("somebody was called")
	}
}

// A run's verdicts become labels, and the same judge agrees with them to the last.
func TestLabelThenCalibrate(t *testing.T) {
	b := newBot(t)
	path := b.suite(t, lexical)
	result := assay(t, "", "run", "-f", path, "-o", "json").stdout
	labels := assay(t, "", "judge", "label", file(t, "result.json", result))
	labels.want(t, 0, `"question":"How much is plan 0?"`, "10 labels written, 0 cases without a verdict or without their texts left out\n")
	assay(t, result, "judge", "label", "-").want(t, 0, labels.stdout, "10 labels written")
	set, err := judge.ReadLabels(golden.File{Name: "labels.jsonl", Data: []byte(labels.stdout)})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := judge.Label{
		ID: "q0", Question: "How much is plan 0?", Reference: "The fee of plan 0 is 10 euros.", Contexts: []string{"The fee of plan 0 is 10 euros."},
		Answer: "The fee of plan 0 is 10 euros.", Answerable: true, Correct: &yes, Grounded: &yes,
	}
	if diff := cmp.Diff(want, set.Labels[0], cmpopts.IgnoreFields(judge.Label{}, "Reason")); diff != "" || len(set.Warnings) > 0 {
		t.Errorf("%v; the first label (-want +got):\n%s", set.Warnings, diff)
	}

	written := file(t, "labels.jsonl", labels.stdout)
	got := assay(t, "", "judge", "calibrate", "-f", path, "--labels", written)
	got.want(t, 0, `JUDGE   Lexical
LABELS  10

CORRECT        judge: yes     judge: no
people: yes             5             0
people: no              0             5
agreement 1.0000, kappa 1.0000

GROUNDED       judge: yes     judge: no
people: yes             5             0
people: no              0             5
agreement 1.0000, kappa 1.0000

Trusted: the judge agrees with people; `, "")

	// A person who takes three verdicts of either kind for the other.
	lines := strings.SplitAfter(labels.stdout, "\n")
	for _, i := range []int{0, 1, 2} {
		lines[i] = strings.Replace(lines[i], `"correct":true,"grounded":true`, `"correct":false,"grounded":false`, 1)
		lines[9-i] = strings.Replace(lines[9-i], `"correct":false,"grounded":false`, `"correct":true,"grounded":true`, 1)
	}
	corrected := strings.Join(lines, "")
	low := assay(t, "", "judge", "calibrate", "-f", b.suite(t, strings.Replace(lexical, "}", ", calibration: {configMapRef: {name: labels}, minKappa: \"0.9\"}}", 1)), "--labels", file(t, "l.jsonl", corrected), "-o", "json")
	var d calibrationDocument
	if err := json.Unmarshal([]byte(low.stdout), &d); err != nil {
		t.Fatal(err)
	}
	if low.code != 1 || d.Trust != judge.Untrusted || d.KappaCorrect == nil || fmt.Sprintf("%.2f", *d.KappaCorrect) != "-0.20" || d.Correct.FalsePositives != 3 || d.Grounded.FalseNegatives != 3 || d.Labels != 10 || d.Judge.Provider != "Lexical" || !strings.Contains(d.Message, "is below 0.90") {
		t.Errorf("exit code %d: %+v %+v", low.code, d, d.Calibration)
	}
}

func TestCalibrateExitsWithTheTrust(t *testing.T) {
	b := newBot(t)
	labels := func(right, wrong int) string {
		var text strings.Builder
		for i := range right + wrong {
			fmt.Fprintf(&text, `{"question": "q%d", "answer": "The fee is 3 percent.", "contexts": ["The fee is 3 percent."], "reference_answer": "The fee is 3 percent.", "correct": %t, "grounded": %t}`+"\n", i, i < right, i < right)
		}
		return file(t, "labels.jsonl", text.String())
	}
	const bound = ", calibration: {configMapRef: {name: labels}, minKappa: \"0.1\"}}"
	with := strings.Replace(lexical, "}", bound, 1)
	modelWith := strings.Replace(model, "}", bound, 1)
	inFiles := file(t, "labels.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: labels}\ndata:\n  labels.csv: |\n    question,answer,grounded\n    q,The fee is 3 percent.,true\n")
	for name, test := range map[string]struct {
		args           []string
		status         int
		code           int
		stdout, stderr string
	}{
		"no wrong label":      {[]string{"-f", b.suite(t, with), "--labels", labels(10, 0)}, 0, 2, "Unknown: too few labels tell", ""},
		"always yes":          {[]string{"-f", b.suite(t, with), "--labels", labels(5, 5)}, 0, 1, "agreement 0.5000, kappa 0.0000\n", ""},
		"always yes, a model": {[]string{"-f", b.suite(t, modelWith), "--labels", labels(5, 5)}, 0, 1, "JUDGE   OpenAI gpt-5-mini\nLABELS  10\n", ""},
		"no bound":            {[]string{"-f", b.suite(t, lexical), "--labels", labels(5, 5)}, 0, 0, "Trusted: ", ""},
		"the suite's own":     {[]string{"-f", b.suite(t, with), "-f", inFiles}, 0, 2, "LABELS  1\n\nCORRECT        judge: yes     judge: no\npeople: yes             0             0\npeople: no              0             0\nagreement none, kappa unknown\n", ""},
		"a judge that is down": {[]string{"-f", b.suite(t, modelWith), "--labels", labels(5, 0)}, http.StatusInternalServerError, 2,
			"\nJudgeHTTPError: 5 labels got no verdict\n", ""},
		"two sets":              {[]string{"-f", b.suite(t, lexical), "--labels", labels(5, 5), "--labels", file(t, "more.csv", "question,answer,grounded\nx,y,true\n")}, 0, 0, "LABELS  11\n", ""},
		"a warning of labels":   {[]string{"-f", b.suite(t, lexical), "--labels", file(t, "l.csv", "question,answer,grounded,colour\nx,y,true,red\n")}, 0, 2, "LABELS  1\n", "colour"},
		"no manifest":           {[]string{"--labels", labels(5, 5)}, 0, 3, "", "error: no manifest: give the suite's with -f FILE\n"},
		"a manifest without -f": {[]string{"suite.yaml"}, 0, 3, "", `takes no argument "suite.yaml"`},
		"a format":              {[]string{"-f", "x", "-o", "xml"}, 0, 3, "", `unknown output format "xml": use table or json`},
		"no judge":              {[]string{"-f", b.suite(t), "--labels", labels(5, 5)}, 0, 3, "", "docs-bot has no judge: add spec.judge"},
		"no labels":             {[]string{"-f", b.suite(t, lexical)}, 0, 3, "", "no labelled verdicts to hold the judge against: give --labels FILE"},
		"labels not given":      {[]string{"-f", b.suite(t, with)}, 0, 3, "", `ConfigMap "labels" is not in the files: add its manifest with -f`},
		"garbage":               {[]string{"-f", b.suite(t, lexical), "--labels", file(t, "l.jsonl", "\x00\xff{{{")}, 0, 3, "", "error: the labelled verdicts cannot be read: "},
		"no such file":          {[]string{"-f", b.suite(t, lexical), "--labels", filepath.Join(t.TempDir(), "none.jsonl")}, 0, 3, "", "error: reading the file of --labels: "},
		"from standard input":   {[]string{"-f", b.suite(t, lexical), "--labels", "-"}, 0, 3, "", "--labels -: standard input has no name"},
		"an ending of nobody":   {[]string{"-f", b.suite(t, lexical), "--labels", file(t, "labels.txt", "x")}, 0, 3, "", "labels.txt"},
		"bad manifests":         {[]string{"-f", file(t, "s.yaml", "kind: [")}, 0, 3, "", "s.yaml:1"},
		"beyond the budget":     {[]string{"-f", b.suite(t, strings.Replace(modelWith, "maxRetries: 0", "maxRetries: 0, maxCallsPerRun: 2", 1)), "--labels", labels(5, 5)}, 0, 3, "", "error: calibrating the judge: "},
	} {
		t.Run(name, func(t *testing.T) {
			b.judgeStatus = test.status
			assay(t, "", append([]string{"judge", "calibrate"}, test.args...)...).want(t, test.code, test.stdout, test.stderr)
		})
	}
}

func TestWhatHasNoLabels(t *testing.T) {
	s, b := newStub(t, found), newBot(t)
	retrieval := assay(t, "", "run", "-o", "json", "-f", file(t, "suite.yaml", suiteYAML(s.URL)+goldenYAML)).stdout
	silent := assay(t, "", "run", "-o", "json", "-f", b.suite(t, lexical, "history: {storeContent: false}")).stdout
	for name, test := range map[string]struct {
		args   []string
		stdin  string
		stderr string
	}{
		"no verdicts": {[]string{file(t, "r.json", retrieval)}, "", "has a verdict: the run needs spec.answer and spec.judge, and its texts (history.storeContent)"},
		"no texts":    {[]string{file(t, "r.json", silent)}, "", "history.storeContent"},
		"garbage":     {[]string{"-"}, "\x00{{", "error: -: this is no JSON"},
		"no document": {[]string{"-"}, "{}", "this is no run document"},
		"no file":     {[]string{filepath.Join(t.TempDir(), "none.json")}, "", "error: reading the run document: "},
		"nothing":     {nil, "", "accepts 1 arg(s), received 0"},
	} {
		t.Run(name, func(t *testing.T) {
			assay(t, test.stdin, append([]string{"judge", "label"}, test.args...)...).want(t, 3, "", test.stderr)
		})
	}
	// Cases without a verdict are left out, and counted.
	two := strings.Replace(assay(t, "", "run", "-o", "json", "-f", b.suite(t, lexical)).stdout, `"verdict": {`, `"judged": {`, 3)
	assay(t, two, "judge", "label", "-").want(t, 0, `"id":"q9"`, "7 labels written, 3 cases without a verdict or without their texts left out\n")
}
