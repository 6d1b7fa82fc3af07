package retriever

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/assay-dev/assay/internal/mapping"
)

// ReadResults reads the ranked list that a results mapping gave.
func ReadResults(v ref.Val) ([]Result, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("it gave %s, but the ranked list must be a list", mapping.TypeName(v))
	}
	if mapping.Size(list) > maxResults {
		return nil, fmt.Errorf("it gave %d results, but at most %d are read", mapping.Size(list), maxResults)
	}
	results := make([]Result, 0, mapping.Size(list))
	budget := mapping.MaxValue
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
	item, ok := mapping.Unwrap(v).(traits.Mapper)
	if !ok {
		return r, fmt.Errorf(`is %s, but must be a map with an "id"`, mapping.TypeName(v))
	}
	id, found := mapping.Field(item, "id")
	if !found {
		return r, errors.New(`has no "id"`)
	}
	var err error
	if r.ID, err = mapping.IDText(id); err != nil {
		return r, fmt.Errorf(`has an "id" that %w`, err)
	}
	if document, ok := mapping.Field(item, "document"); ok {
		if r.Document, err = mapping.IDText(document); err != nil {
			return r, fmt.Errorf(`has a "document" that %w`, err)
		}
	}
	if text, ok := mapping.Field(item, "text"); ok {
		s, ok := text.(types.String)
		if !ok {
			return r, fmt.Errorf(`has a "text" that is %s, but must be a string`, mapping.TypeName(text))
		}
		r.Text = string(s)
	}
	if score, ok := mapping.Field(item, "score"); ok {
		f, ok := mapping.Float(score)
		if !ok {
			return r, fmt.Errorf(`has a "score" that is %s, but must be a number`, mapping.TypeName(score))
		}
		r.Score = &f
	}
	if metadata, ok := mapping.Field(item, "metadata"); ok {
		plain, err := mapping.Plain(metadata, budget)
		if err != nil {
			return r, fmt.Errorf(`has "metadata" that cannot be read: %w`, err)
		}
		m, ok := plain.(map[string]any)
		if !ok {
			return r, fmt.Errorf(`has "metadata" that is %s, but must be a map`, mapping.TypeName(metadata))
		}
		r.Metadata = m
	}
	return r, nil
}
