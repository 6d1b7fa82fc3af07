// Package openai asks a model by OpenAI's chat completions, of OpenAI itself or
// of any server that speaks them.
package openai

import (
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
)

// DefaultURL is where a model is asked without a URL.
const DefaultURL = "https://api.openai.com/v1"

// forms remembers how each server wants to be asked.
var forms provider.Memory

// own are the fields of the body that are Assay's.
var own = map[string]string{
	"model":                 "set judge.model",
	"messages":              "set judge.promptRef",
	"response_format":       "it asks for the strictest form that the server takes",
	"stream":                "it reads whole replies",
	"stream_options":        "it reads whole replies",
	"n":                     "it reads one reply",
	"max_tokens":            "set judge.maxOutputTokens",
	"max_completion_tokens": "set judge.maxOutputTokens",
	"temperature":           "set judge.temperature",
}

// New gives the model that a configuration names, which calls nobody until it is
// asked.
func New(cfg provider.Config) (judge.Model, error) {
	if cfg.URL == "" {
		cfg.URL = DefaultURL
	}
	at := provider.Endpoint{Base: cfg.URL, Path: "chat/completions", Own: own, Forms: &forms}
	return provider.New(cfg, at, &protocol{
		model:       cfg.Model,
		temperature: cfg.Temperature,
		extra:       cfg.ExtraBody,
		newLimit:    byOpenAI(cfg.URL),
		chat:        openai.NewChatCompletionService(options(&cfg)...),
	})
}

// options make the SDK send what the suite says and nothing else. It reads no
// environment variable: a key that is found there may not go to a suite's URL.
func options(cfg *provider.Config) []option.RequestOption {
	opts := []option.RequestOption{option.WithBaseURL(cfg.URL), option.WithMaxRetries(0)}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	// The SDK drops what stands in the query, such as Azure's api-version.
	if u, err := url.Parse(cfg.URL); err == nil {
		for name, values := range u.Query() {
			for _, value := range values {
				opts = append(opts, option.WithQueryAdd(name, value))
			}
		}
	}
	for name, values := range cfg.Header {
		opts = append(opts, option.WithHeaderDel(name))
		for _, value := range values {
			opts = append(opts, option.WithHeaderAdd(name, value))
		}
	}
	return opts
}

// byOpenAI says that a URL is OpenAI's or Azure's, whose newer models take
// max_completion_tokens alone. Most other servers began with max_tokens, and some
// go over the other name in silence, which leaves a reply without a bound.
func byOpenAI(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range []string{"openai.com", "openai.azure.com", "services.ai.azure.com"} {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}
