package mapping

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// MaxDepth bounds how deep a value may nest that goes out as JSON or into metadata.
const MaxDepth = 100

// ErrTooLarge is a value that takes more than it may.
var ErrTooLarge = errors.New("it is too large")

// Unwrap gives what an optional holds; null where it holds nothing.
func Unwrap(v ref.Val) ref.Val {
	for {
		o, ok := v.(*types.Optional)
		if !ok {
			return v
		}
		if !o.HasValue() {
			return types.NullValue
		}
		v = o.GetValue()
	}
}

// Plain gives a CEL value as encoding/json carries it. Integers keep every digit;
// bytes become base64, times RFC 3339. What the value takes, in bytes, goes off
// the budget, which several values may share; beyond it there is an error.
func Plain(v ref.Val, budget *int) (any, error) { return toPlain(v, MaxDepth, budget) }

func toPlain(v ref.Val, depth int, budget *int) (any, error) {
	if *budget -= itemWeight; *budget < 0 {
		return nil, ErrTooLarge
	}
	if depth == 0 {
		return nil, fmt.Errorf("it nests deeper than %d levels", MaxDepth)
	}
	switch v := Unwrap(v).(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("JSON has no number %v", f)
		}
		return float64(v), nil
	case types.String:
		*budget -= len(v)
		return string(v), nil
	case types.Bytes:
		*budget -= len(v)
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Timestamp:
		return v.Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.String(), nil
	case traits.Lister:
		if Size(v)*itemWeight > *budget {
			return nil, ErrTooLarge
		}
		list := make([]any, 0, Size(v))
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := toPlain(it.Next(), depth-1, budget)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	case traits.Mapper:
		m := make(map[string]any, Size(v))
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			name, err := toKey(key)
			if err != nil {
				return nil, err
			}
			*budget -= len(name)
			if m[name], err = toPlain(v.Get(key), depth-1, budget); err != nil {
				return nil, err
			}
		}
		return m, nil
	default:
		return nil, fmt.Errorf("JSON has no %s", v.Type().TypeName())
	}
}

func toKey(v ref.Val) (string, error) {
	switch v := v.(type) {
	case types.String:
		return string(v), nil
	case types.Int, types.Uint, types.Bool:
		return fmt.Sprint(v.Value()), nil
	}
	return "", fmt.Errorf("a map's key must be a string, it is a %s", v.Type().TypeName())
}

// Field gives what stands under a name; a null counts as nothing.
func Field(m traits.Mapper, name string) (ref.Val, bool) {
	v, ok := m.Find(types.String(name))
	if !ok {
		return nil, false
	}
	v = Unwrap(v)
	return v, v != types.NullValue
}

// exactFloat is where a double stops telling one integer from the next.
const exactFloat = 1 << 53

// IDText gives an id as text: a string as it stands, a number as its decimal text.
func IDText(v ref.Val) (string, error) {
	switch v := v.(type) {
	case types.String:
		if v == "" {
			return "", errors.New("is empty")
		}
		return string(v), nil
	case types.Int:
		return strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), nil
	case types.Double:
		if math.Abs(float64(v)) < exactFloat {
			return strconv.FormatFloat(float64(v), 'f', -1, 64), nil
		}
		return "", errors.New("is a number too large to keep every digit; let the retriever give it as a string")
	}
	return "", fmt.Errorf("is %s, but must be a string or a number", TypeName(v))
}

// Float gives a number that JSON can carry.
func Float(v ref.Val) (float64, bool) {
	switch v := v.(type) {
	case types.Int:
		return float64(v), true
	case types.Uint:
		return float64(v), true
	case types.Double:
		return float64(v), !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
	}
	return 0, false
}

// TypeName says what a value is, for people.
func TypeName(v ref.Val) string {
	switch v := Unwrap(v).(type) {
	case types.Null:
		return "null"
	case types.Int:
		return "an int"
	case traits.Lister:
		return "a list"
	case traits.Mapper:
		return "a map"
	default:
		return "a " + v.Type().TypeName()
	}
}
