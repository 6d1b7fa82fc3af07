package mapping

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Body runs a request mapping and gives JSON of no more than limit bytes, or
// about that.
func (e *Expression) Body(ctx context.Context, vars map[string]any, limit int) ([]byte, error) {
	value, err := e.Eval(ctx, vars)
	if err != nil {
		return nil, err
	}
	plain, err := bounded(value, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.kind.Field, err)
	}
	body, err := EncodeJSON(plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.kind.Field, err)
	}
	return body, nil
}

func bounded(v ref.Val, limit int) (any, error) {
	plain, err := Plain(v, &limit)
	if err == nil && limit < 0 {
		err = ErrTooLarge
	}
	return plain, err
}

// Parameters runs a query mapping and gives URL parameters.
func (e *Expression) Parameters(ctx context.Context, vars map[string]any, limit int) (url.Values, error) {
	value, err := e.Eval(ctx, vars)
	if err != nil {
		return nil, err
	}
	plain, err := bounded(value, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.kind.Field, err)
	}
	m, ok := plain.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: it gave %s, but must give %s", e.kind.Field, TypeName(value), e.kind.Gives)
	}
	parameters := url.Values{}
	for name, value := range m {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, item := range list {
			switch item := item.(type) {
			case nil:
			case string:
				parameters.Add(name, item)
			case float64:
				parameters.Add(name, strconv.FormatFloat(item, 'f', -1, 64))
			case bool, int64, uint64:
				parameters.Add(name, fmt.Sprint(item))
			default:
				return nil, fmt.Errorf("%s: the parameter %q is neither text nor number nor a list of these", e.kind.Field, name)
			}
		}
	}
	return parameters, nil
}

// Message runs an error mapping and gives the message of a failure; empty: all is
// well. The expression may be nil.
func (e *Expression) Message(ctx context.Context, vars map[string]any) (string, error) {
	if e == nil {
		return "", nil
	}
	value, err := e.Eval(ctx, vars)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case types.Null:
		return "", nil
	case types.String:
		return string(v), nil
	}
	return "", fmt.Errorf("%s: it gave %s, but must give %s", e.kind.Field, TypeName(value), e.kind.Gives)
}

// Version runs a mapping to a version and gives it as text; empty: there is none.
// The expression may be nil.
func (e *Expression) Version(ctx context.Context, vars map[string]any) (string, error) {
	if e == nil {
		return "", nil
	}
	value, err := e.Eval(ctx, vars)
	if err != nil {
		return "", err
	}
	if value == types.NullValue || value == types.String("") {
		return "", nil
	}
	text, err := IDText(value)
	if err != nil {
		return "", fmt.Errorf("%s: it %w", e.kind.Field, err)
	}
	return text, nil
}
