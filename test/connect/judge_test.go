package connect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// localModel is a scripted server of the OpenAI protocol. It says yes to an answer
// that its prompt holds twice, as a context and as the answer.
type localModel struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
	// beyond answers a prompt that is longer than the window, by the server's own way; nil: none is.
	beyond func(w http.ResponseWriter)
	// cut tells how many tokens were read of a prompt, as Ollama does after it has cut one; 0: all.
	cut int
}

func newLocalModel(t *testing.T) *localModel {
	t.Helper()
	m := &localModel{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s: %v", r.URL, err)
		}
		m.mu.Lock()
		m.bodies = append(m.bodies, body)
		m.mu.Unlock()
		if m.beyond != nil {
			m.beyond(w)
			return
		}
		messages := body["messages"].([]any)
		prompt := fmt.Sprint(messages[len(messages)-1])
		good := strings.Count(prompt, "Run keyctl rotate, and restart the server.") > 1
		verdict := fmt.Sprintf(`{"reason": "It is there.", "correct": %t, "grounded": %t, "abstained": false}`, good, good)
		read := m.cut
		if read == 0 {
			read = len(words(prompt)) * 2
		}
		reply(w, http.StatusOK, map[string]any{"id": "1", "object": "chat.completion", "model": body["model"],
			"choices": []map[string]any{{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": verdict}}},
			"usage":   map[string]any{"prompt_tokens": read, "completion_tokens": 30, "total_tokens": read + 30}})
	}))
	t.Cleanup(m.Close)
	return m
}

// docsBot answers every question by what its one long document says.
func docsBot(t *testing.T) *httptest.Server {
	t.Helper()
	text := "Run keyctl rotate, and restart the server. " + strings.Repeat("The manual goes on about other things at some length. ", 80)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/search" {
			reply(w, http.StatusOK, map[string]any{"results": []map[string]any{{"id": "docs/keys.md", "text": text}}})
			return
		}
		reply(w, http.StatusOK, map[string]any{"answer": "Run keyctl rotate, and restart the server."})
	}))
	t.Cleanup(s.Close)
	return s
}

func TestLocalJudge(t *testing.T) {
	p := readPage(t, "judge-local-model.md")
	bot := docsBot(t)
	base := at(t, p.suite(t, "evalsuite_judge_vllm.yaml"), map[string]string{"http://docs-bot.rag.svc:8080": bot.URL})
	blocks := yamlBlock.FindAllStringSubmatch(p.text, -1)
	if len(blocks) < 3 {
		t.Fatalf("the page has %d examples", len(blocks))
	}
	for name, server := range map[string]struct {
		manifest, url string
		thinks        bool
		beyond        func(w http.ResponseWriter)
		cut           int
		says          []string
	}{
		"vLLM": {base, "http://vllm.models.svc:8000", true, func(w http.ResponseWriter) {
			reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "This model's maximum context length is 4096 tokens. However, your request has 9000 input tokens.", "type": "BadRequestError", "param": nil, "code": 400}})
		}, 0, []string{"JudgeContextTooLong", "longer context window"}},
		"llama.cpp": {with(t, base, blocks[1][1]), "http://llama.models.svc:8080", true, func(w http.ResponseWriter) {
			reply(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}})
		}, 0, []string{"JudgeContextTooLong", "longer context window"}},
		"Ollama": {with(t, base, blocks[2][1]), "http://ollama.models.svc:11434", false, nil, 300, []string{"JudgeContextTooLong", "OLLAMA_CONTEXT_LENGTH"}},
	} {
		t.Run(name, func(t *testing.T) {
			model := newLocalModel(t)
			manifest := at(t, server.manifest, map[string]string{server.url: model.URL})
			d := document(t, manifest)
			if d.Outcomes["Scored"] != 2 {
				t.Fatalf("%v: %s", d.Outcomes, d.Message)
			}
			body := model.bodies[0]
			if format := body["response_format"].(map[string]any); format["type"] != "json_schema" || body["temperature"] != 0.0 {
				t.Errorf("response_format %v, temperature %v", format["type"], body["temperature"])
			}
			if thinking, _ := body["chat_template_kwargs"].(map[string]any); (thinking["enable_thinking"] == false) != server.thinks {
				t.Errorf("chat_template_kwargs is %v", thinking)
			}
			// The same with a window that is too short.
			short := newLocalModel(t)
			short.beyond, short.cut = server.beyond, server.cut
			p.says(t, failure(t, at(t, server.manifest, map[string]string{server.url: short.URL})), server.says...)
		})
	}
	t.Run("calibrate", func(t *testing.T) {
		model := newLocalModel(t)
		var labels strings.Builder
		for i := range 12 {
			answer, good := "Run keyctl rotate, and restart the server.", i%2 == 0
			if !good {
				answer = "Throw the server away."
			}
			fmt.Fprintf(&labels, `{"question": "How do I rotate the key, %d?", "reference_answer": "Rotate it by keyctl.", "contexts": ["Run keyctl rotate, and restart the server."], "answer": %q, "correct": %t, "grounded": %t}`+"\n", i, answer, good, good)
		}
		file := filepath.Join(t.TempDir(), "labels.jsonl")
		if err := os.WriteFile(file, []byte(labels.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		out := assay(t, at(t, base, map[string]string{"http://vllm.models.svc:8000": model.URL}), "judge", "calibrate", "-f", "{}", "--labels", file)
		if out.err != nil || !strings.Contains(out.stdout, "kappa 1.0000") {
			t.Errorf("%v\n%s%s", out.err, out.stdout, out.stderr)
		}
	})
}
