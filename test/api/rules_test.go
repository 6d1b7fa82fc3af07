package api_test

import (
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/config/crd"
)

// Each row breaks one rule, and is refused with a sentence that says what to do.
var refused = []struct {
	name  string
	base  string
	patch string
	want  string
}{
	// The object.
	{"name of 53 characters", minimalSuite,
		`metadata: {name: a23456789-123456789-123456789-123456789-123456789-123}`,
		"an EvalSuite's name may have at most 52 characters"},
	{"unknown field", minimalSuite, `spec: {retreiver: {}}`, `unknown field "spec.retreiver"`},
	{"no retriever", minimalSuite, `spec: {retriever: null}`, "give retriever.url, or answer.results where the answer service retrieves by itself, and not both"},
	{"no golden set", minimalSuite, `spec: {goldenSet: null}`, "spec.goldenSet: Required value"},

	// The golden set.
	{"golden set of nothing", minimalSuite, `spec: {goldenSet: {configMapRef: null}}`,
		"exactly one of the fields in [configMapRef configMapSelector http] must be set"},
	{"golden set of two", minimalSuite, `spec: {goldenSet: {configMapSelector: {matchLabels: {set: docs}}}}`,
		"exactly one of the fields in [configMapRef configMapSelector http] must be set"},
	{"golden set by an empty selector", minimalSuite, `spec: {goldenSet: {configMapRef: null, configMapSelector: {}}}`,
		"configMapSelector must name at least one label"},
	{"golden set by empty lists of a selector", minimalSuite,
		`spec: {goldenSet: {configMapRef: null, configMapSelector: {matchLabels: {}, matchExpressions: []}}}`,
		"configMapSelector must name at least one label"},
	{"golden set of no name", minimalSuite, `spec: {goldenSet: {configMapRef: {name: ""}}}`,
		"spec.goldenSet.configMapRef.name in body should be at least 1 chars long"},
	{"golden set without a digest", minimalSuite,
		`spec: {goldenSet: {configMapRef: null, http: {url: "https://example.com/golden.yaml"}}}`,
		"spec.goldenSet.http.sha256: Required value"},
	{"golden set with half a digest", minimalSuite,
		`spec: {goldenSet: {configMapRef: null, http: {url: "https://example.com/golden.yaml", sha256: "0123"}}}`,
		"should be at least 64 chars long"},
	{"golden set with an upper-case digest", minimalSuite,
		`spec: {goldenSet: {configMapRef: null, http: {url: "https://example.com/golden.yaml", sha256: "` + strings.Repeat("A", 64) + `"}}}`,
		"sha256 must be 64 lower-case hexadecimal digits, as sha256sum prints them"},
	{"golden set at a path", minimalSuite,
		`spec: {goldenSet: {configMapRef: null, http: {url: "golden.yaml", sha256: "` + strings.Repeat("a", 64) + `"}}}`,
		"url must be a whole http:// or https:// URL without user and password, for example https://example.com/golden.jsonl.gz"},
	{"golden set tag twice", minimalSuite, `spec: {goldenSet: {tags: [a, a]}}`, `Duplicate value: "a"`},
	{"golden set tag of nothing", minimalSuite, `spec: {goldenSet: {tags: [""]}}`, "should be at least 1 chars long"},

	// The retriever.
	{"url without scheme", minimalSuite, `spec: {retriever: {url: docs-bot:8080/search}}`,
		"url must be a whole http:// or https:// URL without user and password (use auth for those), for example http://docs-bot.rag.svc:8080/search"},
	{"url of another scheme", minimalSuite, `spec: {retriever: {url: "file:///etc/passwd"}}`, "url must be a whole http:// or https:// URL"},
	{"url without host", minimalSuite, `spec: {retriever: {url: "http:///search"}}`, "url must be a whole http:// or https:// URL"},
	{"url with a password", minimalSuite, `spec: {retriever: {url: "http://user:pass@retriever/search"}}`, "without user and password (use auth for those)"},
	{"url with a password and a loud scheme", minimalSuite, `spec: {retriever: {url: "HTTP://user:pass@retriever/search"}}`, "without user and password (use auth for those)"},
	{"url too long", minimalSuite, `spec: {retriever: {url: "http://retriever/` + strings.Repeat("a", 2048) + `"}}`, "may not be more than 2048"},
	{"unknown preset", minimalSuite, `spec: {retriever: {preset: Pinecone}}`,
		`Unsupported value: "Pinecone": supported values: "Assay", "OpenSearch", "Qdrant", "Weaviate", "OpenAIVectorStore"`},
	{"Qdrant without a vector", minimalSuite, `spec: {retriever: {preset: Qdrant}}`,
		"preset Qdrant searches by vector: give retriever.embedding (url and model), or a request of your own"},
	{"OpenAI vector store beyond 50", minimalSuite,
		`spec: {retriever: {preset: OpenAIVectorStore, topK: 51}, scoring: {unit: Document}}`,
		"an OpenAI vector store returns at most 50 results: set retriever.topK to 50 or less"},
	{"OpenAI vector store by chunk", minimalSuite, `spec: {retriever: {preset: OpenAIVectorStore}}`,
		"an OpenAI vector store returns no chunk ids: set scoring.unit to Document"},
	{"GET with a body", minimalSuite, `spec: {retriever: {method: GET, request: '{"q": question}'}}`,
		"a GET has no body: use the query mapping instead of request, or set retriever.method to POST"},
	{"unknown method", minimalSuite, `spec: {retriever: {method: DELETE}}`, `supported values: "GET", "POST", "PUT"`},
	{"params that are a list", minimalSuite, `spec: {retriever: {params: [a]}}`, "spec.retriever.params in body must be of type object"},
	{"topK of nothing", minimalSuite, `spec: {retriever: {topK: 0}}`, "should be greater than or equal to 1"},
	{"topK of too much", minimalSuite, `spec: {retriever: {topK: 1001}}`, "should be less than or equal to 1000"},
	{"no time to answer", minimalSuite, `spec: {retriever: {timeoutSeconds: 0}}`, "should be greater than or equal to 1"},
	{"too much time to answer", minimalSuite, `spec: {retriever: {timeoutSeconds: 601}}`, "should be less than or equal to 600"},
	{"too many retries", minimalSuite, `spec: {retriever: {maxRetries: 11}}`, "should be less than or equal to 10"},
	{"negative retries", minimalSuite, `spec: {retriever: {maxRetries: -1}}`, "should be greater than or equal to 0"},
	{"no requests a second", minimalSuite, `spec: {retriever: {requestsPerSecond: 0}}`, "should be greater than or equal to 1"},
	{"too many warm-up requests", minimalSuite, `spec: {retriever: {warmupRequests: 101}}`, "should be less than or equal to 100"},
	{"duration as text", minimalSuite, `spec: {retriever: {timeoutSeconds: 10s}}`, "must be of type integer"},

	// Headers and credentials.
	{"header without a value", minimalSuite, `spec: {retriever: {headers: [{name: X-Tenant}]}}`,
		"give the header either value or valueFrom, not both and not neither"},
	{"header with two values", minimalSuite,
		`spec: {retriever: {headers: [{name: X-Tenant, value: a, valueFrom: {secretKeyRef: {name: s, key: k}}}]}}`,
		"give the header either value or valueFrom, not both and not neither"},
	{"header with a space", minimalSuite, `spec: {retriever: {headers: [{name: "X Tenant", value: a}]}}`,
		"a header name holds letters, digits and hyphens only, for example X-Tenant"},
	{"header of the client's", minimalSuite, `spec: {retriever: {headers: [{name: HOST, value: other}]}}`,
		"Host, Content-Length, Transfer-Encoding and Connection are set by the HTTP client; remove this header"},
	{"header twice", minimalSuite, `spec: {retriever: {headers: [{name: X, value: a}, {name: X, value: b}]}}`, `Duplicate value: {"name":"X"}`},
	{"seventeen headers", minimalSuite, `spec: {retriever: {headers: [` + list(17, `{name: X-%d, value: a}`) + `]}}`, "must have at most 16 items"},
	{"auth of nothing", minimalSuite, `spec: {retriever: {auth: {}}}`,
		"exactly one of the fields in [bearerTokenSecretRef basicAuth oauth2] must be set"},
	{"auth of two", minimalSuite,
		`spec: {retriever: {auth: {bearerTokenSecretRef: {name: s, key: k}, basicAuth: {usernameSecretRef: {name: s, key: u}, passwordSecretRef: {name: s, key: p}}}}}`,
		"exactly one of the fields in [bearerTokenSecretRef basicAuth oauth2] must be set"},
	{"secret without a key", minimalSuite, `spec: {retriever: {auth: {bearerTokenSecretRef: {name: s}}}}`, "bearerTokenSecretRef.key: Required value"},
	{"token from nowhere", minimalSuite,
		`spec: {retriever: {auth: {oauth2: {tokenURL: login, clientIDSecretRef: {name: s, key: i}, clientSecretSecretRef: {name: s, key: s}}}}}`,
		"tokenURL must be a whole http:// or https:// URL without user and password, for example https://login.example.com/oauth2/token"},
	{"tls of nothing", minimalSuite, `spec: {retriever: {tls: {}}}`, "spec.retriever.tls in body should have at least 1 properties"},
	{"certificates from elsewhere", minimalSuite, `spec: {retriever: {tls: {caBundleRef: {kind: File, name: ca}}}}`, `supported values: "ConfigMap", "Secret"`},
	{"embeddings from nowhere", minimalSuite, `spec: {retriever: {embedding: {url: vllm, model: m}}}`,
		"url must be a whole http:// or https:// URL without user and password, for example http://vllm.models.svc:8000/v1/embeddings"},
	{"embeddings without a model", minimalSuite, `spec: {retriever: {embedding: {url: "http://vllm/v1/embeddings"}}}`, "embedding.model: Required value"},

	// Endpoints.
	{"endpoint with capitals", minimalSuite, `spec: {endpoints: [{name: Canary, retrieverURL: "http://canary/search"}]}`,
		"an endpoint's name holds lower-case letters, digits and hyphens, for example canary"},
	{"endpoint nowhere", minimalSuite, `spec: {endpoints: [{name: canary, retrieverURL: canary}]}`,
		"retrieverURL must be a whole http:// or https:// URL without user and password, for example http://docs-bot-canary.rag.svc:8080/search"},
	{"endpoint twice", minimalSuite, `spec: {endpoints: [{name: c, retrieverURL: "http://a"}, {name: c, retrieverURL: "http://b"}]}`, `Duplicate value: {"name":"c"}`},

	// Scoring.
	{"cut-off beyond topK", minimalSuite, `spec: {retriever: {topK: 5}, scoring: {k: [1, 10]}}`,
		"every cut-off in scoring.k must be at most retriever.topK: results beyond topK are never seen; raise retriever.topK or remove the cut-off"},
	{"no cut-offs", minimalSuite, `spec: {scoring: {k: []}}`, "should have at least 1 items"},
	{"nine cut-offs", minimalSuite, `spec: {scoring: {k: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}`, "must have at most 8 items"},
	{"cut-off of nothing", minimalSuite, `spec: {scoring: {k: [0]}}`, "should be greater than or equal to 1"},
	{"cut-off twice", minimalSuite, `spec: {scoring: {k: [1, 1]}}`, "Duplicate value: 1"},
	{"primaryK beyond topK", minimalSuite, `spec: {scoring: {primaryK: 11}}`, "scoring.primaryK must be at most retriever.topK; raise retriever.topK or lower scoring.primaryK"},
	{"primaryK elsewhere", minimalSuite, `spec: {scoring: {k: [1, 3], primaryK: 5}}`, "scoring.primaryK must be one of scoring.k: add it there, or leave primaryK out"},
	{"beta of one", minimalSuite, `spec: {scoring: {betas: ["1"]}}`, "each beta must be a decimal string above 0"},
	{"beta of zero", minimalSuite, `spec: {scoring: {betas: ["0"]}}`, "each beta must be a decimal string above 0"},
	{"beta written long", minimalSuite, `spec: {scoring: {betas: ["0.50"]}}`, "each beta must be a decimal string above 0"},
	{"beta as a number", minimalSuite, `spec: {scoring: {betas: [0.5]}}`, "must be of type string"},
	{"unknown unit", minimalSuite, `spec: {scoring: {unit: Page}}`, `supported values: "Chunk", "Document"`},
	{"coverage in percent", minimalSuite, `spec: {scoring: {minCoverage: "95"}}`, `minCoverage must be a decimal string from "0" to "1", for example "0.95"`},
	{"coverage above one", minimalSuite, `spec: {scoring: {minCoverage: "1.01"}}`, `minCoverage must be a decimal string from "0" to "1"`},
	{"coverage as a number", minimalSuite, `spec: {scoring: {minCoverage: 0.95}}`, "minCoverage in body must be of type string"},

	// Objectives.
	{"bound as a number", minimalSuite, `spec: {objectives: [{metric: mrr, min: 0.9}]}`, "spec.objectives[0].min in body must be of type string"},
	{"bound in percent", minimalSuite, `spec: {objectives: [{metric: mrr, min: "90%"}]}`, `min must be a decimal string, for example "0.90"`},
	{"bound in words", minimalSuite, `spec: {objectives: [{metric: error_rate, max: low}]}`, `max must be a decimal string, for example "0.05"`},
	{"bound below zero", minimalSuite, `spec: {objectives: [{metric: mrr, min: "-0.1"}]}`, "min must be a decimal string"},
	{"bound above one", minimalSuite, `spec: {objectives: [{metric: hit_rate@5, min: "90"}]}`, `this metric is a share from 0 to 1: write 90 % as "0.90"`},
	{"no bound", minimalSuite, `spec: {objectives: [{metric: mrr}]}`, "an objective needs a bound: give min, max or maxDrop, as decimal strings"},
	{"bounds crossed", minimalSuite, `spec: {objectives: [{metric: mrr, min: "0.9", max: "0.8"}]}`, "min must not be above max"},
	{"unknown metric", minimalSuite, `spec: {objectives: [{metric: accuracy_top1, min: "0.9"}]}`, "unknown metric: use hit_rate@k, precision@k, recall@k"},
	{"metric of no stage", minimalSuite, `spec: {objectives: [{metric: faithfulness, max: "0.05"}]}`, "unknown metric: use hit_rate@k"},
	{"metric without its cut-off", minimalSuite, `spec: {objectives: [{metric: hit_rate, min: "0.9"}]}`, "with a number for k (for example hit_rate@5)"},
	{"metric with a cut-off too many", minimalSuite, `spec: {objectives: [{metric: error_rate@5, max: "0.1"}]}`, "unknown metric"},
	{"metric at zero", minimalSuite, `spec: {objectives: [{metric: mrr@0, min: "0.9"}]}`, "unknown metric"},
	{"metric beyond topK", minimalSuite, `spec: {retriever: {topK: 5}, objectives: [{metric: recall@10, min: "0.9"}]}`,
		"the k of an objective's metric must be at most retriever.topK: results beyond topK are never seen; raise retriever.topK or lower the k"},
	{"objective twice", minimalSuite, `spec: {objectives: [{metric: mrr, min: "0.9"}, {metric: mrr, max: "1"}]}`, `Duplicate value: {"metric":"mrr","tag":""}`},
	{"thirty-three objectives", minimalSuite, `spec: {objectives: [` + list(33, `{metric: mrr, tag: t%d, min: "0.9"}`) + `]}`, "must have at most 32 items"},

	// When.
	{"zone inside the schedule", minimalSuite, `spec: {schedule: "CRON_TZ=Asia/Seoul 0 6 * * *"}`, "remove TZ= and set spec.timeZone"},
	{"zone without a schedule", minimalSuite, `spec: {timeZone: Asia/Seoul}`, "timeZone has no meaning without schedule: add spec.schedule or remove spec.timeZone"},
	{"zone of the machine", minimalSuite, `spec: {schedule: "0 6 * * *", timeZone: Local}`, "for example Etc/UTC or Asia/Seoul; Local means another zone on every machine"},
	{"empty schedule", minimalSuite, `spec: {schedule: ""}`, "spec.schedule in body should be at least 1 chars long"},
	{"deadline below zero", minimalSuite, `spec: {startingDeadlineSeconds: -1}`, "should be greater than or equal to 0"},
	{"jitter of a day", minimalSuite, `spec: {jitterSeconds: 86400}`, "should be less than or equal to 3600"},
	{"concurrency of CronJob", minimalSuite, `spec: {concurrencyPolicy: Allow}`, `supported values: "Forbid", "Replace"`},
	{"suspend in words", minimalSuite, `spec: {suspend: "yes"}`, "must be of type boolean"},

	// How.
	{"no parallelism", minimalSuite, `spec: {execution: {parallelism: 0}}`, "should be greater than or equal to 1"},
	{"too much parallelism", minimalSuite, `spec: {execution: {parallelism: 257}}`, "should be less than or equal to 256"},
	{"run without time", minimalSuite, `spec: {execution: {timeoutSeconds: 0}}`, "should be greater than or equal to 1"},
	{"verdict without life", minimalSuite, `spec: {gate: {maxAgeSeconds: 0}}`, "should be greater than or equal to 1"},
	{"history below zero", minimalSuite, `spec: {history: {passedRuns: -1}}`, "should be greater than or equal to 0"},
	{"history of everything", minimalSuite, `spec: {history: {failedRuns: 101}}`, "should be less than or equal to 100"},

	// Answer and judge.
	{"answer by GET with a body", minimalSuite, `spec: {answer: {url: "http://bot/answer", method: GET, request: '{"q": question}'}}`, "use the query mapping instead of request, or set answer.method to POST"},
	{"retriever and a service that retrieves", minimalSuite, `spec: {answer: {url: "http://bot/answer", results: "response.hits"}}`, "give retriever.url, or answer.results where the answer service retrieves by itself, and not both"},
	{"judge without answers", minimalSuite, `spec: {judge: {provider: Lexical}}`, "a judge needs answers: add spec.answer"},
	{"judge without a model", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: OpenAI}}`, "give judge.model, the name of the model as its provider has it"},
	{"lexical judge with a model", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: Lexical, model: m}}`, "the Lexical judge asks no model: remove everything but provider, contextRelevance and calibration"},
	{"judge with two credentials", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: OpenAI, model: m, apiKeySecretRef: {name: k, key: v}, auth: {bearerTokenSecretRef: {name: k, key: v}}}}`, "give judge.apiKeySecretRef or judge.auth, not both"},
	{"judge by another name", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: Oracle, model: m}}`, `supported values: "OpenAI", "Anthropic", "Lexical"`},
	{"temperature beyond the range", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: OpenAI, model: m, temperature: "2.5"}}`, "temperature must be a decimal string from \"0\" to \"2\""},
	{"minKappa beyond the range", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: Lexical, calibration: {configMapRef: {name: l}, minKappa: "1.5"}}}`, "minKappa must be a decimal string from \"0\" to \"1\""},
	{"judge at a path", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: OpenAI, model: m, url: vllm/v1}}`, "url must be a whole http:// or https:// URL without user and password, for example http://vllm.models.svc:8000/v1"},
	{"answer at a path", minimalSuite, `spec: {answer: {url: bot/answer}}`, "url must be a whole http:// or https:// URL without user and password (use auth for those), for example http://docs-bot.rag.svc:8080/answer"},
	{"judged metric without a judge", minimalSuite, `spec: {objectives: [{metric: hallucination_rate, max: "0.05"}]}`, "accuracy, hallucination_rate, context_relevance, abstention_accuracy and abstention_rate are the judge's"},
	{"bleu without answers", minimalSuite, `spec: {objectives: [{metric: bleu, min: "0.2"}]}`, "bleu and answer_latency_p95_seconds are measured on answers"},
	{"context relevance that is not measured", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, judge: {provider: Lexical}, objectives: [{metric: context_relevance, min: "3"}]}`, "context_relevance is measured only with judge.contextRelevance: true"},
	{"endpoint of an answer service that there is not", minimalSuite, `spec: {endpoints: [{name: canary, answerURL: "http://bot/answer"}]}`, "an endpoint's retrieverURL needs retriever.url, and its answerURL needs spec.answer"},
	{"endpoint of nothing", minimalSuite, `spec: {endpoints: [{name: canary}]}`, "at least one of the fields in [retrieverURL answerURL] must be set"},
	{"endpoint's answerURL at a path", minimalSuite, `spec: {answer: {url: "http://bot/answer"}, endpoints: [{name: canary, answerURL: bot}]}`, "answerURL must be a whole http:// or https:// URL without user and password"},

	// Baseline and deploys.
	{"maxDrop in per cent", minimalSuite, `spec: {objectives: [{metric: mrr, maxDrop: "5%"}]}`, "maxDrop must be a decimal string"},
	{"certainty", minimalSuite, `spec: {baseline: {minConfidence: "1.0"}}`, "minConfidence must be a decimal string above 0 and below 1"},
	{"pinned to nothing", minimalSuite, `spec: {baseline: {policy: Pinned}}`, "baseline.runName goes with policy Pinned, and only with it"},
	{"a run that is not pinned", minimalSuite, `spec: {baseline: {runName: r}}`, "baseline.runName goes with policy Pinned, and only with it"},
	{"target of another version", minimalSuite, `spec: {onDeploy: {targets: [{kind: Rollout, name: bot}]}}`, "apiVersion must be apps/v1 for a Deployment, a StatefulSet or a DaemonSet, and argoproj.io/v1alpha1 for a Rollout"},
	{"target of another kind", minimalSuite, `spec: {onDeploy: {targets: [{kind: Pod, name: bot}]}}`, `supported values: "Deployment", "StatefulSet", "DaemonSet", "Rollout"`},
	{"targets of nothing", minimalSuite, `spec: {onDeploy: {targets: []}}`, "should have at least 1 items"},

	// Runs.
	{"stages without the first", minimalRun, `spec: {stages: [Judge]}`, "stages build on one another"},
	{"run of no suite", minimalRun, `spec: {suiteRef: null}`, "spec.suiteRef: Required value"},
	{"run of a suite without a name", minimalRun, `spec: {suiteRef: {name: ""}}`, "should be at least 1 chars long"},
	{"unknown trigger", minimalRun, `spec: {trigger: Moon}`, `supported values: "Manual", "Schedule", "Deploy", "GoldenSet", "Spec"`},
	{"revision without an endpoint", minimalRun, `spec: {revision: 7d9f}`, "revision may be given only together with endpoint"},
	{"revision with an empty endpoint", minimalRun, `spec: {revision: 7d9f, endpoint: ""}`, "revision may be given only together with endpoint"},
	{"tag twice", minimalRun, `spec: {tags: [a, a]}`, `Duplicate value: "a"`},
	{"topK below zero", minimalRun, `spec: {topK: -1}`, "should be greater than or equal to 0"},
	{"topK beyond the bound", minimalRun, `spec: {topK: 1001}`, "should be less than or equal to 1000"},
}

func list(n int, format string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(items, ", ")
}

func TestBadManifestsAreRefused(t *testing.T) {
	for _, row := range refused {
		t.Run(row.name, func(t *testing.T) {
			err := create(t, changed(t, row.base, row.patch))
			switch {
			case err == nil:
				t.Fatalf("accepted, want it refused with %q", row.want)
			case !strings.Contains(err.Error(), row.want):
				t.Errorf("refused with\n%v\nwant in it\n%s", err, row.want)
			}
			if n := strings.Count(err.Error(), "no such overload") + strings.Count(err.Error(), "evaluating rule"); n > 0 {
				t.Errorf("a rule failed to evaluate: %v", err)
			}
		})
	}
}

// One mistake draws one sentence: a rule that reads a bad field must not add another.
func TestOneMistakeOneSentence(t *testing.T) {
	for _, patch := range []string{
		`spec: {objectives: [{metric: mrr, min: "90%"}]}`,
		`spec: {objectives: [{metric: mrr, min: "90%", max: "1"}]}`,
		`spec: {objectives: [{metric: hit_rate, min: "0.9"}]}`,
		`spec: {retriever: {url: "docs bot"}}`,
	} {
		t.Run("", func(t *testing.T) {
			object := changed(t, minimalSuite, patch)
			object.SetName("one-mistake")
			err := create(t, object)
			if err == nil {
				t.Fatalf("%s: accepted", patch)
			}
			if n := strings.Count(err.Error(), "spec."); n != 1 {
				t.Errorf("%s: %d complaints, want 1: %v", patch, n, err)
			}
		})
	}
}

// Manifests that look odd and are right.
func TestGoodManifestsAreAccepted(t *testing.T) {
	for _, row := range []struct{ name, base, patch string }{
		{"nothing but what is required", minimalSuite, ``},
		{"name of 52 characters", minimalSuite, `metadata: {name: a23456789-123456789-123456789-123456789-123456789-12}`},
		{"topK alone", minimalSuite, `spec: {retriever: {topK: 5}}`},
		{"topK of one", minimalSuite, `spec: {retriever: {topK: 1}}`},
		{"k alone", minimalSuite, `spec: {scoring: {k: [1, 3, 10]}}`},
		{"primaryK alone", minimalSuite, `spec: {scoring: {primaryK: 3}}`},
		{"empty objects and lists", minimalSuite,
			`spec: {scoring: {}, execution: {}, gate: {}, history: {}, objectives: [], endpoints: [], goldenSet: {tags: []}, retriever: {headers: [], params: {}}}`},
		{"one metric for two tags", minimalSuite, `spec: {objectives: [{metric: mrr, min: "0.9"}, {metric: mrr, tag: howto, min: "0.8"}]}`},
		{"every metric", minimalSuite, `spec: {objectives: [` +
			`{metric: hit_rate@5, min: "0.9"}, {metric: precision@1, min: "0.9"}, {metric: recall@10, min: "0.9"}, {metric: f1@5, min: "0.9"}, {metric: f0.5@5, min: "0.9"}, ` +
			`{metric: f2@5, min: "0.9"}, {metric: ndcg@10, min: "0.9"}, {metric: map@10, min: "0.9"}, {metric: mrr, min: "0.9"}, {metric: mrr@3, min: "0.9"}, ` +
			`{metric: r_precision, min: "0.9"}, {metric: error_rate, max: "0.05"}, {metric: retrieval_latency_p95_seconds, max: "2.5"}]}`},
		{"cut-off of an objective alone", minimalSuite, `spec: {scoring: {k: [1]}, objectives: [{metric: hit_rate@7, min: "0.9"}]}`},
		{"latency above one", minimalSuite, `spec: {objectives: [{metric: retrieval_latency_p95_seconds, min: "0.001", max: "30"}]}`},
		{"bounds that touch", minimalSuite, `spec: {objectives: [{metric: mrr, min: "0.90", max: "0.9"}]}`},
		{"thirty-two objectives", minimalSuite, `spec: {objectives: [` + list(32, `{metric: mrr, tag: t%d, min: "0.9", max: "1"}`) + `]}`},
		{"sixteen headers", minimalSuite, `spec: {retriever: {headers: [` + list(16, `{name: X-%d, value: a}`) + `]}}`},
		{"at in a path", minimalSuite, `spec: {retriever: {url: "https://retriever.example.com/@team/search?user=a@b"}}`},
		{"ipv6", minimalSuite, `spec: {retriever: {url: "http://[2001:db8::1]:8080/search"}}`},
		{"Korean in the url", minimalSuite, `spec: {retriever: {url: "http://retriever/search/%EB%AC%B8%EC%84%9C"}}`},
		{"GET with URL parameters", minimalSuite, `spec: {retriever: {method: GET, query: '{"q": question}'}}`},
		{"Qdrant with a request", minimalSuite, `spec: {retriever: {preset: Qdrant, request: '{"query": {"text": question}}'}}`},
		{"Qdrant with a vector", minimalSuite, `spec: {retriever: {preset: Qdrant, embedding: {url: "http://vllm/v1/embeddings", model: bge-m3}}}`},
		{"OpenAI vector store by document", minimalSuite, `spec: {retriever: {preset: OpenAIVectorStore, topK: 50}, scoring: {unit: Document}}`},
		{"OpenAI vector store with results", minimalSuite, `spec: {retriever: {preset: OpenAIVectorStore, results: 'response.data'}}`},
		{"params of any shape", minimalSuite, `spec: {retriever: {params: {idField: path, nested: {list: [1, 2.5, true, null]}}}}`},
		{"coverage of nothing", minimalSuite, `spec: {scoring: {minCoverage: "0"}}`},
		{"coverage of all", minimalSuite, `spec: {scoring: {minCoverage: "1.0"}}`},
		{"selector by expression", minimalSuite, `spec: {goldenSet: {configMapRef: null, configMapSelector: {matchExpressions: [{key: set, operator: Exists}]}}}`},
		{"run with everything empty", minimalRun, `spec: {endpoint: "", revision: "", tags: [], topK: 0}`},
		{"run of a canary", minimalRun, `spec: {endpoint: canary, revision: 7d9f}`},
		{"run with a long name", minimalRun, `metadata: {name: ` + strings.Repeat("a", 200) + `}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := create(t, changed(t, row.base, row.patch)); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// A rule that nothing breaks here would be a rule that may as well be missing.
func TestEveryRuleIsBrokenOnce(t *testing.T) {
	sentences := map[string]bool{}
	for _, row := range refused {
		sentences[row.want] = true
	}
	for _, sentence := range updateSentences {
		sentences[sentence] = true
	}
	all := rules(t)
	if len(all) < 30 {
		t.Errorf("%d rules were looked at, want at least 30: is the walk broken?", len(all))
	}
	for path, rule := range all {
		broken := false
		for sentence := range sentences {
			broken = broken || strings.Contains(rule.Message, sentence)
		}
		if !broken {
			t.Errorf("no bad manifest of this test breaks the rule at %s: %s", path, rule.Message)
		}
		if rule.Message == "" {
			t.Errorf("the rule at %s has no sentence for people: %s", path, rule.Rule)
		}
	}
}

// rules are the CEL rules of both kinds by where they stand.
func rules(t *testing.T) map[string]apiextensionsv1.ValidationRule {
	t.Helper()
	found := map[string]apiextensionsv1.ValidationRule{}
	for kind, schema := range schemas(t) {
		walk(kind, schema, func(path string, s apiextensionsv1.JSONSchemaProps) {
			for i, rule := range s.XValidations {
				found[fmt.Sprintf("%s rule %d", path, i)] = rule
			}
		})
	}
	return found
}

// schemas are the schemas of the CRDs that are embedded, by kind.
func schemas(t *testing.T) map[string]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	paths, err := fs.Glob(crd.FS, "bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := crd.FS.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &definition); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		found[definition.Spec.Names.Kind] = *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	if len(found) != 2 {
		t.Fatalf("%d embedded CRDs, want 2", len(found))
	}
	return found
}

// walk visits a schema and all below it, in the order of their names.
func walk(path string, schema apiextensionsv1.JSONSchemaProps, visit func(string, apiextensionsv1.JSONSchemaProps)) {
	visit(path, schema)
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		walk(path+"."+name, schema.Properties[name], visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(path+"[]", *schema.Items.Schema, visit)
	}
}
