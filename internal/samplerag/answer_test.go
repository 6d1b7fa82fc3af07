package samplerag

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExtract(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs")
	fees := "# Fees\n\nThe fee is ten percent of the sum. Refunds take a week.\n"
	hours := "- Support is open from nine to five.\n- It is closed on Sundays.\n"
	korean := "환불은 일주일 안에 처리됩니다. 수수료는 10%입니다.\n"
	tests := []struct {
		name, question string
		contexts       []string
		want           Answer
	}{
		{"the sentence that has the question's words", "How much is the fee?", []string{hours, fees}, Answer{"The fee is ten percent of the sum.", []string{fees}}},
		{"of a list", "When is support open?", []string{hours, fees}, Answer{"Support is open from nine to five.", []string{hours}}},
		{"Korean, whatever the particle", "수수료가 얼마인가요?", []string{korean, fees}, Answer{"수수료는 10%입니다.", []string{korean}}},
		{"nothing that fits", "Who wrote the manual of the spaceship?", []string{hours, fees}, Answer{Text: NoAnswer}},
		{"no contexts", "How much is the fee?", nil, Answer{Text: NoAnswer}},
		{"empty contexts", "How much is the fee?", []string{"", "  \n"}, Answer{Text: NoAnswer}},
		{"a question of stop words", "what is the", []string{fees}, Answer{Text: NoAnswer}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ix.Extract(t.Context(), tt.question, tt.contexts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandlerMakesAnswers(t *testing.T) {
	ix := build(t, Options{Root: write(t, animals)}, "docs")
	tests := []struct {
		name, body string
		status     int
		want       string
		results    bool
	}{
		{"from the contexts", `{"question": "What is the fee?", "contexts": ["The fee is ten percent."]}`, 200, "The fee is ten percent.", false},
		{"an empty list of contexts is no answer", `{"question": "cats", "contexts": []}`, 200, NoAnswer, false},
		{"without contexts it retrieves", `{"question": "cats"}`, 200, "", true},
		{"no question", `{"contexts": []}`, 400, "the body has no question", false},
		{"an empty question", `{"question": " "}`, 400, "query is empty", false},
		{"contexts of another type", `{"question": "cats", "contexts": "text"}`, 400, "contexts is a string: give a list of strings", false},
		{"a question of another type", `{"question": 7}`, 400, "question is a number: give a string", false},
		{"no JSON", `question=cats`, 400, "the body is not a JSON object", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := ask(t, ix.Handler(), http.MethodPost, "/answer", tt.body)
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
				t.Fatalf("got %s: %s, want %d and %q", res.Status, body, tt.status, tt.want)
			}
			var reply answerResponse
			if err := json.Unmarshal(body, &reply); err != nil {
				t.Fatal(err)
			}
			if got := len(reply.Results) > 0; got != tt.results {
				t.Errorf("results given: %t, want %t: %s", got, tt.results, body)
			}
			if tt.status == 200 && reply.Contexts == nil {
				t.Errorf("contexts is no list: %s", body)
			}
		})
	}
}

func FuzzSentences(f *testing.F) {
	f.Add("# Title\n\nOne. Two! 셋입니다.\n| a | b |\n|---|---|\n")
	f.Add(strings.Repeat("x", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for _, s := range sentences(text) {
			if strings.TrimSpace(s) == "" {
				t.Errorf("an empty sentence of %q", text)
			}
			n += len(s)
		}
		if n > len(text) {
			t.Errorf("sentences of %q have %d bytes, the text %d", text, n, len(text))
		}
	})
}
