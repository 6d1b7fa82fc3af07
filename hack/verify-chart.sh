#!/usr/bin/env bash
# Fails when the chart's CRDs and roles are not those of config/, or when Helm
# (HELM_BIN) finds fault with the chart. What it renders is tested in test/chart.
set -euo pipefail
cd "$(dirname "$0")/.."

hack/chart-files.sh -check
for values in charts/assay/values*.yaml; do
    "$HELM_BIN" lint --strict --quiet --values "$values" charts/assay
done
# Nothing of it may be missing from a commit, be it untracked or ignored.
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
missing=$(find charts/assay -type f | sort | while IFS= read -r file; do git ls-files --error-unmatch "$file" >/dev/null 2>&1 || echo "$file"; done)
if [ -n "$missing" ]; then
    printf 'not in git: git add\n%s\n' "$missing" >&2
    exit 1
fi
