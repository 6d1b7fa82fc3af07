package samplerag

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/google/go-cmp/cmp"
)

func TestAnalyzers(t *testing.T) {
	tests := []struct {
		name, text   string
		english, cjk []string
	}{
		{"English is stemmed in one field and kept in the other", "The Retries of requests",
			[]string{"retri", "request"}, []string{"retries", "requests"}},
		{"Hangul is paired, so that a particle does not hide the word", "골든셋을",
			[]string{"골든셋을"}, []string{"골든", "든셋", "셋을"}},
		{"a particle leaves its Latin word", "Kubernetes의",
			[]string{"kubernet", "의"}, []string{"kubernetes", "의"}},
		{"pairs do not reach over a space", "한 판정 후",
			[]string{"한", "판정", "후"}, []string{"한", "판정", "후"}},
		{"identifiers come apart", "hit_rate@5 spec.retriever",
			[]string{"hit", "rate", "5", "spec", "retriev"}, []string{"hit", "rate", "5", "spec", "retriever"}},
		{"an accent stays with its letter", "cafe\u0301 x",
			[]string{"cafe\u0301", "x"}, []string{"cafe\u0301", "x"}},
		{"no word", "?! …", nil, nil},
	}
	im, err := newMapping()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for analyzer, want := range map[string][]string{analyzerEnglish: tt.english, analyzerCJK: tt.cjk} {
				var got []string
				for _, token := range im.AnalyzerNamed(analyzer).Analyze([]byte(tt.text)) {
					got = append(got, string(token.Term))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s of %q (-want +got):\n%s", analyzer, tt.text, diff)
				}
			}
		})
	}
}

func FuzzScriptTokenizer(f *testing.F) {
	for _, s := range []string{"", "hit_rate@5", "골든셋을 고치면 Stalled가", "カタカナ漢字", "a\u0301\u0301b", "\xff\xfe가\x80"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		end := 0
		for i, token := range (scriptTokenizer{}).Tokenize(input) {
			if token.Start < end || token.End <= token.Start || token.End > len(input) {
				t.Fatalf("token %d is [%d, %d) after %d in %d bytes", i, token.Start, token.End, end, len(input))
			}
			if token.Position != i+1 || string(token.Term) != string(input[token.Start:token.End]) {
				t.Fatalf("token %d does not say what it covers: %+v", i, token)
			}
			hangul := strings.ContainsFunc(string(token.Term), func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
			if hangul && token.Type != analysis.Ideographic {
				t.Fatalf("token %q has type %v", token.Term, token.Type)
			}
			end = token.End
		}
		letters := strings.IndexFunc(string(input), func(r rune) bool { return r != utf8.RuneError && unicode.IsLetter(r) })
		if letters >= 0 && end == 0 {
			t.Fatalf("no token in %q", input)
		}
	})
}
