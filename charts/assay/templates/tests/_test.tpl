{{- define "assay.test" -}}
{{- include "assay.fullname" . }}-test
{{- end -}}

{{/* Metadata of a test's object: (list root namespace weight). What fails stays, to be looked at. */}}
{{- define "assay.testMetadata" -}}
{{- $root := index . 0 -}}
namespace: {{ index . 1 | quote }}
labels:
  {{- include "assay.labels" $root | nindent 2 }}
  app.kubernetes.io/component: test
annotations:
  helm.sh/hook: test
  helm.sh/hook-weight: {{ index . 2 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* What the pods have in common: they run the operator's image, where it would run. */}}
{{- define "assay.testPod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "assay.testContainer" -}}
image: {{ include "assay.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources:
  requests: {cpu: 10m, memory: 32Mi}
  limits: {memory: 256Mi}
{{- with .Values.containerSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The suite, as the cluster gets it and as assay run reads it. */}}
{{- define "assay.testSuite" -}}
spec:
  goldenSet:
    configMapRef: {name: {{ include "assay.test" . }}, key: golden.yaml}
  retriever:
    url: http://{{ include "assay.test" . }}.{{ include "assay.testNamespace" . }}.svc:8090/search
    topK: 3
  scoring: {unit: Document}
  objectives:
  - {metric: hit_rate@1, min: "1"}
{{- end -}}
