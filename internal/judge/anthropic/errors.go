package anthropic

import "github.com/assay-dev/assay/internal/judge/provider"

// Classify says what an error means. The codes of limits that do not refill
// within a run are those of the SDK.
func (*protocol) Classify(status int, f *provider.Fault) provider.Meaning {
	if f.Is("contract_spend_limit_reached", "enforced_spend_limit_reached", "linked_organization_spend_limit_reached", "linked_organization_billing_unavailable") ||
		f.Says("reached your specified api usage limits") {
		return provider.Quota
	}
	return provider.Common(status, f)
}

// Without gives a form that leaves out what the model refuses.
func (*protocol) Without(form provider.Form, f *provider.Fault) provider.Form {
	switch form.Format {
	case provider.Structured:
		// output_config.effort is the suite's own.
		if f.Says("output_config.format", "output_format", "output format", "structured output", "json_schema", "json schema") ||
			f.Says("output_config") && !f.Says("effort") {
			form.Format = provider.Loose
		}
	case provider.Loose:
		if f.Says("tool_choice", "tools", "tool use", "input_schema") {
			form.Format = provider.Plain
		}
	}
	return form
}
