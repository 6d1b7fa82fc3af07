package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Answer is the HTTP service that makes an answer of a question and contexts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.method) || self.method != 'GET' || !has(self.request)",message="a GET has no body: use the query mapping instead of request, or set answer.method to POST"
type Answer struct {
	// url that questions are sent to, whole, for example http://docs-bot.rag.svc:8080/answer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="url must be a whole http:// or https:// URL without user and password (use auth for those), for example http://docs-bot.rag.svc:8080/answer"
	URL string `json:"url,omitempty"`

	// contexts is how many results the service is given the text of, the best first. Left out: scoring.primaryK.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Contexts int32 `json:"contexts,omitempty"`

	// params is a free map that mappings read as params.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Params *apiextensionsv1.JSON `json:"params,omitempty"`

	// request is a CEL expression that gives the JSON body. Left out: {"question": question, "contexts": contexts}. In scope: question, topK, case, params, results, contexts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Request string `json:"request,omitempty"`

	// query is a CEL expression that gives a map of URL parameters, for services that are asked by GET. In scope: as for request.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Query string `json:"query,omitempty"`

	// output is a CEL expression that gives {"answer", "contexts"?}. Contexts that it gives are judged instead of those that were sent. Left out: the reply's answer and, where it has them, its contexts. In scope: response, headers, and what request has.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Output string `json:"output,omitempty"`

	// results is a CEL expression that gives the ranked list of a service that retrieves by itself, as retriever.results does; leave retriever.url out then. In scope: as for output.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Results string `json:"results,omitempty"`

	// error is a CEL expression that gives a message where a reply with status 200 is no success; an empty string means that all is well. In scope: as for output.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Error string `json:"error,omitempty"`

	// corpusVersion is a CEL expression that gives what identifies the index behind the reply of a service that retrieves by itself. In scope: as for output.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	CorpusVersion string `json:"corpusVersion,omitempty"`

	// method of the request: POST by default.
	// +optional
	// +default="POST"
	Method HTTPMethod `json:"method,omitempty"`

	// headers that are sent with every request.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Headers []Header `json:"headers,omitempty"`

	// auth says how requests are authenticated. Credentials are sent only to the URLs that the suite itself names.
	// +optional
	Auth *Auth `json:"auth,omitempty"`

	// tls says which certificates are trusted and shown.
	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// timeoutSeconds is how long one attempt may take, in seconds; 60 by default, for models are slow.
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// maxRetries is how often a request is tried again after 429, 502, 503, 504, a reset or a timeout; 2 by default. Retry-After is obeyed.
	// +optional
	// +default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxRetries *int32 `json:"maxRetries,omitempty"`

	// requestsPerSecond bounds the rate of requests; no bound by default. All runs of the namespace against the same host share it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	RequestsPerSecond int32 `json:"requestsPerSecond,omitempty"`
}
