package chart_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGarbage gives values that no install can have: Helm refuses them, and says
// which and why.
func TestGarbage(t *testing.T) {
	for _, row := range []struct{ values, want string }{
		{"replica: 2", "additional properties 'replica' not allowed"},
		{"image: {registry: example.com}", "at '/image': additional properties 'registry' not allowed"},
		{"image: {repository: ''}", "at '/image/repository'"},
		{"image: {repository: null}", "at '/image': missing property 'repository'"},
		{"image: {repository: 'a b'}", "at '/image/repository': 'a b' does not match"},
		{"image: {tag: 1.5}", "at '/image/tag': got number, want string"},
		{"image: {digest: 'sha256:abc'}", "at '/image/digest': 'sha256:abc' does not match"},
		{"image: {pullPolicy: Sometimes}", "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		{"imagePullSecrets: [registry]", "at '/imagePullSecrets/0': got string, want object"},
		{"fullnameOverride: Über", "at '/fullnameOverride'"},
		{"replicas: two", "at '/replicas': got string, want integer"},
		{"replicas: -1", "at '/replicas': minimum: got -1, want 0"},
		{"replicas: 1.5", "at '/replicas': got number, want integer"},
		{"maxConcurrentRuns: 0", "at '/maxConcurrentRuns': minimum: got 0, want 1"},
		{"namespaces: rag", "at '/namespaces': got string, want array"},
		{"namespaces: [rag, rag]", "at '/namespaces': items at 0 and 1 are equal"},
		{"namespaces: ['*']", "at '/namespaces/0': '*' does not match"},
		{"egress: {allowedCIDRs: [everywhere]}", "at '/egress/allowedCIDRs/0': 'everywhere' does not match"},
		{"egress: {deniedHosts: ['a,b']}", "at '/egress/deniedHosts/0': 'a,b' does not match"},
		{"egress: {allowedNamespaces: ['rag-*']}", "at '/egress/allowedNamespaces/0': 'rag-*' does not match"},
		{"egress: {allowedNamespaces: null}", "at '/egress': missing property 'allowedNamespaces'"},
		{"egress: {clusterDomain: ''}", "at '/egress/clusterDomain': '' does not match"},
		{"rbac: {create: 'yes'}", "at '/rbac/create': got string, want boolean"},
		{"rbac: {clusterAdmin: true}", "at '/rbac': additional properties 'clusterAdmin' not allowed"},
		{"crds: {install: true}", "additional properties 'install' not allowed"},
		{"history: null", "missing property 'history'"},
		{"history: {type: sqlite}", "at '/history/type': value must be one of 'SQLite', 'PostgreSQL', 'None'"},
		{"history: {type: PostgreSQL}", "history.postgresql.existingSecret"},
		{"history: {dsn: 'postgres://u:p@h/d'}", "at '/history': additional properties 'dsn' not allowed"},
		{"history: {maxAge: 90d}", "at '/history/maxAge': '90d' does not match"},
		{"history: {maxAge: 90}", "at '/history/maxAge'"},
		{"history: {persistence: {size: big}}", "at '/history/persistence/size': 'big' does not match"},
		{"history: {persistence: {accessModes: []}}", "at '/history/persistence/accessModes'"},
		{"history: {persistence: {accessModes: [RWO]}}", "at '/history/persistence/accessModes/0'"},
		{"{replicas: 2}", "replicas is above 1 and history.type is SQLite"},
		{"{replicas: 2, history: {persistence: {enabled: false}}}", "replicas is above 1 and history.type is SQLite"},
		{"{replicas: 2, history: {type: None}, leaderElection: {enabled: false}}", "every run would go twice"},
		{"serviceAccount: {create: false}", "serviceAccount.name"},
		{"metrics: {port: 70000}", "at '/metrics/port': maximum: got 70,000, want 65,535"},
		{"metrics: {port: 8444}", "metrics.port and api.port are both 8444"},
		{"api: {port: 8081}", "api.port is 8081, which is the probes'"},
		{"metrics: {secure: false, certSecret: tls}", "metrics.certSecret is set and metrics.secure is false"},
		{"metrics: {serviceMonitor: {enabled: true}, podMonitor: {enabled: true, bearerTokenSecret: {name: x}}}", "scraped twice"},
		{"metrics: {podMonitor: {enabled: true}}", "metrics.podMonitor.bearerTokenSecret.name"},
		{"metrics: {enabled: false, rules: {enabled: true}}", "metrics.rules.enabled is true and metrics.enabled is false"},
		{"metrics: {enabled: false, dashboard: {enabled: true}}", "metrics.dashboard.enabled is true"},
		{"metrics: {serviceMonitor: {interval: often}}", "at '/metrics/serviceMonitor/interval': 'often' does not match"},
		{"metrics: {serviceMonitor: {labels: {a: 1}}}", "at '/metrics/serviceMonitor/labels/a': got number, want string"},
		{"tracing: {endpoint: 'otel:4318'}", "at '/tracing/endpoint': 'otel:4318' does not match"},
		{"tracing: {sampleRatio: 2}", "at '/tracing/sampleRatio': maximum: got 2, want 1"},
		{"logging: {level: loud}", "at '/logging/level': value must be one of 'debug', 'info', 'error'"},
		{"logging: {format: xml}", "at '/logging/format': value must be one of 'JSON', 'Console'"},
		{"networkPolicy: {api: {from: monitoring}}", "at '/networkPolicy/api/from': got string, want array"},
		{"networkPolicy: {egress: {apiServer: {ports: []}}}", "at '/networkPolicy/egress/apiServer/ports'"},
		{"podDisruptionBudget: {minAvailable: half}", "at '/podDisruptionBudget/minAvailable': 'half' does not match"},
		{"podDisruptionBudget: {minAvailable: 0, maxUnavailable: 1}", "a budget takes one of the two"},
		{"topologySpreadConstraints: [{topologyKey: zone}]", "at '/topologySpreadConstraints/0': missing properties"},
		{"resources: {limits: {memory: 1Mb}}", "at '/resources/limits/memory': '1Mb' does not match"},
		{"resources: {cpu: 1}", "at '/resources': additional properties 'cpu' not allowed"},
		{"podLabels: {a: [b]}", "at '/podLabels/a': got array, want string"},
		{"extraArgs: ['--a', '-b']", "at '/extraArgs/1': '-b' does not match"},
		{"extraEnv: [{value: x}]", "at '/extraEnv/0': missing property 'name'"},
		{"extraVolumeMounts: [{name: x}]", "at '/extraVolumeMounts/0': missing property 'mountPath'"},
	} {
		t.Run(row.values, func(t *testing.T) {
			t.Parallel()
			_, err := template(t, row.values)
			switch {
			case err == nil:
				t.Error("is accepted")
			case !strings.Contains(err.Error(), row.want):
				t.Errorf("%v\nlacks %q", err, row.want)
			case strings.Contains(err.Error(), "nil pointer"):
				t.Errorf("a template fell over it: %v", err)
			}
		})
	}
}

var missing = regexp.MustCompile(`at '/?([^']*)': missing propert(?:y|ies) (.*)`)

// Values that are taken away with null are missed by the schema, or leave nothing
// that a template falls over.
func TestNulls(t *testing.T) {
	all := settings(t)
	without := func(taken []setting) string {
		var paths []string
		for _, s := range taken {
			paths = append(paths, s.path+"=null")
		}
		return strings.Join(paths, ",")
	}
	_, err := template(t, "", "--set", without(all))
	if err == nil {
		t.Fatal("a chart without any value is accepted")
	}
	needed := map[string]bool{}
	for _, m := range missing.FindAllStringSubmatch(err.Error(), -1) {
		for name := range strings.SplitSeq(m[2], ", ") {
			needed[strings.TrimPrefix(strings.ReplaceAll(m[1], "/", ".")+"."+strings.Trim(name, "'"), ".")] = true
		}
	}
	// Those that a template reads without asking whether they are there.
	for _, path := range []string{"replicas", "image.repository", "history.type", "metrics.podMonitor.bearerTokenSecret.key", "networkPolicy.egress.apiServer.ports", "egress.allowedNamespaces"} {
		if !needed[path] {
			t.Errorf("%s is not missed:\n%v", path, err)
		}
	}
	optional := slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return needed[s.path] })
	if _, err := template(t, "", "--set", without(optional)); err != nil {
		t.Error(err)
	}
	const everything = "{networkPolicy: {enabled: true, egress: {enabled: true}}, metrics: {serviceMonitor: {enabled: true}, rules: {enabled: true}, dashboard: {enabled: true}}}"
	if _, err := template(t, everything, "--set", without(optional)); err != nil {
		t.Error(err)
	}
}
