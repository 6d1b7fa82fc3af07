#!/usr/bin/env bash
# Builds the Dockerfile with BuildKit alone: no Docker, no registry. Needs root on
# Linux, runc and busybox.
#
#   VERSION=v0.1.0 hack/image/build.sh IMAGE.tar [PLATFORM,...]
#
# IMAGE.tar becomes an OCI layout in a tar, as `docker load`, `ctr image import`,
# `crane push` and `skopeo copy oci-archive:` read it. The golang image is the
# stand-in that base.sh makes of this machine's Go. What the build may reach for
# modules is said by GOPROXY, GOFLAGS and the usual proxy variables.
#
# BUILDKITD and BUILDCTL are the programs; `make image-check` gives them.
set -euo pipefail
cd "$(dirname "$0")/../.."

image=$(realpath -m "${1:?usage: build.sh IMAGE.tar [PLATFORM,...]}")
platforms=${2:-linux/amd64,linux/arm64}
[ "$(uname -s)/$(id -u)" = Linux/0 ] || { echo "BuildKit runs here as root on Linux only; use make image, with Docker" >&2; exit 1; }
command -v runc >/dev/null || { echo "runc is not installed (apt-get install runc)" >&2; exit 1; }
: "${BUILDKITD:?set it to buildkitd, or call make image-check}" "${BUILDCTL:?set it to buildctl, or call make image-check}"

version=${VERSION:-dev}
commit=${COMMIT-$(git rev-parse HEAD 2>/dev/null || true)}
date=${DATE-$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null || true)}

# What BuildKit keeps stays for the next build: modules, and what was compiled.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay-buildkit
work=$(mktemp -d)
daemon=
finish() {
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT
mkdir -p "$cache"

exec 9>"$cache/lock"
flock 9 # one daemon at a time works in a folder
socket=unix://$work/buildkitd.sock
"$BUILDKITD" --addr "$socket" --root "$cache/root" --oci-worker=true --containerd-worker=false \
    --oci-worker-net=host --oci-worker-snapshotter=auto >"$work/log" 2>&1 9>&- &
daemon=$!
for ((i = 0; i < 300; i++)); do
    "$BUILDCTL" --addr "$socket" debug workers >/dev/null 2>&1 && break
    kill -0 "$daemon" 2>/dev/null || { cat "$work/log" >&2; echo "buildkitd ended" >&2; exit 1; }
    sleep 0.1
done

base=$(hack/image/base.sh "$work/base")
args=()
for name in GOPROXY GOFLAGS HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || args+=(--opt "build-arg:$name=${!name}")
done
"$BUILDCTL" --addr "$socket" build --progress=plain \
    --frontend dockerfile.v0 --local context=. --local dockerfile=. \
    --oci-layout "base=$work/base" --opt "context:golang:1.26=oci-layout://base@$base" \
    --opt "platform=$platforms" --opt attest:provenance=mode=max \
    --opt "build-arg:VERSION=$version" --opt "build-arg:COMMIT=$commit" --opt "build-arg:DATE=$date" \
    --opt "build-arg:SOURCE_DATE_EPOCH=$(date -d "${date:-@0}" +%s)" "${args[@]}" \
    --output "type=oci,dest=$image,name=ghcr.io/assay-dev/assay:$version,rewrite-timestamp=true"
