package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EvalRun is one execution of an EvalSuite.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=evr,categories=assay
// +kubebuilder:printcolumn:name="Suite",type=string,JSONPath=`.spec.suiteRef.name`
// +kubebuilder:printcolumn:name="Trigger",type=string,JSONPath=`.spec.trigger`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progressText`
// +kubebuilder:printcolumn:name="Hit-Rate",type=string,JSONPath=`.status.hitRate`
// +kubebuilder:printcolumn:name="MRR",type=string,JSONPath=`.status.mrr`
// +kubebuilder:printcolumn:name="Accuracy",type=string,JSONPath=`.status.accuracy`
// +kubebuilder:printcolumn:name="Hallucination",type=string,JSONPath=`.status.hallucinationRate`
// +kubebuilder:printcolumn:name="Duration",type=string,JSONPath=`.status.duration`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.verdict) || (has(self.status) && has(self.status.verdict) && self.status.verdict == oldSelf.status.verdict)",message="a run's verdict is final: create another EvalRun instead"
type EvalRun struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what is run; it cannot be changed.
	// +required
	Spec EvalRunSpec `json:"spec,omitzero"`

	// status is how far the run is, and what came out.
	// +optional
	Status EvalRunStatus `json:"status,omitempty,omitzero"`
}

// EvalRunList is a list of EvalRuns.
//
// +kubebuilder:object:root=true
type EvalRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EvalRun `json:"items"`
}

// Trigger is what started a run.
//
// +kubebuilder:validation:Enum=Manual;Schedule;Deploy;GoldenSet;Spec;API
type Trigger string

const (
	// TriggerManual is a person, or the annotation assay.dev/run-now.
	TriggerManual Trigger = "Manual"
	// TriggerSchedule is a slot of the suite's schedule.
	TriggerSchedule Trigger = "Schedule"
	// TriggerDeploy is a rollout of one of the suite's targets.
	TriggerDeploy Trigger = "Deploy"
	// TriggerGoldenSet is a change of the golden set's content.
	TriggerGoldenSet Trigger = "GoldenSet"
	// TriggerSpec is a change of the suite, its creation included.
	TriggerSpec Trigger = "Spec"
	// TriggerAPI is a call of the HTTP API.
	TriggerAPI Trigger = "API"
)

// EvalRunSpec says what is run. An empty field and one that is left out mean the
// same, and the rule of immutability takes them for the same: a typed client
// drops what is empty when it writes an object back.
//
// +kubebuilder:validation:XValidation:rule="self.suiteRef == oldSelf.suiteRef && self.trigger == oldSelf.trigger && (has(self.endpoint) ? self.endpoint : \"\") == (has(oldSelf.endpoint) ? oldSelf.endpoint : \"\") && (has(self.revision) ? self.revision : \"\") == (has(oldSelf.revision) ? oldSelf.revision : \"\") && (has(self.tags) ? self.tags : []) == (has(oldSelf.tags) ? oldSelf.tags : []) && (has(self.topK) ? self.topK : 0) == (has(oldSelf.topK) ? oldSelf.topK : 0) && (has(self.stages) ? self.stages : []) == (has(oldSelf.stages) ? oldSelf.stages : [])",message="an EvalRun's spec cannot be changed: create another EvalRun instead"
// +kubebuilder:validation:XValidation:rule="!has(self.revision) || self.revision == \"\" || (has(self.endpoint) && self.endpoint != \"\")",message="revision may be given only together with endpoint: the revision behind the suite's own URL is found out by Assay"
type EvalRunSpec struct {
	// suiteRef names the EvalSuite, in the run's namespace.
	// +required
	SuiteRef SuiteReference `json:"suiteRef,omitzero"`

	// trigger is what started the run; Manual by default. The others are the operator's own.
	// +optional
	// +default="Manual"
	Trigger Trigger `json:"trigger,omitempty"`

	// endpoint is the name of one of the suite's endpoints, which is asked instead of retriever.url. Such a run never counts for Passing.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint,omitempty"`

	// revision is what the endpoint serves, for example a pod-template-hash; only together with endpoint. It is taken as said.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=128
	Revision string `json:"revision,omitempty"`

	// tags keeps only the cases with at least one of these tags. Such a run never counts for Passing. Left out: all cases.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Tags []string `json:"tags,omitempty"`

	// topK is used instead of the suite's retriever.topK, to try 3 against 5, say; cut-offs above it are left out. Such a run never counts for Passing. 0, the default: the suite's own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	TopK *int32 `json:"topK,omitempty"`

	// stages are what the run goes through: [Retrieval] leaves answer and judge out, [Retrieval, Answer] the judge. Such a run never counts for Passing. Left out: all that the suite has.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || ('Retrieval' in self && (!('Judge' in self) || 'Answer' in self))",message="stages build on one another: give [Retrieval], [Retrieval, Answer] or [Retrieval, Answer, Judge]"
	Stages []Stage `json:"stages,omitempty"`
}

// Stage is a part of a run.
//
// +kubebuilder:validation:Enum=Retrieval;Answer;Judge
type Stage string

const (
	// StageRetrieval asks the retriever.
	StageRetrieval Stage = "Retrieval"
	// StageAnswer asks the answer service.
	StageAnswer Stage = "Answer"
	// StageJudge judges answers.
	StageJudge Stage = "Judge"
)

// SuiteReference names an EvalSuite.
type SuiteReference struct {
	// name of the EvalSuite, in the run's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// Verdict is the outcome of a run.
//
// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive;Error
type Verdict string

const (
	// VerdictPassed means that every objective is met.
	VerdictPassed Verdict = "Passed"
	// VerdictFailed means that an objective is missed on adequate coverage.
	VerdictFailed Verdict = "Failed"
	// VerdictInconclusive means that no objective is missed, but one cannot be decided.
	VerdictInconclusive Verdict = "Inconclusive"
	// VerdictError means that nothing could be scored.
	VerdictError Verdict = "Error"
)

// Types of an EvalRun's conditions.
const (
	// ConditionComplete is True when the run has ended, whatever its verdict.
	ConditionComplete = "Complete"
	// ConditionPassed is True when the run's verdict is Passed, False when it is Failed, else Unknown.
	ConditionPassed = "Passed"
	// ConditionHistoryStored, of runs and suites, is True when everything of the (last) run is in the history store.
	ConditionHistoryStored = "HistoryStored"
)

// Annotations that Assay reads and writes.
const (
	// AnnotationRunNow on an EvalSuite starts a run once for every new value.
	AnnotationRunNow = "assay.dev/run-now"
	// AnnotationTriggeredBy on an EvalRun says what exactly triggered it: the slot, the token, the key.
	AnnotationTriggeredBy = "assay.dev/triggered-by"
	// AnnotationRetryOf on an EvalRun names the run that ended with Error and is tried once more.
	AnnotationRetryOf = "assay.dev/retry-of"
	// AnnotationCancel on an EvalRun ends it Inconclusive; the value is the reason, Canceled where it is no CamelCase word.
	AnnotationCancel = "assay.dev/cancel"
)

// EvalRunStatus is how far the run is, and what came out.
//
// +kubebuilder:validation:MinProperties=1
type EvalRunStatus struct {
	// conditions are Complete, Passed, BaselineComparable, JudgeTrusted and HistoryStored.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// revision that was measured.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// templateHashes of the targets that were measured.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	TemplateHashes []string `json:"templateHashes,omitempty"`

	// images of the targets, as their pod templates have them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Images []string `json:"images,omitempty"`

	// suiteEvaluationDigest is the suite's evaluation digest when the run began.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	SuiteEvaluationDigest string `json:"suiteEvaluationDigest,omitempty"`

	// goldenSetDigest is the golden set's digest when the run began.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	GoldenSetDigest string `json:"goldenSetDigest,omitempty"`

	// corpusVersion that the retriever reported.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	CorpusVersion string `json:"corpusVersion,omitempty"`

	// baselineRun is the name of the run that this one is compared with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BaselineRun string `json:"baselineRun,omitempty"`

	// verdict of the run; absent until it has ended, then final.
	// +optional
	Verdict Verdict `json:"verdict,omitempty"`

	// reason of the verdict, one CamelCase word.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message of the verdict, for people: it names metric, value and bound.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// progress counts the cases.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// progressText is progress for people, for example 57/120.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ProgressText string `json:"progressText,omitempty"`

	// attempts is how often an operator has begun the run: it goes on after one that was killed, and ends with Error after the third.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempts *int32 `json:"attempts,omitempty"`

	// hitRate is the hit rate at primaryK.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	HitRate string `json:"hitRate,omitempty"`

	// mrr is the mean reciprocal rank.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	MRR string `json:"mrr,omitempty"`

	// accuracy is the share of correct answers, over answerable cases with a reference.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Accuracy string `json:"accuracy,omitempty"`

	// hallucinationRate is the share of answers that their contexts do not support.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	HallucinationRate string `json:"hallucinationRate,omitempty"`

	// startTime is when the run began to ask.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// completionTime is when the run ended.
	// +optional
	CompletionTime *metav1.MicroTime `json:"completionTime,omitempty"`

	// duration from start to completion, for people, for example 1m12s.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Duration string `json:"duration,omitempty"`

	// coverage is the share of cases that got a result.
	// +optional
	Coverage *Coverage `json:"coverage,omitempty"`

	// metrics are the means over all cases and over the cases of each tag, at most 16 tags.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=tag
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=2048
	Metrics []RunMetric `json:"metrics,omitempty"`

	// objectives are the outcomes of the suite's objectives.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveResult `json:"objectives,omitempty"`

	// evidence counts cases by whether the evidence was retrieved and the answer is correct.
	// +optional
	Evidence *Evidence `json:"evidence,omitempty"`

	// judge is how far the judge agrees with people.
	// +optional
	Judge *JudgeStatus `json:"judge,omitempty"`

	// outcomes counts the cases by how they ended.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=32
	Outcomes []OutcomeCount `json:"outcomes,omitempty"`

	// worstCases are up to 20 cases with the worst results: what got worse since the baseline first, then those not found, those that failed, those answered wrong, and the lowest ranks.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=20
	WorstCases []WorstCase `json:"worstCases,omitempty"`

	// usage counts the calls that the run made.
	// +optional
	Usage *Usage `json:"usage,omitempty"`
}

// Progress counts the cases of a run.
//
// +kubebuilder:validation:MinProperties=0
type Progress struct {
	// total is how many cases the run asks.
	// +optional
	Total *int32 `json:"total,omitempty"`

	// done is how many cases have ended, errored ones included.
	// +optional
	Done *int32 `json:"done,omitempty"`

	// errored is how many cases failed after retries.
	// +optional
	Errored *int32 `json:"errored,omitempty"`
}

// Coverage is, for each stage, the share of the cases that it was due for that got a result.
//
// +kubebuilder:validation:MinProperties=0
type Coverage struct {
	// retrieval is the share of answerable cases with a relevant id whose call succeeded, a decimal string from "0" to "1".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Retrieval string `json:"retrieval,omitempty"`

	// answer is the share of all cases that got an answer, a decimal string from "0" to "1".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Answer string `json:"answer,omitempty"`

	// judge is the share of the cases with an answer that got a verdict, a decimal string from "0" to "1".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Judge string `json:"judge,omitempty"`
}

// RunMetric is one mean of a run.
type RunMetric struct {
	// name of the metric, for example hit_rate@5.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// tag of the cases that the mean is over; empty for all cases.
	// +optional
	// +default=""
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Tag *string `json:"tag,omitempty"`

	// value of the metric, a decimal string.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Value string `json:"value,omitempty"`

	// count is how many cases the mean is over.
	// +optional
	Count *int32 `json:"count,omitempty"`

	// low end of the 95 % interval (Wilson for shares, bootstrap for other means).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Low string `json:"low,omitempty"`

	// high end of the 95 % interval.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	High string `json:"high,omitempty"`

	// baseline is the value of the baseline on the cases that both have.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Baseline string `json:"baseline,omitempty"`

	// delta is value less baseline, on the cases that both have.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Delta string `json:"delta,omitempty"`

	// deltaLow is the low end of the 95 % interval of delta, by bootstrap.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	DeltaLow string `json:"deltaLow,omitempty"`

	// deltaHigh is the high end of the 95 % interval of delta.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	DeltaHigh string `json:"deltaHigh,omitempty"`

	// pValue is how likely so large a worsening is by chance alone: exact McNemar for 0/1 metrics, else a paired sign-flip permutation; corrected (Holm) over the suite's relative objectives where it is one of them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	PValue string `json:"pValue,omitempty"`

	// smallestDrop is the smallest worsening that these cases could show.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	SmallestDrop string `json:"smallestDrop,omitempty"`

	// referenceDelta is the difference from baseline.reference, on the cases that both have.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	ReferenceDelta string `json:"referenceDelta,omitempty"`
}

// ObjectiveOutcome says how an objective came out.
//
// +kubebuilder:validation:Enum=Met;Missed;Unproven;NoBaseline;Inconclusive
type ObjectiveOutcome string

const (
	// ObjectiveMet means that the value keeps to the bound.
	ObjectiveMet ObjectiveOutcome = "Met"
	// ObjectiveMissed means that it does not.
	ObjectiveMissed ObjectiveOutcome = "Missed"
	// ObjectiveUnproven means that it does not, and that chance may be the reason.
	ObjectiveUnproven ObjectiveOutcome = "Unproven"
	// ObjectiveNoBaseline means that there is nothing to compare with.
	ObjectiveNoBaseline ObjectiveOutcome = "NoBaseline"
	// ObjectiveInconclusive means that it cannot be decided.
	ObjectiveInconclusive ObjectiveOutcome = "Inconclusive"
)

// ObjectiveResult is how one bound of an objective came out.
type ObjectiveResult struct {
	// metric that is bounded.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Metric string `json:"metric,omitempty"`

	// tag of the cases; empty for all cases.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Tag string `json:"tag,omitempty"`

	// bound as the suite gives it, for example "min 0.90".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Bound string `json:"bound,omitempty"`

	// value that was measured; absent when there is none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Value string `json:"value,omitempty"`

	// outcome is Met, Missed, Unproven, NoBaseline or Inconclusive.
	// +optional
	Outcome ObjectiveOutcome `json:"outcome,omitempty"`

	// message for people: it names metric, value and bound.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// OutcomeCount is how many cases ended one way.
type OutcomeCount struct {
	// type of the outcome: Scored, or what failed, for example RetrieverTimeout.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type,omitempty"`

	// count of cases.
	// +optional
	Count *int32 `json:"count,omitempty"`
}

// WorstCase is one case with a bad result.
type WorstCase struct {
	// id of the case.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ID string `json:"id,omitempty"`

	// rank of the first relevant result; absent when none was found.
	// +optional
	Rank *int32 `json:"rank,omitempty"`

	// baselineRank is the rank in the baseline; absent when none was found there, or there is no baseline.
	// +optional
	BaselineRank *int32 `json:"baselineRank,omitempty"`

	// outcome of the case: Scored, or what failed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Outcome string `json:"outcome,omitempty"`
}

// Usage counts the calls that a run made.
//
// +kubebuilder:validation:MinProperties=0
type Usage struct {
	// retrieverCalls is how many requests the retriever got, retries and warm-up included.
	// +optional
	RetrieverCalls *int64 `json:"retrieverCalls,omitempty"`

	// answerCalls is how many requests the answer service got, retries included.
	// +optional
	AnswerCalls *int64 `json:"answerCalls,omitempty"`

	// judgeCalls is how many requests the judge got, retries and repairs included.
	// +optional
	JudgeCalls *int64 `json:"judgeCalls,omitempty"`

	// promptTokens is how many tokens the judge read, as its provider counted.
	// +optional
	PromptTokens *int64 `json:"promptTokens,omitempty"`

	// completionTokens is how many tokens the judge wrote, as its provider counted.
	// +optional
	CompletionTokens *int64 `json:"completionTokens,omitempty"`

	// cacheHits is how many verdicts were known from earlier runs and cost no call.
	// +optional
	CacheHits *int64 `json:"cacheHits,omitempty"`
}
