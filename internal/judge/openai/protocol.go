package openai

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
)

// protocol speaks chat completions.
type protocol struct {
	model       string
	temperature *float64
	extra       map[string]any
	// newLimit says that max_completion_tokens is tried before max_tokens.
	newLimit bool
	chat     openai.ChatCompletionService
}

// Send asks for one completion.
func (p *protocol) Send(ctx context.Context, http provider.HTTPClient, r *judge.Request, form provider.Form) (*judge.Response, error) {
	params := p.params(r, form)
	body, err := provider.Encode(params, p.extra)
	if err != nil {
		return nil, err
	}
	completion, err := p.chat.New(ctx, params, option.WithHTTPClient(http), option.WithRequestBody("application/json", body))
	if err != nil {
		return nil, err
	}
	return read(completion)
}

func (p *protocol) params(r *judge.Request, form provider.Form) openai.ChatCompletionNewParams {
	user := r.User
	params := openai.ChatCompletionNewParams{Model: p.model}
	switch form.Format {
	case provider.Structured:
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name:   r.Schema.Name,
				Strict: openai.Bool(true),
				Schema: r.Schema.JSON,
			},
		}
	case provider.Loose:
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case provider.Plain:
		user += "\n\n" + r.Plain
	}
	if r.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(r.System))
	}
	params.Messages = append(params.Messages, openai.UserMessage(user))
	if p.temperature != nil {
		params.Temperature = openai.Float(*p.temperature)
	}
	if r.MaxOutputTokens > 0 {
		limit := openai.Int(int64(r.MaxOutputTokens))
		if p.limitName(form) == newLimit {
			params.MaxCompletionTokens = limit
		} else {
			params.MaxTokens = limit
		}
	}
	return params
}

// The two names of the token limit.
const (
	newLimit = "max_completion_tokens"
	oldLimit = "max_tokens"
)

func (p *protocol) limitName(form provider.Form) string {
	if p.newLimit != form.OtherLimit {
		return newLimit
	}
	return oldLimit
}

// read takes the text of the first choice. What a model thought stands beside it,
// in reasoning_content or reasoning, and is not read.
func read(c *openai.ChatCompletion) (*judge.Response, error) {
	if c == nil || len(c.Choices) == 0 {
		return nil, errors.New("the reply has no choices")
	}
	choice := &c.Choices[0]
	if !choice.JSON.Message.Valid() {
		return nil, errors.New("the reply's first choice has no message")
	}
	response := &judge.Response{
		Text:             content(&choice.Message),
		Truncated:        choice.FinishReason == "length",
		Refusal:          choice.Message.Refusal,
		PromptTokens:     max(c.Usage.PromptTokens, 0),
		CompletionTokens: max(c.Usage.CompletionTokens, 0),
		Model:            c.Model,
		FinishReason:     choice.FinishReason,
	}
	if choice.FinishReason == "content_filter" && response.Refusal == "" {
		response.Refusal = "the provider's content filter stopped the reply"
	}
	return response, nil
}

// content gives a message's text. Some servers send it in parts, with thoughts
// as parts of their own.
func content(m *openai.ChatCompletionMessage) string {
	raw := m.JSON.Content.Raw()
	if strings.HasPrefix(raw, `"`) {
		return m.Content
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal([]byte(raw), &parts) != nil {
		return ""
	}
	var text strings.Builder
	for _, part := range parts {
		if part.Type == "text" {
			text.WriteString(part.Text)
		}
	}
	return text.String()
}
