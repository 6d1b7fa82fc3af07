#!/usr/bin/env bash
# Fails when the generated files are not those that `make generate` makes now:
# changed by hand, out of date, missing, or left over. Changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
mkdir "$fresh/api" "$fresh/crd"
"$CONTROLLER_GEN" object output:object:dir="$fresh/api" paths=./api/...
"$CONTROLLER_GEN" crd paths=./api/... output:crd:artifacts:config="$fresh/crd"
go run ./hack/reference "$fresh/reference"
go run ./hack/licenses >"$fresh/licenses.md"

status=0
diff -u api/v1alpha1/zz_generated.deepcopy.go "$fresh/api/zz_generated.deepcopy.go" || status=1
# The CRDs that are installed are those that are embedded (config/crd/embed.go).
diff -ru config/crd/bases "$fresh/crd" || status=1
diff -ru docs/reference "$fresh/reference" || status=1
diff -u docs/licenses.md "$fresh/licenses.md" || status=1
if [ "$status" != 0 ]; then
    echo "generated files are out of date: run make generate and commit what it changes" >&2
fi
# Nothing of it may be missing from a commit, be it untracked or ignored.
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit "$status"
for file in api/v1alpha1/zz_generated.deepcopy.go config/crd/bases/*.yaml docs/reference/*.md docs/licenses.md; do
    if ! git ls-files --error-unmatch "$file" >/dev/null 2>&1; then
        echo "$file is generated and not in git: git add $file" >&2
        status=1
    fi
done
exit "$status"
