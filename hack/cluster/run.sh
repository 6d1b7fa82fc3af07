#!/usr/bin/env bash
# Runs a command that brings the one-node cluster up, and leaves nothing of it,
# whatever comes of the command:
#
#   run.sh COMMAND [ARGS...]
#
# Builds what the cluster is made of, where that is missing. Where there can be no
# cluster it says so and runs nothing, successfully.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/versions.sh"

[ $# -gt 0 ] || die "usage: run.sh COMMAND [ARGS...]"
why=
[ "$(uname -s)" = Linux ] || why="this is $(uname -s)"
[ -n "$why" ] || [ "$(id -u)" = 0 ] || why="user $(id -un) is not root"
if [ -n "$why" ]; then
    echo "SKIPPED: a real one-node cluster needs root on Linux, and $why: not run: $*" >&2
    exit 0
fi

export K8S_BIN K8S_STATE=${TMPDIR:-/tmp}/assay-e2e-cluster
"$HERE/build-k8s.sh"
trap '"$HERE/down.sh"' EXIT
"$@"
