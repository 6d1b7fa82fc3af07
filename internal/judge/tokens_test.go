package judge

import (
	"context"
	"strings"
	"testing"
)

func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "한국어": 3, "한국어 text": 5, "\xff": 1,
	} {
		if got := EstimateTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestEstimateOverhead(t *testing.T) {
	verdict, relevance := EstimateOverhead("")
	if verdict < 300 || verdict > 2000 || relevance < 200 || relevance > 2000 {
		t.Errorf("%d and %d tokens", verdict, relevance)
	}
	long, _ := EstimateOverhead(strings.Repeat("word ", 10_000))
	if long < 10_000 {
		t.Errorf("a long prompt counts %d", long)
	}
}

func TestFewestTokens(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
	}{
		{"", 0},
		{"The warranty is two years.", 5},
		{strings.Repeat(" ", 1000) + strings.Repeat("-", 1000) + "\n\n\t", 0},
		{"func (b *Budget) end(calls, tokens int64) {", 6},
		{"환불은 구매 후 14일 이내에 가능합니다.", 7},
		{"払い戻しは購入後十四日以内に可能です。", 5},
	} {
		if got := fewestTokens(tt.text); got != tt.want {
			t.Errorf("%q: %d, want %d", tt.text, got, tt.want)
		}
	}
}

// The counts of whole texts are those of the encodings cl100k_base and o200k_base.
func TestSilentCut(t *testing.T) {
	english := strings.Repeat("The warranty of this product is two years from the day of purchase. ", 400)
	source := strings.Repeat("\t\t\tif err := json.Unmarshal(data, &v); err != nil {\n\t\t\t\treturn nil, fmt.Errorf(\"decode: %w\", err)\n\t\t\t}\n", 200)
	hangul := strings.Repeat("환불은 구매 후 14일 이내에 고객센터를 통해 신청하실 수 있습니다. ", 300)
	for name, tt := range map[string]struct {
		context  string
		reported int64
		cut      bool
	}{
		"English, whole":                    {english, 5601, false},
		"English, words joined":             {english, 5000, false},
		"English, cut to half of 4,096":     {english, 2051, true},
		"nothing reported":                  {english, 0, false},
		"source, whole":                     {source, 6400, false},
		"source, by a thrifty tokeniser":    {source, 4000, false},
		"source, cut":                       {source, 1026, true},
		"Korean, whole, cl100k_base":        {hangul, 11_100, false},
		"Korean, whole, o200k_base":         {hangul, 6301, false},
		"Korean, by a Korean tokeniser":     {hangul, 4200, false},
		"Korean, cut":                       {hangul, 1026, true},
		"white space":                       {strings.Repeat(" \n", 50_000), 500, false},
		"a line of dashes":                  {strings.Repeat("-", 100_000), 900, false},
		"base64":                            {strings.Repeat("QmFzZTY0IGhhcyBubyB3b3Jkcw", 4000), 50_000, false},
		"short, by a server that miscounts": {"short", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := korean
			in.Contexts = []string{tt.context}
			model := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
				return &Response{Text: good, Calls: 1, PromptTokens: tt.reported}, nil
			}}
			cache := &store{}
			_, usage, err := New(model, Options{Cache: cache}).Grade(t.Context(), in)
			switch {
			case !tt.cut && err != nil:
				t.Error(err)
			case tt.cut && (outcomeOf(err) != ContextTooLong || len(cache.entries) != 0 || usage.Calls != 1):
				t.Errorf("%v, usage %+v, %d in the cache", err, usage, len(cache.entries))
			case tt.cut && !strings.Contains(err.Error(), "num_ctx"):
				t.Errorf("the message does not say what to do: %v", err)
			}
		})
	}
}

// A server that leaves the instructions it remembers out of its count has cut nothing.
func TestSilentCutIgnoresTheInstructions(t *testing.T) {
	model := &scripted{reply: func(context.Context, int, Request) (*Response, error) {
		return &Response{Text: good, Calls: 1, PromptTokens: 150}, nil
	}}
	grade(t, New(model, Options{Prompt: strings.Repeat("be strict ", 5000)}), korean)
}
