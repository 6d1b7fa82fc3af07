package retriever

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

// maxDepth bounds how deep a value may nest that goes out as JSON or into metadata.
const maxDepth = 100

// maxRequest bounds what a request mapping gives, in bytes: as many requests wait
// for their replies as the run's parallelism allows.
const maxRequest = 1 << 20

var errTooLarge = errors.New("it is too large")

// unwrap gives what an optional holds; null where it holds nothing.
func unwrap(v ref.Val) ref.Val {
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

// toJSON gives a request's CEL value as encoding/json carries it. Integers keep every
// digit; bytes become base64, times RFC 3339.
func toJSON(v ref.Val) (any, error) {
	budget := maxRequest
	return toPlain(v, maxDepth, &budget)
}

func toPlain(v ref.Val, depth int, budget *int) (any, error) {
	if *budget -= itemWeight; *budget < 0 {
		return nil, errTooLarge
	}
	if depth == 0 {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	switch v := unwrap(v).(type) {
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
		if size(v)*itemWeight > *budget {
			return nil, errTooLarge
		}
		list := make([]any, 0, size(v))
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := toPlain(it.Next(), depth-1, budget)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	case traits.Mapper:
		m := make(map[string]any, size(v))
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

// resultList gives the ranked list that a results mapping gave.
func resultList(v ref.Val) ([]Result, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("it gave %s, but the ranked list must be a list", typeName(v))
	}
	if size(list) > maxResults {
		return nil, fmt.Errorf("it gave %d results, but at most %d are read", size(list), maxResults)
	}
	results := make([]Result, 0, size(list))
	budget := maxValue
	for it := list.Iterator(); it.HasNext() == types.True; {
		result, err := toResult(it.Next(), &budget)
		if err != nil {
			return nil, fmt.Errorf("the result at rank %d %w", len(results)+1, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// maxResults bounds a ranked list.
const maxResults = 100_000

// toResult gives one result. Its error goes on from "the result at rank 2". All
// metadata share a budget: a mapping can put the same large value into every result.
func toResult(v ref.Val, budget *int) (Result, error) {
	var r Result
	item, ok := unwrap(v).(traits.Mapper)
	if !ok {
		return r, fmt.Errorf(`is %s, but must be a map with an "id"`, typeName(v))
	}
	id, found := field(item, "id")
	if !found {
		return r, errors.New(`has no "id"`)
	}
	var err error
	if r.ID, err = idText(id); err != nil {
		return r, fmt.Errorf(`has an "id" that %w`, err)
	}
	if document, ok := field(item, "document"); ok {
		if r.Document, err = idText(document); err != nil {
			return r, fmt.Errorf(`has a "document" that %w`, err)
		}
	}
	if text, ok := field(item, "text"); ok {
		s, ok := text.(types.String)
		if !ok {
			return r, fmt.Errorf(`has a "text" that is %s, but must be a string`, typeName(text))
		}
		r.Text = string(s)
	}
	if score, ok := field(item, "score"); ok {
		f, ok := toFloat(score)
		if !ok {
			return r, fmt.Errorf(`has a "score" that is %s, but must be a number`, typeName(score))
		}
		r.Score = &f
	}
	if metadata, ok := field(item, "metadata"); ok {
		plain, err := toPlain(metadata, maxDepth, budget)
		if err != nil {
			return r, fmt.Errorf(`has "metadata" that cannot be read: %w`, err)
		}
		m, ok := plain.(map[string]any)
		if !ok {
			return r, fmt.Errorf(`has "metadata" that is %s, but must be a map`, typeName(metadata))
		}
		r.Metadata = m
	}
	return r, nil
}

// field gives what stands under a name; a null counts as nothing.
func field(m traits.Mapper, name string) (ref.Val, bool) {
	v, ok := m.Find(types.String(name))
	if !ok {
		return nil, false
	}
	v = unwrap(v)
	return v, v != types.NullValue
}

// exactFloat is where a double stops telling one integer from the next.
const exactFloat = 1 << 53

// idText gives an id as text: a string as it stands, a number as its decimal text.
func idText(v ref.Val) (string, error) {
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
	return "", fmt.Errorf("is %s, but must be a string or a number", typeName(v))
}

func toFloat(v ref.Val) (float64, bool) {
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

// typeName says what a value is, for people.
func typeName(v ref.Val) string {
	switch v := unwrap(v).(type) {
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
