package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// SecretKeySelector names one key of a Secret in the suite's own namespace.
type SecretKeySelector struct {
	// name of the Secret, in the suite's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key in the Secret's data whose value is used.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SecretReference names a Secret in the suite's own namespace.
type SecretReference struct {
	// name of the Secret, in the suite's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// Header is one HTTP request header, its value written out or taken from a Secret.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="give the header either value or valueFrom, not both and not neither"
type Header struct {
	// name of the header, for example X-Tenant.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9!#$%&*+.^_`|~-]+$')",message="a header name holds letters, digits and hyphens only, for example X-Tenant"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'content-length', 'transfer-encoding', 'connection'])",message="Host, Content-Length, Transfer-Encoding and Connection are set by the HTTP client; remove this header"
	Name string `json:"name,omitempty"`

	// value of the header, written out. Put secrets into valueFrom instead: everybody who may read the suite reads this.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`

	// valueFrom takes the header's value from a Secret of the suite's namespace.
	// +optional
	ValueFrom *HeaderValueSource `json:"valueFrom,omitempty"`
}

// HeaderValueSource says where a header's value comes from.
type HeaderValueSource struct {
	// secretKeyRef names the Secret and the key that hold the value.
	// +required
	SecretKeyRef SecretKeySelector `json:"secretKeyRef,omitzero"`
}

// Auth says how requests are authenticated.
//
// +kubebuilder:validation:ExactlyOneOf=bearerTokenSecretRef;basicAuth;oauth2
type Auth struct {
	// bearerTokenSecretRef names the Secret key whose value is sent as "Authorization: Bearer …".
	// +optional
	BearerTokenSecretRef *SecretKeySelector `json:"bearerTokenSecretRef,omitempty"`

	// basicAuth sends user name and password as "Authorization: Basic …".
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// oauth2 fetches and renews an access token with the client credentials grant (RFC 6749, section 4.4).
	// +optional
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
}

// BasicAuth names the Secret keys that hold a user name and a password.
type BasicAuth struct {
	// usernameSecretRef names the Secret key that holds the user name.
	// +required
	UsernameSecretRef SecretKeySelector `json:"usernameSecretRef,omitzero"`

	// passwordSecretRef names the Secret key that holds the password.
	// +required
	PasswordSecretRef SecretKeySelector `json:"passwordSecretRef,omitzero"`
}

// OAuth2 is the client credentials grant of RFC 6749.
type OAuth2 struct {
	// tokenURL is where access tokens are fetched.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="tokenURL must be a whole http:// or https:// URL without user and password, for example https://login.example.com/oauth2/token"
	TokenURL string `json:"tokenURL,omitempty"`

	// clientIDSecretRef names the Secret key that holds the client id.
	// +required
	ClientIDSecretRef SecretKeySelector `json:"clientIDSecretRef,omitzero"`

	// clientSecretSecretRef names the Secret key that holds the client secret.
	// +required
	ClientSecretSecretRef SecretKeySelector `json:"clientSecretSecretRef,omitzero"`

	// scopes that are asked for; none by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Scopes []string `json:"scopes,omitempty"`
}

// CABundleKind is the kind of object that a certificate bundle is read from.
//
// +kubebuilder:validation:Enum=ConfigMap;Secret
type CABundleKind string

const (
	// CABundleConfigMap reads the bundle from a ConfigMap.
	CABundleConfigMap CABundleKind = "ConfigMap"
	// CABundleSecret reads the bundle from a Secret.
	CABundleSecret CABundleKind = "Secret"
)

// CABundleReference names the object that holds PEM certificates.
type CABundleReference struct {
	// kind of the object: ConfigMap (the default) or Secret.
	// +optional
	// +default="ConfigMap"
	Kind CABundleKind `json:"kind,omitempty"`

	// name of the object, in the suite's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// key in the object that holds PEM certificates; ca.crt by default.
	// +optional
	// +default="ca.crt"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// TLS says which certificates an https server is trusted by and which one is shown to it.
//
// +kubebuilder:validation:MinProperties=1
type TLS struct {
	// caBundleRef names the PEM certificates that the server's certificate must be signed by. Left out: the system's.
	// +optional
	CABundleRef *CABundleReference `json:"caBundleRef,omitempty"`

	// clientCertSecretRef names a Secret of type kubernetes.io/tls (tls.crt, tls.key) that is shown to the server.
	// +optional
	ClientCertSecretRef *SecretReference `json:"clientCertSecretRef,omitempty"`

	// serverName is the name that the server's certificate must carry. Left out: the host of the URL.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// Embedding is an OpenAI-compatible embeddings endpoint that turns a question into a vector.
type Embedding struct {
	// url of the embeddings call, whole, for example http://vllm.models.svc:8000/v1/embeddings.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="url must be a whole http:// or https:// URL without user and password, for example http://vllm.models.svc:8000/v1/embeddings"
	URL string `json:"url,omitempty"`

	// model that makes the vectors; the one that the index was built with.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Model string `json:"model,omitempty"`

	// dimensions of the vectors. Left out: the model's own.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Dimensions int32 `json:"dimensions,omitempty"`

	// headers that are sent with every call.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Headers []Header `json:"headers,omitempty"`

	// auth says how calls are authenticated, for example with a bearer token from a Secret.
	// +optional
	Auth *Auth `json:"auth,omitempty"`

	// tls says which certificates are trusted and shown.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// Preset is a pair of request and result mappings for a well-known service.
//
// +kubebuilder:validation:Enum=Assay;OpenSearch;Qdrant;Weaviate;OpenAIVectorStore
type Preset string

const (
	// PresetAssay is Assay's own protocol: {"query", "top_k"} answered by {"results": [{"id", "text", "score"}]}.
	PresetAssay Preset = "Assay"
	// PresetOpenSearch is the _search call of OpenSearch and Elasticsearch.
	PresetOpenSearch Preset = "OpenSearch"
	// PresetQdrant is Qdrant's points/query call.
	PresetQdrant Preset = "Qdrant"
	// PresetWeaviate is Weaviate's REST search.
	PresetWeaviate Preset = "Weaviate"
	// PresetOpenAIVectorStore is the search call of an OpenAI vector store.
	PresetOpenAIVectorStore Preset = "OpenAIVectorStore"
)

// HTTPMethod is the method of a request.
//
// +kubebuilder:validation:Enum=GET;POST;PUT
type HTTPMethod string

// Retriever is the HTTP service that returns a ranked list for a question.
//
// +kubebuilder:validation:XValidation:rule="!has(self.preset) || self.preset != 'Qdrant' || has(self.request) || has(self.embedding)",message="preset Qdrant searches by vector: give retriever.embedding (url and model), or a request of your own"
// +kubebuilder:validation:XValidation:rule="!has(self.preset) || self.preset != 'OpenAIVectorStore' || self.topK <= 50",message="an OpenAI vector store returns at most 50 results: set retriever.topK to 50 or less"
// +kubebuilder:validation:XValidation:rule="!has(self.method) || self.method != 'GET' || !has(self.request)",message="a GET has no body: use the query mapping instead of request, or set retriever.method to POST"
// +kubebuilder:validation:MinProperties=1
type Retriever struct {
	// url that questions are sent to, whole, for example http://docs-bot.rag.svc:8080/search. Left out only where the answer service retrieves by itself (answer.results).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != \"\" && !self.matches('^[^/]*//[^/?#]*@')",message="url must be a whole http:// or https:// URL without user and password (use auth for those), for example http://docs-bot.rag.svc:8080/search"
	URL string `json:"url,omitempty"`

	// preset picks the request and result mappings of a well-known service; Assay by default. A mapping that is written here replaces the preset's.
	// +optional
	// +default="Assay"
	Preset Preset `json:"preset,omitempty"`

	// params is a free map that mappings read as params, for example the names of the fields that hold id and text: {"idField": "path", "textField": "body"}.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Params *apiextensionsv1.JSON `json:"params,omitempty"`

	// request is a CEL expression that gives the JSON body. In scope: question, topK, case, params, vector.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Request string `json:"request,omitempty"`

	// query is a CEL expression that gives a map of URL parameters, for services that are asked by GET. In scope: as for request.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Query string `json:"query,omitempty"`

	// results is a CEL expression that gives the ranked list, best first: [{"id", "text"?, "score"?, "document"?, "metadata"?}]. In scope: response, headers, and what request has.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Results string `json:"results,omitempty"`

	// error is a CEL expression that gives a message where a reply with status 200 is no success; an empty string means that all is well. In scope: as for results.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Error string `json:"error,omitempty"`

	// corpusVersion is a CEL expression that gives what identifies the index behind the reply, for example headers["x-index-version"]. In scope: as for results.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	CorpusVersion string `json:"corpusVersion,omitempty"`

	// embedding is an OpenAI-compatible endpoint that makes the question's vector, for stores that take vectors alone. Mappings read it as vector.
	// +optional
	Embedding *Embedding `json:"embedding,omitempty"`

	// topK is how many results are asked for and scored; 10 by default.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	TopK int32 `json:"topK,omitempty"`

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

	// timeoutSeconds is how long one attempt may take, in seconds; 10 by default.
	// +optional
	// +default=10
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

	// warmupRequests is how many unscored requests are made before the first case; 0 by default.
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	WarmupRequests *int32 `json:"warmupRequests,omitempty"`
}
