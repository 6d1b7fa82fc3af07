{{/* What the objects' names begin with; short enough for the longest that is made of it. */}}
{{- define "assay.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name = contains $chart .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $chart) -}}
{{- end -}}
{{- $name | trunc 36 | trimSuffix "-" -}}
{{- end -}}

{{- define "assay.manager" -}}
{{- include "assay.fullname" . }}-controller-manager
{{- end -}}

{{- define "assay.serviceAccountName" -}}
{{- default (include "assay.manager" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* The labels of every object. */}}
{{- define "assay.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: assay
{{ include "assay.instanceLabels" . }}
{{- end -}}

{{- define "assay.instanceLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* What selects the operator's pods: never changed, for a Deployment's selector cannot be. */}}
{{- define "assay.selectorLabels" -}}
{{ include "assay.instanceLabels" . }}
app.kubernetes.io/component: controller-manager
{{- end -}}

{{- define "assay.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "true" or "": the value where it is given, else whether the install is for the whole cluster. */}}
{{- define "assay.aggregateRoles" -}}
{{- include "assay.clusterWideUnlessSet" (list . .Values.rbac.aggregateRoles) -}}
{{- end -}}

{{- define "assay.authDelegator" -}}
{{- include "assay.clusterWideUnlessSet" (list . .Values.rbac.authDelegator) -}}
{{- end -}}

{{- define "assay.clusterWideUnlessSet" -}}
{{- $root := index . 0 -}}
{{- $value := index . 1 -}}
{{- if kindIs "bool" $value | ternary $value (empty $root.Values.namespaces) -}}true{{- end -}}
{{- end -}}

{{/* Two pods of one SQLite file, or two operators without a lease, must not overlap. */}}
{{- define "assay.strategy" -}}
{{- or (eq .Values.history.type "SQLite") (not .Values.leaderElection.enabled) | ternary "Recreate" "RollingUpdate" -}}
{{- end -}}

{{/* 80% of the memory limit: the collector works harder instead of being killed. */}}
{{- define "assay.gomemlimit" -}}
{{- $limit := ((.Values.resources).limits).memory -}}
{{- if $limit -}}
{{- $text := kindIs "string" $limit | ternary $limit (printf "%.0f" (float64 $limit)) -}}
{{- $number := regexFind "^[0-9.]+" $text -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $bytes := mulf (float64 $number) (get $units (trimPrefix $number $text)) 0.8 -}}
{{- max 1 (int64 (floor (divf $bytes 1048576.0))) }}MiB
{{- end -}}
{{- end -}}

{{/* The rules of a role, which are those of config/rbac. */}}
{{- define "assay.rules" -}}
{{- $root := index . 0 -}}
{{- ($root.Files.Get (printf "files/rbac/%s_role.yaml" (index . 1)) | fromYaml).rules | toYaml -}}
{{- end -}}

{{/* Where helm test puts its suite: a namespace that the operator works in. */}}
{{- define "assay.testNamespace" -}}
{{- if or (empty .Values.namespaces) (has .Release.Namespace .Values.namespaces) -}}
{{ .Release.Namespace }}
{{- else -}}
{{ first .Values.namespaces }}
{{- end -}}
{{- end -}}
