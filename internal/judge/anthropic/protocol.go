package anthropic

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
)

// protocol speaks messages.
type protocol struct {
	model       string
	temperature *float64
	extra       map[string]any
	messages    anthropic.MessageService
}

// Send asks for one message.
func (p *protocol) Send(ctx context.Context, http provider.HTTPClient, r *judge.Request, form provider.Form) (*judge.Response, error) {
	params := p.params(r, form)
	body, err := provider.Encode(params, p.extra)
	if err != nil {
		return nil, err
	}
	message, err := p.messages.New(ctx, params, option.WithHTTPClient(http), option.WithRequestBody("application/json", body))
	if err != nil {
		return nil, err
	}
	return read(message, r.Schema.Name)
}

func (p *protocol) params(r *judge.Request, form provider.Form) anthropic.MessageNewParams {
	user := r.User
	params := anthropic.MessageNewParams{Model: p.model, MaxTokens: int64(max(r.MaxOutputTokens, 1))}
	switch form.Format {
	case provider.Structured:
		// As it stands, for the order of its properties is that of the reply.
		params.OutputConfig.Format = param.Override[anthropic.JSONOutputFormatParam](map[string]any{"type": "json_schema", "schema": r.Schema.JSON})
	case provider.Loose:
		params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name:        r.Schema.Name,
			Description: anthropic.String("Hands in the " + r.Schema.Name + "."),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](r.Schema.JSON),
		}}}
		params.ToolChoice.OfTool = &anthropic.ToolChoiceToolParam{Name: r.Schema.Name, DisableParallelToolUse: anthropic.Bool(true)}
	case provider.Plain:
		user += "\n\n" + r.Plain
	}
	if r.System != "" {
		params.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	params.Messages = []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(user))}
	if p.temperature != nil {
		params.SetExtraFields(map[string]any{"temperature": *p.temperature})
	}
	return params
}

// read takes the tool's input where the tool was used, and the text otherwise.
// What the model thought stands in blocks of its own, and is not read.
func read(m *anthropic.Message, tool string) (*judge.Response, error) {
	if m == nil || !m.JSON.Content.Valid() {
		return nil, errors.New("the reply has no content")
	}
	u := &m.Usage
	response := &judge.Response{
		Text:      text(m.Content, tool),
		Truncated: m.StopReason == anthropic.StopReasonMaxTokens,
		// What the cache held is part of the prompt too.
		PromptTokens:     max(u.InputTokens, 0) + max(u.CacheReadInputTokens, 0) + max(u.CacheCreationInputTokens, 0),
		CompletionTokens: max(u.OutputTokens, 0),
		Model:            m.Model,
		FinishReason:     string(m.StopReason),
	}
	switch m.StopReason {
	case anthropic.StopReasonRefusal:
		response.Refusal = cmp.Or(m.StopDetails.Explanation, string(m.StopDetails.Category), "the model declined to answer")
	case anthropic.StopReasonModelContextWindowExceeded:
		return response, &provider.Decline{Outcome: judge.ContextTooLong, Message: "prompt and reply together are longer than the model's context window: lower answer.contexts, or use a model with a longer one"}
	}
	return response, nil
}

func text(content []anthropic.ContentBlockUnion, tool string) string {
	var text strings.Builder
	for i := range content {
		switch block := &content[i]; block.Type {
		case "tool_use":
			if block.Name == tool {
				return string(block.Input)
			}
		case "text":
			text.WriteString(block.Text)
		}
	}
	return text.String()
}
