package retriever

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

const (
	// costLimit bounds one evaluation, and with it the memory that it takes, to
	// about 70 MiB. A preset spends 50 to 200 a result, so that even 10,000
	// results stay below it.
	costLimit = 3_000_000
	// estimateLimit bounds what an expression is estimated to cost at most.
	estimateLimit = 10_000_000
	// typicalItems is how long a list of unknown length is taken to be when an
	// expression's cost is estimated before it ever runs: three nested map()
	// calls pass, four do not.
	typicalItems = 40
	// interruptEvery is how many steps pass between two looks at the deadline. One
	// step may go through a whole reply.
	interruptEvery = 16

	maxExpression = 8192
)

// requestNames and replyNames are what a mapping may read.
var (
	requestNames = []string{"question", "topK", "case", "params", "vector"}
	replyNames   = append([]string{"response", "headers"}, requestNames...)

	caseFields = []string{"id", "tags", "metadata", "history"}
)

func (k kind) names() []string {
	if k.reply {
		return replyNames
	}
	return requestNames
}

// environment is CEL as mappings know it: the one of replies reads more.
func environment(reply bool) (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.Variable("question", cel.StringType),
		cel.Variable("topK", cel.IntType),
		cel.Variable("case", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("params", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("vector", cel.ListType(cel.DoubleType)),
		ext.Strings(), ext.Lists(ext.ListsMaxRangeSize(maxRange)), ext.Encoders(), cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
	}
	if reply {
		options = append(options,
			cel.Variable("response", cel.DynType),
			cel.Variable("headers", cel.MapType(cel.StringType, cel.StringType)))
	}
	return cel.NewEnv(options...)
}

var (
	requestEnvironment = sync.OnceValues(func() (*cel.Env, error) { return environment(false) })
	replyEnvironment   = sync.OnceValues(func() (*cel.Env, error) { return environment(true) })
)

// expression is one compiled mapping.
type expression struct {
	kind    kind
	source  string
	program cel.Program
	// usesVector says that it reads vector; params are the names that it needs of params.
	usesVector bool
	params     []string
}

// compile gives an expression, or what is wrong with it.
func compile(k kind, source string) (*expression, []Problem) {
	whole := func(format string, args ...any) []Problem {
		return []Problem{{Field: k.field, Message: fmt.Sprintf(format, args...)}}
	}
	env, err := requestEnvironment()
	if k.reply {
		env, err = replyEnvironment()
	}
	if err != nil {
		return nil, whole("setting up CEL: %v", err)
	}

	checked, issues := env.Compile(source)
	if issues != nil && issues.Err() != nil {
		var problems []Problem
		for _, e := range issues.Errors() {
			problems = append(problems, Problem{
				Field: k.field, Line: e.Location.Line(), Column: e.Location.Column() + 1,
				Message: k.advise(e.Message),
			})
		}
		return nil, problems
	}

	e := &expression{kind: k, source: source}
	found := findUses(checked.NativeRep())
	e.usesVector, e.params = found.vector, found.params()
	var problems []Problem
	for _, name := range found.unknownCaseFields {
		problems = append(problems, whole("case has no %s, only %s", name, strings.Join(caseFields, ", "))...)
	}
	if !k.takes(checked.OutputType()) {
		problems = append(problems, whole("it gives %s, but must give %s", checked.OutputType(), k.gives)...)
	}

	cost, err := env.EstimateCost(checked, estimator{})
	if err != nil {
		return nil, append(problems, whole("estimating its cost: %v", err)...)
	}
	if cost.Max > estimateLimit {
		problems = append(problems, whole(
			"it costs too much: over lists of %d items its estimated cost is above the limit of %d million; nest fewer map() and filter() calls",
			typicalItems, estimateLimit/1_000_000)...)
	}
	guard, err := newGuard(env)
	if err != nil {
		return nil, append(problems, whole("setting up CEL: %v", err)...)
	}
	e.program, err = env.Program(checked,
		cel.CustomDecoratorV2(guard.decorate),
		cel.CostTracking(workCost{}),
		cel.CostTrackerOptions(builderCosts()...),
		cel.CostLimit(costLimit),
		cel.InterruptCheckFrequency(interruptEvery),
	)
	if err != nil {
		return nil, append(problems, whole("%v", err)...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return e, nil
}

// advise adds to cel's message what to do about it.
func (k kind) advise(message string) string {
	message = strings.Join(strings.Fields(strings.ReplaceAll(message, " (in container '')", "")), " ")
	name, undeclared := strings.CutPrefix(message, "undeclared reference to ")
	switch {
	case undeclared && !k.reply && (strings.HasPrefix(name, "'response'") || strings.HasPrefix(name, "'headers'")):
		return message + ": there is no reply yet when the request is made; " + k.inScope()
	case undeclared:
		return message + "; " + k.inScope()
	case strings.HasPrefix(message, "Syntax error"):
		return message + "; check brackets, commas and quotes"
	case strings.HasPrefix(message, "found no matching overload"):
		return message + "; check the types, and convert with string(), int() or double() where they differ"
	}
	return message
}

func (k kind) inScope() string {
	return "in scope are " + strings.Join(k.names(), ", ")
}

// eval runs the expression. Its error is for people; it wraps the context's
// error where that ended it.
func (e *expression) eval(ctx context.Context, vars map[string]any) (ref.Val, error) {
	value, _, err := e.program.ContextEval(ctx, vars)
	if err == nil {
		return unwrap(value), nil
	}
	var cancelled interpreter.EvalCancelledError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", e.kind.field, ctx.Err())
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return nil, fmt.Errorf("%s: it cost more than the limit of %d million and was stopped; ask for fewer results or nest fewer map() and filter() calls", e.kind.field, costLimit/1_000_000)
	}
	return nil, fmt.Errorf("%s: %s", e.kind.field, strings.ReplaceAll(err.Error(), "got 'types.Null', expected iterable type", "a null stands where a list is expected"))
}

// estimator says how large what a mapping reads is taken to be.
type estimator struct{}

func (estimator) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Min: 0, Max: typicalItems}
}

func (estimator) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// uses is what an expression reads of the variables whose contents are known beforehand.
type uses struct {
	vector            bool
	read, tested      map[string]bool
	unknownCaseFields []string
}

// params are the names that must be there: those that has() asks for need not.
func (u *uses) params() []string {
	var names []string
	for name := range u.read {
		if !u.tested[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func findUses(tree *ast.AST) *uses {
	u := &uses{read: map[string]bool{}, tested: map[string]bool{}}
	u.visit(tree.Expr(), nil)
	return u
}

// visit walks an expression; hidden are the loop variables that hide the ones of the mapping.
func (u *uses) visit(e ast.Expr, hidden []string) {
	is := func(e ast.Expr, name string) bool {
		return e.Kind() == ast.IdentKind && e.AsIdent() == name && !slices.Contains(hidden, name)
	}
	switch e.Kind() {
	case ast.IdentKind:
		u.vector = u.vector || is(e, "vector")
	case ast.SelectKind:
		s := e.AsSelect()
		switch {
		case is(s.Operand(), "params") && s.IsTestOnly():
			u.tested[s.FieldName()] = true
		case is(s.Operand(), "params"):
			u.read[s.FieldName()] = true
		case is(s.Operand(), "case") && !slices.Contains(caseFields, s.FieldName()):
			u.unknownCaseFields = append(u.unknownCaseFields, s.FieldName())
		}
		u.visit(s.Operand(), hidden)
	case ast.CallKind:
		c := e.AsCall()
		if args := c.Args(); c.FunctionName() == "_[_]" && len(args) == 2 && is(args[0], "params") && args[1].Kind() == ast.LiteralKind {
			if name, ok := args[1].AsLiteral().Value().(string); ok {
				u.read[name] = true
			}
		}
		if c.IsMemberFunction() {
			u.visit(c.Target(), hidden)
		}
		for _, arg := range c.Args() {
			u.visit(arg, hidden)
		}
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			u.visit(item, hidden)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			u.visit(entry.AsMapEntry().Key(), hidden)
			u.visit(entry.AsMapEntry().Value(), hidden)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			u.visit(field.AsStructField().Value(), hidden)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		u.visit(c.IterRange(), hidden)
		u.visit(c.AccuInit(), hidden)
		inner := append(slices.Clone(hidden), c.IterVar(), c.AccuVar())
		if c.HasIterVar2() {
			inner = append(inner, c.IterVar2())
		}
		u.visit(c.LoopCondition(), inner)
		u.visit(c.LoopStep(), inner)
		u.visit(c.Result(), append(slices.Clone(hidden), c.AccuVar()))
	}
}
