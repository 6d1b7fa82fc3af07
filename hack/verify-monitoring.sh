#!/usr/bin/env bash
# Fails when config/prometheus does not have the chart's rules and dashboard, when
# promtool (PROMTOOL_BIN) finds fault with a rule, or when an alert does not fire
# and resolve as test/alerts has it.
set -euo pipefail
cd "$(dirname "$0")/.."

hack/monitoring-files.sh -check
"$PROMTOOL_BIN" check rules --lint=all --lint-fatal charts/assay/files/alerts.yaml
"$PROMTOOL_BIN" test rules test/alerts/*.yaml
