//go:build e2e

package e2e

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/openai"
	"github.com/assay-dev/assay/internal/judge/provider"
)

const (
	mockLLMPackage = "@dwmkerr/mock-llm"
	mockLLMVersion = "0.1.29"
	// mockLLMDir is the environment variable with the folder that mock-llm is
	// installed in, or is to be.
	mockLLMDir = "MOCK_LLM_DIR"
)

// mockLLMRules are what the server replies; of those that match, the last one
// counts. It finds out by itself what it was sent: the question in Korean, the
// form, the key.
const mockLLMRules = `
rules:
- path: ^/v1/chat/completions$
  method: POST
  match: "body.response_format.type == 'json_schema' && body.model != 'strict'"
  response:
    status: 400
    content: '{"error": {"message": "This response_format type is unavailable now", "type": "invalid_request_error", "param": null, "code": "invalid_request_error"}}'
- path: ^/v1/chat/completions$
  match: "body.response_format.type == 'json_object' && contains(body.messages[-1].content, '환불 <수수료>는 & 얼마?')"
  response:
    status: 200
    content: |
      {"id": "chatcmpl-{{timestamp}}", "object": "chat.completion", "created": 1762300800, "model": "{{jmes request body.model}}",
       "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant",
         "content": "{\"reason\": \"수수료는 문맥에 있습니다.\", \"correct\": true, \"grounded\": true, \"abstained\": false}"}}],
       "usage": {"prompt_tokens": 400, "completion_tokens": 30, "total_tokens": 430}}
- path: ^/v1/chat/completions$
  match: "body.model == 'strict' && body.response_format.json_schema.strict == ` + "`true`" + ` && body.response_format.json_schema.name == 'verdict'"
  response:
    status: 200
    content: |
      {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "reasoning_content": "{\"correct\": true}",
         "content": "{\"reason\": \"limit {{jmes request body.max_tokens}}\", \"correct\": false, \"grounded\": true, \"abstained\": false}"}}]}
- path: ^/v1/chat/completions$
  match: "contains(body.messages[-1].content, 'cut this')"
  response:
    status: 200
    content: '{"choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "{\"reason\": \"The"}}]}'
- path: ^/v1/chat/completions$
  match: "contains(body.messages[-1].content, 'refuse this')"
  response:
    status: 200
    content: '{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": null, "refusal": "I cannot help."}}]}'
- path: ^/v1/chat/completions$
  match: "contains(body.messages[-1].content, 'spend this')"
  response:
    status: 429
    content: '{"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}'
- path: ^/v1/chat/completions$
  match: "headers.authorization != 'Bearer sk-mock'"
  response:
    status: 401
    content: '{"error": {"message": "Incorrect API key provided: {{jmes request headers.authorization}}", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}'
`

// TestJudgeAgainstMockLLM judges through an OpenAI-compatible server that is
// somebody else's, and knows nothing of this project.
func TestJudgeAgainstMockLLM(t *testing.T) {
	url := startMockLLM(t, mockLLMRules)
	grader := func(model, key string) judge.Judge {
		m, err := openai.New(provider.Config{URL: url + "/v1", Model: model, APIKey: key, Timeout: pollTimeout})
		if err != nil {
			t.Fatal(err)
		}
		return judge.New(m, judge.Options{})
	}
	input := func(question string) judge.Input {
		return judge.Input{Question: question, Answerable: true, Reference: "3%", Contexts: []string{"수수료는 3%입니다."}, Answer: "3%입니다."}
	}

	t.Run("JSON mode where the schema is refused", func(t *testing.T) {
		g := grader("loose", "sk-mock")
		// The second time, the server is asked in JSON mode at once.
		for i, calls := range []int64{2, 1} {
			in := input("환불 <수수료>는 & 얼마?")
			in.Answer = fmt.Sprintf("%d: 3%%입니다.", i)
			verdict, usage, err := g.Grade(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if verdict.Correct == nil || !*verdict.Correct || !verdict.Grounded || verdict.Reason != "수수료는 문맥에 있습니다." {
				t.Errorf("the verdict is %+v", verdict)
			}
			if want := (judge.Usage{Calls: calls, PromptTokens: 400, CompletionTokens: 30}); usage != want {
				t.Errorf("it cost %+v, want %+v", usage, want)
			}
		}
	})
	t.Run("schema", func(t *testing.T) {
		verdict, usage, err := grader("strict", "sk-mock").Grade(t.Context(), input("What is the fee?"))
		if err != nil {
			t.Fatal(err)
		}
		if verdict.Correct == nil || *verdict.Correct || verdict.Reason != "limit 512" || usage.Calls != 1 {
			t.Errorf("the verdict is %+v, for %+v", verdict, usage)
		}
	})
	for name, test := range map[string]struct {
		question, key string
		want          judge.Outcome
		calls         int64
		endsRun       bool
	}{
		"cut":       {"cut this", "sk-mock", judge.Truncated, 2, false},
		"refused":   {"refuse this", "sk-mock", judge.Refused, 1, false},
		"quota":     {"spend this", "sk-mock", judge.QuotaExceeded, 1, true},
		"wrong key": {"What is the fee?", "sk-wrong", judge.HTTPError, 1, false},
		// The server takes 100 kB at most.
		"too long": {strings.Repeat("What is the fee? ", 10_000), "sk-mock", judge.ContextTooLong, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, usage, err := grader("strict", test.key).Grade(t.Context(), input(test.question))
			var e *judge.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *judge.Error", err)
			}
			if e.Outcome != test.want || e.EndsRun != test.endsRun || usage.Calls != test.calls {
				t.Errorf("got %s (ends the run: %t) after %d calls: %s", e.Outcome, e.EndsRun, usage.Calls, e.Message)
			}
			if strings.Contains(e.Message, "sk-wrong") {
				t.Errorf("the key is shown: %s", e.Message)
			}
		})
	}
}

// startMockLLM starts the server with rules, and gives its URL.
func startMockLLM(t *testing.T, rules string) string {
	t.Helper()
	main := installMockLLM(t)
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", main, "--config", writeFile(t, t.TempDir(), "mock-llm.yaml", []byte(rules)))
	cmd.Env = append(os.Environ(), "HOST=127.0.0.1", "PORT="+port)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatalf("start mock-llm: %v", err)
	}
	listening, exited := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(exited)
		started := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if !started && strings.Contains(lines.Text(), "server running on") {
				started = true
				close(listening)
			}
		}
		_ = cmd.Wait() // How it ended is in its log.
	}()
	t.Cleanup(func() {
		stop()
		<-exited
		if t.Failed() {
			t.Logf("mock-llm said:\n%s", log.String())
		}
	})
	select {
	case <-listening:
	case <-exited:
		t.Fatal("mock-llm ended before it listened")
	case <-time.After(pollTimeout):
		t.Fatal("mock-llm does not listen")
	}
	return "http://" + address
}

// installMockLLM gives the server's program, which npm fetches once into the
// user's cache.
func installMockLLM(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			const skipped = "SKIPPED: node and npm are not installed: the OpenAI judge is not tested against " + mockLLMPackage
			fmt.Fprintln(os.Stderr, skipped)
			t.Skip(skipped)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := cmp.Or(os.Getenv(mockLLMDir), filepath.Join(cache, "assay-tools", "mock-llm-"+mockLLMVersion))
	main := filepath.Join(dir, "node_modules", filepath.FromSlash(mockLLMPackage), "dist", "main.js")
	if _, err := os.Stat(main); err == nil {
		return main
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	// Beside its place, so that it is there whole or not at all.
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".mock-llm-") //nolint:usetesting // it is renamed, which works within one file system
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(fresh) })
	install := exec.CommandContext(t.Context(), "npm", "install", "--prefix", fresh,
		"--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", mockLLMPackage+"@"+mockLLMVersion)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install %s by npm, or name a folder that has it in %s: %v\n%s", mockLLMPackage, mockLLMDir, err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(main); there != nil {
			t.Fatal(err)
		}
	}
	return main
}
