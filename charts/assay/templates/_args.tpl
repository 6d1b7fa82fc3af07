{{/* The operator's flags. */}}
{{- define "assay.args" -}}
- operator
- --leader-elect{{ if not .Values.leaderElection.enabled }}=false{{ end }}
{{- with .Values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
- --max-concurrent-runs={{ int64 .Values.maxConcurrentRuns }}
- --health-probe-bind-address=:8081
{{- with .Values.metrics }}
{{- if .enabled }}
- --metrics-bind-address=:{{ int64 .port }}
{{- if not .secure }}
- --metrics-secure=false
{{- end }}
{{- if .certSecret }}
- --metrics-cert-dir=/etc/assay/metrics-cert
{{- end }}
{{- else }}
- --metrics-bind-address=0
{{- end }}
{{- end }}
{{- with .Values.api }}
{{- if .enabled }}
- --api-bind-address=:{{ int64 .port }}
{{- if not .secure }}
- --api-secure=false
{{- end }}
{{- if .certSecret }}
- --api-cert-dir=/etc/assay/api-cert
{{- end }}
{{- if .anonymousFlagger }}
- --api-anonymous-flagger
{{- end }}
{{- else }}
- --api-bind-address=0
{{- end }}
{{- end }}
{{- with .Values.history }}
{{- if eq .type "SQLite" }}
- --history=sqlite:///var/lib/assay/history.db
{{- else if eq .type "None" }}
- --history=
{{- end }}
{{- if ne .type "None" }}
- --history-max-runs={{ int64 .maxRuns }}
- --history-max-age={{ .maxAge }}
{{- end }}
{{- end }}
{{- include "assay.egressArgs" .Values.egress }}
{{- with .Values.tracing }}
{{- if .endpoint }}
- --tracing-endpoint={{ .endpoint }}
{{- end }}
{{- if ne (float64 .sampleRatio) 1.0 }}
- --tracing-sample-ratio={{ .sampleRatio }}
{{- end }}
{{- end }}
{{- with .Values.logging }}
{{- if ne .level "info" }}
- --zap-log-level={{ .level }}
{{- end }}
{{- if ne .format "JSON" }}
- --zap-encoder={{ lower .format }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* An empty list of namespaces is one of its own: a suite reaches those of its own alone. */}}
{{- define "assay.egressArgs" -}}
{{- $everywhere := has "*" .allowedNamespaces }}
{{- if not $everywhere }}
- --egress-allowed-namespaces={{ join "," .allowedNamespaces }}
{{- end }}
{{- with .allowedCIDRs }}
- --egress-allowed-cidrs={{ join "," . }}
{{- end }}
{{- with .allowedHosts }}
- --egress-allowed-hosts={{ join "," . }}
{{- end }}
{{- with .deniedCIDRs }}
- --egress-denied-cidrs={{ join "," . }}
{{- end }}
{{- with .deniedHosts }}
- --egress-denied-hosts={{ join "," . }}
{{- end }}
{{- if ne .clusterDomain "cluster.local" }}
- --cluster-domain={{ .clusterDomain }}
{{- end }}
{{- end -}}
