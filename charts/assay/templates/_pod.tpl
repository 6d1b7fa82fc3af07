{{- define "assay.env" -}}
{{- $given := list -}}
{{- range .Values.extraEnv }}{{ $given = append $given .name }}{{ end -}}
{{- $memory := include "assay.gomemlimit" . -}}
{{- $limited := and $memory (not (has "GOMEMLIMIT" $given)) -}}
{{- $postgresql := eq .Values.history.type "PostgreSQL" -}}
{{- if or $limited $postgresql .Values.extraEnv -}}
env:
{{- if $limited }}
- name: GOMEMLIMIT
  value: {{ $memory }}
{{- end }}
{{- if $postgresql }}
- name: ASSAY_HISTORY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.history.postgresql.existingSecret }}
      key: {{ .Values.history.postgresql.key }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "assay.volumeMounts" -}}
{{- if eq .Values.history.type "SQLite" }}
- name: history
  mountPath: /var/lib/assay
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.certSecret }}
- name: metrics-cert
  mountPath: /etc/assay/metrics-cert
  readOnly: true
{{- end }}
{{- if and .Values.api.enabled .Values.api.certSecret }}
- name: api-cert
  mountPath: /etc/assay/api-cert
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "assay.volumes" -}}
{{- if eq .Values.history.type "SQLite" }}
- name: history
  {{- if .Values.history.persistence.enabled }}
  persistentVolumeClaim:
    claimName: {{ default (printf "%s-history" (include "assay.fullname" .)) .Values.history.persistence.existingClaim }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.certSecret }}
- name: metrics-cert
  secret:
    secretName: {{ .Values.metrics.certSecret }}
{{- end }}
{{- if and .Values.api.enabled .Values.api.certSecret }}
- name: api-cert
  secret:
    secretName: {{ .Values.api.certSecret }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
