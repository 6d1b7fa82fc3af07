package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// JudgeProvider is what stands behind the judge.
//
// +kubebuilder:validation:Enum=OpenAI;Anthropic;Lexical
type JudgeProvider string

const (
	// JudgeOpenAI is OpenAI's chat completions, or any server that speaks them.
	JudgeOpenAI JudgeProvider = "OpenAI"
	// JudgeAnthropic is Anthropic's messages.
	JudgeAnthropic JudgeProvider = "Anthropic"
	// JudgeLexical is the overlap of words, with no model.
	JudgeLexical JudgeProvider = "Lexical"
)

// Judge decides whether answers are correct and grounded.
//
// +kubebuilder:validation:XValidation:rule="self.provider == 'Lexical' || has(self.model)",message="give judge.model, the name of the model as its provider has it"
// +kubebuilder:validation:XValidation:rule="self.provider != 'Lexical' || !(has(self.model) || has(self.url) || has(self.apiKeySecretRef) || has(self.promptRef) || has(self.temperature) || has(self.extraBody) || has(self.maxTokensPerRun) || has(self.maxCallsPerRun) || has(self.headers) || has(self.auth) || has(self.tls) || has(self.requestsPerSecond))",message="the Lexical judge asks no model: remove everything but provider, contextRelevance and calibration"
// +kubebuilder:validation:XValidation:rule="!has(self.apiKeySecretRef) || !has(self.auth)",message="give judge.apiKeySecretRef or judge.auth, not both: either one authenticates the calls"
type Judge struct {
	// provider is OpenAI (any server that speaks its chat completions, by url), Anthropic, or Lexical, which needs no model: the overlap of words with the reference and the contexts.
	// +required
	Provider JudgeProvider `json:"provider,omitempty"`

	// model by the name that its provider knows it by.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Model string `json:"model,omitempty"`

	// url of the provider's API, its version included, for example http://vllm.models.svc:8000/v1. Left out: the provider's own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="url must be a whole http:// or https:// URL without user and password, for example http://vllm.models.svc:8000/v1"
	URL string `json:"url,omitempty"`

	// apiKeySecretRef names the Secret key that holds the provider's API key.
	// +optional
	APIKeySecretRef *SecretKeySelector `json:"apiKeySecretRef,omitempty"`

	// contextRelevance has every context scored from 1 to 5 too, by a second call a case; false by default.
	// +optional
	// +default=false
	ContextRelevance *bool `json:"contextRelevance,omitempty"`

	// promptRef names a ConfigMap with instructions of your own. Left out: Assay's own, which judge in the question's language.
	// +optional
	PromptRef *PromptReference `json:"promptRef,omitempty"`

	// maxOutputTokens bounds a verdict, in tokens; 512 by default. One that is cut is asked for once more with twice as many.
	// +optional
	// +default=512
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=65536
	MaxOutputTokens int32 `json:"maxOutputTokens,omitempty"`

	// temperature of the model, as a decimal string, for example "0". Left out: none is sent, for some models refuse it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|1)(\\\\.[0-9]+)?$|^2(\\\\.0+)?$')",message="temperature must be a decimal string from \"0\" to \"2\", for example \"0\""
	Temperature string `json:"temperature,omitempty"`

	// extraBody is a free map that is added to the body of every call, for a server's own switches, for example {"reasoning_effort": "low"}.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	ExtraBody *apiextensionsv1.JSON `json:"extraBody,omitempty"`

	// maxTokensPerRun is a run's budget, in tokens, of prompts and replies together; no budget by default. Beyond it the run ends Inconclusive.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxTokensPerRun int64 `json:"maxTokensPerRun,omitempty"`

	// maxCallsPerRun is a run's budget, in calls to the judge, retries included; no budget by default. Beyond it the run ends Inconclusive.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxCallsPerRun int64 `json:"maxCallsPerRun,omitempty"`

	// calibration names verdicts that people gave, which the judge is held against.
	// +optional
	Calibration *Calibration `json:"calibration,omitempty"`

	// headers that are sent with every call.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Headers []Header `json:"headers,omitempty"`

	// auth says how calls are authenticated, where that is no API key.
	// +optional
	Auth *Auth `json:"auth,omitempty"`

	// tls says which certificates are trusted and shown.
	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// timeoutSeconds is how long one call may take, in seconds; 60 by default.
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// maxRetries is how often a call is tried again after 429, an overload, a reset or a timeout; 2 by default. Retry-After is obeyed.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxRetries *int32 `json:"maxRetries,omitempty"`

	// requestsPerSecond bounds the rate of calls; no bound by default. All runs of the namespace against the same host share it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	RequestsPerSecond int32 `json:"requestsPerSecond,omitempty"`
}

// PromptReference names the ConfigMap key that holds a prompt.
type PromptReference struct {
	// name of the ConfigMap, in the suite's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key that holds the text; system.txt by default.
	// +optional
	// +default="system.txt"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// Calibration holds the judge against verdicts that people gave.
type Calibration struct {
	// configMapRef names the labelled verdicts: cases with question, reference_answer, contexts, answer, correct and grounded.
	// +required
	ConfigMapRef GoldenConfigMapReference `json:"configMapRef,omitzero"`

	// minKappa is the agreement (Cohen's kappa) that the judge must reach on both questions to be trusted, as a decimal string from "0" to "1". Below it, objectives on judged metrics are inconclusive. Left out: the agreement is measured and bounds nothing.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0(\\\\.[0-9]+)?|1(\\\\.0+)?)$')",message="minKappa must be a decimal string from \"0\" to \"1\", for example \"0.60\""
	MinKappa string `json:"minKappa,omitempty"`
}

// JudgeStatus is how far the judge agrees with people.
//
// +kubebuilder:validation:MinProperties=0
type JudgeStatus struct {
	// kappaCorrect is Cohen's kappa for "is the answer correct?", a decimal string; absent below five labels in either class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	KappaCorrect string `json:"kappaCorrect,omitempty"`

	// kappaGrounded is Cohen's kappa for "is the answer grounded?", a decimal string; absent below five labels in either class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	KappaGrounded string `json:"kappaGrounded,omitempty"`

	// labels is how many labelled verdicts the judge was held against.
	// +optional
	Labels *int32 `json:"labels,omitempty"`

	// digest identifies the judge and the labels: they are judged again when it changes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`

	// trust is Trusted, Untrusted or Unknown.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Trust string `json:"trust,omitempty"`

	// message says how the agreement came out, for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// Evidence tells apart why answers are right or wrong: whether the evidence was
// retrieved at primaryK, and whether the answer is correct.
//
// +kubebuilder:validation:MinProperties=0
type Evidence struct {
	// hitRight counts cases whose evidence was found and whose answer is correct.
	// +optional
	HitRight *int32 `json:"hitRight,omitempty"`

	// hitWrong counts cases whose evidence was found and not used: the answer is wrong.
	// +optional
	HitWrong *int32 `json:"hitWrong,omitempty"`

	// missRight counts cases that were answered right without the evidence, by luck or by the model's own knowledge.
	// +optional
	MissRight *int32 `json:"missRight,omitempty"`

	// missWrong counts cases whose evidence was not found and whose answer is wrong.
	// +optional
	MissWrong *int32 `json:"missWrong,omitempty"`
}
