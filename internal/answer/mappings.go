package answer

import (
	"cmp"
	"net/http"

	"github.com/google/cel-go/cel"

	"github.com/assay-dev/assay/internal/mapping"
)

// Mappings say, in CEL, how a question becomes a request and a reply an answer.
type Mappings struct {
	// Request gives the JSON body; empty: {"question": question, "contexts": contexts}.
	Request string
	// Query gives a map of URL parameters.
	Query string
	// Output gives {"answer", "contexts"?}; empty: the reply's own fields of these names.
	Output string
	// Results gives the ranked list of a service that retrieves by itself.
	Results string
	// Error gives a message where a reply is no success, else an empty string.
	Error string
	// CorpusVersion gives what identifies the index behind the reply.
	CorpusVersion string
	// Method of the request; empty: POST.
	Method string
}

// What a service is asked and answers where the suite does not say otherwise. The
// optional fields leave it to readOutput to say what is missing.
const (
	defaultRequest = `{"question": question, "contexts": contexts}`
	defaultOutput  = `type(response) == list ? {} : {"answer": response.?answer, "contexts": response.?contexts}`
)

var (
	requestScope, replyScope = mapping.NewScopes(
		mapping.Variable{Name: "results", Type: cel.ListType(cel.MapType(cel.StringType, cel.DynType))},
		mapping.Variable{Name: "contexts", Type: cel.ListType(cel.StringType)},
	)

	requestMapping = mapping.RequestKind("answer", requestScope)
	queryMapping   = mapping.QueryKind("answer", requestScope)
	outputMapping  = mapping.Kind{
		Field: "answer.output", Scope: replyScope,
		Gives:   `a map, for example {"answer": response.text, "contexts": response.sources.map(s, s.text)}`,
		Accepts: []cel.Kind{cel.MapKind},
	}
	resultsMapping = mapping.ResultsKind("answer", replyScope)
	errorMapping   = mapping.ErrorKind("answer", replyScope)
	versionMapping = mapping.VersionKind("answer", replyScope)
)

// Problem is one thing that is wrong with a mapping.
type Problem = mapping.Problem

// CompileError is all that is wrong with a suite's mappings or params.
type CompileError = mapping.CompileError

// Program is compiled mappings. It is safe for concurrent use.
type Program struct {
	// An expression that is left out is nil.
	request, query, output, results, errorMessage, corpusVersion *mapping.Expression
}

// Compile checks mappings and makes them ready to run. Its error is a
// *CompileError that holds every problem there is.
func Compile(m Mappings) (*Program, error) {
	all := mapping.CheckMethod("answer", m.Method, m.Request, m.Query, `{"q": question}`)
	request := cmp.Or(m.Request, defaultRequest)
	if m.Method == http.MethodGet {
		request = ""
	}
	p := &Program{}
	for _, f := range []struct {
		to     **mapping.Expression
		kind   mapping.Kind
		source string
	}{
		{&p.request, requestMapping, request},
		{&p.query, queryMapping, m.Query},
		{&p.output, outputMapping, cmp.Or(m.Output, defaultOutput)},
		{&p.results, resultsMapping, m.Results},
		{&p.errorMessage, errorMapping, m.Error},
		{&p.corpusVersion, versionMapping, m.CorpusVersion},
	} {
		if f.source == "" {
			continue
		}
		e, problems := mapping.Compile(f.kind, f.source)
		all = append(all, problems...)
		*f.to = e
	}
	if len(all) > 0 {
		return nil, &CompileError{Problems: all}
	}
	return p, nil
}

// SelfRetrieving says whether the service retrieves by itself, so that its replies
// hold the ranked list.
func (p *Program) SelfRetrieving() bool { return p.results != nil }

// CheckParams says which names the mappings read from params and params lacks.
// Its error is a *CompileError.
func (p *Program) CheckParams(params map[string]any) error {
	return mapping.CheckParams("answer", params, p.request, p.query, p.output, p.results, p.errorMessage, p.corpusVersion)
}

// reads says whether a mapping reads a variable.
func reads(variable string, expressions ...*mapping.Expression) bool {
	for _, e := range expressions {
		if e != nil && e.Reads(variable) {
			return true
		}
	}
	return false
}
