package suite

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/assay-dev/assay/api/v1alpha1"
	"github.com/assay-dev/assay/internal/answer"
	"github.com/assay-dev/assay/internal/compare"
	"github.com/assay-dev/assay/internal/eval"
	"github.com/assay-dev/assay/internal/golden"
	"github.com/assay-dev/assay/internal/report"
	"github.com/assay-dev/assay/internal/retriever"
	"github.com/assay-dev/assay/internal/score"
	"github.com/assay-dev/assay/internal/tracing"
)

// CheckCredentials reads every Secret and certificate that the suite names and
// says all that is missing in one *Error.
func CheckCredentials(ctx context.Context, s *v1alpha1.EvalSuite, src Source) error {
	c := newCredentials(ctx, s.Namespace, src)
	c.retriever(s, s.Spec.Retriever.URL)
	c.answer(s, "")
	c.model(s)
	return join(c.missing)
}

// Prepare makes a run of the suite ready: it reads the golden set and the
// credentials and compiles the mappings, and calls nobody. Its error is an
// *Error that says what to do. The caller closes what it got.
func Prepare(ctx context.Context, s *v1alpha1.EvalSuite, o RunOptions, src Source, d Deps) (*Prepared, error) {
	if err := Check(s); err != nil {
		return nil, err
	}
	if err := CheckEgress(s, d.Egress); err != nil {
		return nil, err
	}
	at, err := endpointURLs(s, o.Endpoint)
	if err != nil {
		return nil, err
	}
	refs, err := LoadReferenced(ctx, s, src)
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
	plan, err := planOf(s, cases.Cases, topK, o)
	if err != nil {
		return nil, err
	}
	revision := o.Revision
	if revision == "" {
		revision = NoTargetsRevision
	}
	p := &Prepared{
		Plan:             plan,
		Golden:           set,
		EvaluationDigest: EvaluationDigest(s, o.Endpoint, refs.Digests),
		GoldenSetDigest:  set.Digest,
		Revision:         revision,
		Endpoint:         o.Endpoint,
		Full:             o.Full(),
		TopK:             topK,
		Unit:             string(s.Spec.Scoring.Unit),
		PrimaryK:         plan.Score.PrimaryK,
		Cost:             CostOf(s, o, cases, refs),
		at:               at,
		tracer:           d.Tracer,
	}
	p.Plan.Head = compare.Side{
		Revision: p.Revision, GoldenSetDigest: p.GoldenSetDigest, EvaluationDigest: p.EvaluationDigest, Tokenizer: string(plan.Score.Tokenizer),
	}
	if err := p.connect(newCredentials(ctx, s.Namespace, src), s, at, refs, d); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// connect makes the clients of whom the run asks.
func (p *Prepared) connect(c *credentials, s *v1alpha1.EvalSuite, at urls, refs Referenced, d Deps) error {
	// What the run asks nobody with need not be there.
	asked := s.DeepCopy()
	if !p.Plan.Score.Answer {
		asked.Spec.Answer = nil
	}
	if !p.Plan.Score.Judge {
		asked.Spec.Judge = nil
	}
	retrieving, answering, judging := c.retriever(asked, at.retriever), c.answer(asked, at.answer), c.model(asked)
	if err := join(c.missing); err != nil {
		return err
	}
	p.Plan.Redact = c.secrets.Content
	if at.retriever != "" {
		client, err := newRetriever(s, retrieving, p.TopK, d)
		if err != nil {
			return err
		}
		p.Parties.Retriever = d.Tracer.Retriever(client)
		p.closers = append(p.closers, client.Close)
	}
	if p.Plan.Score.Answer {
		client, err := newAnswerer(s, answering, p.PrimaryK, d)
		if err != nil {
			return err
		}
		p.Parties.Answerer = d.Tracer.Answerer(client)
		p.closers = append(p.closers, client.Close)
	}
	if p.Plan.Score.Judge {
		return p.newJudge(s, judging, refs, d)
	}
	return nil
}

// Serves says what the run measures, where targets tell: a revision, empty while a
// rollout goes, and the evidence of it.
func (p *Prepared) Serves(revision string, targets []report.Target, configMaps map[string]string) {
	p.Revision, p.Plan.Head.Revision = revision, revision
	p.Targets, p.ConfigMaps = targets, configMaps
}

// Trace begins the trace of the run, which is to be carried out with the context
// that it gives. Its End must follow.
func (p *Prepared) Trace(ctx context.Context, info tracing.RunInfo) (context.Context, *tracing.Run) {
	info.Revision, info.Endpoint = p.Revision, p.Endpoint
	return p.tracer.Begin(ctx, info, &p.Plan)
}

// URLs are where the run asks, without their queries, which may hold keys: the
// retriever, empty where the answer service retrieves by itself, and the answer
// service, empty where it is not asked.
func (p *Prepared) URLs() (retriever, answer string) {
	retriever = withoutQuery(p.at.retriever)
	if p.Parties.Answerer == nil {
		return retriever, ""
	}
	return retriever, withoutQuery(p.at.answer)
}

// Close lets go of all connections.
func (p *Prepared) Close() {
	for _, end := range p.closers {
		end()
	}
}

// newRetriever makes the retriever's client.
func newRetriever(s *v1alpha1.EvalSuite, cfg retriever.Config, topK int, d Deps) (*retriever.Client, error) {
	var err error
	if cfg.Program, err = compile(s); err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.%w", err)
	}
	if err := cfg.Program.CheckTopK(topK); err != nil {
		return nil, errorf(ReasonTopKTooLarge, "the run's own topK is too large: %w", err)
	}
	if cfg.Params, err = params(s); err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.%w", err)
	}
	cfg.Limiter = d.limiter(s.Namespace, cfg.URL, s.Spec.Retriever.RequestsPerSecond)
	cfg.Observe = d.observe(score.RetrievalStage)
	cfg.Egress = d.Egress
	cfg.Wrap = d.Tracer.Transport("retriever")
	if e := cfg.Embedding; e != nil {
		e.Wrap, e.Around = d.Tracer.Transport("embedding"), d.Tracer.Embedding(e.URL, e.Model)
	}
	client, err := retriever.New(cfg)
	if err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.retriever.%w", err)
	}
	return client, nil
}

// newAnswerer makes the answer service's client.
func newAnswerer(s *v1alpha1.EvalSuite, cfg answer.Config, primaryK int, d Deps) (*answer.Client, error) {
	a := s.Spec.Answer
	var err error
	if cfg.Program, err = compileAnswer(s); err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.%w", err)
	}
	if cfg.Params, err = freeMap(a.Params); err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.answer.params %w", err)
	}
	cfg.Contexts = answerContexts(a, primaryK)
	cfg.Limiter = d.limiter(s.Namespace, cfg.URL, a.RequestsPerSecond)
	cfg.Observe = d.observe(score.AnswerStage)
	cfg.Egress = d.Egress
	cfg.Wrap = d.Tracer.Transport("answer")
	client, err := answer.New(cfg)
	if err != nil {
		return nil, errorf(ReasonInvalidMapping, "spec.answer.%w", err)
	}
	return client, nil
}

func planOf(s *v1alpha1.EvalSuite, cases []golden.Case, topK int, o RunOptions) (eval.Plan, error) {
	minCoverage, err := strconv.ParseFloat(s.Spec.Scoring.MinCoverage, 64)
	if err != nil {
		return eval.Plan{}, errorf(ReasonInvalidObjective, "spec.scoring.minCoverage must be a decimal string from \"0\" to \"1\": %w", err)
	}
	plan := eval.Plan{
		Cases:       cases,
		Score:       scoreSpec(s, topK, o),
		MinCoverage: minCoverage,
		Parallelism: int(s.Spec.Execution.Parallelism),
		Timeout:     time.Duration(s.Spec.Execution.TimeoutSeconds) * time.Second,
	}
	if w := s.Spec.Retriever.WarmupRequests; w != nil {
		plan.WarmupRequests = int(*w)
	}
	for _, o := range s.Spec.Objectives {
		plan.Objectives = append(plan.Objectives, score.Objective{Metric: o.Metric, Tag: tagOf(o), Min: o.Min, Max: o.Max, MaxDrop: o.MaxDrop})
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
			Targets:         p.Targets,
			ConfigMaps:      p.ConfigMaps,
		},
		Settings: report.Settings{
			TopK:             p.TopK,
			Unit:             p.Unit,
			PrimaryK:         p.PrimaryK,
			EvaluationDigest: p.EvaluationDigest,
			BLEUTokenizer:    string(p.Plan.Score.Tokenizer),
			Judge:            p.Judge,
		},
	}
}
