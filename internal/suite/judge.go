package suite

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/call"
	"github.com/assay-dev/assay/internal/judge"
	"github.com/assay-dev/assay/internal/judge/anthropic"
	"github.com/assay-dev/assay/internal/judge/openai"
	"github.com/assay-dev/assay/internal/judge/provider"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/tracing"
)

// defaultJudgeURL is where a provider is asked without a url.
var defaultJudgeURL = map[v1alpha1.JudgeProvider]string{
	v1alpha1.JudgeOpenAI:    openai.DefaultURL,
	v1alpha1.JudgeAnthropic: anthropic.DefaultURL,
}

// connection is how the judge's model is reached, with its credentials.
type connection struct {
	apiKey string
	http   call.HTTPConfig
}

// model resolves the judge's connection. What is missing is in c.missing.
func (c *credentials) model(s *v1alpha1.EvalSuite) connection {
	const field = "spec.judge"
	j := s.Spec.Judge
	if j == nil || j.Provider == v1alpha1.JudgeLexical {
		return connection{}
	}
	auth := c.login(j.Auth, field)
	conn := connection{http: call.HTTPConfig{
		Words:   call.Words{Service: "the judge", Outcome: "Judge", Field: "judge", Root: "judge", Refused: "judge.model and judge.extraBody", Shorten: "lower judge.maxOutputTokens"},
		URL:     judgeURL(j),
		Header:  c.headers(j.Headers, field),
		Auth:    call.Auth{BearerToken: auth.bearer, BasicUser: auth.user, BasicPassword: auth.password, OAuth2: auth.oauth2},
		TLS:     c.tls(j.TLS, field),
		Timeout: time.Duration(j.TimeoutSeconds) * time.Second,
		MaxIdle: int(s.Spec.Execution.Parallelism),
	}}
	if ref := j.APIKeySecretRef; ref != nil {
		conn.apiKey = c.value(*ref, field+".apiKeySecretRef")
	}
	conn.http.Secrets = c.secrets
	return conn
}

func judgeURL(j *v1alpha1.Judge) string {
	if j.URL != "" {
		return j.URL
	}
	return defaultJudgeURL[j.Provider]
}

// withoutQuery is what may be kept and shown of a URL: a query may hold a key.
func withoutQuery(raw string) string {
	before, _, _ := strings.Cut(raw, "?")
	return before
}

// newJudge makes the run's judge, and what it is held against.
func (p *Prepared) newJudge(s *v1alpha1.EvalSuite, conn connection, refs Referenced, d Deps) error {
	j := s.Spec.Judge
	identity := judge.LexicalIdentity()
	var grader judge.Judge
	if j.Provider == v1alpha1.JudgeLexical {
		grader = judge.NewLexical()
	} else {
		model, err := p.connectModel(s, conn, d)
		if err != nil {
			return err
		}
		identity = judge.ModelIdentity(judge.Identity{
			Provider: string(j.Provider), Model: j.Model, URL: withoutQuery(j.URL), Parameters: parameters(j),
		}, refs.Prompt)
		p.Budget = judge.NewBudget(j.MaxTokensPerRun, j.MaxCallsPerRun, judge.Usage{})
		grader = judge.New(model, judge.Options{
			Identity:        identity,
			Prompt:          refs.Prompt,
			MaxOutputTokens: int(j.MaxOutputTokens),
			Cache:           d.Verdicts,
			CacheScope:      s.Namespace,
			Budget:          p.Budget,
			Redact:          conn.http.Secrets.Content,
		})
	}
	p.Judge = &identity
	p.Plan.Head.Judge = identity.Fingerprint()
	p.Parties.Judge = d.Tracer.Judge(grader)
	if len(refs.Labels) > 0 {
		c, err := newCalibration(s, grader, identity, refs)
		if err != nil {
			return err
		}
		p.calibration, p.Plan.Calibrate = c, c.run
	}
	return nil
}

// connectModel makes the client of the model behind the judge.
func (p *Prepared) connectModel(s *v1alpha1.EvalSuite, conn connection, d Deps) (judge.Model, error) {
	j := s.Spec.Judge
	cfg, failed := modelSettings(j)
	if failed != nil {
		return nil, failed
	}
	conn.http.Egress = d.Egress
	conn.http.Wrap = d.Tracer.Transport("judge")
	client, err := call.NewHTTPClient(conn.http)
	if err != nil {
		return nil, errorf(ReasonInvalidJudge, "spec.judge.%w", err)
	}
	p.closers = append(p.closers, client.CloseIdleConnections)
	cfg.HTTPClient = client
	cfg.APIKey = conn.apiKey
	cfg.Limiter = d.limiter(s.Namespace, cfg.URL, j.RequestsPerSecond)
	cfg.Secrets = conn.http.Secrets
	cfg.Observe = d.observe(score.JudgeStage)
	model, failed := newModel(j, cfg)
	if failed != nil {
		return nil, failed
	}
	return d.Tracer.Model(model, tracing.ModelInfo{Provider: string(j.Provider), Model: j.Model, URL: cfg.URL, Temperature: cfg.Temperature}), nil
}

// modelSettings are what the suite itself says of how a model is asked.
func modelSettings(j *v1alpha1.Judge) (provider.Config, *Error) {
	cfg := provider.Config{
		URL:        judgeURL(j),
		Model:      j.Model,
		Timeout:    time.Duration(j.TimeoutSeconds) * time.Second,
		MaxRetries: int(ptr.Deref(j.MaxRetries, 0)),
	}
	var err error
	if cfg.ExtraBody, err = freeMap(j.ExtraBody); err != nil {
		return cfg, errorf(ReasonInvalidJudge, "spec.judge.extraBody %w", err)
	}
	if j.Temperature != "" {
		t, ok := decimal(j.Temperature, 2)
		if !ok {
			return cfg, errorf(ReasonInvalidJudge, "spec.judge.temperature is %q: it must be a decimal string from \"0\" to \"2\"", j.Temperature)
		}
		cfg.Temperature = &t
	}
	return cfg, nil
}

// newModel gives the model of the judge's provider, which calls nobody until it
// is asked.
func newModel(j *v1alpha1.Judge, cfg provider.Config) (judge.Model, *Error) {
	of := openai.New
	if j.Provider == v1alpha1.JudgeAnthropic {
		of = anthropic.New
	}
	model, err := of(cfg)
	if err != nil {
		return nil, errorf(ReasonInvalidJudge, "spec.judge.%w", err)
	}
	return model, nil
}

// decimal reads a number from 0 to a maximum.
func decimal(text string, maximum float64) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v >= 0 && v <= maximum
}

// parameters are what changes what the model says, as canonical JSON.
func parameters(j *v1alpha1.Judge) string {
	p := struct {
		Temperature     string          `json:"temperature,omitempty"`
		MaxOutputTokens int32           `json:"maxOutputTokens"`
		ExtraBody       json.RawMessage `json:"extraBody,omitempty"`
	}{Temperature: j.Temperature, MaxOutputTokens: j.MaxOutputTokens}
	if body := canonicalMap(j.ExtraBody); body != nil {
		p.ExtraBody = body.Raw
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return err.Error() // of a free map that JSON cannot hold, which no API server lets in
	}
	return string(raw)
}
