package gate

import "time"

// Verdict is the answer in one word.
type Verdict string

const (
	// Pass lets a rollout go on, and nothing else does.
	Pass Verdict = "Pass"
	// Fail is a revision that missed an objective.
	Fail Verdict = "Fail"
	// Pending is an answer that is to come by itself.
	Pending Verdict = "Pending"
	// Inconclusive is one that will not.
	Inconclusive Verdict = "Inconclusive"
)

// Reasons of an answer. Those that a suite's condition Passing has too have the
// same names there.
const (
	ReasonPassed           = "Passed"
	ReasonObjectivesMissed = "ObjectivesMissed"

	ReasonNotObserved = "NotObserved"
	ReasonRollout     = "RolloutInProgress"
	ReasonSettling    = "Settling"
	ReasonRunDue      = "RunDue"
	ReasonRunQueued   = "RunQueued"
	ReasonRunning     = "Running"

	ReasonSuiteNotFound    = "SuiteNotFound"
	ReasonEndpointNotFound = "EndpointNotFound"
	ReasonNoObjectives     = "NoObjectives"
	ReasonStalled          = "Stalled"
	ReasonExpired          = "Expired"
	ReasonInconclusive     = "Inconclusive"
	ReasonRunError         = "RunError"
	ReasonNoResult         = "NotYetEvaluated"
	ReasonOtherRevision    = "RevisionNotEvaluated"
	ReasonOtherGoldenSet   = "GoldenSetNotEvaluated"
	ReasonOtherSpec        = "SpecNotEvaluated"
)

// Answer is what a gate is told.
type Answer struct {
	Verdict Verdict
	// Reason is one CamelCase word, Message is for people.
	Reason, Message string
	// Revision is the one that the answer is about; empty while it is not known.
	Revision string
	// Run is the one that gave the verdict, or that is waited for.
	Run string
	// EvaluatedAt is when the run that gave the verdict ended.
	EvaluatedAt time.Time
	// Since is since when a Pending answer is waited for, where that is known.
	Since time.Time
}

// Exit codes of a command that asks a gate.
const (
	ExitPass         = 0
	ExitFail         = 1
	ExitInconclusive = 2
	// ExitUsage is also for a gate that cannot be reached, or understood.
	ExitUsage = 3
)

// ExitCode is what a command ends with that got this verdict in the end: Pending
// is no better than Inconclusive where nobody waits any longer.
func (v Verdict) ExitCode() int {
	switch v {
	case Pass:
		return ExitPass
	case Fail:
		return ExitFail
	case Pending, Inconclusive:
		return ExitInconclusive
	}
	return ExitUsage
}
