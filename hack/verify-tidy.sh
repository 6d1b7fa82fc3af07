#!/usr/bin/env bash
# Fails when go.mod or go.sum of a module is not tidy; -fix tidies them.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(. hack/tools/controller-gen hack/tools/golangci-lint hack/tools/argo-rollouts hack/tools/flagger hack/tools/helm hack/tools/cyclonedx-gomod hack/tools/govulncheck hack/tools/buildkit hack/prometheus hack/controlplane/etcd hack/controlplane/kubernetes)
status=0
for module in "${modules[@]}"; do
    if [ "${1:-}" = -fix ]; then
        (cd "$module" && go mod tidy) || status=1
    elif ! (cd "$module" && go mod tidy -diff); then
        echo "$module is not tidy: run make tidy" >&2
        status=1
    fi
done
exit "$status"
