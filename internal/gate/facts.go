package gate

import (
	"cmp"
	"slices"
	"time"
)

// Verdicts of a run.
const (
	runPassed = "Passed"
	runFailed = "Failed"
	runError  = "Error"
)

// Facts are everything that an answer rests on.
type Facts struct {
	Now   time.Time
	Suite Suite
	Live  Live
	// Results are those that the suite's status keeps, in any order.
	Results []Result
	// Runs are the unfinished runs of the whole golden set that nobody canceled,
	// in any order.
	Runs []Run
	// Due is the run of the suite's own URL that has not been created yet; nil
	// where none is to come.
	Due *Due
}

// Suite is what is asked about.
type Suite struct {
	Name string
	// Missing says that it does not exist, or is being deleted.
	Missing bool
	// Unobserved says that the operator has not looked at its newest generation.
	Unobserved bool
	// Stalled is why it cannot be run; empty where it can.
	Stalled   string
	Suspended bool
	// Objectives says that there are any.
	Objectives bool
	// Endpoints are the names of its endpoints.
	Endpoints []string
	// EvaluationDigest, at the endpoint that is asked about, and GoldenSetDigest are
	// parts of today's key; empty while they are not known.
	EvaluationDigest, GoldenSetDigest string
}

// Live is what runs now. Revision is constant for a suite without targets.
type Live struct {
	// Revision is that of the newest templates; empty while it is not known.
	Revision string
	// TemplateHashes are those that the revision is made of.
	TemplateHashes []string
	// RolloutSince is since when a rollout goes, nil while none does; Rollout says
	// what it waits for.
	RolloutSince *time.Time
	Rollout      string
	// RolledOutAt is when the targets were first seen rolled out; a run starts
	// Settle later. Nil without targets.
	RolledOutAt *time.Time
	Settle      time.Duration
}

// Result is the verdict of one run, and the key that it holds for.
type Result struct {
	Run                               string
	Endpoint, Revision                string
	EvaluationDigest, GoldenSetDigest string
	CorpusVersion                     string
	// Verdict is Passed, Failed, Inconclusive or Error.
	Verdict, Reason, Message string
	// Time is when the run ended, ExpiresAt when its verdict ceases to hold.
	Time, ExpiresAt time.Time
}

// Run is a run that has not ended.
type Run struct {
	Name, Endpoint string
	// Revision was given with the run, or is what it measures; else it is empty
	// until the run has started, and for one that started while a rollout went.
	Revision string
	// EvaluationDigest and GoldenSetDigest are empty until it has started.
	EvaluationDigest, GoldenSetDigest string
	CreatedAt                         time.Time
	Started                           bool
}

// Due is a run that is to come.
type Due struct {
	Trigger string
	// At is when it starts; zero where nothing is waited for but a rollout.
	At time.Time
	// RetryOf is the run with verdict Error that it repeats.
	RetryOf string
}

// Question is what a gate asks.
type Question struct {
	// Endpoint is the name of one of the suite's; empty for its own URL.
	Endpoint string
	// Revision is the composite one, or one template hash; empty for what is live.
	Revision string
}

// of returns the results of an endpoint, newest first. Of two that ended in one
// instant the name decides, as it does in the status.
func (f Facts) of(endpoint string) []Result {
	results := slices.DeleteFunc(slices.Clone(f.Results), func(r Result) bool { return r.Endpoint != endpoint })
	slices.SortFunc(results, func(a, b Result) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Run, a.Run)) })
	return results
}
