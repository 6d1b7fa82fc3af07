package supportbundle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestClean(t *testing.T) {
	for name, test := range map[string]struct {
		in, want string
		found    []string
	}{
		"annotations and managed fields": {
			in: `
metadata:
  managedFields: [{manager: x}]
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: short
    example.com/copy: '{"a":"hunter22"}'
    example.com/token: hunter22
    example.com/note: fine
`,
			want: `
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '[removed: 5 bytes]'
    example.com/copy: '[removed: 16 bytes]'
    example.com/token: '[removed]'
    example.com/note: fine
`,
			found: []string{"hunter22"},
		},
		"headers": {
			in: `
spec:
  retriever:
    headers:
    - {name: X-Api-Key, value: literal-key}
    - {name: Accept, value: application/json}
    - {name: X-Other, valueFrom: {secretKeyRef: {name: judge-token, key: token}}}
    - broken
`,
			want: `
spec:
  retriever:
    headers:
    - {name: X-Api-Key, value: '[removed]'}
    - {name: Accept, value: '[removed]'}
    - {name: X-Other, valueFrom: {secretKeyRef: {name: judge-token, key: token}}}
    - '[removed]'
`,
			found: []string{"literal-key"},
		},
		"environment": {
			in: `
containers:
- env:
  - {name: GOMEMLIMIT, value: 400MiB}
  - {name: HTTPS_PROXY, value: "http://me:proxypass1@proxy:3128"}
  - {name: DEBUG, value: "production"}
  - {name: MY_SETTING, value: Hunter-22}
  - {name: ASSAY_HISTORY, value: "postgres://assay:dbpass-1@db/assay"}
  - {name: OTEL_EXPORTER_OTLP_HEADERS, value: "authorization=Bearer%20x1tok22"}
  - {name: FROM, valueFrom: {secretKeyRef: {name: a, key: b}}}
`,
			want: `
containers:
- env:
  - {name: GOMEMLIMIT, value: 400MiB}
  - {name: HTTPS_PROXY, value: "http://[removed]@proxy:3128"}
  - {name: DEBUG, value: '[removed]'}
  - {name: MY_SETTING, value: '[removed]'}
  - {name: ASSAY_HISTORY, value: "postgres://[removed]"}
  - {name: OTEL_EXPORTER_OTLP_HEADERS, value: '[removed]'}
  - {name: FROM, valueFrom: {secretKeyRef: {name: a, key: b}}}
`,
			found: []string{"Bearer%20x1tok22", "Hunter-22", "authorization=Bearer%20x1tok22", "dbpass-1", "proxypass1", "x1tok22"},
		},
		"arguments": {
			in: `
containers:
- args: [operator, --leader-elect, "--history=postgres://assay:dbpass-1@db/assay", --api-token, hunter22, "--x-token=hunter23", --history, "host=db password=hunter24", "--history=sqlite:///var/lib/assay/history.db", --namespaces=rag]
`,
			want: `
containers:
- args: [operator, --leader-elect, "--history=postgres://[removed]", --api-token, "[removed]", "--x-token=[removed]", --history, "[removed]", "--history=sqlite:///var/lib/assay/history.db", --namespaces=rag]
`,
			found: []string{"dbpass-1", "hunter22", "hunter23"},
		},
		"free maps": {
			in: `
spec:
  retriever:
    url: http://bot/search?key=hunter22
    params: {collection: docs, apiKey: hunter23, nested: [{access_token: hunter24}]}
    request: '{"query": question, "api_key": "hunter25"}'
    topK: 5
  judge: {maxTokensPerRun: 100000, apiKeySecretRef: {name: judge, key: apiKey}}
status:
  conditions: [{type: Ready, message: 'POST bot/search: 401: {"token":"hunter26"}'}]
`,
			want: `
spec:
  retriever:
    url: http://bot/search?key=[removed]
    params: {collection: docs, apiKey: '[removed]', nested: [{access_token: '[removed]'}]}
    request: '{"query": question, "api_key": "[removed]"}'
    topK: 5
  judge: {maxTokensPerRun: 100000, apiKeySecretRef: {name: judge, key: apiKey}}
status:
  conditions: [{type: Ready, message: 'POST bot/search: 401: {"token":"[removed]"}'}]
`,
			found: []string{"hunter22", "hunter23", "hunter24"},
		},
		"nothing": {in: `{}`, want: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: read(t, test.in)}
			var found []string
			clean(o, func(s string) { found = append(found, s) })
			slices.Sort(found)
			if diff := cmp.Diff(read(t, test.want), o.Object); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(test.found, slices.Compact(found)); diff != "" {
				t.Errorf("what is looked for elsewhere, -want +got:\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
