package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/gate"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/history"
	"github.com/assay-dev/assay/internal/judge"
)

// memory is a history in memory; a cursor is c and the index of what comes next.
type memory struct {
	mu    sync.Mutex
	err   error
	runs  []history.Run // newest first
	cases map[string][]history.Case
	asked []history.CaseQuery
	// compared is called before cases are handed to a comparison.
	compared func(context.Context) error
}

func (m *memory) Run(_ context.Context, uid string) (history.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.UID == uid && m.err == nil {
			return run, nil
		}
	}
	if m.err != nil {
		return history.Run{}, m.err
	}
	return history.Run{}, fmt.Errorf("run %s: %w", uid, history.ErrNotFound)
}

func (m *memory) Cases(_ context.Context, uid string, q history.CaseQuery) (history.CasePage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, q)
	var found []history.Case
	for _, c := range m.cases[uid] {
		if (q.Tag == "" || strings.Contains(strings.Join(c.Tags, ","), q.Tag)) && (q.Outcome == "" || c.Outcome == q.Outcome) {
			found = append(found, c)
		}
	}
	page, next, err := cut(found, q.After, q.Limit)
	return history.CasePage{Cases: page, Next: next}, err
}

func (m *memory) Runs(_ context.Context, namespace, suite string, q history.RunQuery) (history.RunPage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return history.RunPage{}, m.err
	}
	var found []history.Run
	for _, run := range m.runs {
		if run.Namespace == namespace && run.Suite == suite {
			found = append(found, run)
		}
	}
	page, next, err := cut(found, q.Before, q.Limit)
	return history.RunPage{Runs: page, Next: next}, err
}

func (m *memory) CompareCases(ctx context.Context, uid string, f func(history.CompareCase) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.compared != nil {
		if err := m.compared(ctx); err != nil {
			return err
		}
	}
	for _, c := range m.cases[uid] {
		out := history.CompareCase{
			ID: c.ID, Digest: c.Digest, Tags: c.Tags, Outcome: c.Outcome, Rank: c.Rank, Called: c.Called, LatencySeconds: c.LatencySeconds,
			AnswerSeconds: c.AnswerSeconds, Metrics: c.Metrics,
		}
		for _, r := range c.Retrieved {
			out.Retrieved = append(out.Retrieved, r.ID)
		}
		if err := f(out); err != nil {
			return err
		}
	}
	return nil
}

func cut[T any](all []T, cursor string, limit int) ([]T, string, error) {
	from := 0
	if cursor != "" {
		var err error
		if from, err = strconv.Atoi(strings.TrimPrefix(cursor, "c")); err != nil || !strings.HasPrefix(cursor, "c") {
			return nil, "", fmt.Errorf("page: %w", &history.BadCursorError{})
		}
	}
	from = min(from, len(all))
	to := min(from+limit, len(all))
	if to == len(all) {
		return all[from:], "", nil
	}
	return all[from:to], "c" + strconv.Itoa(to), nil
}

// cluster is the objects of a cluster in memory.
type cluster struct {
	mu      sync.Mutex
	err     error
	refuse  error
	suites  map[string]*v1alpha1.EvalSuite
	runs    map[string]*v1alpha1.EvalRun
	started []Ask
	finds   int
	onFind  func(count int)
}

func (c *cluster) Suite(_ context.Context, namespace, name string) (*v1alpha1.EvalSuite, error) {
	if c.err != nil {
		return nil, c.err
	}
	if s := c.suites[namespace+"/"+name]; s != nil {
		return s, nil
	}
	return nil, ErrNotFound
}

func (c *cluster) Start(_ context.Context, s *v1alpha1.EvalSuite, ask Ask) (*v1alpha1.EvalRun, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return nil, c.refuse
	}
	c.started = append(c.started, ask)
	run := newRun(s, ask)
	run.Name, run.UID = run.GenerateName+"x7k2p", types.UID(newID)
	c.runs[newID] = run
	return run.DeepCopy(), nil
}

func (c *cluster) Find(_ context.Context, uid string) (*v1alpha1.EvalRun, error) {
	c.mu.Lock()
	c.finds++
	onFind, count := c.onFind, c.finds
	c.mu.Unlock()
	if onFind != nil {
		onFind(count)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if run := c.runs[uid]; run != nil {
		return run.DeepCopy(), nil
	}
	return nil, ErrNotFound
}

// gates answers gates, and keeps what it was asked.
type gates struct {
	err       error
	answer    gate.Answer
	questions []string
}

func (g *gates) Ask(_ context.Context, namespace, suite string, q gate.Question) (gate.Answer, error) {
	g.questions = append(g.questions, fmt.Sprintf("%s/%s %q %q", namespace, suite, q.Endpoint, q.Revision))
	return g.answer, g.err
}

// rights are users by token, and what they may do: "verb resource namespace/name".
type rights struct {
	err   error
	users map[string]string
	may   map[string][]string
}

func (a *rights) Authenticate(_ context.Context, token string) (Caller, error) {
	if a.err != nil {
		return Caller{}, a.err
	}
	name, known := a.users[token]
	if !known {
		return Caller{}, ErrUnauthenticated
	}
	return callerNamed(name), nil
}

func callerNamed(name string) Caller {
	return Caller{User: authenticationv1.UserInfo{Username: name}}
}

func (a *rights) May(_ context.Context, caller Caller, verb, resource, namespace, name string) (bool, error) {
	for _, right := range a.may[caller.User.Username] {
		if right == "*" || right == verb+" "+resource+" "+namespace+"/"+name {
			return true, nil
		}
		if right == "outage" {
			return false, errOutage
		}
	}
	return false, nil
}

// passed is what the gate says of docs-bot.
var passed = gate.Answer{Verdict: gate.Pass, Reason: gate.ReasonPassed, Message: "run docs-bot-9: all met", Revision: "r9", Run: "docs-bot-9", EvaluatedAt: monday.Add(time.Hour)}

const (
	doneID   = "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b11"
	openID   = "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b12"
	oldID    = "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b10"
	queuedID = "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b13"
	newID    = "3f1e7a52-0c1b-4d55-9a55-0d3f5f3c2b14"
	noID     = "00000000-0000-4000-8000-000000000000"
)

var (
	errOutage = fmt.Errorf("dial tcp 192.0.2.1:6443: connection refused")
	monday    = time.Date(2026, 3, 2, 4, 0, 0, 0, time.UTC)
)

// world is everything behind the API, and the API.
type world struct {
	*memory
	*cluster
	*rights
	*gates
	handler http.Handler
	logged  *strings.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	suite := &v1alpha1.EvalSuite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "rag", Name: "docs-bot", UID: "suite-uid", Generation: 2},
		Spec:       v1alpha1.EvalSuiteSpec{Endpoints: []v1alpha1.Endpoint{{Name: "canary"}, {Name: "preview"}}, Answer: &v1alpha1.Answer{}},
		Status: v1alpha1.EvalSuiteStatus{Results: []v1alpha1.Result{
			{Run: "docs-bot-8", HitRate: "0.1000", MRR: "0.1000"},
			{Run: "docs-bot-9", HitRate: "0.9167", MRR: "0.7330", Accuracy: "0.8000"},
		}},
	}
	inRun := suite.DeepCopy()
	inRun.Namespace = "run"
	w := &world{
		memory: &memory{runs: storedRuns(), cases: map[string][]history.Case{doneID: storedCases(), openID: storedCases()[:1]}},
		cluster: &cluster{
			suites: map[string]*v1alpha1.EvalSuite{"rag/docs-bot": suite, "run/docs-bot": inRun, "rag/idle": {ObjectMeta: metav1.ObjectMeta{Namespace: "rag", Name: "idle"}}},
			runs:   map[string]*v1alpha1.EvalRun{queuedID: queuedRun(), openID: openRun()},
		},
		rights: &rights{
			users: map[string]string{"all": "admin", "read": "reader", "none": "nobody", "create": "creator", "broken": "unlucky"},
			may: map[string][]string{
				"admin":   {"*"},
				"reader":  {"get evalsuites rag/docs-bot", "get evalsuites rag/absent", "get evalsuites rag/idle"},
				"creator": {"create evalruns rag/"},
				"unlucky": {"outage"},
			},
		},
		logged: &strings.Builder{},
	}
	w.gates = &gates{answer: passed}
	log := funcr.New(func(_, args string) { w.logged.WriteString(args + "\n") }, funcr.Options{})
	w.handler = w.with(log)
	return w
}

func (w *world) with(log logr.Logger) http.Handler {
	return New(w.options(log))
}

func (w *world) options(log logr.Logger) Options {
	return Options{History: w.memory, Runs: w.cluster, Access: w.rights, Gate: w.gates, Log: log}
}

// call makes a call as the user of a token, and checks it and its answer
// against /openapi.json.
func (w *world) call(t *testing.T, method, target, token, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	var r *http.Request
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r = httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r = r.WithContext(t.Context())
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	conforms(t, r, recorder.Result(), recorder.Body.Bytes())
	return recorder
}

// Parts of a run's document, with every field.
const (
	storedTarget   = `{"kind":"Deployment","name":"docs-bot","templateHash":"7d9f6c","images":["bot:1"],"imageIDs":["bot@sha256:i"]}`
	storedMetric   = `{"name":"hit_rate@5","tag":"","value":0.6666666666666666,"count":3,"low":0.2,"high":0.9,"baseline":1,"delta":-0.33,"deltaLow":-0.5,"deltaHigh":0.1,"pValue":0.5,"smallestDrop":0.9,"referenceDelta":0.1}`
	storedSettings = `{"topK":5,"unit":"Chunk","primaryK":5,"evaluationDigest":"sha256:e1","bleuTokenizer":"Char",` +
		`"judge":{"provider":"OpenAI","model":"m","url":"http://judge/v1","parameters":"{}","promptDigest":"p","parserVersion":1}}`
	storedComparison = `{"base":{"name":"docs-bot-1","uid":"u1","revision":"r1","goldenSetDigest":"sha256:g1","evaluationDigest":"sha256:e1","topK":5,"unit":"Chunk","tokenizer":"Char"},` +
		`"head":{"name":"docs-bot-2","uid":"u2","revision":"r2","goldenSetDigest":"sha256:g2","evaluationDigest":"sha256:e1","topK":5,"unit":"Chunk","tokenizer":"Char","judge":"f"},` +
		`"comparable":true,"reason":"JudgeChanged","message":"it is not known who judged","common":2,"total":3,"added":1,"edited":0,"removed":0,"goldenSetChanged":true,"revisionChanged":true,` +
		`"differences":[{"setting":"judge","base":"","head":"f","metrics":["accuracy"]}],` +
		`"metrics":[{"name":"error_rate","tag":"","value":0.5,"baseline":0,"count":2,"delta":0.5,"deltaLow":0,"deltaHigh":1,"pValue":0.5,"corrected":true,"smallestDrop":1,"lowerIsBetter":true}],` +
		`"worse":[{"id":"q02","rank":4,"baselineRank":1,"outcome":"RetrieverTimeout","baselineOutcome":"Scored","metrics":[{"name":"error_rate","value":1,"baseline":0}]}],` +
		`"better":[],"worseCount":1,"betterCount":0,"sameCount":1}`
)

func storedRuns() []history.Run {
	done := monday.Add(2*time.Hour + 72*time.Second)
	old := monday.Add(time.Minute)
	return []history.Run{
		{
			UID: openID, Namespace: "rag", Suite: "docs-bot", SuiteUID: "suite-uid", Name: "docs-bot-3", Trigger: "API", Full: true,
			GoldenSetDigest: "sha256:g2", EvaluationDigest: "sha256:e1", StartTime: monday.Add(4 * time.Hour), Total: 3,
		},
		{
			UID: doneID, Namespace: "rag", Suite: "docs-bot", SuiteUID: "suite-uid", Name: "docs-bot-2", Trigger: "GoldenSet", Full: true,
			Revision: "r2", GoldenSetDigest: "sha256:g2", EvaluationDigest: "sha256:e1", CorpusVersion: "v7",
			StartTime: monday.Add(2 * time.Hour), CompletionTime: &done, Verdict: "Failed", Reason: "ObjectivesMissed", Message: "hit_rate@5 is 0.67, below min 0.90",
			Total: 3, HitRate: ptr.To(2.0 / 3), MRR: ptr.To(0.5), Accuracy: ptr.To(0.8), HallucinationRate: ptr.To(0.0),
			Document: []byte(`{"run": {"uid": "x", "targets": [` + storedTarget + `], "configMaps": {"prompts": "sha256:p"}}, "verdict": "Failed",
				"metrics": [` + storedMetric + `],
				"objectives": [{"metric": "hit_rate@5", "tag": "", "bound": "maxDrop 0.05", "value": 0.6666666666666666, "outcome": "Unproven", "message": "m"}],
				"coverage": {"retrieval": 1, "answer": 0.5, "judge": 0.25}, "evidence": {"hitRight": 1, "hitWrong": 0, "missRight": 0, "missWrong": 1}, "outcomes": {"Scored": 3},
				"usage": {"calls": 3, "promptTokens": 1200, "completionTokens": 90, "cacheHits": 1}, "settings": ` + storedSettings + `, "comparison": ` + storedComparison + `, "cases": []}`),
		},
		{
			UID: oldID, Namespace: "rag", Suite: "docs-bot", SuiteUID: "suite-uid", Name: "docs-bot-1", Trigger: "Spec", Full: true,
			Revision: "r1", GoldenSetDigest: "sha256:g1", EvaluationDigest: "sha256:e1", CorpusVersion: "v7",
			StartTime: monday, CompletionTime: &old, Verdict: "Passed", Reason: "ObjectivesMet", HitRate: ptr.To(1.0), MRR: ptr.To(1.0), Total: 3,
			Document: []byte(`{"settings": {"topK": 5, "unit": "Chunk", "primaryK": 5, "evaluationDigest": "sha256:e1"}}`),
		},
	}
}

func storedCases() []history.Case {
	return []history.Case{
		{
			ID: "q01", Digest: "sha256:c1", Question: "어디에 있나요? <b>", Tags: []string{"howto"}, Outcome: "Scored", Rank: 2, Called: true, LatencySeconds: 0.004,
			Relevant: []history.Relevant{{ID: "doc_001", Grade: 1}}, Metrics: map[string]float64{"mrr": 0.5},
			Retrieved: []history.Retrieved{
				{Rank: 1, ID: "doc_009", Score: ptr.To(1.25), Text: "the text of doc_009"},
				{Rank: 2, ID: "doc_001", Score: ptr.To(1.0), Relevant: true, Text: "the text of doc_001"},
			},
			History: []golden.Turn{{Role: "user", Content: "안녕"}}, ReferenceAnswer: "거기",
			Answer: &history.Answer{Text: "여기", Contexts: []string{"the text of doc_009"}}, AnswerSeconds: ptr.To(0.25),
			Verdict:   &judge.Verdict{Correct: ptr.To(false), Grounded: true, Reason: "다른 곳"},
			Relevance: &judge.Relevance{Scores: []int{2}, Average: 2, Reasoning: "off"},
		},
		{ID: "q02", Position: 1, Digest: "sha256:c2", Question: "where?", Tags: []string{"howto", "ko"}, Outcome: "RetrieverTimeout", Message: "POST http://bot/: timeout", Called: true, LatencySeconds: 10, Relevant: []history.Relevant{{ID: "doc_002", Grade: 2}}},
		{
			ID: "q03", Position: 2, Digest: "sha256:c3", Question: "why?", Outcome: "Scored", Retrieved: []history.Retrieved{{Rank: 1, ID: "7"}}, Unanswerable: true,
			Answer: &history.Answer{}, AnswerSeconds: ptr.To(0.5), Verdict: &judge.Verdict{Correct: ptr.To(true), Grounded: true, Abstained: true, Reason: "it declines"},
		},
	}
}

func queuedRun() *v1alpha1.EvalRun {
	return &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "rag", Name: "docs-bot-4", UID: queuedID},
		Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}, Trigger: v1alpha1.TriggerManual, Endpoint: "canary", Revision: "abc"},
		Status: v1alpha1.EvalRunStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse, Reason: "Queued", Message: "the run waits for its turn"},
		}},
	}
}

func openRun() *v1alpha1.EvalRun {
	return &v1alpha1.EvalRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "rag", Name: "docs-bot-3", UID: openID},
		Spec:       v1alpha1.EvalRunSpec{SuiteRef: v1alpha1.SuiteReference{Name: "docs-bot"}, Trigger: v1alpha1.TriggerAPI},
		Status: v1alpha1.EvalRunStatus{
			Progress: &v1alpha1.Progress{Total: ptr.To(int32(3)), Done: ptr.To(int32(1))},
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse, Reason: "Running", Message: "1 of 3 cases are done, 0 of them failed"},
			},
		},
	}
}

// ended gives a run the status of one that is done.
func ended(run *v1alpha1.EvalRun) {
	start, end := metav1.NewMicroTime(monday), metav1.NewMicroTime(monday.Add(time.Minute))
	run.Status = v1alpha1.EvalRunStatus{
		Verdict: v1alpha1.VerdictPassed, Reason: "ObjectivesMet", Message: "all met", StartTime: &start, CompletionTime: &end,
		GoldenSetDigest: "sha256:g2", SuiteEvaluationDigest: "sha256:e1", CorpusVersion: "v7", Revision: "r9",
		Progress: &v1alpha1.Progress{Total: ptr.To(int32(3))},
		Coverage: &v1alpha1.Coverage{Retrieval: "1.00", Answer: "0.50", Judge: "0.25"},
		Metrics: []v1alpha1.RunMetric{{
			Name: "mrr", Tag: ptr.To(""), Value: "0.7330", Count: ptr.To(int32(3)), Low: "0.5000", Baseline: "0.7410", Delta: "-0.0080",
			DeltaLow: "-0.1000", DeltaHigh: "0.1000", PValue: "0.4100", SmallestDrop: "0.3000", ReferenceDelta: "0.0100",
		}, {Name: "accuracy", Tag: ptr.To("ko"), Value: "1.0000", Count: ptr.To(int32(1))}},
		Evidence:   &v1alpha1.Evidence{HitRight: ptr.To(int32(2)), MissWrong: ptr.To(int32(1))},
		Usage:      &v1alpha1.Usage{RetrieverCalls: ptr.To(int64(3)), JudgeCalls: ptr.To(int64(2)), PromptTokens: ptr.To(int64(7))},
		Objectives: []v1alpha1.ObjectiveResult{{Metric: "mrr", Bound: "min 0.50", Value: "0.7330", Outcome: v1alpha1.ObjectiveMet}},
		Outcomes:   []v1alpha1.OutcomeCount{{Type: "Scored", Count: ptr.To(int32(3))}},
	}
}

// mu guards the runs of the cluster.
func (w *world) mu() *sync.Mutex { return &w.cluster.mu }
