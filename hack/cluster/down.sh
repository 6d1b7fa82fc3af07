#!/usr/bin/env bash
# Stops the cluster that up.sh started and removes what it wrote: pods, mounts,
# cgroups, iptables chains, the bridge and $K8S_STATE. May be run twice, and after
# an up.sh that failed half-way.
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/versions.sh"
. "$HERE/proc.sh"

[ "$(id -u)" = 0 ] || die "must run as root"
[ -e "$K8S_STATE" ] || { say "nothing to stop"; exit 0; }
[ -e "$K8S_STATE/.onenode" ] || die "$K8S_STATE was not made by up.sh (there is no .onenode in it)"
S=$K8S_STATE

# The kubelet first, so that nothing restarts the pods.
stop kubelet kube-scheduler kube-controller-manager kube-proxy

# Pods, through the CRI: this stops containers and shims and undoes the CNI
# set-up. Shims outlive containerd, so if it died, start it again to reach them.
if [ -e "$S/conf/containerd.toml" ]; then
    if ! alive containerd; then
        start containerd env PATH="$K8S_BIN:$PATH" "$K8S_BIN/containerd" --config "$S/conf/containerd.toml"
        wait_for 20 containerd "$K8S_BIN/ctr" -a "$CONTAINERD_SOCK" --connect-timeout 1s version
    fi
    crictl() { "$K8S_BIN/crictl" --runtime-endpoint "unix://$CONTAINERD_SOCK" --timeout 20s "$@"; }
    for _ in 1 2 3; do
        pods=$(crictl pods -q 2>/dev/null)
        [ -n "$pods" ] || break
        # shellcheck disable=SC2086 # one argument a pod
        crictl rmp -f $pods >/dev/null 2>>"$S/logs/down.log"
    done
    [ -z "$(crictl pods -q 2>/dev/null)" ] || say "some pods would not stop; see $S/logs/down.log"
fi
stop containerd kube-apiserver
stop etcd

# kube-proxy's chains: it removes all but the one it shares with old kubelets.
if [ -e "$S/conf/proxy.yaml" ]; then
    "$K8S_BIN/kube-proxy" --cleanup >>"$S/logs/down.log" 2>&1
    for ipt in iptables ip6tables; do
        $ipt -w -D INPUT -j KUBE-FIREWALL
        $ipt -w -D OUTPUT -j KUBE-FIREWALL
        $ipt -w -F KUBE-FIREWALL
        $ipt -w -X KUBE-FIREWALL
    done 2>/dev/null
fi

# What is still mounted below the state, deepest first.
awk -v p="$S/" 'index($5, p) == 1 {print $5}' /proc/self/mountinfo | sort -r |
    while read -r m; do umount "$m" 2>/dev/null || umount -l "$m"; done

# The kubelet's cgroups, in every mounted hierarchy (v1 or v2).
for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
    [ ! -d "$root/kubepods" ] || find "$root/kubepods" -depth -type d -exec rmdir {} \; 2>/dev/null
done

ip link show "$BRIDGE" >/dev/null 2>&1 && ip link del "$BRIDGE"
[ ! -e "$S/conf/sysctl.before" ] || sysctl -q -p "$S/conf/sysctl.before"

# Links to pods' logs, which the kubelet makes here whatever podLogsDir says; then
# the folders that were not there before, and the kubeconfig.
find /var/log/containers -maxdepth 1 -type l -lname "$S/*" -delete 2>/dev/null
if [ -e "$S/conf/created" ]; then
    while read -r p; do rm -rf --one-file-system "$p"; done <"$S/conf/created"
fi

rm -rf --one-file-system "$S"
say "cluster down"
