package suite

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/api/v1alpha1"
)

// full uses every list and map that a digest covers.
const full = `
retriever:
  preset: OpenSearch
  params: {idField: _id, textField: body, n: 7}
  headers: [{name: X-A, value: "1"}, {name: X-B, valueFrom: {secretKeyRef: {name: s, key: k}}}]
  auth: {oauth2: {tokenURL: "https://login/token", clientIDSecretRef: {name: s, key: id}, clientSecretSecretRef: {name: s, key: secret}, scopes: [a, b]}}
  embedding:
    url: http://vllm/v1/embeddings
    model: bge-m3
    headers: [{name: X-C, value: "1"}, {name: X-D, value: "2"}]
scoring: {k: [1, 5, 10], betas: ["0.5", "2"]}
goldenSet: {tags: [howto, billing]}
objectives: [{metric: mrr, min: "0.5"}, {metric: hit_rate@5, min: "0.9"}, {metric: hit_rate@5, tag: 한국어, min: "0.8"}]
endpoints: [{name: canary, retrieverURL: "http://canary/search"}, {name: preview, retrieverURL: "http://preview/search"}]
`

// judged is full with answers, a judge and a baseline.
const judged = full + `
answer:
  url: http://bot/answer
  params: {mode: short, size: 7}
  headers: [{name: X-A, value: "1"}, {name: X-B, value: "2"}]
  auth: {oauth2: {tokenURL: "https://login/token", clientIDSecretRef: {name: s, key: id}, clientSecretSecretRef: {name: s, key: secret}, scopes: [a, b]}}
judge:
  provider: OpenAI
  model: gpt-5-mini
  promptRef: {name: prompt}
  extraBody: {reasoning_effort: low, top_k: 20}
  headers: [{name: X-A, value: "1"}, {name: X-B, value: "2"}]
  auth: {oauth2: {tokenURL: "https://login/token", clientIDSecretRef: {name: s, key: id}, clientSecretSecretRef: {name: s, key: secret}, scopes: [a, b]}}
  calibration: {configMapRef: {name: labels}, minKappa: "0.60"}
baseline: {minConfidence: "0.95"}
`

// bounds are judged's objectives: one of them holds a drop against the baseline.
const bounds = `objectives: [{metric: mrr, min: "0.5"}, {metric: hit_rate@5, min: "0.9", maxDrop: "0.05"}]`

// contents are the digests of what judged refers to.
var contents = Digests{Prompt: "p1", Labels: "l1"}

// unchanged are edits that change neither a number nor a verdict.
var unchanged = map[string]string{
	"schedule":           `{schedule: "0 * * * *", timeZone: Asia/Seoul, startingDeadlineSeconds: 60, jitterSeconds: 30, concurrencyPolicy: Replace}`,
	"suspend":            `{suspend: true}`,
	"golden-set trigger": `{onGoldenSetChange: false}`,
	"gate and history":   `{gate: {maxAgeSeconds: 60}, history: {passedRuns: 0, failedRuns: 0}}`,
	"another golden set": `{goldenSet: {configMapRef: {name: other, key: a.csv}}}`,
	"a selector":         `{goldenSet: {configMapRef: null, configMapSelector: {matchLabels: {a: b}}}}`,
	"over http":          `{goldenSet: {configMapRef: null, http: {url: "http://files/g.yaml", sha256: "` + strings.Repeat("a", 64) + `"}}}`,
	"endpoints":          `{endpoints: null}`,

	"order of k":          `{scoring: {k: [10, 5, 1]}}`,
	"order of betas":      `{scoring: {betas: ["2", "0.5"]}}`,
	"order of tags":       `{goldenSet: {tags: [billing, howto]}}`,
	"order of objectives": `{objectives: [{metric: hit_rate@5, tag: 한국어, min: "0.8"}, {metric: hit_rate@5, min: "0.9"}, {metric: mrr, min: "0.5"}]}`,
	"order of headers":    `{retriever: {headers: [{name: X-B, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: X-A, value: "1"}], embedding: {headers: [{name: X-D, value: "2"}, {name: X-C, value: "1"}]}}}`,
	"order of scopes":     `{retriever: {auth: {oauth2: {scopes: [b, a]}}}}`,
	"composition":         `{objectives: [{metric: mrr, min: "0.5"}, {metric: hit_rate@5, min: "0.9"}, {metric: hit_rate@5, tag: ` + decomposed + `, min: "0.8"}]}`,
	"defaults written out": `{
	  retriever: {method: POST, topK: 10, timeoutSeconds: 10, maxRetries: 2, warmupRequests: 0},
	  scoring: {primaryK: 5, unit: Chunk, minCoverage: "0.95"},
	  objectives: [{metric: mrr, tag: "", min: "0.5"}, {metric: hit_rate@5, tag: "", min: "0.9"}, {metric: hit_rate@5, tag: 한국어, min: "0.8"}],
	  execution: {parallelism: 8, timeoutSeconds: 1800}, suspend: false}`,
}

// unchangedJudged are such edits of judged.
var unchangedJudged = map[string]string{
	"where the prompt lies":  `{judge: {promptRef: {name: other, key: judge.txt}}}`,
	"where the labels lie":   `{judge: {calibration: {configMapRef: {name: other, key: labels.csv}}}}`,
	"order of headers":       `{answer: {headers: [{name: X-B, value: "2"}, {name: X-A, value: "1"}]}, judge: {headers: [{name: X-B, value: "2"}, {name: X-A, value: "1"}]}}`,
	"order of scopes":        `{answer: {auth: {oauth2: {scopes: [b, a]}}}, judge: {auth: {oauth2: {scopes: [b, a]}}}}`,
	"what starts a run":      `{onDeploy: {targets: [{kind: Deployment, name: docs-bot}], settleSeconds: 5}}`,
	"what drift is shown of": `{baseline: {reference: docs-bot-0123456789}}`,
	"defaults written out": `{
	  answer: {contexts: 5, method: POST, timeoutSeconds: 60, maxRetries: 2},
	  judge: {contextRelevance: false, maxOutputTokens: 512, timeoutSeconds: 60, maxRetries: 2, promptRef: {key: system.txt}},
	  scoring: {bleuTokenizer: Whitespace}, baseline: {policy: LastPassed, onNotComparable: Ignore, runName: ""}}`,
}

// decomposed is 한국어 as macOS writes it.
const decomposed = "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"

// changed are edits that can change a number or a verdict.
var changed = map[string]string{
	"url":                 `{retriever: {url: "http://bot.rag.svc:8080/search2"}}`,
	"preset":              `{retriever: {preset: Assay}}`,
	"a param":             `{retriever: {params: {idField: path}}}`,
	"another param":       `{retriever: {params: {more: 1}}}`,
	"no params":           `{retriever: {params: null, results: "[]"}}`,
	"request":             `{retriever: {request: '{"q": question}'}}`,
	"query":               `{retriever: {query: '{"q": question}'}}`,
	"results":             `{retriever: {results: '[]'}}`,
	"error":               `{retriever: {error: '""'}}`,
	"corpusVersion":       `{retriever: {corpusVersion: '"1"'}}`,
	"embedding":           `{retriever: {embedding: {model: other}}}`,
	"embedding's size":    `{retriever: {embedding: {dimensions: 8}}}`,
	"topK":                `{retriever: {topK: 20}}`,
	"method":              `{retriever: {method: PUT}}`,
	"a header":            `{retriever: {headers: [{name: X-A, value: "2"}, {name: X-B, valueFrom: {secretKeyRef: {name: s, key: k}}}]}}`,
	"a header's Secret":   `{retriever: {headers: [{name: X-A, value: "1"}, {name: X-B, valueFrom: {secretKeyRef: {name: s2, key: k}}}]}}`,
	"auth":                `{retriever: {auth: {oauth2: null, bearerTokenSecretRef: {name: s, key: k}}}}`,
	"a scope":             `{retriever: {auth: {oauth2: {scopes: [a]}}}}`,
	"tls":                 `{retriever: {tls: {serverName: bot}}}`,
	"timeoutSeconds":      `{retriever: {timeoutSeconds: 11}}`,
	"maxRetries":          `{retriever: {maxRetries: 0}}`,
	"requestsPerSecond":   `{retriever: {requestsPerSecond: 5}}`,
	"warmupRequests":      `{retriever: {warmupRequests: 1}}`,
	"k":                   `{scoring: {k: [1, 3, 5, 10]}}`,
	"primaryK":            `{scoring: {primaryK: 10}}`,
	"betas":               `{scoring: {betas: ["2"]}}`,
	"unit":                `{scoring: {unit: Document}}`,
	"minCoverage":         `{scoring: {minCoverage: "0.9"}}`,
	"a bound":             `{objectives: [{metric: mrr, min: "0.6"}, {metric: hit_rate@5, min: "0.9"}, {metric: hit_rate@5, tag: 한국어, min: "0.8"}]}`,
	"an objective's tag":  `{objectives: [{metric: mrr, min: "0.5"}, {metric: hit_rate@5, min: "0.9"}, {metric: hit_rate@5, tag: howto, min: "0.8"}]}`,
	"min for max":         `{objectives: [{metric: mrr, max: "0.5"}, {metric: hit_rate@5, min: "0.9"}, {metric: hit_rate@5, tag: 한국어, min: "0.8"}]}`,
	"no objectives":       `{objectives: null}`,
	"a subset":            `{goldenSet: {tags: [howto]}}`,
	"parallelism":         `{execution: {parallelism: 1}}`,
	"the run's own limit": `{execution: {timeoutSeconds: 60}}`,
}

// changedJudged are such edits of judged.
var changedJudged = map[string]string{
	"no answers":                 `{answer: null, judge: null}`,
	"answer's url":               `{answer: {url: "http://bot/answer2"}}`,
	"answer's contexts":          `{answer: {contexts: 4}}`,
	"answer's param":             `{answer: {params: {mode: long}}}`,
	"answer's request":           `{answer: {request: '{"q": question}'}}`,
	"answer's query":             `{answer: {query: '{"q": question}'}}`,
	"answer's output":            `{answer: {output: '{"answer": response.text}'}}`,
	"answer's results":           `{endpoints: null, retriever: {url: null}, answer: {results: '[]'}}`,
	"answer's error":             `{answer: {error: '""'}}`,
	"answer's corpusVersion":     `{answer: {corpusVersion: '"1"'}}`,
	"answer's method":            `{answer: {method: PUT}}`,
	"answer's header":            `{answer: {headers: [{name: X-A, value: "1"}]}}`,
	"answer's auth":              `{answer: {auth: {oauth2: null, bearerTokenSecretRef: {name: s, key: k}}}}`,
	"answer's tls":               `{answer: {tls: {serverName: bot}}}`,
	"answer's timeoutSeconds":    `{answer: {timeoutSeconds: 61}}`,
	"answer's maxRetries":        `{answer: {maxRetries: 0}}`,
	"answer's requestsPerSecond": `{answer: {requestsPerSecond: 5}}`,
	"contexts of primaryK":       `{scoring: {primaryK: 1}}`,

	"no judge":                  `{judge: null}`,
	"provider":                  `{judge: {provider: Anthropic}}`,
	"model":                     `{judge: {model: gpt-5}}`,
	"judge's url":               `{judge: {url: "http://vllm/v1"}}`,
	"judge's key":               `{judge: {auth: null, apiKeySecretRef: {name: s, key: k}}}`,
	"contextRelevance":          `{judge: {contextRelevance: true}}`,
	"maxOutputTokens":           `{judge: {maxOutputTokens: 1024}}`,
	"temperature":               `{judge: {temperature: "0"}}`,
	"extraBody":                 `{judge: {extraBody: {reasoning_effort: high}}}`,
	"maxTokensPerRun":           `{judge: {maxTokensPerRun: 1000}}`,
	"maxCallsPerRun":            `{judge: {maxCallsPerRun: 1000}}`,
	"no calibration":            `{judge: {calibration: null}}`,
	"minKappa":                  `{judge: {calibration: {minKappa: "0.70"}}}`,
	"judge's header":            `{judge: {headers: [{name: X-A, value: "1"}]}}`,
	"judge's auth":              `{judge: {auth: {oauth2: null, bearerTokenSecretRef: {name: s, key: k}}}}`,
	"judge's tls":               `{judge: {tls: {serverName: vllm}}}`,
	"judge's timeoutSeconds":    `{judge: {timeoutSeconds: 61}}`,
	"judge's maxRetries":        `{judge: {maxRetries: 0}}`,
	"judge's requestsPerSecond": `{judge: {requestsPerSecond: 5}}`,

	"bleuTokenizer":             `{scoring: {bleuTokenizer: Char}}`,
	"maxDrop":                   `{objectives: [{metric: mrr, min: "0.5"}, {metric: hit_rate@5, min: "0.9", maxDrop: "0.06"}]}`,
	"a bound of a drop, no min": `{objectives: [{metric: mrr, min: "0.5"}, {metric: hit_rate@5, maxDrop: "0.05"}]}`,
	"no bound of a drop":        `{objectives: [{metric: mrr, min: "0.5"}, {metric: hit_rate@5, min: "0.9"}]}`,
	"no baseline":               `{baseline: {policy: None}}`,
	"a pinned baseline":         `{baseline: {policy: Pinned, runName: docs-bot-0123456789}}`,
	"another pinned baseline":   `{baseline: {policy: Pinned, runName: docs-bot-9876543210}}`,
	"minConfidence":             `{baseline: {minConfidence: "0.90"}}`,
	"onNotComparable":           `{baseline: {onNotComparable: Inconclusive}}`,
}

// editable is a suite with edits that change its digest, and others that do not.
type editable struct {
	base               []string
	refs               Digests
	unchanged, changed map[string]string
}

var editables = map[string]editable{
	"retrieval": {[]string{full}, Digests{}, unchanged, changed},
	"judged":    {[]string{judged, bounds}, contents, unchangedJudged, changedJudged},
}

func (e editable) digest(t *testing.T, edits ...string) string {
	t.Helper()
	return EvaluationDigest(suiteOf(t, append(slices.Clone(e.base), edits...)...), "", e.refs)
}

func TestEditsThatChangeNoDigest(t *testing.T) {
	for base, e := range editables {
		before := e.digest(t)
		for name, edit := range e.unchanged {
			t.Run(base+"/"+name, func(t *testing.T) {
				if e.digest(t, edit) != before {
					t.Errorf("the digest changed with %s", edit)
				}
			})
		}
	}
}

func TestEditsThatChangeTheDigest(t *testing.T) {
	for base, e := range editables {
		seen := map[string]string{e.digest(t): "the suite as it was"}
		for name, edit := range e.changed {
			t.Run(base+"/"+name, func(t *testing.T) {
				digest := e.digest(t, edit)
				if other, ok := seen[digest]; ok {
					t.Errorf("the digest is that of %s with %s", other, edit)
				}
				seen[digest] = name
			})
		}
	}
}

// paths collects where in a spec an edit writes, such as judge.calibration.minKappa.
func paths(edit any, at string, into map[string]bool) {
	switch v := edit.(type) {
	case map[string]any:
		for key, value := range v {
			path := strings.TrimPrefix(at+"."+key, ".")
			into[path] = true
			paths(value, path, into)
		}
	case []any:
		for _, item := range v {
			paths(item, at, into)
		}
	}
}

// A field of the spec that stands in none of the tables is one that nobody
// decided on.
func TestEveryFieldIsDecidedOn(t *testing.T) {
	edited := map[string]bool{}
	for _, e := range editables {
		for _, table := range []map[string]string{e.unchanged, e.changed} {
			for edit := range maps.Values(table) {
				m := map[string]any{}
				if err := yaml.Unmarshal([]byte(edit), &m); err != nil {
					t.Fatal(err)
				}
				paths(m, "", edited)
			}
		}
	}
	for at, part := range map[string]any{
		"": v1alpha1.EvalSuiteSpec{}, "retriever.": v1alpha1.Retriever{}, "scoring.": v1alpha1.Scoring{}, "execution.": v1alpha1.Execution{},
		"objectives.": v1alpha1.Objective{}, "goldenSet.": v1alpha1.GoldenSet{}, "answer.": v1alpha1.Answer{}, "judge.": v1alpha1.Judge{},
		"judge.promptRef.": v1alpha1.PromptReference{}, "judge.calibration.": v1alpha1.Calibration{}, "baseline.": v1alpha1.Baseline{},
		"onDeploy.": v1alpha1.OnDeploy{},
	} {
		kind := reflect.TypeOf(part)
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if !edited[at+name] {
				t.Errorf("no table has %s%s: does it change a number or a verdict?", at, name)
			}
		}
	}
}

// What a judge is told and held against counts by its content, wherever it lies.
func TestTheDigestCoversWhatTheJudgeIsTold(t *testing.T) {
	const labels = `{"question": "q", "answer": "a", "contexts": ["c"], "grounded": true}`
	of := func(prompt, labels string, edits ...string) string {
		return DigestOf(t.Context(), suiteOf(t, append([]string{judged, bounds}, edits...)...), "", &objects{configMaps: []*corev1.ConfigMap{
			configMap("prompt", map[string]string{"system.txt": prompt}), configMap("labels", map[string]string{"a.jsonl": labels}),
			configMap("moved", map[string]string{"judge.txt": prompt, "b.jsonl": labels}),
		}})
	}
	before := of("Judge.", labels)
	for name, test := range map[string]struct {
		digest  string
		changes bool
	}{
		"the same":                    {of("Judge.", labels), false},
		"another prompt":              {of("Judge well.", labels), true},
		"Assay's own":                 {of("Judge.", labels, `{judge: {promptRef: null}}`), true},
		"another label":               {of("Judge.", strings.Replace(labels, "true", "false", 1)), true},
		"one more":                    {of("Judge.", labels+"\n"+strings.Replace(labels, `"q"`, `"r"`, 1)), true},
		"a label's id and reason":     {of("Judge.", strings.Replace(labels, "{", `{"id": "x", "reason": "y", `, 1)), false},
		"labels with other spacing":   {of("Judge.", strings.ReplaceAll(labels, ": ", ":")), false},
		"prompt and labels elsewhere": {of("Judge.", labels, `{judge: {promptRef: {name: moved, key: judge.txt}, calibration: {configMapRef: {name: moved, key: b.jsonl}}}}`), false},
	} {
		if (test.digest != before) != test.changes || test.digest == "" {
			t.Errorf("%s: the digest is %s, was %s; changes is %t", name, test.digest, before, test.changes)
		}
	}
	if got := of(" ", labels); got != "" {
		t.Errorf("a prompt that cannot be used gives the digest %s", got)
	}
}

// What nothing rests on makes no suite run once more.
func TestWhatIsNotUsedIsNotInTheDigest(t *testing.T) {
	for name, edit := range map[string]string{
		"a tokenizer without answers": `{scoring: {bleuTokenizer: Char}}`,
		"a baseline without a bound":  `{baseline: {policy: None, minConfidence: "0.95", onNotComparable: Inconclusive}}`,
	} {
		if EvaluationDigest(suiteOf(t, full, edit), "", Digests{}) != EvaluationDigest(suiteOf(t, full), "", Digests{}) {
			t.Errorf("%s changes the digest", name)
		}
	}
	if EvaluationDigest(suiteOf(t, full), "", contents) != EvaluationDigest(suiteOf(t, full), "", Digests{}) {
		t.Error("a prompt changes the digest of a suite without a judge")
	}
}

func TestDefaultsThatAreWrittenOut(t *testing.T) {
	for name, test := range map[string]struct{ without, with string }{
		"nothing":       {`{}`, `{retriever: {preset: Assay, params: {}, headers: [], method: POST, topK: 10, timeoutSeconds: 10, maxRetries: 2, warmupRequests: 0}, scoring: {k: [1, 3, 5, 10], primaryK: 5, betas: [], unit: Chunk, minCoverage: "0.95"}, objectives: [], endpoints: [], goldenSet: {tags: []}, execution: {parallelism: 8, timeoutSeconds: 1800}}`},
		"topK 5 alone":  {`{retriever: {topK: 5}}`, `{retriever: {topK: 5}, scoring: {k: [1, 3, 5], primaryK: 5}}`},
		"k [1,3,10]":    {`{scoring: {k: [1, 3, 10]}}`, `{scoring: {k: [1, 3, 10], primaryK: 3}}`},
		"a CA's key":    {`{retriever: {tls: {caBundleRef: {name: ca}}}}`, `{retriever: {tls: {caBundleRef: {kind: ConfigMap, name: ca, key: ca.crt}}}}`},
		"a null param":  {`{retriever: {params: {}}}`, `{}`},
		"embedded list": {`{retriever: {embedding: {url: "http://e/v1", model: m}}}`, `{retriever: {embedding: {url: "http://e/v1", model: m, headers: []}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := EvaluationDigest(suiteOf(t, test.without), "", Digests{}), EvaluationDigest(suiteOf(t, test.with), "", Digests{}); a != b {
				t.Errorf("%s\nand\n%s\nhave not the same digest", test.without, test.with)
			}
		})
	}
}

func TestFreeMapsAsTheirWriterHasThem(t *testing.T) {
	for name, put := range map[string]func(*v1alpha1.EvalSuite, *apiextensionsv1.JSON){
		"retriever.params": func(s *v1alpha1.EvalSuite, m *apiextensionsv1.JSON) { s.Spec.Retriever.Params = m },
		"answer.params":    func(s *v1alpha1.EvalSuite, m *apiextensionsv1.JSON) { s.Spec.Answer.Params = m },
		"judge.extraBody":  func(s *v1alpha1.EvalSuite, m *apiextensionsv1.JSON) { s.Spec.Judge.ExtraBody = m },
	} {
		t.Run(name, func(t *testing.T) { checkFreeMap(t, put) })
	}
}

func checkFreeMap(t *testing.T, put func(*v1alpha1.EvalSuite, *apiextensionsv1.JSON)) {
	digest := func(raw string) string {
		s := suiteOf(t, withAnswers)
		put(s, rawJSON(raw))
		before := s.DeepCopy()
		d := EvaluationDigest(s, "", Digests{})
		if diff := cmp.Diff(before, s); diff != "" {
			t.Errorf("the suite was changed: %s", diff)
		}
		return d
	}
	if a, b := digest(`{"a":1,"b":{"c":[1,2],"d":"x"}}`), digest(" {\"b\" : {\"d\":\"\\u0078\", \"c\":[1, 2]},\n\"a\": 1 }"); a != b {
		t.Error("spacing, escapes and the order of keys change the digest")
	}
	if a, b := digest(`{"a":[1,2]}`), digest(`{"a":[2,1]}`); a == b {
		t.Error("the order of a list does not change the digest")
	}
	if a, b := digest(`{"id":9007199254740992}`), digest(`{"id":9007199254740993}`); a == b {
		t.Error("a digit beyond a float's does not change the digest")
	}
	if a, b := digest(`null`), EvaluationDigest(suiteOf(t, withAnswers), "", Digests{}); a != b {
		t.Error("null is not as if the map were left out")
	}
}

func TestHeadersOfOneNameKeepTheirOrder(t *testing.T) {
	a := suiteOf(t, `{retriever: {headers: [{name: X-A, value: "1"}, {name: x-a, value: "2"}]}}`)
	b := suiteOf(t, `{retriever: {headers: [{name: x-a, value: "2"}, {name: X-A, value: "1"}]}}`)
	if EvaluationDigest(a, "", Digests{}) == EvaluationDigest(b, "", Digests{}) {
		t.Error("another value is sent, and the digest is the same")
	}
}

func TestAnEndpointHasItsOwnDigest(t *testing.T) {
	before, after := suiteOf(t, full), suiteOf(t, full, `{endpoints: [{name: canary, retrieverURL: "http://canary2/search"}, {name: preview, retrieverURL: "http://preview/search"}]}`)
	for endpoint, changes := range map[string]bool{"": false, "canary": true, "preview": false} {
		a, b := EvaluationDigest(before, endpoint, Digests{}), EvaluationDigest(after, endpoint, Digests{})
		if (a != b) != changes {
			t.Errorf("editing the URL of canary: the digest of %q changed: %t, want %t", endpoint, a != b, changes)
		}
	}
	moved := suiteOf(t, full, `{retriever: {url: "http://elsewhere/search"}}`)
	if EvaluationDigest(before, "canary", Digests{}) != EvaluationDigest(moved, "canary", Digests{}) {
		t.Error("editing the suite's own URL changed the digest of canary, which is asked elsewhere")
	}
	if EvaluationDigest(before, "canary", Digests{}) == EvaluationDigest(before, "", Digests{}) {
		t.Error("canary has the digest of the suite's own URL")
	}
	answering := suiteOf(t, judged, `{endpoints: [{name: canary, answerURL: "http://canary/answer"}]}`)
	if EvaluationDigest(answering, "canary", contents) == EvaluationDigest(answering, "", contents) {
		t.Error("an endpoint with another answer service has the digest of the suite's own")
	}
}

// A digest that changes with an upgrade makes every suite of every cluster run
// once more, and voids every verdict: that must be meant.
func TestTheDigestStays(t *testing.T) {
	for name, test := range map[string]struct{ spec, want string }{
		"least":   {`{}`, "sha256:792a679091298b7048e81f37fdffba5c6d3e5f65d26d11925eb25ec36eb013a4"},
		"full":    {full, "sha256:e5080dcefb52bc8fe08e934a874f2e7e8c27ac2944390ba093f3d3ba08e35aba"},
		"lexical": {`{answer: {url: "http://bot/answer"}, judge: {provider: Lexical}}`, "sha256:e86384062d8d2f53ea7f47cb01ecb13ba16d321ba3bb2415d2995a94ab1c5602"},
		"judged":  {judged, "sha256:e46714e09c75072cde2968bbbca96b0749bcd803298a9d036f8fc494b747a5ad"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := EvaluationDigest(suiteOf(t, test.spec), "", contents); got != test.want {
				t.Errorf("the digest is %s, and was %s", got, test.want)
			}
		})
	}
}

// The tables are in YAML: a typing error in one must not make a row true.
func TestTheTablesAreEdits(t *testing.T) {
	for _, table := range []map[string]string{unchanged, changed, unchangedJudged, changedJudged} {
		for name, edit := range table {
			m := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(edit), &m); err != nil || len(m) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
