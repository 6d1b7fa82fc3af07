#!/usr/bin/env bash
# Copies the CRDs and the roles of config/ into the chart, which holds no others;
# with -check it changes nothing and fails where they differ.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
mkdir "$fresh/crds" "$fresh/rbac"
cp config/crd/bases/*.yaml "$fresh/crds"
cp config/rbac/*_role.yaml "$fresh/rbac"

status=0
for folder in crds rbac; do
    to=charts/assay/files/$folder
    if [ "${1:-}" != -check ]; then
        rm -rf "$to"
        mkdir -p "$to"
        cp "$fresh/$folder"/* "$to"
    elif ! diff -ru "$to" "$fresh/$folder"; then
        echo "$to is not what config/ has: run make generate and commit what it changes" >&2
        status=1
    fi
done
exit "$status"
