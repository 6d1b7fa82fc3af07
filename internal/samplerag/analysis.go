package samplerag

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/registry"
	"github.com/blevesearch/bleve/v2/search"
	index "github.com/blevesearch/bleve_index_api"
)

// The two fields hold the same text. One stems English words; the other keeps
// them and cuts CJK text into pairs of characters, so that 골든셋을 matches 골든셋.
const (
	fieldEnglish = "english"
	fieldCJK     = "cjk"

	analyzerEnglish = "assay_english"
	analyzerCJK     = "assay_cjk"
	tokenizerScript = "assay_script"
)

func init() {
	err := registry.RegisterTokenizer(tokenizerScript, func(map[string]any, *registry.Cache) (analysis.Tokenizer, error) {
		return scriptTokenizer{}, nil
	})
	if err != nil {
		panic(err)
	}
}

func newMapping() (*mapping.IndexMappingImpl, error) {
	im := bleve.NewIndexMapping()
	im.ScoringModel = index.BM25Scoring
	for name, filters := range map[string][]string{
		analyzerEnglish: {lowercase.Name, en.StopName, en.SnowballStemmerName},
		analyzerCJK:     {cjk.WidthName, lowercase.Name, en.StopName, cjk.BigramName},
	} {
		err := im.AddCustomAnalyzer(name, map[string]any{"type": custom.Name, "tokenizer": tokenizerScript, "token_filters": filters})
		if err != nil {
			return nil, fmt.Errorf("add analyzer %s: %w", name, err)
		}
	}
	doc := bleve.NewDocumentStaticMapping()
	for field, analyzer := range map[string]string{fieldEnglish: analyzerEnglish, fieldCJK: analyzerCJK} {
		f := bleve.NewTextFieldMapping()
		f.Analyzer = analyzer
		f.Store, f.IncludeTermVectors, f.IncludeInAll, f.DocValues = false, false, false, false
		doc.AddFieldMappingsAt(field, f)
	}
	im.DefaultMapping = doc
	return im, im.Validate()
}

// fieldStats counts the tokens of every field over the corpus.
func fieldStats(im *mapping.IndexMappingImpl, chunks map[string]chunk) (*search.BM25Stats, error) {
	stats := &search.BM25Stats{DocCount: float64(len(chunks)), FieldCardinality: map[string]int{}}
	for field, name := range map[string]string{fieldEnglish: analyzerEnglish, fieldCJK: analyzerCJK} {
		analyzer := im.AnalyzerNamed(name)
		if analyzer == nil {
			return nil, fmt.Errorf("no analyzer %s", name)
		}
		for _, c := range chunks {
			stats.FieldCardinality[field] += len(analyzer.Analyze([]byte(c.indexed())))
		}
	}
	return stats, nil
}

// scriptTokenizer gives every run of letters and digits of one script: a
// particle leaves its Latin word (Kubernetes의), and identifiers come apart
// (hit_rate@5). bleve's own CJK analysis takes Hangul for a Latin word and
// never pairs its syllables; here Hangul is marked so that it does.
type scriptTokenizer struct{}

// Tokenize implements analysis.Tokenizer.
func (scriptTokenizer) Tokenize(input []byte) analysis.TokenStream {
	var tokens analysis.TokenStream
	start, current := 0, scriptNone
	emit := func(end int) {
		if current == scriptNone {
			return
		}
		t := &analysis.Token{Term: input[start:end], Start: start, End: end, Position: len(tokens) + 1, Type: analysis.AlphaNumeric}
		if current == scriptCJK {
			t.Type = analysis.Ideographic
		}
		tokens = append(tokens, t)
	}
	for i := 0; i < len(input); {
		r, size := utf8.DecodeRune(input[i:])
		if s := scriptOf(r, current); s != current {
			emit(i)
			start, current = i, s
		}
		i += size
	}
	emit(len(input))
	return tokens
}

type script int

const (
	scriptNone script = iota
	scriptWord
	scriptCJK
)

func scriptOf(r rune, before script) script {
	switch {
	case unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return scriptCJK
	case unicode.IsMark(r):
		return before
	case unicode.IsLetter(r), unicode.IsDigit(r):
		return scriptWord
	}
	return scriptNone
}
