package retriever

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/assay-dev/assay/internal/golden"
)

// question is what the mappings of one call read.
type question struct {
	c      *golden.Case
	topK   int
	params map[string]any
	vector []float64
}

// vars gives the variables of a request mapping.
func (q *question) vars() map[string]any {
	history := make([]any, len(q.c.History))
	for i, turn := range q.c.History {
		history[i] = map[string]any{"role": turn.Role, "content": turn.Content}
	}
	tags := make([]any, len(q.c.Tags))
	for i, tag := range q.c.Tags {
		tags[i] = tag
	}
	metadata := q.c.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	vector := q.vector
	if vector == nil {
		vector = []float64{}
	}
	left := maxWork
	return map[string]any{
		"question": q.c.Question,
		"topK":     q.topK,
		"case":     map[string]any{"id": q.c.ID, "tags": tags, "metadata": metadata, "history": history},
		"params":   q.params,
		"vector":   vector,
		workKey:    &left,
	}
}

// encode gives what a question becomes on the wire: URL parameters, which may
// be none, and a body, which may be nil.
func (p *Program) encode(ctx context.Context, q *question) (url.Values, []byte, error) {
	if p.plainRequest && p.query == nil {
		body, err := plainRequest(q.c.Question, q.topK)
		return nil, body, err
	}
	vars := q.vars()
	var parameters url.Values
	if p.query != nil {
		value, err := p.query.eval(ctx, vars)
		if err != nil {
			return nil, nil, err
		}
		if parameters, err = toParameters(value); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.query.kind.field, err)
		}
	}
	if p.request == nil {
		return parameters, nil, nil
	}
	value, err := p.request.eval(ctx, vars)
	if err != nil {
		return nil, nil, err
	}
	body, err := toBody(value)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.request.kind.field, err)
	}
	return parameters, body, nil
}

func toBody(v ref.Val) ([]byte, error) {
	plain, err := toJSON(v)
	if err != nil {
		return nil, err
	}
	return encodeJSON(plain)
}

func toParameters(v ref.Val) (url.Values, error) {
	plain, err := toJSON(v)
	if err != nil {
		return nil, err
	}
	m, ok := plain.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it gave %s, but must give %s", typeName(v), queryMapping.gives)
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
				return nil, fmt.Errorf("the parameter %q is neither text nor number nor a list of these", name)
			}
		}
	}
	return parameters, nil
}

// reported is a retriever's own word that it failed, behind a status of 200.
type reported struct{ message string }

func (r *reported) Error() string { return r.message }

// decode reads a reply. Its error is a *reported where the retriever says that
// it failed.
func (p *Program) decode(ctx context.Context, q *question, header http.Header, body []byte) ([]Result, string, error) {
	body, err := checkBody(body)
	if err != nil {
		return nil, "", err
	}
	if p.plainResults {
		if results, ok := plainResults(body); ok {
			return results, "", nil
		}
	}
	response, err := decodeJSON(body)
	if err != nil {
		return nil, "", err
	}
	vars := q.vars()
	vars["response"] = response
	vars["headers"] = headerMap(header)

	if err := p.reported(ctx, vars); err != nil {
		return nil, "", err
	}
	list, err := p.results.eval(ctx, vars)
	if err != nil {
		return nil, "", err
	}
	results, err := resultList(list)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", p.results.kind.field, err)
	}
	version, err := p.version(ctx, vars)
	return results, version, err
}

func (p *Program) reported(ctx context.Context, vars map[string]any) error {
	if p.errorMessage == nil {
		return nil
	}
	value, err := p.errorMessage.eval(ctx, vars)
	if err != nil {
		return err
	}
	switch v := value.(type) {
	case types.Null:
		return nil
	case types.String:
		if v == "" {
			return nil
		}
		return &reported{string(v)}
	}
	return fmt.Errorf("%s: it gave %s, but must give %s", p.errorMessage.kind.field, typeName(value), errorMapping.gives)
}

func (p *Program) version(ctx context.Context, vars map[string]any) (string, error) {
	if p.corpusVersion == nil {
		return "", nil
	}
	value, err := p.corpusVersion.eval(ctx, vars)
	if err != nil {
		return "", err
	}
	if value == types.NullValue || value == types.String("") {
		return "", nil
	}
	text, err := idText(value)
	if err != nil {
		return "", fmt.Errorf("%s: it %w", p.corpusVersion.kind.field, err)
	}
	return text, nil
}

// headerMap gives header names in lower case, several values of one name joined.
func headerMap(header http.Header) map[string]string {
	m := make(map[string]string, len(header))
	for name, values := range header {
		m[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return m
}

// outcomeOf says how a reply ended that could not be read.
func outcomeOf(err error) Outcome {
	var r *reported
	if errors.As(err, &r) {
		return Failed
	}
	return Malformed
}
