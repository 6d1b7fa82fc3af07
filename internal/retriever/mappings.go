package retriever

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
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
type Problem struct {
	// Field is the mapping, as users write it: retriever.results.
	Field string
	// Line and Column in the expression, from 1; 0: the mapping as a whole.
	Line, Column int
	// Message says what is wrong and what to do.
	Message string
}

// String gives the problem on one line.
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.Field, p.Message)
	}
	return fmt.Sprintf("%s: %d:%d: %s", p.Field, p.Line, p.Column, p.Message)
}

// CompileError is all that is wrong with a suite's mappings or params.
type CompileError struct {
	Problems []Problem
}

// Error gives every problem, on one line.
func (e *CompileError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// Program is compiled mappings. It is safe for concurrent use.
type Program struct {
	// An expression that is left out is nil.
	request, query, results, errorMessage, corpusVersion *expression

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

	var all []Problem
	if m.Method == http.MethodGet {
		if m.Request != "" {
			all = append(all, Problem{Field: "retriever.request", Message: "a GET has no body: use the query mapping instead of request, or set retriever.method to POST"})
		}
		if m.Query == "" {
			all = append(all, Problem{Field: "retriever.query", Message: `a GET asks by URL parameters alone: add retriever.query, for example {"q": question, "limit": topK}, or set retriever.method to POST`})
		}
		base.request = ""
	}

	p := &Program{maxTopK: base.maxTopK}
	for _, f := range []struct {
		to          **expression
		kind        kind
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
		e, problems := compile(f.kind, source)
		all = append(all, problems...)
		if e == nil {
			continue
		}
		*f.to = e
		if e.usesVector {
			p.usesVector = true
			if !m.HasEmbedding {
				all = append(all, Problem{Field: f.kind.field, Message: "it uses vector, but nothing makes one: add retriever.embedding (url and model)"})
			}
		}
	}
	if len(all) > 0 {
		return nil, &CompileError{Problems: all}
	}

	plain := presets[defaultPreset]
	p.plainRequest = p.request != nil && p.request.source == plain.request
	p.plainResults = p.results.source == plain.results && p.errorMessage == nil && p.corpusVersion == nil
	return p, nil
}

// CheckParams says which names the mappings read from params and params lacks.
// Its error is a *CompileError.
func (p *Program) CheckParams(params map[string]any) error {
	readers := map[string][]string{}
	for _, e := range []*expression{p.request, p.query, p.results, p.errorMessage, p.corpusVersion} {
		if e == nil {
			continue
		}
		for _, name := range e.params {
			readers[name] = append(readers[name], e.kind.field)
		}
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		if _, ok := params[name]; !ok {
			problems = append(problems, Problem{
				Field:   "retriever.params",
				Message: fmt.Sprintf("%q is missing, which is read by %s: add it, for example {%q: %q}", name, strings.Join(readers[name], " and "), name, example(name)),
			})
		}
	}
	if len(problems) > 0 {
		return &CompileError{Problems: problems}
	}
	return nil
}

// example gives what might stand under a name of params.
func example(name string) string {
	if name == "idField" {
		return "path"
	}
	return "body"
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

// kind is one of the mappings: where it stands, what it may read and give.
type kind struct {
	field string
	// reply mappings may read response and headers.
	reply bool
	// gives is what the result must be, for people; accepts holds it at compile time.
	gives   string
	accepts []cel.Kind
}

var (
	requestMapping = kind{field: "retriever.request", gives: "anything that JSON can carry"}
	queryMapping   = kind{field: "retriever.query", gives: `a map of URL parameters, for example {"q": question}`, accepts: []cel.Kind{cel.MapKind}}
	resultsMapping = kind{field: "retriever.results", reply: true, gives: `a list, for example response.hits.map(h, {"id": h.path, "text": h.body})`, accepts: []cel.Kind{cel.ListKind}}
	errorMapping   = kind{field: "retriever.error", reply: true, gives: "a string, empty where all is well", accepts: []cel.Kind{cel.StringKind, cel.NullTypeKind}}
	versionMapping = kind{field: "retriever.corpusVersion", reply: true, gives: "a string or a number", accepts: []cel.Kind{cel.StringKind, cel.IntKind, cel.UintKind, cel.DoubleKind, cel.NullTypeKind}}
)

func (k kind) takes(t *cel.Type) bool {
	if len(k.accepts) == 0 || t.Kind() == cel.DynKind || t.Kind() == cel.OpaqueKind {
		return true
	}
	return slices.Contains(k.accepts, t.Kind())
}
