#!/usr/bin/env bash
# Makes config/prometheus' rules and dashboard of the chart's; with -check it
# changes nothing and fails where they differ. Kustomize reads no file outside of
# its own folder.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
{
    cat <<'EOF'
# Made of charts/assay/files/alerts.yaml by hack/monitoring-files.sh: change it there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: assay
  namespace: system
  labels:
    app.kubernetes.io/name: assay
spec:
EOF
    sed -e '/^#/d' -e 's/^\(.\)/  \1/' charts/assay/files/alerts.yaml
} >"$fresh/prometheusrule.yaml"
cp charts/assay/files/dashboard.json "$fresh/dashboard.json"

status=0
for file in prometheusrule.yaml dashboard.json; do
    if [ "${1:-}" != -check ]; then
        cp "$fresh/$file" "config/prometheus/$file"
    elif ! diff -u "config/prometheus/$file" "$fresh/$file"; then
        echo "config/prometheus/$file is not what the chart has: run make generate and commit what it changes" >&2
        status=1
    fi
done
exit "$status"
