package provider

import (
	"context"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge"
)

// model is one model of one provider. It is safe for concurrent use.
type model struct {
	protocol   Protocol
	place      string
	key        formKey
	forms      *Memory
	http       *http.Client
	timeout    time.Duration
	maxRetries int
	limiter    *rate.Limiter
	observe    func(outcome string, seconds float64)
	secrets    *call.Redactor
}

// Complete puts a request to the model, in a form that its server takes. The
// response has the calls that were made, whether or not there is an error.
func (m *model) Complete(ctx context.Context, r judge.Request) (*judge.Response, error) {
	spent := &judge.Response{}
	form := m.forms.recall(m.key)
	for {
		reply, calls, failed := m.call(ctx, &r, form)
		spent.Calls += calls
		if reply != nil {
			spent.PromptTokens += reply.PromptTokens
			spent.CompletionTokens += reply.CompletionTokens
		}
		if failed != nil {
			next := m.without(form, failed)
			if next == form {
				return spent, failed.judged()
			}
			form = next
			continue
		}
		// A form counts once the server has answered it, so that an error by the way
		// holds for this request alone.
		m.forms.learn(m.key, form)
		if form.Format != Plain && ignored(reply) {
			form.Format++
			continue
		}
		spent.Text, spent.Truncated, spent.Refusal = reply.Text, reply.Truncated, reply.Refusal
		spent.Model, spent.FinishReason = reply.Model, reply.FinishReason
		spent.Plain = form.Format == Plain
		return spent, nil
	}
}

// without gives the form that a failure asks for: the same one where it is about
// something else.
func (m *model) without(form Form, failed *failure) Form {
	if failed.fault == nil || failed.meaning != Other && failed.meaning != Busy {
		return form
	}
	return form.join(m.protocol.Without(form, failed.fault))
}

// ignored is a reply that no schema and no JSON mode held: the server knows
// neither and does not say so.
func ignored(r *judge.Response) bool {
	return !r.Truncated && r.Refusal == "" && strings.TrimSpace(r.Text) != "" && !strings.Contains(r.Text, "{")
}
