package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// golden4 has a case that is answered right in each of two languages, one that is
// answered wrong, and one that has no answer.
var golden4 = configMap("golden", map[string]string{"golden.yaml": `
- {id: fee, question: "What is the fee?", relevant: fees, reference_answer: The fee is 3 percent., tags: english}
- {id: hours, question: "When are you open?", relevant: hours, reference_answer: From 9 to 18., tags: english}
- {id: king, question: "Who is the king?", answerable: false}
- {id: refund, question: "환불은 언제 되나요?", relevant: refunds, reference_answer: 환불은 14일 안에 됩니다.}
`})

// texts of the bot's documents, and its answers, by question.
var (
	botTexts = map[string][2]string{
		"What is the fee?":   {"fees", "The fee is 3 percent of the amount."},
		"When are you open?": {"hours", "We are open from 9 to 18."},
		"Who is the king?":   {"fees", "The fee is 3 percent of the amount."},
		"환불은 언제 되나요?":        {"refunds", "환불은 요청한 날부터 14일 안에 됩니다."},
	}
	botAnswers = map[string]string{
		"What is the fee?":   "The fee is 3 percent.",
		"When are you open?": "Day and night, on every day of the week.",
		"Who is the king?":   "I do not know.",
		"환불은 언제 되나요?":        "환불은 14일 안에 됩니다.",
	}
)

// bot is a retriever, an answer service and the models behind a judge.
type bot struct {
	*httptest.Server
	// fails replies in place of a path, where it is set.
	fails map[string]http.HandlerFunc
	// meets, where it is set, holds a request of the judge's up.
	meets func(*http.Request)

	// open holds how many connections are.
	open chan int

	mu     sync.Mutex
	calls  map[string]int
	header map[string]http.Header
	bodies map[string][]string
}

// The paths of a bot.
const (
	searchPath    = "/search"
	answerPath    = "/answer"
	openAIPath    = "/v1/chat/completions"
	anthropicPath = "/v1/messages"
)

func newBot(t *testing.T) *bot {
	t.Helper()
	b := &bot{fails: map[string]http.HandlerFunc{}, calls: map[string]int{}, header: map[string]http.Header{}, bodies: map[string][]string{}, open: make(chan int, 1)}
	b.open <- 0
	b.Server = httptest.NewUnstartedServer(b)
	b.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			b.open <- <-b.open + 1
		case http.StateClosed:
			b.open <- <-b.open - 1
		}
	}
	b.Start()
	t.Cleanup(b.Close)
	return b
}

func (b *bot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.calls[r.URL.Path]++
	b.header[r.URL.Path] = r.Header.Clone()
	b.bodies[r.URL.Path] = append(b.bodies[r.URL.Path], string(body))
	b.mu.Unlock()
	if fail := b.fails[r.URL.Path]; fail != nil {
		fail(w, r)
		return
	}
	if b.meets != nil && r.URL.Path == openAIPath {
		b.meets(r)
	}
	var asked struct{ Query, Question string }
	_ = json.Unmarshal(body, &asked)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Corpus", "c1")
	encode := json.NewEncoder(w)
	switch r.URL.Path {
	case searchPath:
		_ = encode.Encode(map[string]any{"results": results(asked.Query)})
	case answerPath:
		_ = encode.Encode(map[string]any{"answer": botAnswers[asked.Question], "found": results(asked.Question)})
	case openAIPath:
		_ = encode.Encode(map[string]any{
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": judged4(string(body))}}},
			"usage":   map[string]any{"prompt_tokens": 3000, "completion_tokens": 20},
		})
	case anthropicPath:
		_ = encode.Encode(map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
			"content": []any{map[string]any{"type": "text", "text": judged4(string(body))}},
			"usage":   map[string]any{"input_tokens": 3000, "output_tokens": 20},
		})
	default:
		http.NotFound(w, r)
	}
}

// results are what is relevant to the question, and one more.
func results(question string) []any {
	document := botTexts[question]
	return []any{
		map[string]any{"id": document[0], "text": document[1]},
		map[string]any{"id": "imprint", "text": "Bot Ltd, 1 Robot Road."},
	}
}

// judged4 is what the model says of a prompt.
func judged4(prompt string) string {
	switch {
	case strings.Contains(prompt, `"scores"`) || strings.Contains(prompt, `\"scores\"`):
		return `{"scores": [5, 1], "reasoning": "the first tells"}`
	case strings.Contains(prompt, "Day and night"):
		return `{"reason": "it is open from 9 to 18", "correct": false, "grounded": false, "abstained": false}`
	case strings.Contains(prompt, "I do not know"):
		return `{"reason": "it declines", "correct": false, "grounded": true, "abstained": true}`
	}
	return `{"reason": "so it stands there", "correct": true, "grounded": true, "abstained": false}`
}

// count says how often a path was asked.
func (b *bot) count(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[path]
}

func (b *bot) total() (n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, calls := range b.calls {
		n += int64(calls)
	}
	return n
}

// answering is a suite over the bot with answers; patches follow, SERVER standing
// for the bot's URL in them.
func (b *bot) answering(t *testing.T, patches ...string) *v1alpha1.EvalSuite {
	t.Helper()
	all := slices.Concat([]string{`{retriever: {url: "SERVER/search"}, answer: {url: "SERVER/answer"}, execution: {parallelism: 2}}`}, patches)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "SERVER", b.URL)
	}
	return suiteOf(t, all...)
}

const (
	byOpenAI    = `{judge: {provider: OpenAI, model: gpt-5-mini, url: "SERVER/v1", apiKeySecretRef: {name: keys, key: judge}, maxRetries: 0}}`
	byAnthropic = `{judge: {provider: Anthropic, model: claude-sonnet-4-5, url: "SERVER", apiKeySecretRef: {name: keys, key: judge}, maxRetries: 0}}`
	byLexical   = `{judge: {provider: Lexical}}`
	relevance   = `{judge: {contextRelevance: true}}`
)

// keys has a credential for every service.
var keys = secret("keys", map[string]string{"judge": "sk-hush-judge", "answer": "hush-answer", "retriever": "hush-retriever"})

func namespace4(more ...*corev1.ConfigMap) *objects {
	return &objects{configMaps: append([]*corev1.ConfigMap{golden4}, more...), secrets: []*corev1.Secret{keys}}
}

// run prepares a run of the suite and carries it out.
func run(t *testing.T, s *v1alpha1.EvalSuite, o RunOptions, src Source, d Deps) (*Prepared, *eval.Result, []eval.CaseResult) {
	t.Helper()
	p, err := Prepare(t.Context(), s, o, src, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Plan.KeepText = true
	var cases []eval.CaseResult
	result := eval.Run(t.Context(), p.Plan, p.Parties, func(c eval.CaseResult) { cases = append(cases, c) })
	return p, result, cases
}

// means gives the metrics over all cases, without those of the clock.
func means(r *eval.Result, names ...string) map[string]string {
	got := map[string]string{}
	for _, m := range r.Summary.Means {
		if m.Tag == "" && (len(names) == 0 || slices.Contains(names, m.Name)) {
			got[m.Name] = fmt.Sprintf("%s/%d", score.Format(m.Value), m.Count)
		}
	}
	return got
}

var judgedMetrics = []string{score.Accuracy, score.HallucinationRate, score.ContextRelevance, score.AbstentionAccuracy, score.AbstentionRate}

// Every judge, through the vendor's own client where it has one, gives each of the
// judged metrics over the cases that it is due for.
func TestARunThroughAllStages(t *testing.T) {
	for name, test := range map[string]struct {
		judge, path string
		want        map[string]string
		usage       judge.Usage
	}{
		"OpenAI": {byOpenAI, openAIPath,
			map[string]string{"accuracy": "0.6667/3", "hallucination_rate": "0.2500/4", "context_relevance": "3.0000/4", "abstention_accuracy": "1.0000/1", "abstention_rate": "0.0000/3"},
			judge.Usage{Calls: 8, PromptTokens: 24000, CompletionTokens: 160}},
		"Anthropic": {byAnthropic, anthropicPath,
			map[string]string{"accuracy": "0.6667/3", "hallucination_rate": "0.2500/4", "context_relevance": "3.0000/4", "abstention_accuracy": "1.0000/1", "abstention_rate": "0.0000/3"},
			judge.Usage{Calls: 8, PromptTokens: 24000, CompletionTokens: 160}},
		"Lexical": {byLexical, "",
			map[string]string{"accuracy": "0.6667/3", "hallucination_rate": "0.2500/4", "context_relevance": "2.2500/4", "abstention_accuracy": "1.0000/1", "abstention_rate": "0.0000/3"},
			judge.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBot(t)
			var mu sync.Mutex
			observed := map[string]int{}
			s := b.answering(t, test.judge, relevance)
			p, result, cases := run(t, s, RunOptions{}, namespace4(), Deps{Observe: func(stage, outcome string, _ float64) {
				mu.Lock()
				defer mu.Unlock()
				observed[stage+" "+outcome]++
			}})
			if diff := cmp.Diff(test.want, means(result, judgedMetrics...)); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&score.Evidence{HitRight: 2, HitWrong: 1}, result.Summary.Evidence); diff != "" {
				t.Errorf("evidence (-want +got):\n%s", diff)
			}
			if result.Done != 4 || result.Errored != 0 || len(cases) != 4 {
				t.Errorf("%d cases done, %d failed: %v", result.Done, result.Errored, result.Outcomes)
			}
			if result.Usage != test.usage {
				t.Errorf("usage is %+v, want %+v", result.Usage, test.usage)
			}
			want := map[string]int{"retrieval OK": 4, "answer OK": 4}
			if test.path != "" {
				want["judge OK"] = 8
			}
			if diff := cmp.Diff(want, observed); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if got := b.total(); got != p.Cost.Calls {
				t.Errorf("%d calls were made, and %d were said", got, p.Cost.Calls)
			}
			if got := b.header[test.path].Get("Authorization"); test.path != "" && got != "Bearer sk-hush-judge" {
				t.Errorf("the judge got the Authorization %q", got)
			}
			d := report.Build(p.Meta(s, "uid", "local", v1alpha1.TriggerManual), result, cases)
			if d.Settings.Judge == nil || d.Settings.Judge.Provider != name || d.Settings.BLEUTokenizer != "Whitespace" {
				t.Errorf("settings are %+v, judge %+v", d.Settings, d.Settings.Judge)
			}
			// A stored run and one that goes must be seen to have the same judge.
			if got := d.Side().Judge; got == "" || got != p.Plan.Head.Judge {
				t.Errorf("the run's judge is %q, its document's %q", p.Plan.Head.Judge, got)
			}
		})
	}
}

func TestWhatTheAnswerServiceAndTheJudgeAreSent(t *testing.T) {
	b := newBot(t)
	prompt := configMap("prompt", map[string]string{"system.txt": "You are strict. 엄격하게."})
	s := b.answering(t, byOpenAI, `{
	  answer: {contexts: 1, params: {mode: short}, request: '{"question": question, "contexts": contexts, "mode": params.mode}', headers: [{name: X-Key, valueFrom: {secretKeyRef: {name: keys, key: answer}}}]},
	  judge: {promptRef: {name: prompt}, maxOutputTokens: 77, temperature: "0.5", extraBody: {reasoning_effort: low}, headers: [{name: X-Team, value: docs}]}}`)
	_, result, _ := run(t, s, RunOptions{Tags: []string{"english"}}, namespace4(prompt), Deps{})
	if result.Errored > 0 {
		t.Fatal(result.Outcomes)
	}
	if got := b.header[answerPath].Get("X-Key"); got != "hush-answer" {
		t.Errorf("the answer service got X-Key %q", got)
	}
	var asked map[string]any
	if err := json.Unmarshal([]byte(b.bodies[answerPath][0]), &asked); err != nil {
		t.Fatal(err)
	}
	question := asked["question"].(string)
	if diff := cmp.Diff(map[string]any{"question": question, "contexts": []any{botTexts[question][1]}, "mode": "short"}, asked); diff != "" {
		t.Errorf("the answer service was sent (-want +got):\n%s", diff)
	}
	var sent struct {
		Model           string
		Temperature     float64
		MaxTokens       int    `json:"max_tokens"`
		ReasoningEffort string `json:"reasoning_effort"`
		Messages        []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(b.bodies[openAIPath][0]), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Model != "gpt-5-mini" || sent.Temperature != 0.5 || sent.MaxTokens != 77 || sent.ReasoningEffort != "low" || b.header[openAIPath].Get("X-Team") != "docs" {
		t.Errorf("the judge was sent %+v", sent)
	}
	if !strings.Contains(sent.Messages[0].Content, "You are strict. 엄격하게.") || strings.Contains(sent.Messages[1].Content, "Robot Road") {
		t.Errorf("the judge's instructions or contexts are others: %+v", sent.Messages)
	}
}

// selfRetrieving leaves retrieval to the answer service.
const selfRetrieving = `{retriever: {url: null}, answer: {results: 'response.found', corpusVersion: 'headers["x-corpus"]'}}`

func TestAnAnswerServiceThatRetrievesByItself(t *testing.T) {
	b := newBot(t)
	s := b.answering(t, selfRetrieving, byLexical, `{retriever: {topK: 1, warmupRequests: 2}}`)
	p, result, _ := run(t, s, RunOptions{}, namespace4(), Deps{})
	if p.Parties.Retriever != nil || b.count(searchPath) != 0 || b.count(answerPath) != 6 {
		t.Errorf("%d calls to a retriever, %d to the answer service", b.count(searchPath), b.count(answerPath))
	}
	if got := b.total(); got != p.Cost.Calls {
		t.Errorf("%d calls were made, and %d were said", got, p.Cost.Calls)
	}
	want := map[string]string{"hit_rate@1": "1.0000/3", "accuracy": "0.6667/3"}
	if diff := cmp.Diff(want, means(result, "hit_rate@1", "accuracy")); diff != "" || result.CorpusVersion != "c1" {
		t.Errorf("of corpus %s: %s", result.CorpusVersion, diff)
	}
	asks, answers := p.URLs()
	if asks != "" || answers != b.URL+"/answer" {
		t.Errorf("it asks %q and %q", asks, answers)
	}

	// Without the stages that follow, answers are what the list comes with.
	p, result, _ = run(t, s, RunOptions{Stages: []v1alpha1.Stage{v1alpha1.StageRetrieval}}, namespace4(), Deps{})
	if diff := cmp.Diff(map[string]string{"hit_rate@1": "1.0000/3"}, means(result, "hit_rate@1", "accuracy")); diff != "" || p.Parties.Judge != nil || p.Full {
		t.Errorf("retrieval alone, full is %t: %s", p.Full, diff)
	}
}

func TestStages(t *testing.T) {
	stages := []v1alpha1.Stage{v1alpha1.StageRetrieval, v1alpha1.StageAnswer, v1alpha1.StageJudge}
	b := newBot(t)
	s := b.answering(t, byOpenAI, `{answer: {auth: {bearerTokenSecretRef: {name: keys, key: answer}}}, judge: {contextRelevance: true}, scoring: {bleuTokenizer: Char}}`)
	for n, test := range map[int]struct {
		columns      []string
		tokenizer    string
		calls        int64
		reads        []string
		answers      bool
		judge, whole bool
	}{
		0: {append([]string{"bleu"}, judgedMetrics...), "Char", 16, []string{"keys"}, true, true, true},
		1: {nil, "", 3, nil, false, false, false},
		2: {[]string{"bleu"}, "Char", 8, []string{"keys"}, true, false, false},
		3: {append([]string{"bleu"}, judgedMetrics...), "Char", 16, []string{"keys"}, true, true, false},
	} {
		t.Run(fmt.Sprint(stages[:n]), func(t *testing.T) {
			src := namespace4()
			p, err := Prepare(t.Context(), s, RunOptions{Stages: stages[:n]}, src, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			scorer, err := score.NewScorer(p.Plan.Score)
			if err != nil {
				t.Fatal(err)
			}
			var columns []string
			for _, m := range scorer.Metrics() {
				if m.Stage != score.RetrievalStage {
					columns = append(columns, m.Name)
				}
			}
			if diff := cmp.Diff(test.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			if got := p.Meta(s, "", "", "").Settings; got.BLEUTokenizer != test.tokenizer || (got.Judge != nil) != test.judge || p.Plan.Head.Tokenizer != test.tokenizer || (p.Plan.Head.Judge != "") != test.judge {
				t.Errorf("settings are %+v, judge %+v; of the comparison %q, %q", got, got.Judge, p.Plan.Head.Tokenizer, p.Plan.Head.Judge)
			}
			if (p.Parties.Answerer != nil) != test.answers || (p.Parties.Judge != nil) != test.judge || p.Full != test.whole || p.Cost.Calls != test.calls {
				t.Errorf("answers %t, judge %t, full %t, %d calls", p.Parties.Answerer != nil, p.Parties.Judge != nil, p.Full, p.Cost.Calls)
			}
			if _, answers := p.URLs(); (answers != "") != test.answers {
				t.Errorf("answers from %q", answers)
			}
			// What the run asks nobody with need not be there.
			if diff := cmp.Diff(append([]string{"golden"}, test.reads...), src.reads); diff != "" {
				t.Errorf("it reads (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEndpointOfTheAnswerService(t *testing.T) {
	own, canary := newBot(t), newBot(t)
	s := own.answering(t, byLexical, `{endpoints: [{name: answers, answerURL: "`+canary.URL+`/answer"}, {name: lists, retrieverURL: "`+canary.URL+`/search"}]}`)
	for endpoint, want := range map[string][4]int{"": {4, 4, 0, 0}, "answers": {4, 0, 0, 4}, "lists": {0, 4, 4, 0}} {
		before := [4]int{own.count(searchPath), own.count(answerPath), canary.count(searchPath), canary.count(answerPath)}
		p, result, _ := run(t, s, RunOptions{Endpoint: endpoint}, namespace4(), Deps{})
		after := [4]int{own.count(searchPath), own.count(answerPath), canary.count(searchPath), canary.count(answerPath)}
		for i := range after {
			after[i] -= before[i]
		}
		if after != want || result.Errored > 0 || p.EvaluationDigest != DigestOf(t.Context(), s, endpoint, namespace4()) {
			t.Errorf("endpoint %q: asked %v, want %v; %v", endpoint, after, want, result.Outcomes)
		}
	}
}

// A judge that is down takes nothing away from what retrieval is worth.
func TestAJudgeThatIsDown(t *testing.T) {
	b := newBot(t)
	b.fails[openAIPath] = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no GPU", http.StatusInternalServerError) }
	for name, test := range map[string]struct {
		objectives string
		verdict    score.Verdict
		reason     string
	}{
		"retrieval is met":    {`{objectives: [{metric: hit_rate@5, min: "0.9"}, {metric: accuracy, min: "0.9"}]}`, score.Inconclusive, score.ReasonCoverageTooLow},
		"retrieval is missed": {`{objectives: [{metric: precision@5, min: "0.9"}, {metric: accuracy, min: "0.9"}]}`, score.Failed, score.ReasonObjectivesMissed},
		"retrieval alone":     {`{objectives: [{metric: hit_rate@5, min: "0.9"}]}`, score.Passed, score.ReasonObjectivesMet},
	} {
		_, result, _ := run(t, b.answering(t, byOpenAI, test.objectives), RunOptions{}, namespace4(), Deps{})
		if d := result.Decision; d.Verdict != test.verdict || d.Reason != test.reason {
			t.Errorf("%s: %s (%s): %s", name, d.Verdict, d.Reason, d.Message)
		}
		if diff := cmp.Diff(map[string]int{string(judge.HTTPError): 4}, result.Outcomes); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTheBudgetOfARun(t *testing.T) {
	for name, budget := range map[string]string{"calls": `{judge: {maxCallsPerRun: 1}}`, "tokens": `{judge: {maxTokensPerRun: 1}}`} {
		b := newBot(t)
		p, result, _ := run(t, b.answering(t, byOpenAI, budget, `{execution: {parallelism: 1}}`), RunOptions{}, namespace4(), Deps{})
		if d := result.Decision; d.Verdict != score.Inconclusive || d.Reason != string(judge.BudgetExceeded) || b.count(openAIPath) != 1 || p.Budget == nil {
			t.Errorf("%s: %d calls, then %s (%s): %s", name, b.count(openAIPath), d.Verdict, d.Reason, d.Message)
		}
	}
}

// verdicts is a judge's cache.
type verdicts struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (v *verdicts) Get(_ context.Context, key string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.kept[key], nil
}

func (v *verdicts) Put(_ context.Context, key string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept[key] = value
	return nil
}

func TestVerdictsAreKeptForTheNamespace(t *testing.T) {
	b := newBot(t)
	d := Deps{Verdicts: &verdicts{kept: map[string][]byte{}}}
	s := b.answering(t, byOpenAI)
	for i, want := range []judge.Usage{{Calls: 4, PromptTokens: 12000, CompletionTokens: 80}, {CacheHits: 4}} {
		if _, result, _ := run(t, s, RunOptions{}, namespace4(), d); result.Usage != want {
			t.Errorf("run %d costs %+v, want %+v", i+1, result.Usage, want)
		}
	}
	s.Namespace = "other"
	if _, result, _ := run(t, s, RunOptions{}, namespace4(), d); result.Usage.CacheHits != 0 {
		t.Errorf("another namespace was told %d verdicts", result.Usage.CacheHits)
	}
}

// Nobody keeps a connection of a run that has ended.
func TestCloseLetsGoOfEveryConnection(t *testing.T) {
	for name, judge := range map[string]string{"OpenAI": byOpenAI, "Anthropic": byAnthropic} {
		b := newBot(t)
		p, result, _ := run(t, b.answering(t, judge), RunOptions{}, namespace4(), Deps{})
		if n := <-b.open; n < 3 || result.Errored > 0 {
			t.Errorf("%s: %d connections after the run, %v", name, n, result.Outcomes)
		} else {
			b.open <- n
		}
		p.Close()
		// The server hears of it a moment later.
		deadline := time.After(time.Minute)
		for n := 1; n > 0; {
			select {
			case n = <-b.open:
				b.open <- n
				runtime.Gosched()
			case <-deadline:
				t.Fatalf("%s: %d connections are still open", name, n)
			}
		}
	}
}

// Every service is asked within the rates that the runs of a namespace share.
func TestBoundsHoldForEveryService(t *testing.T) {
	b := newBot(t)
	where := &golden.Case{ID: "fee", Question: "What is the fee?"}
	grade := func(ctx context.Context, p *Prepared) error {
		_, _, err := p.Parties.Judge.Grade(ctx, judge.Input{Question: "q", Contexts: []string{"c"}, Answer: "a", Answerable: true})
		return err
	}
	for name, test := range map[string]struct {
		field, judge string
		ask          func(ctx context.Context, p *Prepared) error
	}{
		"retriever": {"retriever", byLexical, func(ctx context.Context, p *Prepared) error {
			_, err := p.Parties.Retriever.Retrieve(ctx, where, 1)
			return err
		}},
		"answer service": {"answer", byLexical, func(ctx context.Context, p *Prepared) error {
			_, err := p.Parties.Answerer.Answer(ctx, where, 1, nil)
			return err
		}},
		"OpenAI":    {"judge", byOpenAI, grade},
		"Anthropic": {"judge", byAnthropic, grade},
	} {
		t.Run(name, func(t *testing.T) {
			s := b.answering(t, test.judge, `{`+test.field+`: {maxRetries: 0, requestsPerSecond: 1}}`)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ask := func(d Deps) error {
				p, err := Prepare(ctx, s, RunOptions{}, namespace4(), d)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				return test.ask(ctx, p)
			}
			if err := ask(Deps{}); err != nil {
				t.Errorf("without bounds: %v", err)
			}
			limits := retriever.NewLimits()
			limiter, start := limits.For("rag", b.URL, 1), time.Now()
			before := limiter.TokensAt(start)
			if err := ask(Deps{Limits: limits}); err != nil || limiter.TokensAt(start) > before-0.5 {
				t.Errorf("it took no part in the rate (%v)", err)
			}
		})
	}
}
