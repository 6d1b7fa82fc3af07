package mapping

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/assay-dev/assay/internal/golden"
)

// Variable is something that a mapping may read.
type Variable struct {
	Name string
	Type *cel.Type
}

// common is what every mapping may read.
var common = []Variable{
	{"question", cel.StringType},
	{"topK", cel.IntType},
	{"case", cel.MapType(cel.StringType, cel.DynType)},
	{"params", cel.MapType(cel.StringType, cel.DynType)},
}

var caseFields = []string{"id", "tags", "metadata", "history"}

// ofReply is what mappings of replies may read beside that.
var ofReply = []Variable{
	{"response", cel.DynType},
	{"headers", cel.MapType(cel.StringType, cel.StringType)},
}

// Scope is what the mappings of a service may read.
type Scope struct {
	names       []string
	reply       bool
	environment func() (*cel.Env, error)
}

// NewScopes gives the scope of a service's request mappings and that of its reply
// mappings, where extra can be read beside what is common to all.
func NewScopes(extra ...Variable) (request, reply *Scope) {
	asked := slices.Concat(common, extra)
	return newScope(asked, false), newScope(slices.Concat(ofReply, asked), true)
}

func newScope(variables []Variable, reply bool) *Scope {
	s := &Scope{reply: reply, environment: sync.OnceValues(func() (*cel.Env, error) { return environment(variables) })}
	for _, v := range variables {
		s.names = append(s.names, v.Name)
	}
	return s
}

// environment is CEL as mappings know it.
func environment(variables []Variable) (*cel.Env, error) {
	options := []cel.EnvOption{
		ext.Strings(), ext.Lists(ext.ListsMaxRangeSize(maxRange)), ext.Encoders(), cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
	}
	for _, v := range variables {
		options = append(options, cel.Variable(v.Name, v.Type))
	}
	return cel.NewEnv(options...)
}

// Variables gives what every mapping may read. The expressions that are given the
// same variables share a bound of what they may build: make them anew for each
// request and each reply.
func Variables(c *golden.Case, topK int, params map[string]any) map[string]any {
	history := make([]any, len(c.History))
	for i, turn := range c.History {
		history[i] = map[string]any{"role": turn.Role, "content": turn.Content}
	}
	tags := make([]any, len(c.Tags))
	for i, tag := range c.Tags {
		tags[i] = tag
	}
	metadata := c.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	left := maxWork
	return map[string]any{
		"question": c.Question,
		"topK":     topK,
		"case":     map[string]any{"id": c.ID, "tags": tags, "metadata": metadata, "history": history},
		"params":   params,
		workKey:    &left,
	}
}

// AddReply adds what mappings of replies may read: response is a decoded JSON
// value; header names are in lower case, several values of one name joined.
func AddReply(vars map[string]any, response any, header http.Header) {
	headers := make(map[string]string, len(header))
	for name, values := range header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	vars["response"], vars["headers"] = response, headers
}
