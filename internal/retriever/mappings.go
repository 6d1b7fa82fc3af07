package retriever

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/assay-dev/assay/internal/mapping"
)

// Mappings say, in CEL, how a question becomes a request and a reply a ranked list.
type Mappings struct {
	// Preset whose mappings fill in what is empty here; empty: Assay.
	Preset string
	// Request gives the JSON body.
	Request string
	// Query gives a map of URL parameters.
	Query string
	// Results gives the ranked list.
	Results string
	// Error gives a message where a reply is no success, else an empty string.
	Error string
	// CorpusVersion gives what identifies the index behind the reply.
	CorpusVersion string
	// Method of the request; empty: POST.
	Method string
	// HasEmbedding says that a vector can be had for the question.
	HasEmbedding bool
}

// Problem is one thing that is wrong with a mapping.
type Problem = mapping.Problem

// CompileError is all that is wrong with a suite's mappings or params.
type CompileError = mapping.CompileError

// Program is compiled mappings. It is safe for concurrent use.
type Program struct {
	// An expression that is left out is nil.
	request, query, results, errorMessage, corpusVersion *mapping.Expression

	// plainRequest and plainResults say that the mappings are those of the
	// preset Assay, which Go code carries out faster and to the same effect.
	plainRequest, plainResults bool
	usesVector                 bool
	maxTopK                    int
}

// Compile checks mappings and makes them ready to run. Its error is a
// *CompileError that holds every problem there is.
func Compile(m Mappings) (*Program, error) {
	name := cmp.Or(m.Preset, defaultPreset)
	base, ok := presets[name]
	if !ok {
		known := slices.Sorted(maps.Keys(presets))
		return nil, &CompileError{Problems: []Problem{{
			Field:   "retriever.preset",
			Message: fmt.Sprintf("there is no preset %q: use one of %s", name, strings.Join(known, ", ")),
		}}}
	}

	all := mapping.CheckMethod("retriever", m.Method, m.Request, m.Query, `{"q": question, "limit": topK}`)
	if m.Method == http.MethodGet {
		base.request = ""
	}

	p := &Program{maxTopK: base.maxTopK}
	for _, f := range []struct {
		to          **mapping.Expression
		kind        mapping.Kind
		own, preset string
	}{
		{&p.request, requestMapping, m.Request, base.request},
		{&p.query, queryMapping, m.Query, ""},
		{&p.results, resultsMapping, m.Results, base.results},
		{&p.errorMessage, errorMapping, m.Error, base.errorMessage},
		{&p.corpusVersion, versionMapping, m.CorpusVersion, ""},
	} {
		source := cmp.Or(f.own, f.preset)
		if source == "" {
			continue
		}
		e, problems := mapping.Compile(f.kind, source)
		all = append(all, problems...)
		if e == nil {
			continue
		}
		*f.to = e
		if e.Reads("vector") {
			p.usesVector = true
			if !m.HasEmbedding {
				all = append(all, Problem{Field: f.kind.Field, Message: "it uses vector, but nothing makes one: add retriever.embedding (url and model)"})
			}
		}
	}
	if len(all) > 0 {
		return nil, &CompileError{Problems: all}
	}

	plain := presets[defaultPreset]
	p.plainRequest = p.request != nil && p.request.Source() == plain.request
	p.plainResults = p.results.Source() == plain.results && p.errorMessage == nil && p.corpusVersion == nil
	return p, nil
}

// CheckParams says which names the mappings read from params and params lacks.
// Its error is a *CompileError.
func (p *Program) CheckParams(params map[string]any) error {
	return mapping.CheckParams("retriever", params, p.request, p.query, p.results, p.errorMessage, p.corpusVersion)
}

// CheckTopK says whether the service behind the preset can give that many results.
func (p *Program) CheckTopK(topK int) error {
	if p.maxTopK > 0 && topK > p.maxTopK {
		return fmt.Errorf("the service returns at most %d results: set topK to %d or less, it is %d", p.maxTopK, p.maxTopK, topK)
	}
	return nil
}

// UsesVector says whether a mapping reads the question's embedding.
func (p *Program) UsesVector() bool { return p.usesVector }

var (
	requestScope, replyScope = mapping.NewScopes(mapping.Variable{Name: "vector", Type: cel.ListType(cel.DoubleType)})

	requestMapping = mapping.RequestKind("retriever", requestScope)
	queryMapping   = mapping.QueryKind("retriever", requestScope)
	resultsMapping = mapping.ResultsKind("retriever", replyScope)
	errorMapping   = mapping.ErrorKind("retriever", replyScope)
	versionMapping = mapping.VersionKind("retriever", replyScope)
)
