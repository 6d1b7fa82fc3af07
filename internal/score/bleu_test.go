package score

import (
	_ "embed"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

//go:embed testdata/bleu.json
var bleuVectors []byte

func TestBLEUConformance(t *testing.T) {
	var vectors []struct {
		Reference, Hypothesis string
		Tokenizer             Tokenizer
		BLEU                  float64
		BrevityPenalty        float64 `json:"brevity_penalty"`
	}
	if err := json.Unmarshal(bleuVectors, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 10 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		bleu, penalty := SentenceBLEU(v.Reference, v.Hypothesis, v.Tokenizer)
		if math.Abs(bleu-v.BLEU) > 0.5000001e-4 || math.Abs(penalty-v.BrevityPenalty) > 0.5000001e-4 {
			t.Errorf("%s: %q against %q = %v, penalty %v; want %v and %v", v.Tokenizer, v.Hypothesis, v.Reference, bleu, penalty, v.BLEU, v.BrevityPenalty)
		}
	}
}

func TestBLEUEdges(t *testing.T) {
	tests := map[string]struct {
		reference, hypothesis string
		tokenizer             Tokenizer
		bleu, penalty         float64
	}{
		"both empty":                        {"", "", Whitespace, 0, 0},
		"an empty reference":                {"", "a", Whitespace, 0, 1},
		"white space alone is empty":        {"a", " \n\t\u3000", Char, 0, 0},
		"white space does not count":        {"수수료 는", "수수\n료는", Char, 1, 1},
		"but parts words":                   {"수수료 는", "수수료는", Whitespace, 0, math.Exp(-1)},
		"an empty tokenizer is Whitespace":  {"a b", "a  b", "", 1, 1},
		"repeats are clipped":               {"the cat", "the the the the", Whitespace, 0.25, 1},
		"order counts":                      {"a b c d", "d c b a", Whitespace, 1, 1}, // only n = 1 matches
		"what is no UTF-8 is compared, too": {"\xff\xfe", "\xff\xfe", Char, 1, 1},
		"by its bytes":                      {"\xff", "\xfe", Char, 0, 1},
		"and is no replacement character":   {"\xff", "\uFFFD", Char, 0, 1},
	}
	for name, tt := range tests {
		if bleu, penalty := SentenceBLEU(tt.reference, tt.hypothesis, tt.tokenizer); math.Abs(bleu-tt.bleu) > 1e-12 || math.Abs(penalty-tt.penalty) > 1e-12 {
			t.Errorf("%s: %v, %v, want %v, %v", name, bleu, penalty, tt.bleu, tt.penalty)
		}
	}
}

// naiveBLEU follows the formula word for word, over joined n-grams.
func naiveBLEU(ref, hyp []string) float64 {
	if len(hyp) == 0 {
		return 0
	}
	product, n := 1.0, 0
	for size := 1; size <= 4; size++ {
		have, matches, total := map[string]int{}, 0, 0
		for i := 0; i+size <= len(ref); i++ {
			have[strings.Join(ref[i:i+size], "\x00")]++
		}
		for i := 0; i+size <= len(hyp); i++ {
			total++
			if g := strings.Join(hyp[i:i+size], "\x00"); have[g] > 0 {
				have[g]--
				matches++
			}
		}
		if matches > 0 {
			product *= float64(matches) / float64(total)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	penalty := 1.0
	if len(hyp) < len(ref) {
		penalty = math.Exp(1 - float64(len(ref))/float64(len(hyp)))
	}
	return penalty * math.Pow(product, 1/float64(n))
}

func TestBLEUIsItsFormula(t *testing.T) {
	word := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "수수료는", "10%"}), 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		ref, hyp := word.Draw(t, "reference"), word.Draw(t, "hypothesis")
		got, _ := SentenceBLEU(strings.Join(ref, " "), strings.Join(hyp, "\n "), Whitespace)
		if want := naiveBLEU(ref, hyp); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v, by the formula %v", got, want)
		}
	})
}

func FuzzBLEU(f *testing.F) {
	f.Add("the fee is ten percent", "the fee", false)
	f.Add("수수료는 10%입니다", "수수료는 10%가 아닙니다", true)
	f.Add("\xff\xed\xa0\x80", "\xed", true)
	f.Fuzz(func(t *testing.T, reference, hypothesis string, char bool) {
		tokenizer := Whitespace
		if char {
			tokenizer = Char
		}
		bleu, penalty := SentenceBLEU(reference, hypothesis, tokenizer)
		if !(0 <= bleu && bleu <= penalty && penalty <= 1) {
			t.Errorf("bleu %v, penalty %v", bleu, penalty)
		}
		if same, _ := SentenceBLEU(reference, reference, tokenizer); same != 1 && strings.TrimSpace(reference) != "" {
			t.Errorf("a text against itself is %v", same)
		}
	})
}

// An answer may be megabytes long. What grew faster than the text would not come
// back within the test's time.
func TestBLEUOfLongTexts(t *testing.T) {
	long := strings.Repeat("가 ", 1<<20)
	if bleu, _ := SentenceBLEU(long, long, Char); bleu != 1 {
		t.Errorf("a long text against itself is %v", bleu)
	}
	var varied strings.Builder
	for i := range rune(1 << 19) {
		varied.WriteRune('가' + i*i%11000)
	}
	if bleu, penalty := SentenceBLEU("가 나 다", varied.String(), Char); !(bleu > 0 && bleu < 1) || penalty != 1 {
		t.Errorf("bleu %v, penalty %v", bleu, penalty)
	}
}
