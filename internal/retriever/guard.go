package retriever

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// maxValue bounds what an expression may build, in bytes: those of text, and
// itemWeight or pairWeight for every item of a list or map. CEL counts the cost of an operation when it is over, and takes an
// operation on values of unknown type for free; a few doublings in a row, or one
// replace() of every letter by a page, would take all memory before that.
const (
	maxValue   = 16 << 20
	itemWeight = 16
	pairWeight = 64
)

// guard keeps the values of an expression small.
type guard struct {
	impl map[string]functions.FunctionOp
}

func newGuard(env *cel.Env) (*guard, error) {
	g := &guard{impl: map[string]functions.FunctionOp{}}
	for name := range growth {
		declared, ok := env.Functions()[name]
		if !ok {
			return nil, fmt.Errorf("there is no function %s", name)
		}
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, fmt.Errorf("reading the function %s: %w", name, err)
		}
		for _, b := range bindings {
			if b.Operator == name {
				g.impl[name] = anyArity(b)
			}
		}
	}
	return g, nil
}

func anyArity(o *functions.Overload) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		switch {
		case len(args) == 1 && o.Unary != nil:
			return o.Unary(args[0])
		case len(args) == 2 && o.Binary != nil:
			return o.Binary(args[0], args[1])
		case o.Function != nil:
			return o.Function(args...)
		}
		return types.NoSuchOverloadErr()
	}
}

// growth says, for each function whose result can be far larger than its
// arguments, the most that the result, or the work, can be.
var growth = map[string]func([]ref.Val) int{
	"replace": func(args []ref.Val) int {
		text, _ := args[0].(types.String)
		old, _ := args[1].(types.String)
		return len(text) + product(strings.Count(string(text), string(old)), size(args[2])*utf8.UTFMax)
	},
	"join": func(args []ref.Val) int {
		separator := 0
		if len(args) > 1 {
			separator = measure(args[1], maxValue)
		}
		return measure(args[0], maxValue) + product(size(args[0]), separator)
	},
	"format": func(args []ref.Val) int { return measure(args[0], maxValue) + 2*measure(args[1], maxValue) },
	// A regular expression takes up to as many steps as text and expression multiplied.
	"matches": func(args []ref.Val) int {
		return product(measure(args[0], maxValue)+1, measure(args[1], maxValue)+1) / 16
	},
	"flatten": func(args []ref.Val) int { return measure(args[0], maxValue) },
	// Every item may be compared with every other.
	"distinct": func(args []ref.Val) int { return product(size(args[0]), size(args[0])) / 16 },
}

// decorate wraps what can grow. It is an interpreter.InterpretableDecoratorV2.
func (g *guard) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch i := i.(type) {
	case interpreter.InterpretableConst:
		return i, nil
	case interpreter.InterpretableConstructor:
		return &boundedConstructor{i}, nil
	case interpreter.InterpretableCall:
		if impl, ok := g.impl[i.Function()]; ok {
			return &boundedCall{InterpretableCall: i, impl: impl, result: growth[i.Function()]}, nil
		}
	}
	return i, nil
}

// boundedCall looks at a call's arguments before it is made.
type boundedCall struct {
	interpreter.InterpretableCall
	impl   functions.FunctionOp
	result func([]ref.Val) int
}

func (c *boundedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(c.Args()))
	for i, arg := range c.Args() {
		args[i] = arg.Exec(frame)
		if types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	if c.result(args) > maxValue {
		return tooLarge(c.ID(), c.Function()+"()")
	}
	return types.LabelErrNode(c.ID(), c.impl(args...))
}

// boundedConstructor looks at a list or map after it is made. A list that is
// put into a list twice, and that again, doubles without taking memory; who then
// walks over it never ends.
type boundedConstructor struct {
	interpreter.InterpretableConstructor
}

func (c *boundedConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := c.InterpretableConstructor.Exec(frame)
	if types.IsUnknownOrError(value) {
		return value
	}
	if measure(value, maxValue) > maxValue {
		return tooLarge(c.ID(), "a list or map")
	}
	return value
}

func tooLarge(id int64, what string) ref.Val {
	return types.NewErrWithNodeID(id, "%s would grow beyond %d MiB", what, maxValue>>20)
}

// growthCost adds to CEL's own costs those of putting two values of unknown
// type together: CEL counts 1, and a text can double with every +.
type growthCost struct{}

func (growthCost) CallCost(function, overloadID string, _ []ref.Val, result ref.Val) *uint64 {
	if function != "_+_" || overloadID != "" {
		return nil
	}
	cost := uint64(1)
	switch v := result.(type) {
	case types.String:
		cost += uint64(len(v)) / 10
	case types.Bytes:
		cost += uint64(len(v)) / 10
	case traits.MutableLister:
		// The list that map() and filter() collect in grows by one item a step.
	case traits.Lister:
		cost += uint64(size(v)) / 10
	}
	return &cost
}

func product(a, b int) int {
	if b > 0 && a > 2*maxValue*16/b {
		return 2 * maxValue * 16
	}
	return a * b
}

func size(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok && n >= 0 {
			return int(min(n, 2*maxValue))
		}
	}
	return 1
}

// measure gives about how many bytes a value takes with all that it holds. It
// stops counting beyond limit.
func measure(v ref.Val, limit int) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case *types.Optional:
		if v.HasValue() {
			return measure(v.GetValue(), limit)
		}
		return 1
	case traits.Lister:
		total := size(v) * itemWeight
		for it := v.Iterator(); total <= limit && it.HasNext() == types.True; {
			total += measure(it.Next(), limit-total)
		}
		return total
	case traits.Mapper:
		if native, ok := v.Value().(map[string]any); ok {
			return measureNative(native, limit)
		}
		total := size(v) * pairWeight
		for it := v.Iterator(); total <= limit && it.HasNext() == types.True; {
			key := it.Next()
			total += measure(key, limit-total) + measure(v.Get(key), limit-total)
		}
		return total
	}
	return 1
}

func measureNative(v any, limit int) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		total := len(v) * itemWeight
		for _, item := range v {
			if total > limit {
				break
			}
			total += measureNative(item, limit-total)
		}
		return total
	case map[string]any:
		total := len(v) * pairWeight
		for key, item := range v {
			if total > limit {
				break
			}
			total += len(key) + measureNative(item, limit-total)
		}
		return total
	}
	return 1
}
