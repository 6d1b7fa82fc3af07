package mapping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
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

// Expression is one compiled mapping. It is safe for concurrent use.
type Expression struct {
	kind    Kind
	source  string
	program cel.Program
	// reads are the variables that it reads; params are the names that it needs of params.
	reads  map[string]bool
	params []string
}

// Source is the expression as it was written.
func (e *Expression) Source() string { return e.source }

// Reads says whether the expression reads a variable.
func (e *Expression) Reads(variable string) bool { return e.reads[variable] }

// Compile gives an expression, or what is wrong with it.
func Compile(k Kind, source string) (*Expression, []Problem) {
	whole := func(format string, args ...any) []Problem {
		return []Problem{{Field: k.Field, Message: fmt.Sprintf(format, args...)}}
	}
	env, err := k.Scope.environment()
	if err != nil {
		return nil, whole("setting up CEL: %v", err)
	}

	checked, issues := env.Compile(source)
	if issues != nil && issues.Err() != nil {
		var problems []Problem
		for _, e := range issues.Errors() {
			problems = append(problems, Problem{
				Field: k.Field, Line: e.Location.Line(), Column: e.Location.Column() + 1,
				Message: k.advise(e.Message),
			})
		}
		return nil, problems
	}

	e := &Expression{kind: k, source: source}
	found := findUses(checked.NativeRep())
	e.reads, e.params = found.variables, found.params()
	var problems []Problem
	for _, name := range found.unknownCaseFields {
		problems = append(problems, whole("case has no %s, only %s", name, strings.Join(caseFields, ", "))...)
	}
	if !k.takes(checked.OutputType()) {
		problems = append(problems, whole("it gives %s, but must give %s", checked.OutputType(), k.Gives)...)
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
func (k *Kind) advise(message string) string {
	message = strings.Join(strings.Fields(strings.ReplaceAll(message, " (in container '')", "")), " ")
	name, undeclared := strings.CutPrefix(message, "undeclared reference to ")
	switch {
	case undeclared && !k.Scope.reply && (strings.HasPrefix(name, "'response'") || strings.HasPrefix(name, "'headers'")):
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

func (k *Kind) inScope() string {
	return "in scope are " + strings.Join(k.Scope.names, ", ")
}

// Eval runs the expression. Its error is for people; it wraps the context's
// error where that ended it.
func (e *Expression) Eval(ctx context.Context, vars map[string]any) (ref.Val, error) {
	value, _, err := e.program.ContextEval(ctx, vars)
	if err == nil {
		return Unwrap(value), nil
	}
	var cancelled interpreter.EvalCancelledError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", e.kind.Field, ctx.Err())
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return nil, fmt.Errorf("%s: it cost more than the limit of %d million and was stopped; ask for fewer results or nest fewer map() and filter() calls", e.kind.Field, costLimit/1_000_000)
	}
	return nil, fmt.Errorf("%s: %s", e.kind.Field, strings.ReplaceAll(err.Error(), "got 'types.Null', expected iterable type", "a null stands where a list is expected"))
}

// estimator says how large what a mapping reads is taken to be.
type estimator struct{}

func (estimator) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Min: 0, Max: typicalItems}
}

func (estimator) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// uses is what an expression reads, and what it needs of the variables whose contents are
// known beforehand.
type uses struct {
	variables         map[string]bool
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
	u := &uses{variables: map[string]bool{}, read: map[string]bool{}, tested: map[string]bool{}}
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
		if name := e.AsIdent(); !slices.Contains(hidden, name) {
			u.variables[name] = true
		}
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
