#!/usr/bin/env bash
# Fails when a kustomization under config/ does not build.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
while IFS= read -r file; do
    dir=$(dirname "$file")
    kubectl kustomize "$dir" >/dev/null || { echo "kustomization $dir does not build" >&2; status=1; }
done < <(find config -name kustomization.yaml | sort)
exit "$status"
