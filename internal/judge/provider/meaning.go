package provider

import (
	"net/http"
	"regexp"
)

// Meaning is what an error of a server says about the request.
type Meaning int

// The meanings.
const (
	// Other errors are judged by their status, and may be about the form.
	Other Meaning = iota
	// Quota is used up and does not refill within the run.
	Quota
	// TooLong a prompt.
	TooLong
	// Filtered by the provider, or declined.
	Filtered
	// Limited for now: asking later may help.
	Limited
	// Busy servers may take the request later.
	Busy
)

var (
	daily   = regexp.MustCompile(`\bper[ _-]?day|\brpd\b|\btpd\b|\bdaily\b|perday`)
	tooLong = regexp.MustCompile(`context_length_exceeded|maximum context length|exceed\w*(?: \w+){0,4} context|context[ _-](?:length|window|size)(?: \w+){0,4} exceed|exceed_context_size|contextwindowexceeded|(?:prompt|input|request) is too (?:long|large)|request_too_large|(?:prompt|input) (?:tokens? )?(?:length )?(?:\(\d+\) )?exceeds|input length and .{1,40} exceed context limit`)
)

// Common gives what an error means by the words that servers of any vendor use.
func Common(status int, f *Fault) Meaning {
	limited := status == http.StatusTooManyRequests || f.Is("rate_limit_exceeded", "rate_limit_error", "429", "resource_exhausted")
	switch {
	case status == http.StatusPaymentRequired,
		f.Is("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "budget_exceeded", "402"),
		f.Says("credit balance is too low", "insufficient balance", "insufficient credits", "exceeded your current quota", "budget has been exceeded"),
		limited && daily.MatchString(f.Text):
		return Quota
	case status == http.StatusRequestEntityTooLarge, status < 500 && !limited && tooLong.MatchString(f.Text), f.Is("context_length_exceeded", "exceed_context_size_error"):
		return TooLong
	case f.Is("content_filter", "content_policy_violation", "responsibleaipolicyviolation"):
		return Filtered
	case limited:
		return Limited
	case f.Is("overloaded_error", "service_unavailable", "500", "502", "503", "504", "529"):
		return Busy
	}
	return Other
}
