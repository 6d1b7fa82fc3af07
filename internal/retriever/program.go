package retriever

import (
	"context"
	"fmt"
	"net/http"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/mapping"
)

// question is what the mappings of one call read.
type question struct {
	c      *golden.Case
	topK   int
	params map[string]any
	vector []float64
}

func (q *question) vars() map[string]any {
	vars := mapping.Variables(q.c, q.topK, q.params)
	vector := q.vector
	if vector == nil {
		vector = []float64{}
	}
	vars["vector"] = vector
	return vars
}

// maxRequest bounds what a request mapping gives, in bytes: as many requests wait
// for their replies as the run's parallelism allows.
const maxRequest = 1 << 20

// encode gives what a question becomes on the wire.
func (p *Program) encode(ctx context.Context, q *question) (call.Request, error) {
	var r call.Request
	var err error
	if p.plainRequest && p.query == nil {
		r.Body, err = plainRequest(q.c.Question, q.topK)
		return r, err
	}
	vars := q.vars()
	if p.query != nil {
		if r.Query, err = p.query.Parameters(ctx, vars, maxRequest); err != nil {
			return r, err
		}
	}
	if p.request != nil {
		r.Body, err = p.request.Body(ctx, vars, maxRequest)
	}
	return r, err
}

// decode reads a reply. Its error is a *call.Reported where the retriever says
// that it failed.
func (p *Program) decode(ctx context.Context, q *question, header http.Header, body []byte) ([]Result, string, error) {
	body, err := mapping.CheckBody(body)
	if err != nil {
		return nil, "", err
	}
	if p.plainResults {
		if results, ok := plainResults(body); ok {
			return results, "", nil
		}
	}
	response, err := mapping.DecodeJSON(body)
	if err != nil {
		return nil, "", err
	}
	vars := q.vars()
	mapping.AddReply(vars, response, header)

	message, err := p.errorMessage.Message(ctx, vars)
	if err != nil {
		return nil, "", err
	}
	if message != "" {
		return nil, "", &call.Reported{Message: message}
	}
	list, err := p.results.Eval(ctx, vars)
	if err != nil {
		return nil, "", err
	}
	results, err := ReadResults(list)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", resultsMapping.Field, err)
	}
	version, err := p.corpusVersion.Version(ctx, vars)
	return results, version, err
}
