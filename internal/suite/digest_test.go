package suite

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestEditsThatChangeNoDigest(t *testing.T) {
	before := EvaluationDigest(suiteOf(t, full), "", Digests{})
	for name, edit := range unchanged {
		t.Run(name, func(t *testing.T) {
			if got := EvaluationDigest(suiteOf(t, full, edit), "", Digests{}); got != before {
				t.Errorf("the digest changed with %s", edit)
			}
		})
	}
}

func TestEditsThatChangeTheDigest(t *testing.T) {
	seen := map[string]string{EvaluationDigest(suiteOf(t, full), "", Digests{}): "the suite as it was"}
	for name, edit := range changed {
		t.Run(name, func(t *testing.T) {
			digest := EvaluationDigest(suiteOf(t, full, edit), "", Digests{})
			if other, ok := seen[digest]; ok {
				t.Errorf("the digest is that of %s with %s", other, edit)
			}
			seen[digest] = name
		})
	}
}

// A field of the spec that stands in none of the tables is one that nobody
// decided on.
func TestEveryFieldIsDecidedOn(t *testing.T) {
	var edits strings.Builder
	for _, table := range []map[string]string{unchanged, changed} {
		for _, edit := range table {
			edits.WriteString(edit)
		}
	}
	for _, part := range []any{v1alpha1.EvalSuiteSpec{}, v1alpha1.Retriever{}, v1alpha1.Scoring{}, v1alpha1.Execution{}, v1alpha1.Objective{}, v1alpha1.GoldenSet{}} {
		kind := reflect.TypeOf(part)
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if !regexp.MustCompile(`\b` + name + `:`).MatchString(edits.String()) {
				t.Errorf("no table has %s.%s: does it change a number or a verdict?", kind.Name(), name)
			}
		}
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

func TestParamsAsTheirWriterHasThem(t *testing.T) {
	digest := func(raw string) string {
		s := suiteOf(t)
		s.Spec.Retriever.Params = rawJSON(raw)
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
	if a, b := digest(`null`), EvaluationDigest(suiteOf(t), "", Digests{}); a != b {
		t.Error("null is not as if params were left out")
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
}

// A digest that changes with an upgrade makes every suite of every cluster run
// once more, and voids every verdict: that must be meant.
func TestTheDigestStays(t *testing.T) {
	for name, test := range map[string]struct{ spec, want string }{
		"least": {`{}`, "sha256:792a679091298b7048e81f37fdffba5c6d3e5f65d26d11925eb25ec36eb013a4"},
		"full":  {full, "sha256:e5080dcefb52bc8fe08e934a874f2e7e8c27ac2944390ba093f3d3ba08e35aba"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := EvaluationDigest(suiteOf(t, test.spec), "", Digests{}); got != test.want {
				t.Errorf("the digest is %s, and was %s", got, test.want)
			}
		})
	}
}

// The tables are in YAML: a typing error in one must not make a row true.
func TestTheTablesAreEdits(t *testing.T) {
	for _, table := range []map[string]string{unchanged, changed} {
		for name, edit := range table {
			m := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(edit), &m); err != nil || len(m) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
