package judge

import (
	"context"
	"errors"
)

// ask puts a prompt to the model and reads the reply. A reply that was cut is
// asked for once more with twice the room, one that cannot be read once more
// with what was wrong with it. Both may come to a case: at most three calls.
func ask[T any](ctx context.Context, j *modelJudge, p *promptParts, read func(reply string, o ReadOptions) (T, error)) (result T, spent Usage, err error) {
	limit := j.maxOutputTokens
	widened, repaired := false, false
	for {
		reply, usage, err := j.complete(ctx, p, limit)
		spent = spent.Add(usage)
		if err != nil {
			return result, spent, err
		}
		result, err = read(reply.text, reply.options)
		switch outcome := outcomeOf(err); {
		case outcome == Truncated && !widened:
			widened = true
			limit *= 2
		case outcome == Malformed && !repaired:
			repaired = true
			p = p.repaired(reply.text, errors.Unwrap(err))
		default:
			return result, spent, err
		}
	}
}

// reply is what a model said, and how it is to be read.
type reply struct {
	text    string
	options ReadOptions
}

// complete makes one call within the budget.
func (j *modelJudge) complete(ctx context.Context, p *promptParts, limit int) (r reply, usage Usage, err error) {
	request, token := p.request(limit, j.random)
	if err := j.budget.begin(); err != nil {
		return r, usage, err
	}
	response, err := j.model.Complete(ctx, request)
	if response == nil {
		response = &Response{}
	}
	usage = Usage{Calls: response.Calls, PromptTokens: response.PromptTokens, CompletionTokens: response.CompletionTokens}
	j.budget.end(usage.Calls, billed(&request, response, err))
	if err != nil {
		return r, usage, failure(err)
	}
	user := request.User
	if response.Plain {
		r.options.Token = token
		user += request.Plain
	}
	if err := silentCut(user, response.PromptTokens); err != nil {
		return r, usage, err
	}
	r.text = j.redact(response.Text)
	r.options.Truncated, r.options.Refusal = response.Truncated, j.redact(response.Refusal)
	return r, usage, nil
}

// billed gives the tokens that a budget counts. A server that counts none still
// reads and writes some, so that its replies are estimated.
func billed(request *Request, response *Response, err error) int64 {
	if tokens := response.PromptTokens + response.CompletionTokens; tokens > 0 || err != nil {
		return tokens
	}
	return EstimateTokens(request.System) + EstimateTokens(request.User) + EstimateTokens(response.Text)
}

func outcomeOf(err error) Outcome {
	var e *Error
	if errors.As(err, &e) {
		return e.Outcome
	}
	return ""
}

// failure makes an *Error of what a model gave as its error.
func failure(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Outcome: Failed, Message: err.Error(), Err: err}
}
