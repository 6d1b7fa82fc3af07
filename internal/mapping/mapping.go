// Package mapping runs the CEL expressions that turn questions into requests and
// replies into what Assay works with. It bounds what an expression may take, and
// says what is wrong in the words of a suite.
package mapping

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
)

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

// Kind is one of the mappings of a service: where it stands, what it may read
// and what it gives.
type Kind struct {
	// Field is where it stands in a suite: retriever.results.
	Field string
	// Scope is what it may read.
	Scope *Scope
	// Gives is what the result must be, for people; Accepts holds it at compile
	// time, where the type is known by then. None: anything.
	Gives   string
	Accepts []cel.Kind
}

func (k *Kind) takes(t *cel.Type) bool {
	if len(k.Accepts) == 0 || t.Kind() == cel.DynKind || t.Kind() == cel.OpaqueKind {
		return true
	}
	return slices.Contains(k.Accepts, t.Kind())
}

// RequestKind gives the mapping of a service to the JSON body.
func RequestKind(service string, scope *Scope) Kind {
	return Kind{Field: service + ".request", Scope: scope, Gives: "anything that JSON can carry"}
}

// QueryKind gives the mapping of a service to the parameters of the URL.
func QueryKind(service string, scope *Scope) Kind {
	return Kind{Field: service + ".query", Scope: scope, Gives: `a map of URL parameters, for example {"q": question}`, Accepts: []cel.Kind{cel.MapKind}}
}

// ResultsKind gives the mapping of a service to a ranked list.
func ResultsKind(service string, scope *Scope) Kind {
	return Kind{Field: service + ".results", Scope: scope, Gives: `a list, for example response.hits.map(h, {"id": h.path, "text": h.body})`, Accepts: []cel.Kind{cel.ListKind}}
}

// ErrorKind gives the mapping of a service to the message of a failure.
func ErrorKind(service string, scope *Scope) Kind {
	return Kind{Field: service + ".error", Scope: scope, Gives: "a string, empty where all is well", Accepts: []cel.Kind{cel.StringKind, cel.NullTypeKind}}
}

// VersionKind gives the mapping of a service to the version of its index.
func VersionKind(service string, scope *Scope) Kind {
	return Kind{Field: service + ".corpusVersion", Scope: scope, Gives: "a string or a number", Accepts: []cel.Kind{cel.StringKind, cel.IntKind, cel.UintKind, cel.DoubleKind, cel.NullTypeKind}}
}

// CheckMethod says what is wrong with the mappings of a service that is asked by
// a method. example is a query mapping for it.
func CheckMethod(service, method, request, query, example string) []Problem {
	var all []Problem
	if method != http.MethodGet {
		return nil
	}
	if request != "" {
		all = append(all, Problem{Field: service + ".request", Message: "a GET has no body: use the query mapping instead of request, or set " + service + ".method to POST"})
	}
	if query == "" {
		all = append(all, Problem{Field: service + ".query", Message: "a GET asks by URL parameters alone: add " + service + ".query, for example " + example + ", or set " + service + ".method to POST"})
	}
	return all
}

// CheckParams says which names the expressions read from a service's params and
// params lacks. Expressions may be nil. Its error is a *CompileError.
func CheckParams(service string, params map[string]any, expressions ...*Expression) error {
	readers := map[string][]string{}
	for _, e := range expressions {
		if e == nil {
			continue
		}
		for _, name := range e.params {
			readers[name] = append(readers[name], e.kind.Field)
		}
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		if _, ok := params[name]; !ok {
			problems = append(problems, Problem{
				Field:   service + ".params",
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

// OwnParams copies params, their numbers as CEL knows them.
func OwnParams(params map[string]any) (map[string]any, error) {
	if len(params) == 0 {
		return map[string]any{}, nil
	}
	text, err := EncodeJSON(params)
	if err != nil {
		return nil, err
	}
	v, err := DecodeJSON(text)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}
