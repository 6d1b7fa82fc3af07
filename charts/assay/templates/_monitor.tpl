{{/* What both kinds of monitor say of the endpoint: (list root monitor). The
series' own labels namespace and suite are kept: they are the suite's. */}}
{{- define "assay.scrape" -}}
{{- $root := index . 0 -}}
{{- $monitor := index . 1 -}}
path: /metrics
scheme: {{ $root.Values.metrics.secure | ternary "https" "http" }}
honorLabels: true
{{- with $monitor.interval }}
interval: {{ . }}
{{- end }}
{{- with $monitor.scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- if $root.Values.metrics.secure }}
{{- with $monitor.bearerTokenSecret }}
{{- if .name }}
authorization:
  credentials:
    name: {{ .name }}
    key: {{ .key }}
{{- end }}
{{- end }}
tlsConfig:
  {{- if $monitor.tlsConfig }}
  {{- toYaml $monitor.tlsConfig | nindent 2 }}
  {{- else if $root.Values.metrics.certSecret }}
  serverName: {{ include "assay.manager" $root }}-metrics.{{ $root.Release.Namespace }}.svc
  ca:
    secret:
      name: {{ $root.Values.metrics.certSecret }}
      key: ca.crt
  {{- else }}
  # Nobody has signed the operator's own certificate.
  insecureSkipVerify: true
  {{- end }}
{{- end }}
{{- with $monitor.relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Name, labels and annotations of an object of the monitoring stack: (list root name values). */}}
{{- define "assay.monitoringMetadata" -}}
{{- $root := index . 0 -}}
{{- $values := index . 2 -}}
name: {{ index . 1 }}
namespace: {{ default $root.Release.Namespace $values.namespace | quote }}
labels:
  {{- include "assay.labels" $root | nindent 2 }}
  {{- with $values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
