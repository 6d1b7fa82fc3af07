// Package anthropic asks a model by Anthropic's messages.
package anthropic

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/provider"
)

// DefaultURL is where a model is asked without a URL.
const DefaultURL = "https://api.anthropic.com"

// forms remembers how each server and model wants to be asked.
var forms provider.Memory

// own are the fields of the body that are Assay's. output_config is shared: its
// effort is the suite's, its format is not.
var own = map[string]string{
	"model":       "set judge.model",
	"messages":    "set judge.promptRef",
	"system":      "set judge.promptRef",
	"stream":      "it reads whole replies",
	"tools":       "it asks for the strictest form that the model takes",
	"tool_choice": "it asks for the strictest form that the model takes",
	"max_tokens":  "set judge.maxOutputTokens",
	"temperature": "set judge.temperature",
}

// New gives the model that a configuration names, which calls nobody until it is
// asked.
func New(cfg provider.Config) (judge.Model, error) {
	if cfg.URL == "" {
		cfg.URL = DefaultURL
	}
	cfg.URL = withoutVersion(cfg.URL)
	if err := checkOutputConfig(cfg.ExtraBody); err != nil {
		return nil, err
	}
	at := provider.Endpoint{Base: cfg.URL, Path: "v1/messages", Own: own, Forms: &forms}
	return provider.New(cfg, at, &protocol{
		model:       cfg.Model,
		temperature: cfg.Temperature,
		extra:       cfg.ExtraBody,
		messages:    anthropic.NewMessageService(options(&cfg)...),
	})
}

// checkOutputConfig keeps the suite's own fields from taking the schema away.
func checkOutputConfig(extra map[string]any) error {
	value, ok := extra["output_config"]
	if !ok {
		return nil
	}
	config, ok := value.(map[string]any)
	if !ok {
		return errors.New("extraBody: output_config must be an object, for example {effort: low}")
	}
	if _, ok := config["format"]; ok {
		return errors.New("extraBody: output_config.format is Assay's own: it asks for the strictest form that the model takes")
	}
	return nil
}

// withoutVersion takes a version off the end of a URL's path, for the SDK adds its
// own. Suites give a URL with its version, as other providers want it.
func withoutVersion(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	path, found := strings.CutSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	if !found {
		return rawURL
	}
	u.Path, u.RawPath = path, ""
	return u.String()
}

// options make the SDK send what the suite says and nothing else. It reads no
// environment variable: a key that is found there may not go to a suite's URL.
func options(cfg *provider.Config) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.URL),
		option.WithMaxRetries(0),
		// Without one, the SDK refuses limits that it takes for too slow. The
		// attempt's own deadline comes first.
		option.WithRequestTimeout(max(cfg.Timeout, time.Minute)),
		// A span may carry the prompt.
		option.WithoutOpenTelemetry(),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	// The SDK drops what stands in the query.
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
