#!/usr/bin/env bash
# Wraps one static binary into an image FROM scratch and imports it into the
# cluster's containerd. Neither a registry nor an image builder is needed.
#
#   load-image.sh NAME:TAG BINARY [ARGS...]
#
# The image's entrypoint is /<basename of BINARY>; ARGS are its default arguments,
# which a pod's `args:` replaces. It also holds an empty /tmp that all may write to
# and an /etc/passwd. It runs as $IMAGE_USER: 65532:65532 by default, as distroless'
# "nonroot" does; 0:0 is root.
#
# Use another tag than :latest, or the kubelet tries to pull it. A NAME without a
# registry means docker.io/library/NAME, as in pods.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/versions.sh"

[ $# -ge 2 ] || die "usage: load-image.sh NAME:TAG BINARY [ARGS...]"
ref=$1 binary=$2
shift 2
[ -f "$binary" ] || die "$binary: no such file"
case $(ldd "$binary" 2>&1 || true) in
*'not a dynamic executable'* | *'statically linked'*) ;;
*) die "$binary is not static (build with CGO_ENABLED=0)" ;;
esac
case ${ref##*/} in *:*) ;; *) die "$ref has no tag" ;; esac
[ "${ref##*:}" != latest ] || say "note: pods using :latest need imagePullPolicy: Never"

# The name that a pod's `image:` is taken for.
case $ref in
*/*) case ${ref%%/*} in *.* | *:* | localhost) full=$ref ;; *) full=docker.io/$ref ;; esac ;;
*) full=docker.io/library/$ref ;;
esac

case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) arch=$(uname -m) ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blobs=$work/oci/blobs/sha256
mkdir -p "$blobs" "$work/root/etc" "$work/root/tmp"

# json_array ARGS...: a JSON array of strings.
json_array() {
    local out='' a
    for a in "$@"; do
        a=${a//\\/\\\\} a=${a//\"/\\\"}
        out+=${out:+,}\"$a\"
    done
    printf '[%s]' "$out"
}
# blob FILE: moves it to its content address; prints "DIGEST SIZE".
blob() {
    local sum size
    sum=$(sha256sum "$1" | cut -d' ' -f1) size=$(stat -c %s "$1")
    mv "$1" "$blobs/$sum"
    echo "sha256:$sum $size"
}

name=$(basename "$binary")
install -m 0755 "$binary" "$work/root/$name"
chmod 1777 "$work/root/tmp"
printf 'root:x:0:0::/:/\nnonroot:x:65532:65532::/:/\n' >"$work/root/etc/passwd"
# With fixed order, owner and times, the same binary gives the same digest.
tar -C "$work/root" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
    -cf "$work/layer.tar" .
read -r layer layer_size < <(blob "$work/layer.tar")

printf '{"architecture":"%s","os":"linux","created":"1970-01-01T00:00:00Z","config":{"User":"%s","Entrypoint":%s,"Cmd":%s,"WorkingDir":"/","Env":["PATH=/"]},"rootfs":{"type":"layers","diff_ids":["%s"]}}' \
    "$arch" "${IMAGE_USER:-65532:65532}" "$(json_array "/$name")" "$(json_array "$@")" "$layer" >"$work/config"
read -r config config_size < <(blob "$work/config")

M=application/vnd.oci.image
printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":{"mediaType":"%s.config.v1+json","digest":"%s","size":%s},"layers":[{"mediaType":"%s.layer.v1.tar","digest":"%s","size":%s}]}' \
    $M $M "$config" "$config_size" $M "$layer" "$layer_size" >"$work/manifest"
read -r manifest manifest_size < <(blob "$work/manifest")

printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.manifest.v1+json","digest":"%s","size":%s,"platform":{"architecture":"%s","os":"linux"},"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}}]}' \
    $M "$manifest" "$manifest_size" "$arch" "$full" "${ref##*:}" >"$work/oci/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"

# ctr may warn about the machine at each call: what it says is shown if it fails.
tar -C "$work/oci" -cf - . |
    "$K8S_BIN/ctr" -a "$CONTAINERD_SOCK" -n k8s.io images import - >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; die "import failed"; }
say "imported $full ($manifest)"
