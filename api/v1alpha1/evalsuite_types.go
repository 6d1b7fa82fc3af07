package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EvalSuite is a scheduled RAG regression test: a golden set of questions, the
// retriever that is asked, and the objectives that its answers must meet.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=evs,categories=assay
// +kubebuilder:printcolumn:name="Passing",type=string,JSONPath=`.status.conditions[?(@.type=="Passing")].status`,description="Whether the newest result for what runs now is a pass."
// +kubebuilder:printcolumn:name="Hit-Rate",type=string,JSONPath=`.status.hitRate`,description="Hit rate at primaryK of the last scored full run."
// +kubebuilder:printcolumn:name="MRR",type=string,JSONPath=`.status.mrr`,description="Mean reciprocal rank of the last scored full run."
// +kubebuilder:printcolumn:name="Accuracy",type=string,JSONPath=`.status.accuracy`,description="Share of correct answers in the last scored full run."
// +kubebuilder:printcolumn:name="Hallucination",type=string,JSONPath=`.status.hallucinationRate`,description="Share of answers that their contexts do not support, in the last scored full run."
// +kubebuilder:printcolumn:name="Last-Run",type=date,JSONPath=`.status.lastRun.completionTime`,description="When the last scored full run ended."
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,description="When the schedule starts the next run."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Passing")].reason`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="an EvalSuite's name may have at most 52 characters, because the names of its runs begin with it: choose a shorter metadata.name"
type EvalSuite struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name may have at most 52 characters.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what is asked, where, when, and how good the answers must be.
	// +required
	Spec EvalSuiteSpec `json:"spec,omitzero"`

	// status is what Assay has seen and measured.
	// +optional
	// +default={"observedGeneration": -1}
	Status EvalSuiteStatus `json:"status,omitempty,omitzero"`
}

// EvalSuiteList is a list of EvalSuites.
//
// +kubebuilder:object:root=true
type EvalSuiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EvalSuite `json:"items"`
}

// EvalSuiteSpec is the policy of a suite.
//
// +kubebuilder:validation:XValidation:rule="!has(self.scoring) || !has(self.scoring.k) || self.scoring.k.all(k, k <= self.retriever.topK)",message="every cut-off in scoring.k must be at most retriever.topK: results beyond topK are never seen; raise retriever.topK or remove the cut-off"
// +kubebuilder:validation:XValidation:rule="!has(self.scoring) || !has(self.scoring.primaryK) || self.scoring.primaryK <= self.retriever.topK",message="scoring.primaryK must be at most retriever.topK; raise retriever.topK or lower scoring.primaryK"
// +kubebuilder:validation:XValidation:rule="!has(self.objectives) || self.objectives.all(o, !o.metric.matches('@[1-9][0-9]{0,3}$') || int(o.metric.substring(o.metric.indexOf('@') + 1)) <= self.retriever.topK)",message="the k of an objective's metric must be at most retriever.topK: results beyond topK are never seen; raise retriever.topK or lower the k"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.schedule)",message="timeZone has no meaning without schedule: add spec.schedule or remove spec.timeZone"
// +kubebuilder:validation:XValidation:rule="self.retriever.preset != 'OpenAIVectorStore' || has(self.retriever.results) || (has(self.scoring) && self.scoring.unit == 'Document')",message="an OpenAI vector store returns no chunk ids: set scoring.unit to Document (relevant ids are then file ids), or give retriever.results of your own"
// +kubebuilder:validation:XValidation:rule="has(self.retriever.url) != (has(self.answer) && has(self.answer.results))",message="give retriever.url, or answer.results where the answer service retrieves by itself, and not both"
// +kubebuilder:validation:XValidation:rule="!has(self.judge) || has(self.answer)",message="a judge needs answers: add spec.answer, the service that makes them, or remove spec.judge"
// +kubebuilder:validation:XValidation:rule="has(self.judge) || !has(self.objectives) || self.objectives.all(o, !(o.metric in ['accuracy', 'hallucination_rate', 'context_relevance', 'abstention_accuracy', 'abstention_rate']))",message="accuracy, hallucination_rate, context_relevance, abstention_accuracy and abstention_rate are the judge's: add spec.judge, or remove the objective"
// +kubebuilder:validation:XValidation:rule="has(self.answer) || !has(self.objectives) || self.objectives.all(o, !(o.metric in ['bleu', 'answer_latency_p95_seconds']))",message="bleu and answer_latency_p95_seconds are measured on answers: add spec.answer, or remove the objective"
// +kubebuilder:validation:XValidation:rule="!has(self.objectives) || !self.objectives.exists(o, o.metric == 'context_relevance') || (has(self.judge) && has(self.judge.contextRelevance) && self.judge.contextRelevance)",message="context_relevance is measured only with judge.contextRelevance: true"
// +kubebuilder:validation:XValidation:rule="!has(self.endpoints) || self.endpoints.all(e, (!has(e.retrieverURL) || has(self.retriever.url)) && (!has(e.answerURL) || has(self.answer)))",message="an endpoint's retrieverURL needs retriever.url, and its answerURL needs spec.answer: it stands in for that one"
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || !has(self.baseline.policy) || (self.baseline.policy == 'Pinned') == (has(self.baseline.runName) && self.baseline.runName != \"\")",message="baseline.runName goes with policy Pinned, and only with it"
type EvalSuiteSpec struct {
	// goldenSet names the questions and the ids that are relevant to each.
	// +required
	GoldenSet GoldenSet `json:"goldenSet,omitzero"`

	// retriever is the HTTP service that is asked.
	// +optional
	// +default={"topK": 10}
	Retriever Retriever `json:"retriever,omitempty,omitzero"`

	// answer is the HTTP service that makes an answer of the question and what was retrieved. Left out: the suite measures retrieval alone.
	// +optional
	Answer *Answer `json:"answer,omitempty"`

	// judge decides whether answers are correct and grounded. Left out: there is no accuracy and no hallucination rate.
	// +optional
	Judge *Judge `json:"judge,omitempty"`

	// endpoints are other places where the same service may be asked, such as a canary or a preview. An EvalRun picks one by name; its results never count for Passing.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Endpoints []Endpoint `json:"endpoints,omitempty"`

	// scoring says which metrics are computed, and how.
	// +optional
	// +default={"unit": "Chunk", "bleuTokenizer": "Whitespace", "minCoverage": "0.95"}
	Scoring Scoring `json:"scoring,omitempty,omitzero"`

	// objectives are the bounds that metrics must keep to for a run to pass. Without any, no run passes and none fails.
	// +optional
	// +listType=map
	// +listMapKey=metric
	// +listMapKey=tag
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=32
	Objectives []Objective `json:"objectives,omitempty"`

	// baseline says which run others are compared with, for objectives with maxDrop.
	// +optional
	// +default={"policy": "LastPassed", "onNotComparable": "Ignore"}
	Baseline Baseline `json:"baseline,omitempty,omitzero"`

	// schedule is when runs start, as five cron fields: minute, hour, day of month, month, day of week. Left out: runs start on changes and by hand only.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ=')",message="a time zone inside the schedule is not supported: remove TZ= and set spec.timeZone"
	Schedule string `json:"schedule,omitempty"`

	// timeZone is the IANA name of the zone that schedule is read in, for example Asia/Seoul; UTC by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'Local'",message="timeZone must be a name of the IANA time zone database, for example Etc/UTC or Asia/Seoul; Local means another zone on every machine"
	TimeZone string `json:"timeZone,omitempty"`

	// startingDeadlineSeconds is how late a scheduled run may still start, in seconds, for example after the operator was down. Left out: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// jitterSeconds spreads scheduled runs: each suite starts later than its slot by an offset of its own, the same every time, below this many seconds; 0 by default.
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	JitterSeconds *int32 `json:"jitterSeconds,omitempty"`

	// suspend stops the runs that schedule and changes start; runs by hand still work. After it ends, missed slots are not made up for, a change that happened meanwhile runs once. False by default.
	// +optional
	// +default=false
	Suspend *bool `json:"suspend,omitempty"`

	// concurrencyPolicy says what a scheduled slot does while a run is active: Forbid (the default) skips the slot, Replace cancels the active run.
	// +optional
	// +default="Forbid"
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// onDeploy starts a run when a workload has rolled out a new revision.
	// +optional
	OnDeploy *OnDeploy `json:"onDeploy,omitempty"`

	// onGoldenSetChange starts a run when the content of the golden set changes; true by default.
	// +optional
	// +default=true
	OnGoldenSetChange *bool `json:"onGoldenSetChange,omitempty"`

	// execution bounds how a run is carried out.
	// +optional
	// +default={"parallelism": 8, "timeoutSeconds": 1800}
	Execution Execution `json:"execution,omitempty,omitzero"`

	// gate says how long a verdict may be relied on.
	// +optional
	// +default={"maxAgeSeconds": 86400}
	Gate Gate `json:"gate,omitempty,omitzero"`

	// history says how many finished EvalRuns are kept, and what of them goes into the history store.
	// +optional
	// +default={"passedRuns": 5, "failedRuns": 10, "storeContent": true}
	History History `json:"history,omitempty,omitzero"`
}

// GoldenSet says where the golden set is read from.
//
// +kubebuilder:validation:ExactlyOneOf=configMapRef;configMapSelector;http
// +kubebuilder:validation:XValidation:rule="!has(self.configMapSelector) || (has(self.configMapSelector.matchLabels) && size(self.configMapSelector.matchLabels) > 0) || (has(self.configMapSelector.matchExpressions) && size(self.configMapSelector.matchExpressions) > 0)",message="configMapSelector must name at least one label: an empty selector would read every ConfigMap of the namespace"
type GoldenSet struct {
	// configMapRef names one ConfigMap of the suite's namespace.
	// +optional
	ConfigMapRef *GoldenConfigMapReference `json:"configMapRef,omitempty"`

	// configMapSelector picks several ConfigMaps of the suite's namespace by their labels, merged in the order of their names; for sets over 1 MiB.
	// +optional
	ConfigMapSelector *metav1.LabelSelector `json:"configMapSelector,omitempty"`

	// http fetches the set from a URL, pinned by its digest.
	// +optional
	HTTP *GoldenHTTPSource `json:"http,omitempty"`

	// tags keeps only the cases with at least one of these tags. Left out: all cases.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Tags []string `json:"tags,omitempty"`
}

// GoldenConfigMapReference names a ConfigMap and, optionally, one of its keys.
type GoldenConfigMapReference struct {
	// name of the ConfigMap, in the suite's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key to read; its ending picks the format (.yaml, .json, .jsonl, .csv, .tsv, each also with .gz). Left out: all keys, in the order of their names.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// GoldenHTTPSource is a golden set behind a URL.
type GoldenHTTPSource struct {
	// url of the file; the ending of its path picks the format, as for a ConfigMap's key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="url must be a whole http:// or https:// URL without user and password, for example https://example.com/golden.jsonl.gz"
	URL string `json:"url,omitempty"`

	// sha256 is the SHA-256 of the file as it is served, 64 hexadecimal digits (sha256sum FILE). Another content is refused.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="sha256 must be 64 lower-case hexadecimal digits, as sha256sum prints them"
	SHA256 string `json:"sha256,omitempty"`
}

// Endpoint is another place where the same service may be asked.
//
// +kubebuilder:validation:AtLeastOneOf=retrieverURL;answerURL
type Endpoint struct {
	// name by which an EvalRun picks the endpoint, for example canary.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="an endpoint's name holds lower-case letters, digits and hyphens, for example canary"
	Name string `json:"name,omitempty"`

	// retrieverURL is asked instead of retriever.url; everything else of the retriever stays as it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="retrieverURL must be a whole http:// or https:// URL without user and password, for example http://docs-bot-canary.rag.svc:8080/search"
	RetrieverURL string `json:"retrieverURL,omitempty"`

	// answerURL is asked instead of answer.url; everything else of the answer service stays as it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="answerURL must be a whole http:// or https:// URL without user and password, for example http://docs-bot-canary.rag.svc:8080/answer"
	AnswerURL string `json:"answerURL,omitempty"`
}

// Unit is what counts as one result.
//
// +kubebuilder:validation:Enum=Chunk;Document
type Unit string

const (
	// UnitChunk takes every result for itself.
	UnitChunk Unit = "Chunk"
	// UnitDocument collapses the results of one document into its first.
	UnitDocument Unit = "Document"
)

// BLEUTokenizer is how BLEU splits texts.
//
// +kubebuilder:validation:Enum=Whitespace;Char
type BLEUTokenizer string

const (
	// BLEUWhitespace splits at white space.
	BLEUWhitespace BLEUTokenizer = "Whitespace"
	// BLEUChar takes every character for itself and drops white space.
	BLEUChar BLEUTokenizer = "Char"
)

// Scoring says which metrics are computed, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.primaryK) || !has(self.k) || self.primaryK in self.k",message="scoring.primaryK must be one of scoring.k: add it there, or leave primaryK out"
// +kubebuilder:validation:MinProperties=1
type Scoring struct {
	// k are the cut-offs that the metrics are computed at, at most 8, none above retriever.topK. Left out: those of 1, 3, 5 and 10 that fit.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1000
	K []int32 `json:"k,omitempty"`

	// primaryK is the cut-off of the headline hit rate, one of k. Left out: the largest k up to 5, or the smallest where all are above 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	PrimaryK int32 `json:"primaryK,omitempty"`

	// betas adds F-beta at these weights to F1, for example "0.5" (precision counts more) and "2" (recall counts more). None by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.all(b, b.matches('^(0\\\\.[0-9]*[1-9]|[1-9][0-9]*(\\\\.[0-9]*[1-9])?)$') && b != '1')",message="each beta must be a decimal string above 0, written shortest and not 1 (F1 is always computed), for example \"0.5\" or \"2\""
	Betas []string `json:"betas,omitempty"`

	// unit is what counts as one result: Chunk (the default), or Document, where the chunks of one document are collapsed into the first before the list is cut.
	// +optional
	// +default="Chunk"
	Unit Unit `json:"unit,omitempty"`

	// bleuTokenizer is how BLEU splits an answer and its reference: Whitespace (the default), or Char, for languages that do not put spaces between words.
	// +optional
	// +default="Whitespace"
	BLEUTokenizer BLEUTokenizer `json:"bleuTokenizer,omitempty"`

	// minCoverage is the share of cases that must have got a result for an objective to be decided, as a decimal string from "0" to "1"; "0.95" by default.
	// +optional
	// +default="0.95"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0(\\\\.[0-9]+)?|1(\\\\.0+)?)$')",message="minCoverage must be a decimal string from \"0\" to \"1\", for example \"0.95\""
	MinCoverage string `json:"minCoverage,omitempty"`
}

// Objective is the bounds that one metric must keep to.
//
// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max) || has(self.maxDrop)",message="an objective needs a bound: give min, max or maxDrop, as decimal strings, for example min: \"0.90\""
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || !self.min.matches('^[0-9]+(\\\\.[0-9]+)?$') || !self.max.matches('^[0-9]+(\\\\.[0-9]+)?$') || double(self.min) <= double(self.max)",message="min must not be above max"
// +kubebuilder:validation:XValidation:rule="self.metric in ['retrieval_latency_p95_seconds', 'answer_latency_p95_seconds', 'context_relevance'] || ((!has(self.min) || !self.min.matches('^[0-9]+(\\\\.[0-9]+)?$') || double(self.min) <= 1.0) && (!has(self.max) || !self.max.matches('^[0-9]+(\\\\.[0-9]+)?$') || double(self.max) <= 1.0))",message="this metric is a share from 0 to 1: write 90 % as \"0.90\""
type Objective struct {
	// metric that is bounded: hit_rate, precision, recall, f1, f2 (any beta), ndcg, map or mrr at a cut-off such as hit_rate@5; mrr, r_precision, error_rate, retrieval_latency_p95_seconds, answer_latency_p95_seconds, bleu, accuracy, hallucination_rate, context_relevance, abstention_accuracy or abstention_rate without one. A cut-off named here is computed even if scoring.k lacks it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^((hit_rate|precision|recall|ndcg|map|mrr|f(0\\\\.[0-9]*[1-9]|[1-9][0-9]*(\\\\.[0-9]*[1-9])?))@[1-9][0-9]{0,3}|mrr|r_precision|error_rate|(retrieval|answer)_latency_p95_seconds|bleu|accuracy|hallucination_rate|context_relevance|abstention_(accuracy|rate))$')",message="unknown metric: use hit_rate@k, precision@k, recall@k, f1@k, f2@k, ndcg@k, map@k or mrr@k with a number for k (for example hit_rate@5), or mrr, r_precision, error_rate, retrieval_latency_p95_seconds, answer_latency_p95_seconds, bleu, accuracy, hallucination_rate, context_relevance, abstention_accuracy, abstention_rate"
	Metric string `json:"metric,omitempty"`

	// tag bounds the metric over the cases that carry this tag. Left out: over all cases.
	// +optional
	// +default=""
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=128
	Tag *string `json:"tag,omitempty"`

	// min is the lowest value that meets the objective, as a decimal string, for example "0.90".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+(\\\\.[0-9]+)?$')",message="min must be a decimal string, for example \"0.90\""
	Min string `json:"min,omitempty"`

	// max is the highest value that meets the objective, as a decimal string, for example "0.05".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+(\\\\.[0-9]+)?$')",message="max must be a decimal string, for example \"0.05\""
	Max string `json:"max,omitempty"`

	// maxDrop is how much worse than the baseline the metric may be, as a decimal string, for example "0.05". For a metric of which less is better, such as hallucination_rate, it is how much it may rise.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+(\\\\.[0-9]+)?$')",message="maxDrop must be a decimal string, for example \"0.05\""
	MaxDrop string `json:"maxDrop,omitempty"`
}

// ConcurrencyPolicy says what a scheduled slot does while a run is active.
//
// +kubebuilder:validation:Enum=Forbid;Replace
type ConcurrencyPolicy string

const (
	// ForbidConcurrent skips the slot.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// ReplaceConcurrent cancels the active run.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// Execution bounds how a run is carried out.
//
// +kubebuilder:validation:MinProperties=1
type Execution struct {
	// parallelism is how many cases are asked at the same time; 8 by default.
	// +optional
	// +default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Parallelism int32 `json:"parallelism,omitempty"`

	// timeoutSeconds is how long a run may take, in seconds; 1800 by default. What was scored until then is kept.
	// +optional
	// +default=1800
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Gate says how long a verdict may be relied on.
//
// +kubebuilder:validation:MinProperties=1
type Gate struct {
	// maxAgeSeconds is how long a verdict holds after its run ended, in seconds; 86400 (one day) by default.
	// +optional
	// +default=86400
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	MaxAgeSeconds int32 `json:"maxAgeSeconds,omitempty"`
}

// History says what of finished runs is kept.
//
// +kubebuilder:validation:MinProperties=1
type History struct {
	// passedRuns is how many passed runs are kept; 5 by default.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PassedRuns *int32 `json:"passedRuns,omitempty"`

	// failedRuns is how many runs with another verdict (failed, inconclusive, error) are kept; 10 by default.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedRuns *int32 `json:"failedRuns,omitempty"`

	// storeContent keeps the text of what was retrieved in the history store; true by default. Ids, ranks and scores are kept either way.
	// +optional
	// +default=true
	StoreContent *bool `json:"storeContent,omitempty"`
}

// Types of an EvalSuite's conditions. Ready, Reconciling and Stalled follow
// kstatus and speak of the operator's work on the spec, not of quality.
const (
	// ConditionReady is True when the spec was accepted and is acted on.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator has yet to act on the spec.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the spec cannot be acted on until somebody changes something.
	ConditionStalled = "Stalled"
	// ConditionBaselineComparable is True when enough cases are the same as in the baseline.
	ConditionBaselineComparable = "BaselineComparable"
	// ConditionJudgeTrusted is True when the judge agrees with people as far as minKappa asks.
	ConditionJudgeTrusted = "JudgeTrusted"
	// ConditionPassing is True when the newest result for what runs now is a pass that has not expired.
	ConditionPassing = "Passing"
)

// EvalSuiteStatus is what Assay has seen and measured.
//
// +kubebuilder:validation:MinProperties=1
type EvalSuiteStatus struct {
	// conditions are Ready, Reconciling, Stalled, Passing, BaselineComparable, JudgeTrusted and HistoryStored.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks of; -1 until the suite was looked at first.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// evaluationDigest identifies everything in spec that can change a number or a verdict. Editing schedule or suspend does not change it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	EvaluationDigest string `json:"evaluationDigest,omitempty"`

	// hitRate is the hit rate at primaryK of the last scored full run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	HitRate string `json:"hitRate,omitempty"`

	// mrr is the mean reciprocal rank of the last scored full run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	MRR string `json:"mrr,omitempty"`

	// accuracy is the share of correct answers, over answerable cases with a reference, of the last scored full run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Accuracy string `json:"accuracy,omitempty"`

	// hallucinationRate is the share of answers that their contexts do not support, of the last scored full run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	HallucinationRate string `json:"hallucinationRate,omitempty"`

	// goldenSet is the golden set as it was read last.
	// +optional
	GoldenSet *GoldenSetStatus `json:"goldenSet,omitempty"`

	// plan is what a full run takes.
	// +optional
	Plan *Plan `json:"plan,omitempty"`

	// lastRun is the last scored full run: the default endpoint, all cases, the suite's topK.
	// +optional
	LastRun *LastRun `json:"lastRun,omitempty"`

	// baseline is the run that the next one is compared with.
	// +optional
	Baseline *BaselineStatus `json:"baseline,omitempty"`

	// judge is how far the judge agrees with people, as it was measured last.
	// +optional
	Judge *JudgeStatus `json:"judge,omitempty"`

	// targets are the workloads of onDeploy as they were seen last.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Targets []TargetStatus `json:"targets,omitempty"`

	// revision is what runs now: a short hash over the targets' pod templates and the ConfigMaps that these name; absent until it is known.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// rolloutSince is since when a rollout of the targets goes; absent when none does.
	// +optional
	RolloutSince *metav1.Time `json:"rolloutSince,omitempty"`

	// rolledOutTime is when the targets were first seen rolled out at this revision.
	// +optional
	RolledOutTime *metav1.Time `json:"rolledOutTime,omitempty"`

	// lastPassTime is when a full run ended with the verdict Passed last.
	// +optional
	LastPassTime *metav1.Time `json:"lastPassTime,omitempty"`

	// lastScheduleTime is the slot of the schedule that was started last.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// nextScheduleTime is when the schedule starts the next run, in RFC 3339.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	NextScheduleTime string `json:"nextScheduleTime,omitempty"`

	// lastMissedTime is the newest slot that was not started.
	// +optional
	LastMissedTime *metav1.Time `json:"lastMissedTime,omitempty"`

	// missedRuns is how many slots were not started since the schedule was set: the operator was down, a run was active, or the suite was stalled.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MissedRuns *int64 `json:"missedRuns,omitempty"`

	// countedSchedule is the schedule that slots are counted by, and since when.
	// +optional
	CountedSchedule *CountedSchedule `json:"countedSchedule,omitempty"`

	// results are the newest results a key, newest first, at most 10: what gates read.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=10
	Results []Result `json:"results,omitempty"`

	// lastTriggered is the key that a change started a run for last.
	// +optional
	LastTriggered *TriggeredKey `json:"lastTriggered,omitempty"`

	// lastHandledRunNow is the value of the annotation assay.dev/run-now that was acted on last.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	LastHandledRunNow string `json:"lastHandledRunNow,omitempty"`
}

// GoldenSetStatus is the golden set as it was read last.
//
// +kubebuilder:validation:MinProperties=0
type GoldenSetStatus struct {
	// digest is the SHA-256 of the set's canonical form: reordering and reformatting do not change it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`

	// cases is how many cases the set holds, after goldenSet.tags.
	// +optional
	Cases *int32 `json:"cases,omitempty"`

	// tags is how many different tags its cases carry.
	// +optional
	Tags *int32 `json:"tags,omitempty"`
}

// Plan is what a full run takes.
//
// +kubebuilder:validation:MinProperties=0
type Plan struct {
	// calls is how many HTTP calls a full run makes, before retries.
	// +optional
	Calls *int64 `json:"calls,omitempty"`

	// estimatedTokens is roughly how many tokens the judge reads and writes in a full run; absent without a model.
	// +optional
	EstimatedTokens *int64 `json:"estimatedTokens,omitempty"`
}

// CountedSchedule is the schedule that slots are counted by, and since when.
//
// +kubebuilder:validation:MinProperties=0
type CountedSchedule struct {
	// schedule as it was when counting began.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule,omitempty"`

	// timeZone as it was when counting began.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// suspend as it was when counting began.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// since is when counting began: slots before it are never run.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`
}

// TriggeredKey is what a run was started for by a change.
//
// +kubebuilder:validation:MinProperties=0
type TriggeredKey struct {
	// evaluationDigest of the suite at that time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	EvaluationDigest string `json:"evaluationDigest,omitempty"`

	// goldenSetDigest of the golden set at that time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	GoldenSetDigest string `json:"goldenSetDigest,omitempty"`

	// revision of the targets at that time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`
}

// LastRun is the last scored full run.
//
// +kubebuilder:validation:MinProperties=0
type LastRun struct {
	// name of the EvalRun.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid of the EvalRun.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// trigger that started the run.
	// +optional
	Trigger Trigger `json:"trigger,omitempty"`

	// revision that was measured.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`

	// goldenSetDigest of the golden set that was asked.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	GoldenSetDigest string `json:"goldenSetDigest,omitempty"`

	// verdict of the run.
	// +optional
	Verdict Verdict `json:"verdict,omitempty"`

	// startTime is when the run began to ask.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// completionTime is when the run ended.
	// +optional
	CompletionTime *metav1.MicroTime `json:"completionTime,omitempty"`

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
	Metrics []SuiteMetric `json:"metrics,omitempty"`

	// objectives are the outcomes of the suite's objectives.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveResult `json:"objectives,omitempty"`

	// evidence counts cases by whether the evidence was retrieved and the answer is correct.
	// +optional
	Evidence *Evidence `json:"evidence,omitempty"`
}

// SuiteMetric is one mean of the last scored full run.
type SuiteMetric struct {
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

	// delta is the difference from the baseline, on the cases that both have, a decimal string.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Delta string `json:"delta,omitempty"`

	// referenceDelta is the difference from baseline.reference, a decimal string.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	ReferenceDelta string `json:"referenceDelta,omitempty"`
}

// Result is the verdict of one run and the key that it holds for.
type Result struct {
	// run is the name of the EvalRun.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run,omitempty"`

	// time is when the run ended.
	// +optional
	Time metav1.MicroTime `json:"time,omitempty,omitzero"`

	// trigger that started the run.
	// +optional
	Trigger Trigger `json:"trigger,omitempty"`

	// endpoint that was asked; empty for the suite's own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint,omitempty"`

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

	// goldenSetDigest of the golden set that was asked.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	GoldenSetDigest string `json:"goldenSetDigest,omitempty"`

	// evaluationDigest of the suite that was run.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	EvaluationDigest string `json:"evaluationDigest,omitempty"`

	// corpusVersion that the retriever reported.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	CorpusVersion string `json:"corpusVersion,omitempty"`

	// verdict of the run.
	// +optional
	Verdict Verdict `json:"verdict,omitempty"`

	// reason of the verdict, one CamelCase word.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message of the verdict, for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// expiresAt is when the verdict ceases to hold.
	// +optional
	ExpiresAt metav1.Time `json:"expiresAt,omitempty,omitzero"`

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
}
