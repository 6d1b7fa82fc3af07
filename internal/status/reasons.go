package status

// Reasons of verdicts that the operator gives without a metric.
const (
	ReasonCanceled     = "Canceled"
	ReasonReplaced     = "Replaced"
	ReasonQueueFull    = "QueueFull"
	ReasonSuiteChanged = "SuiteChanged"
	ReasonSuiteDeleted = "SuiteDeleted"
	ReasonTooManyTries = "AttemptsExceeded"
)
