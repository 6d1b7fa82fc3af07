{{/* What the schema cannot say: values that do not go together. */}}
{{- define "assay.validate" -}}
{{- $v := .Values -}}
{{- if and (gt (int64 $v.replicas) 1) (eq $v.history.type "SQLite") -}}
{{- fail "replicas is above 1 and history.type is SQLite, which is one file of one pod: set history.type to PostgreSQL, or replicas to 1" -}}
{{- end -}}
{{- if and (gt (int64 $v.replicas) 1) (not $v.leaderElection.enabled) -}}
{{- fail "replicas is above 1 without leader election, so that every run would go twice: set leaderElection.enabled, or replicas to 1" -}}
{{- end -}}
{{- if and (eq $v.history.type "PostgreSQL") (not $v.history.postgresql.existingSecret) -}}
{{- fail "history.type is PostgreSQL: name the Secret with its DSN in history.postgresql.existingSecret" -}}
{{- end -}}
{{- if and (not $v.serviceAccount.create) (not $v.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false: name the ServiceAccount to use in serviceAccount.name" -}}
{{- end -}}
{{- $budget := default dict $v.podDisruptionBudget -}}
{{- if not (or (kindIs "invalid" $budget.minAvailable) (kindIs "invalid" $budget.maxUnavailable)) -}}
{{- fail "podDisruptionBudget has minAvailable and maxUnavailable: a budget takes one of the two" -}}
{{- end -}}
{{- range $name := list "metrics" "api" -}}
{{- $served := index $v $name -}}
{{- if and $served.certSecret (not $served.secure) -}}
{{- fail (printf "%s.certSecret is set and %s.secure is false: plain HTTP has no certificate" $name $name) -}}
{{- end -}}
{{- if eq (int64 $served.port) 8081 -}}
{{- fail (printf "%s.port is 8081, which is the probes': choose another" $name) -}}
{{- end -}}
{{- end -}}
{{- if eq (int64 $v.metrics.port) (int64 $v.api.port) -}}
{{- fail (printf "metrics.port and api.port are both %d: choose another for one of them" (int64 $v.api.port)) -}}
{{- end -}}
{{- range $name := list "serviceMonitor" "podMonitor" "rules" "dashboard" -}}
{{- if and (index $v.metrics $name).enabled (not $v.metrics.enabled) -}}
{{- fail (printf "metrics.%s.enabled is true and metrics.enabled is false: there would be nothing to scrape" $name) -}}
{{- end -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled $v.metrics.podMonitor.enabled -}}
{{- fail "metrics.serviceMonitor and metrics.podMonitor are both enabled: every series would be scraped twice" -}}
{{- end -}}
{{- if and $v.metrics.podMonitor.enabled $v.metrics.secure (not $v.metrics.podMonitor.bearerTokenSecret.name) -}}
{{- fail "metrics.podMonitor cannot use Prometheus' own token: name a Secret with one in metrics.podMonitor.bearerTokenSecret.name, or use metrics.serviceMonitor" -}}
{{- end -}}
{{- end -}}
