package controllers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/operator"
)

// scriptedCase is what every party says to one question.
type scriptedCase struct {
	ID, Question, Relevant       string
	Rank                         int
	ReferenceAnswer              string `json:"reference_answer"`
	Answer                       string
	Correct, Grounded, Abstained bool
}

// pipeline is a retriever, an answer service and a model that judges, which speak
// the real protocols and say what the script says.
type pipeline struct {
	*httptest.Server
	cases []scriptedCase
	topK  int

	mu     sync.Mutex
	down   bool // the judge
	judged int
	keys   map[string]bool
}

func koreanPipeline(t *testing.T) *pipeline {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "internal", "eval", "testdata", "korean_pipeline.json"))
	must(t, err)
	var script struct {
		TopK  int
		Cases []scriptedCase
	}
	must(t, json.Unmarshal(data, &script))
	p := &pipeline{cases: script.Cases, topK: script.TopK, keys: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /search", p.search)
	mux.HandleFunc("POST /answer", p.answer)
	mux.HandleFunc("POST /v1/chat/completions", p.judge)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *pipeline) of(question string) *scriptedCase {
	for i := range p.cases {
		if p.cases[i].Question == question {
			return &p.cases[i]
		}
	}
	return nil
}

func (p *pipeline) search(w http.ResponseWriter, r *http.Request) {
	var body struct{ Query string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || p.of(body.Query) == nil {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	ids := make([]string, p.topK)
	for i := range ids {
		ids[i] = fmt.Sprintf("noise/%02d.md", i)
	}
	if c := p.of(body.Query); c.Rank > 0 {
		ids[c.Rank-1] = c.Relevant
	}
	reply(w, ids...)
}

func (p *pipeline) answer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Question string
		Contexts []string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || p.of(body.Question) == nil || len(body.Contexts) != 5 {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"answer": p.of(body.Question).Answer})
}

// judge is a server of OpenAI's chat completions with a JSON schema.
func (p *pipeline) judge(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.judged++
	p.keys[r.Header.Get("Authorization")] = true
	down := p.down
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if down {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprint(w, `{"error": {"message": "the model is not loaded", "type": "server_error"}}`)
		return
	}
	var asked *scriptedCase
	for i := range p.cases {
		if strings.Contains(body.Messages[len(body.Messages)-1].Content, p.cases[i].Question) {
			asked = &p.cases[i]
		}
	}
	if asked == nil {
		http.Error(w, `{"error": {"message": "the question is not in the prompt"}}`, http.StatusBadRequest)
		return
	}
	verdict, _ := json.Marshal(map[string]any{"correct": asked.Correct, "grounded": asked.Grounded, "abstained": asked.Abstained, "reason": "대본대로"})
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": string(verdict)}}},
		"usage":   map[string]any{"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930},
	})
}

func (p *pipeline) breakJudge(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

func (p *pipeline) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.judged
}

// golden is the script's golden set.
func (p *pipeline) golden() string {
	var b strings.Builder
	for _, c := range p.cases {
		text, _ := json.Marshal(map[string]any{"id": c.ID, "question": c.Question, "relevant": c.Relevant, "reference_answer": c.ReferenceAnswer})
		b.WriteString("- ")
		b.Write(text)
		b.WriteString("\n")
	}
	return b.String()
}

func (p *pipeline) suite(namespace string) *v1alpha1.EvalSuite {
	return newSuite(namespace, p.URL+"/search", func(s *v1alpha1.EvalSuite) {
		s.Spec.Retriever.TopK = int32(p.topK)
		s.Spec.Answer = &v1alpha1.Answer{URL: p.URL + "/answer"}
		s.Spec.Judge = &v1alpha1.Judge{
			Provider: v1alpha1.JudgeOpenAI, Model: "scripted", URL: p.URL + "/v1", MaxRetries: ptr.To(int32(0)),
			APIKeySecretRef: &v1alpha1.SecretKeySelector{Name: "judge", Key: "apiKey"},
		}
		s.Spec.Objectives = []v1alpha1.Objective{
			{Metric: "hit_rate@5", Min: "0.85"}, {Metric: "mrr", Min: "0.70"},
			{Metric: "accuracy", Min: "0.80"}, {Metric: "hallucination_rate", Max: "0.05"},
		}
	})
}

// The numbers of the Korean pipeline come out of the operator: recall@5 0.87, mrr
// 0.71, accuracy 0.80, hallucination rate 0.03.
func TestTheKoreanPipeline(t *testing.T) {
	t.Parallel()
	ns, p := newNamespace(t), koreanPipeline(t)
	startOperator(t, ns, func(o *operator.Options) { o.History = "sqlite://" + filepath.Join(t.TempDir(), "history.db") })
	applyGolden(t, ns, "golden", p.golden())
	s := p.suite(ns)
	must(t, cluster.Create(t.Context(), s))
	condition(t, s, "Ready", metav1.ConditionFalse, "SecretNotFound")
	must(t, cluster.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "judge"}, StringData: map[string]string{"apiKey": "sk-korean"}}))

	condition(t, s, "Passing", metav1.ConditionTrue, "Passed")
	for name, pair := range map[string][2]string{
		"hitRate": {s.Status.HitRate, "0.87"}, "mrr": {s.Status.MRR, "0.71"},
		"accuracy": {s.Status.Accuracy, "0.80"}, "hallucinationRate": {s.Status.HallucinationRate, "0.03"},
	} {
		got, err := strconv.ParseFloat(pair[0], 64)
		want, _ := strconv.ParseFloat(pair[1], 64)
		if err != nil || math.Abs(got-want) > 0.005 {
			t.Errorf("%s is %q, want %s", name, pair[0], pair[1])
		}
	}
	run := ended(t, ns, 1)[0]
	u := run.Status.Usage
	if *u.RetrieverCalls != 30 || *u.AnswerCalls != 30 || *u.JudgeCalls != 30 || *u.PromptTokens != 27000 || *u.CompletionTokens != 900 || *u.CacheHits != 0 {
		t.Errorf("usage is %+v", u)
	}
	if c := run.Status.Coverage; c.Retrieval != "1.0000" || c.Answer != "1.0000" || c.Judge != "1.0000" {
		t.Errorf("coverage is %+v", c)
	}
	if e := run.Status.Evidence; *e.HitRight != 23 || *e.HitWrong != 3 || *e.MissRight != 1 || *e.MissWrong != 3 {
		t.Errorf("evidence is %+v", e)
	}
	p.mu.Lock()
	if len(p.keys) != 1 || !p.keys["Bearer sk-korean"] {
		t.Errorf("the judge was shown %v", p.keys)
	}
	p.mu.Unlock()

	t.Run("an unchanged answer costs nothing", func(t *testing.T) {
		before := p.calls()
		annotate(t, s, v1alpha1.AnnotationRunNow, "again")
		runs := ended(t, ns, 2)
		var again *v1alpha1.EvalRun
		for i := range runs {
			if runs[i].Name != run.Name {
				again = &runs[i]
			}
		}
		if u := again.Status.Usage; *u.JudgeCalls != 0 || *u.CacheHits != 30 || p.calls() != before {
			t.Errorf("usage is %+v, and the judge was asked %d times more", u, p.calls()-before)
		}
		if again.Status.Accuracy != run.Status.Accuracy {
			t.Errorf("accuracy is %s, was %s", again.Status.Accuracy, run.Status.Accuracy)
		}
	})
	t.Run("a judge that is down leaves retrieval's verdict alone", func(t *testing.T) {
		p.breakJudge(true)
		update(t, s, func(s *v1alpha1.EvalSuite) { s.Spec.Judge.Model = "another" }) // nothing of it is known
		c := condition(t, s, "Passing", metav1.ConditionUnknown, "Inconclusive")
		if !strings.Contains(c.Message, "JudgeHTTPError") || !strings.Contains(c.Message, "the model is not loaded") {
			t.Errorf("Passing says %q", c.Message)
		}
		if strings.Contains(c.Message, "sk-korean") {
			t.Errorf("Passing shows the key: %q", c.Message)
		}
		outcomes := map[string]v1alpha1.ObjectiveOutcome{}
		for _, o := range s.Status.LastRun.Objectives {
			outcomes[o.Metric] = o.Outcome
		}
		if outcomes["hit_rate@5"] != v1alpha1.ObjectiveMet || outcomes["mrr"] != v1alpha1.ObjectiveMet || outcomes["accuracy"] != v1alpha1.ObjectiveInconclusive {
			t.Errorf("the objectives are %v", outcomes)
		}
		if s.Status.Accuracy != "" {
			t.Errorf("accuracy is %q where nothing was judged", s.Status.Accuracy)
		}
	})
}
