package chart_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	metricsID    = "Service assay-system/assay-controller-manager-metrics"
	apiID        = "Service assay-system/assay-controller-manager-api"
	accountID    = "ServiceAccount assay-system/assay-controller-manager"
	claimID      = "PersistentVolumeClaim assay-system/assay-history"
	policyID     = "NetworkPolicy assay-system/assay-controller-manager"
	budgetID     = "PodDisruptionBudget assay-system/assay-controller-manager"
	monitorID    = "ServiceMonitor assay-system/assay-controller-manager"
	podMonitorID = "PodMonitor assay-system/assay-controller-manager"
	rulesID      = "PrometheusRule assay-system/assay"
	dashboardID  = "ConfigMap assay-system/assay-dashboard"
	suitesID     = "CustomResourceDefinition /evalsuites.assay.dev"
)

// container and pod put a fragment into the Deployment.
func container(fragment string) string { return pod("containers: [{name: manager, " + fragment + "}]") }
func pod(fragment string) string       { return "spec: {template: {spec: {" + fragment + "}}}" }
func args(flags ...string) string      { return container("args: ['" + strings.Join(flags, "', '") + "']") }

// A row sets values and says which fragments the objects then have, and which
// objects or fragments are gone.
type row struct {
	name, values  string
	want, without map[string]string
}

var rows = []row{
	{
		name:   "image",
		values: "image: {repository: registry.example.com/assay, tag: v1.2.3, pullPolicy: Always}",
		want:   map[string]string{managerID: container("image: 'registry.example.com/assay:v1.2.3', imagePullPolicy: Always")},
	},
	{
		name:   "an image by its digest",
		values: "image: {tag: v1, digest: 'sha256:" + strings.Repeat("a", 64) + "'}",
		want:   map[string]string{managerID: container("image: 'ghcr.io/assay-dev/assay@sha256:" + strings.Repeat("a", 64) + "'")},
	},
	{
		name:   "pull secrets",
		values: "imagePullSecrets: [{name: registry}]",
		want: map[string]string{
			managerID:                              pod("imagePullSecrets: [{name: registry}]"),
			"Pod assay-system/assay-test-operator": "spec: {imagePullSecrets: [{name: registry}]}",
		},
	},
	{
		name:   "another name for the chart",
		values: "nameOverride: rag",
		want:   map[string]string{"Deployment assay-system/assay-rag-controller-manager": "spec: {selector: {matchLabels: {app.kubernetes.io/name: rag}}}"},
	},
	{
		name:   "another name",
		values: "fullnameOverride: quality",
		want: map[string]string{
			"Deployment assay-system/quality-controller-manager": pod("serviceAccountName: quality-controller-manager, volumes: [{persistentVolumeClaim: {claimName: quality-history}}]"),
			"ClusterRoleBinding /quality-manager":                "{roleRef: {name: quality-manager}, subjects: [{name: quality-controller-manager}]}",
		},
		without: map[string]string{managerID: ""},
	},
	{
		name:   "replicas with PostgreSQL",
		values: "{replicas: 3, history: {type: PostgreSQL, postgresql: {existingSecret: history, key: url}}}",
		want: map[string]string{
			managerID: "spec: {replicas: 3, strategy: {type: RollingUpdate}, template: {spec: {containers: [{env: [{name: ASSAY_HISTORY, valueFrom: {secretKeyRef: {name: history, key: url}}}]}]}}}",
			budgetID:  "spec: {maxUnavailable: 1, selector: {matchLabels: {app.kubernetes.io/component: controller-manager}}}",
		},
		without: map[string]string{claimID: "", managerID: args("--history=sqlite:///var/lib/assay/history.db")},
	},
	{
		name:   "no replicas",
		values: "replicas: 0",
		want:   map[string]string{managerID: "spec: {replicas: 0}"},
	},
	{
		name:   "runs at once",
		values: "maxConcurrentRuns: 2000000",
		want:   map[string]string{managerID: args("--max-concurrent-runs=2000000")},
	},
	{
		name:   "egress",
		values: "egress: {allowedNamespaces: [rag, models], allowedCIDRs: [10.0.0.0/8, 'fd00::/8'], allowedHosts: ['*.example.com'], deniedCIDRs: [10.1.0.0/16], deniedHosts: [old.example.com], clusterDomain: k8s.example.com}",
		want: map[string]string{managerID: args("--egress-allowed-namespaces=rag,models", "--egress-allowed-cidrs=10.0.0.0/8,fd00::/8", "--egress-allowed-hosts=*.example.com",
			"--egress-denied-cidrs=10.1.0.0/16", "--egress-denied-hosts=old.example.com", "--cluster-domain=k8s.example.com")},
	},
	{
		name:   "a suite's own namespace alone",
		values: "egress: {allowedNamespaces: []}",
		want:   map[string]string{managerID: args("--egress-allowed-namespaces=")},
	},
	{
		name:   "roles of one's own",
		values: "rbac: {create: false}",
		without: map[string]string{
			"ClusterRole /assay-manager": "", "ClusterRoleBinding /assay-manager": "", "ClusterRole /assay-viewer": "", "ClusterRole /assay-metrics-auth": "",
			"ClusterRole /assay-metrics-reader": "", "Role assay-system/assay-leader-election": "", "RoleBinding assay-system/assay-leader-election": "",
		},
	},
	{
		name:    "no rights for users",
		values:  "rbac: {aggregateRoles: false}",
		without: map[string]string{"ClusterRole /assay-viewer": "", "ClusterRole /assay-editor": ""},
	},
	{
		name:    "no reviews",
		values:  "rbac: {authDelegator: false}",
		without: map[string]string{"ClusterRole /assay-metrics-auth": "", "ClusterRoleBinding /assay-metrics-auth": "", "ClusterRole /assay-metrics-reader": ""},
	},
	{
		name:   "namespaces",
		values: "namespaces: [rag, search]",
		want: map[string]string{
			managerID:                              args("--namespaces=rag,search"),
			"Role rag/assay-manager":               "rules: [{resources: [evalsuites]}]",
			"RoleBinding search/assay-manager":     "{roleRef: {kind: Role, name: assay-manager}, subjects: [{namespace: assay-system}]}",
			"EvalSuite rag/assay-test":             "spec: {retriever: {url: 'http://assay-test.rag.svc:8090/search'}}",
			"ConfigMap rag/assay-test":             "data: {}",
			"Pod assay-system/assay-test-operator": "spec: {containers: [{args: ['--namespace=rag']}]}",
		},
		without: map[string]string{"ClusterRole /assay-manager": "", "ClusterRole /assay-viewer": "", "ClusterRole /assay-metrics-auth": "", "EvalSuite assay-system/assay-test": ""},
	},
	{
		name:   "namespaces, with the cluster's roles",
		values: "{namespaces: [rag], rbac: {aggregateRoles: true, authDelegator: true}}",
		want: map[string]string{
			"Role rag/assay-manager": "rules: [{resources: [evalsuites]}]", "ClusterRole /assay-viewer": "{}",
			"ClusterRoleBinding /assay-metrics-auth": "roleRef: {name: assay-metrics-auth}",
		},
	},
	{
		name:   "a ServiceAccount's name and annotations",
		values: "serviceAccount: {name: assay, annotations: {eks.amazonaws.com/role-arn: arn}}",
		want: map[string]string{
			"ServiceAccount assay-system/assay":              "metadata: {annotations: {eks.amazonaws.com/role-arn: arn}}",
			managerID:                                        pod("serviceAccountName: assay"),
			"Pod assay-system/assay-test-operator":           "spec: {serviceAccountName: assay}",
			"ClusterRoleBinding /assay-manager":              "subjects: [{name: assay}]",
			"ClusterRoleBinding /assay-metrics-auth":         "subjects: [{name: assay}]",
			"RoleBinding assay-system/assay-leader-election": "subjects: [{name: assay}]",
		},
	},
	{
		name:    "a ServiceAccount of one's own",
		values:  "serviceAccount: {create: false, name: mine}",
		want:    map[string]string{managerID: pod("serviceAccountName: mine")},
		without: map[string]string{accountID: "", "ServiceAccount assay-system/mine": ""},
	},
	{
		name:    "CRDs from elsewhere",
		values:  "crds: {enabled: false}",
		without: map[string]string{suitesID: "", "CustomResourceDefinition /evalruns.assay.dev": ""},
	},
	{
		name:    "CRDs that go with the release",
		values:  "crds: {keep: false}",
		want:    map[string]string{suitesID: "{}"},
		without: map[string]string{suitesID: "metadata: {annotations: {helm.sh/resource-policy: keep}}"},
	},
	{
		name:    "no leader election",
		values:  "{leaderElection: {enabled: false}, history: {type: None}}",
		want:    map[string]string{managerID: "spec: {strategy: {type: Recreate}, template: {spec: {containers: [{args: [--leader-elect=false]}]}}}"},
		without: map[string]string{"Role assay-system/assay-leader-election": ""},
	},
	{
		name:    "no history",
		values:  "history: {type: None}",
		want:    map[string]string{managerID: "spec: {strategy: {type: RollingUpdate}, template: {spec: {containers: [{args: ['--history=']}]}}}"},
		without: map[string]string{claimID: "", managerID: pod("volumes: [{name: history}]")},
	},
	{
		name:   "retention",
		values: "history: {maxRuns: 50, maxAge: 2160h}",
		want:   map[string]string{managerID: args("--history-max-runs=50", "--history-max-age=2160h")},
	},
	{
		name:    "a history that is lost with the pod",
		values:  "history: {persistence: {enabled: false}}",
		want:    map[string]string{managerID: pod("volumes: [{name: history, emptyDir: {}}]")},
		without: map[string]string{claimID: ""},
	},
	{
		name:    "a claim",
		values:  "history: {persistence: {size: 20Gi, storageClassName: fast, accessModes: [ReadWriteOncePod], keep: false}}",
		want:    map[string]string{claimID: "spec: {storageClassName: fast, accessModes: [ReadWriteOncePod], resources: {requests: {storage: 20Gi}}}"},
		without: map[string]string{claimID: "metadata: {annotations: {helm.sh/resource-policy: keep}}"},
	},
	{
		name:   "a claim without a class",
		values: "history: {persistence: {storageClassName: '-'}}",
		want:   map[string]string{claimID: "spec: {storageClassName: ''}"},
	},
	{
		name:    "a claim of one's own",
		values:  "history: {persistence: {existingClaim: mine}}",
		want:    map[string]string{managerID: pod("volumes: [{name: history, persistentVolumeClaim: {claimName: mine}}]")},
		without: map[string]string{claimID: ""},
	},
	{
		name:    "no metrics",
		values:  "metrics: {enabled: false}",
		want:    map[string]string{managerID: args("--metrics-bind-address=0")},
		without: map[string]string{metricsID: "", "ClusterRole /assay-metrics-reader": "", managerID: container("ports: [{name: metrics}]")},
	},
	{
		name:   "metrics over HTTP on another port",
		values: "metrics: {port: 9090, secure: false, serviceMonitor: {enabled: true}}",
		want: map[string]string{
			managerID: container("args: ['--metrics-bind-address=:9090', '--metrics-secure=false'], ports: [{name: metrics, containerPort: 9090}]"),
			metricsID: "spec: {ports: [{name: http, port: 9090, targetPort: metrics}]}",
			monitorID: "spec: {endpoints: [{port: http, scheme: http}]}",
		},
		without: map[string]string{"ClusterRole /assay-metrics-reader": "", monitorID: "spec: {endpoints: [{tlsConfig: {}}]}"},
	},
	{
		name:   "certificates",
		values: "{metrics: {certSecret: metrics-tls, serviceMonitor: {enabled: true}}, api: {certSecret: api-tls}}",
		want: map[string]string{
			managerID: pod("containers: [{args: [--metrics-cert-dir=/etc/assay/metrics-cert, --api-cert-dir=/etc/assay/api-cert], " +
				"volumeMounts: [{name: metrics-cert, mountPath: /etc/assay/metrics-cert}, {name: api-cert, mountPath: /etc/assay/api-cert}]}], " +
				"volumes: [{name: metrics-cert, secret: {secretName: metrics-tls}}, {name: api-cert, secret: {secretName: api-tls}}]"),
			monitorID: "spec: {endpoints: [{tlsConfig: {serverName: assay-controller-manager-metrics.assay-system.svc, ca: {secret: {name: metrics-tls, key: ca.crt}}}}]}",
		},
		without: map[string]string{monitorID: "spec: {endpoints: [{tlsConfig: {insecureSkipVerify: true}}]}"},
	},
	{
		name: "a ServiceMonitor",
		values: "metrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}, annotations: {team: rag}, interval: 1m30s, scrapeTimeout: 20s, " +
			"relabelings: [{action: labeldrop, regex: pod}], metricRelabelings: [{action: labeldrop, regex: tag}]}}",
		want: map[string]string{monitorID: "{metadata: {labels: {release: prometheus}, annotations: {team: rag}}, spec: {selector: {matchLabels: {app.kubernetes.io/component: metrics}}, endpoints: [{port: https, path: /metrics, scheme: https, " +
			"honorLabels: true, interval: 1m30s, scrapeTimeout: 20s, bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, tlsConfig: {insecureSkipVerify: true}, " +
			"relabelings: [{action: labeldrop, regex: pod}], metricRelabelings: [{action: labeldrop, regex: tag}]}]}}"},
	},
	{
		name:    "a ServiceMonitor with a token",
		values:  "metrics: {serviceMonitor: {enabled: true, bearerTokenSecret: {name: scraper, key: jwt}, tlsConfig: {serverName: assay}}}",
		want:    map[string]string{monitorID: "spec: {endpoints: [{authorization: {credentials: {name: scraper, key: jwt}}, tlsConfig: {serverName: assay}}]}"},
		without: map[string]string{monitorID: "spec: {endpoints: [{bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}]}"},
	},
	{
		name: "a PodMonitor",
		values: "metrics: {podMonitor: {enabled: true, labels: {release: prometheus}, annotations: {team: rag}, interval: 1m, scrapeTimeout: 20s, bearerTokenSecret: {name: scraper, key: jwt}, " +
			"tlsConfig: {serverName: assay}, relabelings: [{action: labeldrop, regex: pod}], metricRelabelings: [{action: labeldrop, regex: tag}]}}",
		want: map[string]string{podMonitorID: "{metadata: {labels: {release: prometheus}, annotations: {team: rag}}, spec: {selector: {matchLabels: {app.kubernetes.io/component: controller-manager}}, podMetricsEndpoints: [{port: metrics, path: /metrics, scheme: https, " +
			"honorLabels: true, interval: 1m, scrapeTimeout: 20s, authorization: {credentials: {name: scraper, key: jwt}}, tlsConfig: {serverName: assay}, " +
			"relabelings: [{action: labeldrop, regex: pod}], metricRelabelings: [{action: labeldrop, regex: tag}]}]}}"},
	},
	{
		name:   "alerts",
		values: "metrics: {rules: {enabled: true, labels: {release: prometheus}, annotations: {team: rag}}}",
		want:   map[string]string{rulesID: "{metadata: {labels: {release: prometheus}, annotations: {team: rag}}, spec: {groups: [{rules: [{}]}]}}"},
	},
	{
		name:   "the dashboard",
		values: "metrics: {dashboard: {enabled: true, labels: {grafana_dashboard: null, dashboards: rag}, annotations: {grafana_folder: RAG}, namespace: monitoring}}",
		want:   map[string]string{"ConfigMap monitoring/assay-dashboard": "metadata: {labels: {dashboards: rag}, annotations: {grafana_folder: RAG}}"},
		without: map[string]string{
			dashboardID: "", "ConfigMap monitoring/assay-dashboard": "metadata: {labels: {grafana_dashboard: '1'}}",
		},
	},
	{
		name:    "no API",
		values:  "api: {enabled: false}",
		want:    map[string]string{managerID: args("--api-bind-address=0")},
		without: map[string]string{apiID: "", managerID: container("ports: [{name: api}]")},
	},
	{
		name:   "the API over HTTP on another port, open to Flagger",
		values: "api: {port: 8080, secure: false, anonymousFlagger: true}",
		want: map[string]string{
			managerID: container("args: ['--api-bind-address=:8080', '--api-secure=false', '--api-anonymous-flagger'], ports: [{name: api, containerPort: 8080}]"),
			apiID:     "spec: {ports: [{name: http, port: 8080, targetPort: api}]}",
		},
	},
	{
		name:   "traces",
		values: "tracing: {endpoint: 'http://otel.monitoring.svc:4318', sampleRatio: 0.25}",
		want:   map[string]string{managerID: args("--tracing-endpoint=http://otel.monitoring.svc:4318", "--tracing-sample-ratio=0.25")},
	},
	{
		name:   "logs",
		values: "logging: {level: debug, format: Console}",
		want:   map[string]string{managerID: args("--zap-log-level=debug", "--zap-encoder=console")},
	},
	{
		name:   "a NetworkPolicy",
		values: "networkPolicy: {enabled: true, metrics: {from: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}, api: {from: [{podSelector: {}}]}}",
		want: map[string]string{policyID: "spec: {podSelector: {matchLabels: {app.kubernetes.io/component: controller-manager}}, policyTypes: [Ingress], ingress: [{ports: [{port: 8081}]}, " +
			"{ports: [{port: 8443}], from: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}, {ports: [{port: 8444}], from: [{podSelector: {}}]}]}"},
		without: map[string]string{policyID: "spec: {policyTypes: [Egress]}"},
	},
	{
		name: "a NetworkPolicy of what the operator reaches",
		values: "networkPolicy: {enabled: true, egress: {enabled: true, apiServer: {to: [{ipBlock: {cidr: 10.0.0.1/32}}], ports: [16443]}, " +
			"rules: [{ports: [{port: 9200}], to: [{namespaceSelector: {}}]}]}}",
		want: map[string]string{policyID: "spec: {policyTypes: [Ingress, Egress], egress: [{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}, " +
			"{ports: [{port: 16443}], to: [{ipBlock: {cidr: 10.0.0.1/32}}]}, {to: [{podSelector: {matchLabels: {app.kubernetes.io/component: test-retriever}}}]}, " +
			"{ports: [{port: 9200}], to: [{namespaceSelector: {}}]}]}"},
	},
	{
		name:   "a budget for one pod",
		values: "podDisruptionBudget: {enabled: true, minAvailable: 1}",
		want:   map[string]string{budgetID: "spec: {minAvailable: 1}"},
	},
	{
		name:    "a budget in percent",
		values:  "{replicas: 4, history: {type: None}, podDisruptionBudget: {maxUnavailable: 50%}}",
		want:    map[string]string{budgetID: "spec: {maxUnavailable: 50%}"},
		without: map[string]string{budgetID: "spec: {minAvailable: 1}"},
	},
	{
		name:    "no budget",
		values:  "{replicas: 4, history: {type: None}, podDisruptionBudget: {enabled: false}}",
		want:    map[string]string{managerID: "spec: {replicas: 4}"},
		without: map[string]string{budgetID: ""},
	},
	{
		name: "where the pods run",
		values: "{topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}], affinity: {nodeAffinity: {}}, " +
			"nodeSelector: {pool: system}, tolerations: [{key: system, operator: Exists}], priorityClassName: high}",
		want: map[string]string{
			managerID: pod("topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app.kubernetes.io/instance: assay}}}], " +
				"affinity: {nodeAffinity: {}}, nodeSelector: {pool: system, kubernetes.io/os: linux}, tolerations: [{key: system, operator: Exists}], priorityClassName: high"),
			"Deployment assay-system/assay-test": pod("nodeSelector: {pool: system}, tolerations: [{key: system, operator: Exists}]"),
		},
		without: map[string]string{managerID: pod("topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname}]")},
	},
	{
		name:   "a spread of one's own pods",
		values: "topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: mine}}}]",
		want:   map[string]string{managerID: pod("topologySpreadConstraints: [{labelSelector: {matchLabels: {app: mine}}}]")},
		without: map[string]string{
			managerID: pod("topologySpreadConstraints: [{labelSelector: {matchLabels: {app.kubernetes.io/instance: assay}}}]"),
		},
	},
	{
		name:   "resources",
		values: "resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1500m, memory: 2Gi}}",
		want:   map[string]string{managerID: container("resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1500m, memory: 2Gi}}, env: [{name: GOMEMLIMIT, value: 1638MiB}]")},
	},
	{
		name:   "labels and annotations of the pods",
		values: "{podLabels: {team: rag}, podAnnotations: {note: x}}",
		want:   map[string]string{managerID: "spec: {template: {metadata: {labels: {team: rag, app.kubernetes.io/name: assay}, annotations: {note: x}}}}"},
	},
	{
		name:    "a group that the platform picks",
		values:  "{podSecurityContext: {fsGroup: null, supplementalGroups: [7]}, containerSecurityContext: {runAsUser: 1000}}",
		want:    map[string]string{managerID: pod("securityContext: {supplementalGroups: [7]}, containers: [{securityContext: {runAsUser: 1000, readOnlyRootFilesystem: true}}]")},
		without: map[string]string{managerID: pod("securityContext: {fsGroup: 65532}")},
	},
	{
		name: "further arguments, variables and volumes",
		values: "{extraArgs: [--kubeconfig=/etc/kubeconfig], extraEnv: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}], " +
			"extraVolumes: [{name: ca, configMap: {name: ca}}], extraVolumeMounts: [{name: ca, mountPath: /etc/ca}]}",
		want: map[string]string{managerID: pod("containers: [{args: [--kubeconfig=/etc/kubeconfig], env: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}, {name: GOMEMLIMIT}], " +
			"volumeMounts: [{name: ca, mountPath: /etc/ca}]}], volumes: [{name: ca, configMap: {name: ca}}]")},
	},
	{
		name:    "a memory limit of one's own",
		values:  "extraEnv: [{name: GOMEMLIMIT, value: 100MiB}]",
		want:    map[string]string{managerID: container("env: [{name: GOMEMLIMIT, value: 100MiB}]")},
		without: map[string]string{managerID: container("env: [{name: GOMEMLIMIT, value: 409MiB}]")},
	},
}

func TestValues(t *testing.T) {
	untouched := render(t, "")
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := render(t, row.values)
			changed := false
			for name, fragment := range row.want {
				if !got.has(t, name, fragment) {
					t.Errorf("%s lacks %s", name, fragment)
				}
				changed = changed || !untouched.has(t, name, fragment)
			}
			for name, fragment := range row.without {
				if got.has(t, name, fragment) {
					t.Errorf("%s is there, with %s", name, fragment)
				}
				changed = changed || untouched.has(t, name, fragment)
			}
			if !changed {
				t.Error("all of this holds without these values, too")
			}
		})
	}
}

// Every value is set by a row, so that every value does something.
func TestEveryValueIsSet(t *testing.T) {
	var rowValues []map[string]any
	for _, row := range rows {
		rowValues = append(rowValues, parse(t, row.values))
	}
	for _, setting := range settings(t) {
		if !slices.ContainsFunc(rowValues, func(values map[string]any) bool { _, ok := lookup(values, setting.path); return ok }) {
			t.Errorf("no row sets %s", setting.path)
		}
	}
}

// has says whether there is an object that contains a fragment; an empty one is
// the object itself.
func (all objects) has(t *testing.T, name, fragment string) bool {
	t.Helper()
	object := all.find(name)
	if object == nil {
		return false
	}
	var want any
	if err := yaml.Unmarshal([]byte(fragment), &want); err != nil {
		t.Fatalf("%s: %v", fragment, err)
	}
	var got any
	data, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	return want == nil || contains(got, want)
}

// contains says whether got has all of want: the keys of a map and, in any order,
// the items of a list.
func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		inner, ok := got.(map[string]any)
		for key, value := range want {
			there, has := inner[key]
			if !has || !contains(there, value) {
				return false
			}
		}
		return ok
	case []any:
		list, ok := got.([]any)
		for _, value := range want {
			if !slices.ContainsFunc(list, func(item any) bool { return contains(item, value) }) {
				return false
			}
		}
		return ok
	}
	return reflect.DeepEqual(got, want)
}
