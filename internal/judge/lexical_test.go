package judge

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		text    string
		want    string
		numbers string
	}{
		{"The warranty IS two-years long.", "long two warranty years", ""},
		{"what is it?", "is it what", ""}, // nothing but such words
		{"I don’t, you don't", "dont", ""},
		{"1,000.50 EUR in 3.5s on k8s (v1)", "1000.50 3.5 eur k8s s v1", "1000.50 3.5"},
		{"1,2,3 and 12,3456", "1 12 2 3 3456", "1 12 2 3 3456"},
		{"환불은 14일", "14 불은 일 환불", "14"},
		{"환불", "환불", ""},
		{"네", "네", ""},
		{"가능합니다", "가능 능합", ""},
		{"東京タワー no", "no タワ ワー 京タ 東京", ""},
		{"Pod가 crash", "crash pod 가", ""},
		{"１４일 ﬁle", "14 file 일", "14"},
		{"", "", ""},
		{"👍 !?", "", ""},
	} {
		got := wordsOf(tt.text)
		if diff := cmp.Diff(tt.want, strings.Join(slices.Sorted(maps.Keys(got.all)), " ")); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
		if diff := cmp.Diff(tt.numbers, strings.Join(slices.Sorted(maps.Keys(got.numbers)), " ")); diff != "" {
			t.Errorf("%q: numbers %s", tt.text, diff)
		}
		if diff := cmp.Diff(got.all, wordsOf(norm.NFD.String(tt.text)).all); diff != "" {
			t.Errorf("%q: decomposed letters make other words: %s", tt.text, diff)
		}
	}
}

func TestLexicalGrade(t *testing.T) {
	const (
		warranty = "The warranty is two years from the day of purchase. Batteries are covered for 6 months."
		refund   = "환불은 구매 후 14일 이내에 고객센터를 통해 신청할 수 있습니다. 배송비는 3,000원입니다."
	)
	for name, tt := range map[string]struct {
		reference, answer string
		contexts          []string
		correct, grounded bool
	}{
		"word for word":                   {"two years", "The warranty is two years from the day of purchase.", []string{warranty}, true, true},
		"in other cases":                  {"Two Years", "TWO YEARS.", []string{warranty}, true, true},
		"not in the contexts":             {"two years", "Two years, extendable for corporate customers abroad.", []string{warranty}, true, false},
		"another answer":                  {"two years", "Batteries are covered.", []string{warranty}, false, true},
		"another number":                  {"6 months", "Batteries are covered for 12 months.", []string{warranty}, false, false},
		"a number is missing":             {"covered for 6 months", "Batteries are covered for months.", []string{warranty}, false, true},
		"citations are no numbers":        {"two years", "1. Two years [1]\n2) from the day of purchase [2, 3].", []string{warranty}, true, true},
		"Korean, word for word":           {"14일 이내", "환불은 구매 후 14일 이내에 신청할 수 있습니다.", []string{refund}, true, true},
		"Korean, other particles":         {"환불은 구매 후 14일 이내에 가능합니다.", "구매 후 14일 이내라면 환불은 신청이 가능해요", []string{refund}, true, true},
		"Korean, another number":          {"14일 이내", "환불은 구매 후 30일 이내에 신청할 수 있습니다.", []string{refund}, false, false},
		"Korean, another subject":         {"14일 이내에 환불", "배송비는 3000원입니다.", []string{refund}, false, true},
		"Korean, not in the contexts":     {"14일", "14일이며 해외 법인 고객은 담당 영업사원에게 문의하세요.", []string{refund}, true, false},
		"over two contexts":               {"two years", "Two years; batteries 6 months", []string{"Two years.", "batteries: 6 months"}, true, true},
		"half of the words":               {"two years", "three years", []string{"two years"}, false, false},
		"no contexts":                     {"two years", "two years", nil, true, false},
		"no words":                        {"two years", "👍", []string{warranty}, false, false},
		"its limit: it sees no negation":  {"The warranty is two years", "The warranty is never two years", []string{warranty}, true, true},
		"its limit: it knows no synonyms": {"two years", "twenty-four months", []string{warranty}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Question: "q", Reference: tt.reference, Answerable: true, Contexts: tt.contexts, Answer: tt.answer}
			v, usage := grade(t, NewLexical(), in)
			if *v.Correct != tt.correct || v.Grounded != tt.grounded || v.Abstained {
				t.Errorf("%+v (correct %t)", v, *v.Correct)
			}
			if usage != (Usage{}) || !strings.HasPrefix(v.Reason, "lexical: ") {
				t.Errorf("usage %+v, reason %q", usage, v.Reason)
			}
			if again, _ := grade(t, NewLexical(), in); !cmp.Equal(v, again) {
				t.Errorf("a second look gives %+v", again)
			}
		})
	}
}

func TestLexicalReason(t *testing.T) {
	in := Input{Reference: "two years, 24 months", Answerable: true, Contexts: []string{"two years"}, Answer: "two years and 7 days"}
	v, _ := grade(t, NewLexical(), in)
	want := "lexical: 2 of 4 words of the reference are in the answer, but not the number 24; 2 of 4 words of the answer are in the contexts, but not the number 7"
	if v.Reason != want {
		t.Errorf("reason %q", v.Reason)
	}
	in.Reference = ""
	if v, _ = grade(t, NewLexical(), in); v.Correct != nil || strings.Contains(v.Reason, "reference") {
		t.Errorf("without a reference: %+v", v)
	}
}

func TestLexicalAbstention(t *testing.T) {
	for answer, want := range map[string]bool{
		"I don't know.": true,
		"I don’t know":  true,
		"Sorry, but I do not have enough information to answer that. Contact support.": true,
		"I could not find an answer to this in the documents.":                         true,
		"Based on the context, there is no information about it.":                      true,
		"The provided documents do not mention the fee.":                               true,
		"THE CONTEXT DOESN'T SAY":                                                      true,
		"죄송하지만 제공된 문서에서 찾을 수 없습니다.":                                                    true,
		"제공된 문서만으로는 알수없습니다":                                                            true,
		"잘 모르겠습니다.":                                                                    true,
		norm.NFD.String("관련 정보가 없습니다."):                                                true,
		"": true,
		"If you don't know your password, reset.": false,
		"You can reset it. I don't know more.":    false,
		"알 수 없는 오류가 나면 다시 시작하세요.":                 false,
		"설치 방법은 다음과 같습니다.\n다른 방법은 찾을 수 없습니다.":     false,
		"Mimi don't know":                false,
		"The plan does not contain SSO.": false,
		"14일":                            false,
	} {
		for _, answerable := range []bool{true, false} {
			in := Input{Question: "q", Reference: "r", Answerable: answerable, Contexts: []string{"c"}, Answer: answer}
			v, _ := grade(t, NewLexical(), in)
			if v.Abstained != want {
				t.Errorf("%q: abstained %t", answer, v.Abstained)
			}
			if want && (!v.Grounded || *v.Correct != !answerable) {
				t.Errorf("%q, answerable %t: %+v", answer, answerable, v)
			}
			if !want && !answerable && *v.Correct {
				t.Errorf("%q answers what has no answer, and is correct", answer)
			}
		}
	}
}

func TestLexicalRelevance(t *testing.T) {
	contexts := []string{
		"How to restart a crashing pod: kubectl delete pod.", "A crashing pod", "Pods", "", "Invoices are sent monthly.", "restart it",
	}
	r, usage, err := NewLexical().Relevance(t.Context(), "How do I restart a crashing pod?", nil, contexts)
	if err != nil || usage != (Usage{}) {
		t.Fatal(err, usage)
	}
	want := Relevance{
		Scores: []int{5, 4, 1, 1, 1, 2}, Average: 14.0 / 6,
		Reasoning: "lexical: of 3 words of the question, the contexts have 3, 2, 0, 0, 0, 1",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if r, _, err := NewLexical().Relevance(t.Context(), "?", nil, []string{"a", "b"}); err != nil || r.Average != 1 {
		t.Errorf("a question of no words: %+v, %v", r, err)
	}
	if r, _, err := NewLexical().Relevance(t.Context(), "q", nil, []string{" "}); err != nil || r.Average != 1 {
		t.Errorf("an empty context: %+v, %v", r, err)
	}
	if _, _, err := NewLexical().Relevance(t.Context(), "q", nil, nil); outcomeOf(err) != Failed {
		t.Errorf("no contexts: %v", err)
	}
	if r, _, _ := NewLexical().Relevance(t.Context(), "환불은 며칠 안에 되나요?", nil, []string{"환불은 14일 안에 됩니다.", "배송은 3일"}); r.Scores[0] <= r.Scores[1] {
		t.Errorf("Korean: %+v", r)
	}
}

func TestLexicalObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := NewLexical().Grade(ctx, korean); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, _, err := NewLexical().Relevance(ctx, "q", nil, []string{"c"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if want := (Identity{Provider: "Lexical", ParserVersion: lexicalVersion}); LexicalIdentity() != want {
		t.Errorf("%+v", LexicalIdentity())
	}
}

func TestEmptyWordsDenyNothing(t *testing.T) {
	for _, word := range []string{"no", "not", "never", "none", "without", "dont", "cannot", "안", "못", "않는", "없습", "아니"} {
		if emptyWords[word] {
			t.Errorf("%q is left out", word)
		}
	}
}

func FuzzLexical(f *testing.F) {
	f.Add("환불은 14일", "1,000.5 [1] k8s", "don't")
	f.Add("\xff\xfe", "i don't know", "")
	f.Fuzz(func(t *testing.T, reference, answer, contextText string) {
		in := Input{Question: reference, Reference: reference, Answerable: true, Contexts: []string{contextText}, Answer: answer}
		v, _, err := NewLexical().Grade(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if v.Abstained && !v.Grounded || blank(contextText) && v.Grounded && !v.Abstained {
			t.Errorf("%+v", v)
		}
		r, _, err := NewLexical().Relevance(t.Context(), reference, nil, in.Contexts)
		if err != nil || !validScores(r.Scores, 1) {
			t.Errorf("%+v, %v", r, err)
		}
		if w := wordsOf(withoutCitations(answer)); len(w.all) > 0 && !abstains(answer) {
			in.Reference, in.Contexts = answer, []string{answer}
			if v, _, _ := NewLexical().Grade(t.Context(), in); !*v.Correct || !v.Grounded {
				t.Errorf("%q is not its own reference: %+v", answer, v)
			}
		}
	})
}
