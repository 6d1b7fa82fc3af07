package suite

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
)

// CheckCredentials reads every Secret and certificate that the suite names and
// says all that is missing in one *Error.
func CheckCredentials(ctx context.Context, s *v1alpha1.EvalSuite, src Source) error {
	c := newCredentials(ctx, s.Namespace, src)
	c.config(s, "")
	return join(c.missing)
}

// config resolves the retriever's connection. What is missing is in c.missing.
func (c *credentials) config(s *v1alpha1.EvalSuite, url string) retriever.Config {
	const field = "spec.retriever"
	r := &s.Spec.Retriever
	auth := c.login(r.Auth, field)
	cfg := retriever.Config{
		URL:           url,
		Method:        string(r.Method),
		Header:        c.headers(r.Headers, field),
		BearerToken:   auth.bearer,
		BasicUser:     auth.user,
		BasicPassword: auth.password,
		OAuth2:        auth.oauth2,
		TLS:           c.tls(r.TLS, field),
		Timeout:       time.Duration(r.TimeoutSeconds) * time.Second,
		MaxIdle:       int(s.Spec.Execution.Parallelism),
	}
	if r.MaxRetries != nil {
		cfg.MaxRetries = int(*r.MaxRetries)
	}
	if e := r.Embedding; e != nil {
		const field = field + ".embedding"
		auth := c.login(e.Auth, field)
		cfg.Embedding = &retriever.EmbeddingConfig{
			URL:           e.URL,
			Model:         e.Model,
			Dimensions:    int(e.Dimensions),
			Header:        c.headers(e.Headers, field),
			BearerToken:   auth.bearer,
			BasicUser:     auth.user,
			BasicPassword: auth.password,
			OAuth2:        auth.oauth2,
			TLS:           c.tls(e.TLS, field),
		}
	}
	cfg.Secrets = c.secrets
	return cfg
}

// Prepare makes a run of the suite ready: it reads the golden set and the
// credentials and compiles the mappings, and calls nobody. Its error is an
// *Error that says what to do. The caller closes Client.
func Prepare(ctx context.Context, s *v1alpha1.EvalSuite, o RunOptions, src Source, d Deps) (*Prepared, error) {
	if err := Check(s); err != nil {
		return nil, err
	}
	url, err := endpointURL(s, o.Endpoint)
	if err != nil {
		return nil, err
	}
	var set *golden.Set
	if len(o.Golden) > 0 {
		set, err = readGolden(s, o.Golden)
	} else {
		set, err = LoadGolden(ctx, s, src, d)
	}
	if err != nil {
		return nil, err
	}
	cases := set.WithTags(o.Tags)
	if len(cases.Cases) == 0 {
		return nil, errorf(ReasonNoCases, "no case of the golden set carries one of the run's tags (%s): the golden set has %s", strings.Join(o.Tags, ", "), tagList(set.Tags()))
	}

	topK := int(s.Spec.Retriever.TopK)
	if o.TopK > 0 {
		topK = o.TopK
	}
	plan, err := planOf(s, cases.Cases, topK)
	if err != nil {
		return nil, err
	}

	c := newCredentials(ctx, s.Namespace, src)
	cfg := c.config(s, url)
	if err := join(c.missing); err != nil {
		return nil, err
	}
	if cfg.Program, err = compile(s); err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.%w", err)
	}
	if err := cfg.Program.CheckTopK(topK); err != nil {
		return nil, errorf(ReasonTopKTooLarge, "the run's own topK is too large: %w", err)
	}
	if cfg.Params, err = params(s); err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.%w", err)
	}
	if perSecond := int(s.Spec.Retriever.RequestsPerSecond); perSecond > 0 && d.Limits != nil {
		cfg.Limiter = d.Limits.For(s.Namespace, url, perSecond)
	}
	cfg.Observe = d.Observe
	client, err := retriever.New(cfg)
	if err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.retriever.%w", err)
	}

	revision := o.Revision
	if revision == "" {
		revision = NoTargetsRevision
	}
	return &Prepared{
		Plan:             plan,
		Client:           client,
		Golden:           set,
		EvaluationDigest: EvaluationDigest(s, o.Endpoint),
		GoldenSetDigest:  set.Digest,
		Revision:         revision,
		Endpoint:         o.Endpoint,
		Full:             o.Full(),
		TopK:             topK,
		Unit:             string(s.Spec.Scoring.Unit),
		PrimaryK:         plan.Score.PrimaryK,
		Calls:            Calls(s, cases),
	}, nil
}

// Calls is how many HTTP calls a run over these cases makes, before retries:
// one for each case that retrieval metrics run over, the warm-up, which asks
// some of these cases once more, and one for the vector of each question.
func Calls(s *v1alpha1.EvalSuite, cases *golden.Set) int64 {
	var due int64
	questions := map[string]bool{}
	for i := range cases.Cases {
		if c := &cases.Cases[i]; c.Due() {
			due++
			questions[c.Question] = true
		}
	}
	if due == 0 {
		return 0
	}
	calls := due
	if w := s.Spec.Retriever.WarmupRequests; w != nil {
		calls += int64(*w)
	}
	if program, err := compile(s); err == nil && program.UsesVector() {
		calls += int64(len(questions))
	}
	return calls
}

func planOf(s *v1alpha1.EvalSuite, cases []golden.Case, topK int) (eval.Plan, error) {
	minCoverage, err := strconv.ParseFloat(s.Spec.Scoring.MinCoverage, 64)
	if err != nil {
		return eval.Plan{}, errorf(ReasonInvalidObjective, "spec.scoring.minCoverage must be a decimal string from \"0\" to \"1\": %w", err)
	}
	plan := eval.Plan{
		Cases:       cases,
		Score:       scoreSpec(s, topK),
		MinCoverage: minCoverage,
		Parallelism: int(s.Spec.Execution.Parallelism),
		Timeout:     time.Duration(s.Spec.Execution.TimeoutSeconds) * time.Second,
	}
	if w := s.Spec.Retriever.WarmupRequests; w != nil {
		plan.WarmupRequests = int(*w)
	}
	for _, o := range s.Spec.Objectives {
		plan.Objectives = append(plan.Objectives, score.Objective{Metric: o.Metric, Tag: tagOf(o), Min: o.Min, Max: o.Max})
	}
	return plan, nil
}

// Meta is what the run's document says beside its result.
func (p *Prepared) Meta(s *v1alpha1.EvalSuite, uid, name string, trigger v1alpha1.Trigger) report.Meta {
	return report.Meta{
		Run: report.Run{
			UID:             uid,
			Name:            name,
			Suite:           s.Name,
			Endpoint:        p.Endpoint,
			Namespace:       s.Namespace,
			Trigger:         string(trigger),
			Revision:        p.Revision,
			GoldenSetDigest: p.GoldenSetDigest,
		},
		Settings: report.Settings{
			TopK:             p.TopK,
			Unit:             p.Unit,
			PrimaryK:         p.PrimaryK,
			EvaluationDigest: p.EvaluationDigest,
		},
	}
}
