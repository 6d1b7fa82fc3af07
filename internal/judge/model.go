package judge

import (
	"context"

	"github.com/assay-dev/assay/internal/golden"
)

// DefaultMaxOutputTokens is how long a reply may be where nothing else is said.
const DefaultMaxOutputTokens = 512

// Options of a judge with a model behind it.
type Options struct {
	// Identity of the model: provider, name, URL, parameters. Its prompt digest
	// and parser version are filled in; see ModelIdentity.
	Identity Identity
	// Prompt replaces the default system instructions of both kinds of calls.
	// What Assay adds stays: how data is fenced, and the shape of the reply.
	Prompt string
	// MaxOutputTokens bounds a reply; 0 is DefaultMaxOutputTokens.
	MaxOutputTokens int
	// Cache keeps verdicts across runs; nil keeps none.
	Cache Cache
	// CacheScope is the namespace that shares verdicts.
	CacheScope string
	// CacheFailed is told of a cache that cannot be read or written, which costs
	// a call and no verdict; nil ignores it. It may be called concurrently.
	CacheFailed func(error)
	// Budget of the run; nil is no bound.
	Budget *Budget
	// Redact takes secrets out of what the model says, before it is read or kept;
	// nil: there are none.
	Redact func(text string) string
}

// ModelIdentity completes the identity of a judge with what this package adds
// to it: the digest of its prompt, and how replies are read.
func ModelIdentity(id Identity, prompt string) Identity {
	id.PromptDigest = PromptDigest(prompt)
	id.ParserVersion = ParserVersion
	return id
}

// New gives the judge that asks a model. A failure is neither cached nor turned
// into a verdict, and concurrent requests for the same verdict are one.
func New(model Model, o Options) Judge {
	j := &modelJudge{
		model:           model,
		identity:        ModelIdentity(o.Identity, o.Prompt),
		prompt:          o.Prompt,
		maxOutputTokens: o.MaxOutputTokens,
		scope:           o.CacheScope,
		memory:          memory{cache: o.Cache, failed: o.CacheFailed},
		budget:          o.Budget,
		random:          randomText,
		redact:          o.Redact,
	}
	if j.redact == nil {
		j.redact = func(text string) string { return text }
	}
	if j.maxOutputTokens <= 0 {
		j.maxOutputTokens = DefaultMaxOutputTokens
	}
	return j
}

// modelJudge asks a model.
type modelJudge struct {
	model           Model
	identity        Identity
	prompt          string
	maxOutputTokens int
	scope           string
	memory          memory
	budget          *Budget
	// random gives text that nobody can guess.
	random func() string
	redact func(text string) string

	verdicts   group[Verdict]
	relevances group[Relevance]
}

// Grade judges one answer. An answer with nothing in it abstains, and needs no
// model to say so.
func (j *modelJudge) Grade(ctx context.Context, in Input) (Verdict, Usage, error) {
	if blank(in.Answer) {
		return emptyAnswer(&in), Usage{}, nil
	}
	in.Contexts = withText(in.Contexts)
	if blank(in.Reference) {
		in.Reference = ""
	}
	key := cacheKey{
		Scope: j.scope, Kind: kindVerdict, Identity: j.identity,
		Question: in.Question, History: in.History, Reference: in.Reference,
		Answerable: in.Answerable, Contexts: in.Contexts, Answer: in.Answer,
	}.String()
	return j.verdicts.do(ctx, key, func(ctx context.Context) (Verdict, Usage, error) {
		return remembered(ctx, &j.memory, key, func(*Verdict) bool { return true }, func() (Verdict, Usage, error) {
			raw, usage, err := ask(ctx, j, verdictPrompt(j.prompt, &in), ReadVerdict)
			if err != nil {
				return Verdict{}, usage, err
			}
			return settle(raw, &in), usage, nil
		})
	})
}

// Relevance scores each context. One with nothing in it scores 1 unasked.
func (j *modelJudge) Relevance(ctx context.Context, question string, history []golden.Turn, contexts []string) (Relevance, Usage, error) {
	asked := withText(contexts)
	if len(asked) == 0 {
		relevance, err := noneRelevant(contexts)
		return relevance, Usage{}, err
	}
	key := cacheKey{
		Scope: j.scope, Kind: kindRelevance, Identity: j.identity,
		Question: question, History: history, Contexts: asked,
	}.String()
	complete := func(r *Relevance) bool { return validScores(r.Scores, len(asked)) }
	found, usage, err := j.relevances.do(ctx, key, func(ctx context.Context) (Relevance, Usage, error) {
		return remembered(ctx, &j.memory, key, complete, func() (Relevance, Usage, error) {
			return ask(ctx, j, relevancePrompt(j.prompt, question, history, asked), func(reply string, o ReadOptions) (Relevance, error) {
				return ReadRelevance(reply, len(asked), o)
			})
		})
	})
	if err != nil {
		return Relevance{}, usage, err
	}
	return found.spread(contexts), usage, nil
}
