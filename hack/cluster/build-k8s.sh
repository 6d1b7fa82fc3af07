#!/usr/bin/env bash
# Builds what the one-node cluster is made of from Go modules, into $K8S_BIN:
# what is missing there, or is of another version.
#
#   build-k8s.sh            build
#   build-k8s.sh --list     say what is there, build nothing
#
# Needs Go, a Go module proxy, and runc, iptables, iproute2 and openssl, which it
# installs with apt-get where that is there. Where Go's build cache is empty it
# takes about 12 minutes on two cores. All binaries are static.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/versions.sh"

export K8S_BIN CGO_ENABLED=0 GOWORK=off GOFLAGS=${GOFLAGS:--buildvcs=false}
mkdir -p "$K8S_BIN"
K8S_BIN=$(cd "$K8S_BIN" && pwd)
KUBERNETES=(kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl)

stamp() { echo "$K8S_BIN/.version/${1//\//_}"; } # as ../controlplane writes them

if [ "${1:-}" = --list ]; then
    for b in etcd "${KUBERNETES[@]}" containerd containerd-shim-runc-v2 ctr crictl \
        cni/bridge cni/host-local cni/loopback coredns pause; do
        printf '%-26s %s\n' "$b" "$(cat "$(stamp "$b")" 2>/dev/null || echo missing)"
    done
    exit 0
fi

packages=()
command -v runc >/dev/null || packages+=(runc) # needs cgo and libseccomp: not built here
command -v iptables >/dev/null || packages+=(iptables)
command -v ip >/dev/null || packages+=(iproute2)
command -v openssl >/dev/null || packages+=(openssl)
if [ ${#packages[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || die "install ${packages[*]} first"
    say "apt-get install ${packages[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

# Kubernetes and etcd, from the modules that the tests' control plane is built
# from. It takes the same lock while it builds.
(cd "$HERE/../.." && env -u KUBEBUILDER_ASSETS go run ./hack/controlplane \
    -with kube-controller-manager,kube-scheduler,kube-proxy,kubelet >/dev/null)

exec 9>>"$K8S_BIN/.lock" # one build at a time
flock 9

# have NAME VERSION: is this binary there at this version?
have() { [ -x "$K8S_BIN/$1" ] && [ "$(cat "$(stamp "$1")" 2>/dev/null)" = "$2" ]; }

# put NAME VERSION FILE: takes a finished binary in. The old stamp goes first, so
# that no stamp is ever wrong.
put() {
    mkdir -p "$(dirname "$K8S_BIN/$1")" "$K8S_BIN/.version"
    rm -f "$(stamp "$1")"
    mv "$3" "$K8S_BIN/$1"
    echo "$2" >"$(stamp "$1")"
    say "built $1 $2"
}

new=$K8S_BIN/.new
trap 'rm -rf "$new"' EXIT
rm -rf "$new" && mkdir "$new"

# install NAME VERSION PACKAGE [TAGS]: these modules can be built as they are.
install() {
    ! have "$1" "$2" || return 0
    GOBIN=$new go install -p 2 -ldflags '-s -w' -tags "${4:-}" "$3@$2"
    put "$1" "$2" "$new/${3##*/}"
}
C=github.com/containerd/containerd/v2/cmd
install containerd "$CONTAINERD_VERSION" $C/containerd "no_btrfs no_devmapper no_zfs"
install containerd-shim-runc-v2 "$CONTAINERD_VERSION" $C/containerd-shim-runc-v2
install ctr "$CONTAINERD_VERSION" $C/ctr "no_btrfs no_devmapper no_zfs"
install crictl "$CRICTL_VERSION" sigs.k8s.io/cri-tools/cmd/crictl
P=github.com/containernetworking/plugins/plugins
install cni/bridge "$CNI_VERSION" $P/main/bridge
install cni/loopback "$CNI_VERSION" $P/main/loopback
install cni/host-local "$CNI_VERSION" $P/ipam/host-local

# CoreDNS with the plugins that coredns.yaml names: the whole one has the SDKs of
# three clouds in it.
if ! have coredns "$COREDNS_VERSION"; then
    mkdir "$new/module"
    {
        printf 'package main\n\nimport (\n\t"github.com/coredns/coredns/coremain"\n'
        for plugin in cache errors health kubernetes log loadbalance metrics ready reload template; do
            printf '\t_ "github.com/coredns/coredns/plugin/%s"\n' "$plugin"
        done
        printf ')\n\nfunc main() { coremain.Run() }\n'
    } >"$new/module/main.go"
    (
        cd "$new/module"
        go mod init example.invalid/coredns >/dev/null 2>&1
        go get "github.com/coredns/coredns@$COREDNS_VERSION"
        go build -p 2 -mod=mod -ldflags '-s -w' -o "$new/coredns" .
    )
    put coredns "$COREDNS_VERSION" "$new/coredns"
fi

# Process 1 of every pod.
if ! have pause "$PAUSE_VERSION"; then
    go build -ldflags '-s -w' -o "$new/pause" "$HERE/pause/main.go"
    put pause "$PAUSE_VERSION" "$new/pause"
fi

say "all binaries are in $K8S_BIN"
