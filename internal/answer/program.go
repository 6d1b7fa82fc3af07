package answer

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/mapping"
	"github.com/assay-dev/assay/internal/retriever"
)

// maxRequest bounds what a request mapping gives, in bytes: more than any model
// reads, and not too much for as many requests as wait for their replies.
const maxRequest = 2 << 20

// question is what the mappings of one call read.
type question struct {
	c       *golden.Case
	topK    int
	params  map[string]any
	results []retriever.Result
	// contexts are the texts of the first results, in their order.
	contexts []string
}

// vars gives the variables for some expressions. What a list is made of results
// for is left out where none of them reads it.
func (q *question) vars(expressions ...*mapping.Expression) map[string]any {
	vars := mapping.Variables(q.c, q.topK, q.params)
	vars["contexts"] = q.contexts
	if reads("results", expressions...) {
		vars["results"] = resultValues(q.results)
	}
	return vars
}

// resultValues gives results as a retriever's results mapping would: what a result
// does not have is not there, apart from its text.
func resultValues(results []retriever.Result) []any {
	values := make([]any, len(results))
	for i := range results {
		r := &results[i]
		value := map[string]any{"id": r.ID, "text": r.Text}
		if r.Document != "" {
			value["document"] = r.Document
		}
		if r.Score != nil {
			value["score"] = *r.Score
		}
		if r.Metadata != nil {
			value["metadata"] = r.Metadata
		}
		values[i] = value
	}
	return values
}

// texts gives the text of the first n results. A result without one has an empty
// text, so that every context keeps its result's rank.
func texts(results []retriever.Result, n int) []string {
	list := make([]string, min(n, len(results)))
	for i := range list {
		list[i] = results[i].Text
	}
	return list
}

// encode gives what a question becomes on the wire.
func (p *Program) encode(ctx context.Context, q *question) (call.Request, error) {
	var r call.Request
	var err error
	vars := q.vars(p.query, p.request)
	if p.query != nil {
		if r.Query, err = p.query.Parameters(ctx, vars, maxRequest); err != nil {
			return r, tooLarge(err)
		}
	}
	if p.request != nil {
		if r.Body, err = p.request.Body(ctx, vars, maxRequest); err != nil {
			return r, tooLarge(err)
		}
	}
	return r, nil
}

func tooLarge(err error) error {
	if errors.Is(err, mapping.ErrTooLarge) {
		return fmt.Errorf("%w: a request may have %d MiB; lower answer.contexts", err, maxRequest>>20)
	}
	return err
}

// decode reads a reply. Its error is a *call.Reported where the service says that
// it failed.
func (p *Program) decode(ctx context.Context, q *question, header http.Header, body []byte) (*Reply, error) {
	body, err := mapping.CheckBody(body)
	if err != nil {
		return nil, err
	}
	response, err := mapping.DecodeJSON(body)
	if err != nil {
		return nil, err
	}
	vars := q.vars(p.output, p.results, p.errorMessage, p.corpusVersion)
	mapping.AddReply(vars, response, header)

	message, err := p.errorMessage.Message(ctx, vars)
	if err != nil {
		return nil, err
	}
	if message != "" {
		return nil, &call.Reported{Message: message}
	}
	value, err := p.output.Eval(ctx, vars)
	if err != nil {
		return nil, err
	}
	reply, err := readOutput(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", outputMapping.Field, err)
	}
	if p.results != nil {
		list, err := p.results.Eval(ctx, vars)
		if err != nil {
			return nil, err
		}
		if reply.Results, err = retriever.ReadResults(list); err != nil {
			return nil, fmt.Errorf("%s: %w", resultsMapping.Field, err)
		}
	}
	if reply.CorpusVersion, err = p.corpusVersion.Version(ctx, vars); err != nil {
		return nil, err
	}
	return reply, nil
}
