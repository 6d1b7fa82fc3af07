package openai

import "github.com/assay-dev/assay/internal/judge/provider"

// Classify says what an error means. OpenAI's own words are those that its
// imitators use as well.
func (*protocol) Classify(status int, f *provider.Fault) provider.Meaning {
	return provider.Common(status, f)
}

// Without gives a form that leaves out what the server refuses.
func (p *protocol) Without(form provider.Form, f *provider.Fault) provider.Form {
	if form.Format != provider.Plain && f.Says("response_format", "response format", "json_schema", "json schema", "json_object", "structured output", "guided", "grammar", "requested parameters") {
		form.Format++
	}
	limit := p.limitName(form)
	if f.Says(limit) && f.Says("unsupported", "not support", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed", "use '"+p.otherName(limit)) {
		form.OtherLimit = true
	}
	return form
}

func (*protocol) otherName(limit string) string {
	if limit == newLimit {
		return oldLimit
	}
	return newLimit
}
