package mapping

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

// MaxValue bounds each value that an expression builds, in bytes: those of text,
// and itemWeight or pairWeight for every item of a list or map. CEL counts the
// cost of an operation when it is over, and takes an operation on values of
// unknown type for free; a few doublings in a row, or one replace() of every
// letter by a page, would take all memory before that.
const (
	MaxValue = 16 << 20
	// maxRange bounds one lists.range().
	maxRange   = 100_000
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
		return len(text) + product(strings.Count(string(text), string(old)), Size(args[2])*utf8.UTFMax)
	},
	"join": func(args []ref.Val) int {
		separator := 0
		if len(args) > 1 {
			separator = measure(args[1], MaxValue)
		}
		return measure(args[0], MaxValue) + product(Size(args[0]), separator)
	},
	"format": func(args []ref.Val) int { return measure(args[0], MaxValue) + 2*measure(args[1], MaxValue) },
	// A regular expression takes up to as many steps as text and expression multiplied.
	"matches": func(args []ref.Val) int {
		return product(measure(args[0], MaxValue)+1, measure(args[1], MaxValue)+1) / 4
	},
	"flatten": func(args []ref.Val) int { return measure(args[0], MaxValue) },
	// Every item may be compared with every other.
	"distinct": func(args []ref.Val) int { return product(Size(args[0]), measure(args[0], MaxValue)) / 16 },
}

// copies are the functions whose result is made anew and not a part of what they were given.
var copies = map[string]bool{
	"replace": true, "join": true, "format": true, "split": true, "lowerAscii": true, "upperAscii": true, "reverse": true,
	"strings.quote": true, "base64.encode": true, "base64.decode": true, "string": true, "bytes": true,
	"lists.range": true, "flatten": true, "slice": true, "distinct": true, "sort": true, "@sortByAssociatedKeys": true,
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
	if err := mayGoOn(frame, c.ID()); err != nil {
		return err
	}
	args := make([]ref.Val, len(c.Args()))
	for i, arg := range c.Args() {
		args[i] = arg.Exec(frame)
		if types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	if err := take(frame, c.ID(), c.result(args), c.Function()+"()"); err != nil {
		return err
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
	if err := mayGoOn(frame, c.ID()); err != nil {
		return err
	}
	value := c.InterpretableConstructor.Exec(frame)
	if types.IsUnknownOrError(value) {
		return value
	}
	if err := take(frame, c.ID(), measure(value, MaxValue), "a list or map"); err != nil {
		return err
	}
	return value
}

// workKey is where the variables of an evaluation hold what the guard may still
// measure, a *int; no expression can name it.
const workKey = "#work"

// maxWork bounds what is measured for one reply or request, in bytes. A value is
// measured again in each list or map that it is put into.
const maxWork = 8 * MaxValue

// work gives what may still be measured.
func work(frame *interpreter.ExecutionFrame) *int {
	v, _ := frame.ResolveName(workKey)
	left, ok := v.(*int)
	if !ok {
		return new(int)
	}
	return left
}

// mayGoOn gives an error where the time is up, or nothing is left to build with:
// in CEL a loop goes on after an error in one of its steps.
func mayGoOn(frame *interpreter.ExecutionFrame, id int64) ref.Val {
	if frame.CheckInterrupt() {
		return types.WrapErr(interpreter.InterruptError{})
	}
	if *work(frame) <= 0 {
		return types.NewErrWithNodeID(id, "it builds more than %d MiB in all; ask for fewer results, or put less into each of them", maxWork>>20)
	}
	return nil
}

// take counts what a value takes, and gives an error where that is too much.
func take(frame *interpreter.ExecutionFrame, id int64, n int, what string) ref.Val {
	*work(frame) -= n
	if n > MaxValue {
		return types.NewErrWithNodeID(id, "%s would grow beyond %d MiB", what, MaxValue>>20)
	}
	return nil
}

// workCost adds to CEL's own costs what an operation builds or looks through, of
// which CEL does not know for values of unknown type. All that an evaluation
// builds is thereby bounded, kept or not: an item of a list costs 4, and 10
// bytes of text cost 1.
type workCost struct{}

func (workCost) CallCost(function, overloadID string, args []ref.Val, result ref.Val) *uint64 {
	cost := uint64(1)
	switch {
	case function == "_+_" && overloadID == "":
		// The list that map() and filter() collect in grows by one item a step.
		if _, collecting := result.(traits.MutableLister); !collecting {
			cost += built(result)
		}
	case function == "_==_", function == "_!=_":
		// Comparing ends with the smaller one.
		limit := measure(args[0], MaxValue)
		cost += uint64(min(limit, measure(args[1], limit))) / 10
	case function == "@in":
		cost += uint64(measure(args[1], MaxValue)) / 10
	case copies[function]:
		if text, ok := result.(types.String); ok && len(args) == 1 && text == args[0] {
			break
		}
		cost += built(result)
	default:
		return nil
	}
	return &cost
}

// built is the cost of a value, without what its items hold.
func built(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v)) / 10
	case types.Bytes:
		return uint64(len(v)) / 10
	case traits.Lister:
		return uint64(Size(v)) * 4
	}
	return 0
}

// builders are the overloads for which CEL's own costs leave out what is built,
// or count each byte of a text as much as an item.
var builders = []string{
	"list_slice", "list_flatten", "list_flatten_int", "lists_range", "list_reverse",
	"list_join", "list_join_string", "string_lower_ascii", "string_upper_ascii", "string_trim", "string_reverse",
	"string_substring_int", "string_substring_int_int", "string_split_string", "string_split_string_int",
	"string_replace_string_string", "string_replace_string_string_int",
}

func builderCosts() []interpreter.CostTrackerOption {
	costs := make([]interpreter.CostTrackerOption, len(builders))
	for i, overload := range builders {
		costs[i] = interpreter.OverloadCostTracker(overload, func(args []ref.Val, result ref.Val) *uint64 {
			cost := 1 + max(built(args[0]), built(result))
			return &cost
		})
	}
	return costs
}

func product(a, b int) int {
	if b > 0 && a > 2*MaxValue*16/b {
		return 2 * MaxValue * 16
	}
	return a * b
}

// Size gives how many items a value holds, or bytes a text; 1 where it has no size.
func Size(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok && n >= 0 {
			return int(min(n, 2*MaxValue))
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
		total := Size(v) * itemWeight
		for it := v.Iterator(); total <= limit && it.HasNext() == types.True; {
			total += measure(it.Next(), limit-total)
		}
		return total
	case traits.Mapper:
		if native, ok := v.Value().(map[string]any); ok {
			return measureNative(native, limit)
		}
		total := Size(v) * pairWeight
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
