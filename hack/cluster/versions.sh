# shellcheck shell=bash disable=SC2034
# Versions and defaults that the scripts here share; they source this file.

# --- what is built ----------------------------------------------------------
# Kubernetes' own binaries and etcd have the versions of ../controlplane's modules.
CONTAINERD_VERSION=v2.4.2   # at least 2.1: kubelet asks for CRI's RuntimeConfig
COREDNS_VERSION=v1.15.0     # with the plugins that the cluster uses, and no others
CRICTL_VERSION=v1.37.0
CNI_VERSION=v1.10.0         # bridge, host-local, loopback
PAUSE_VERSION=1             # ./pause, as localhost/pause:$PAUSE_VERSION

# --- where things live ------------------------------------------------------
# Each of these can be set in the environment.
K8S_BIN=${K8S_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/k8s-bin} # what was built: a cache, which may be deleted
K8S_STATE=${K8S_STATE:-/var/lib/k8s-onenode}                # everything that a running cluster writes

# --- addresses --------------------------------------------------------------
# The node address is the pod bridge's own address, so that pods can reach the
# API server and nothing listens on the machine's outside interface.
BRIDGE=${BRIDGE:-k8sbr0}
NODE_NAME=${NODE_NAME:-node1}
NODE_IP=${NODE_IP:-10.88.0.1}
POD_CIDR=${POD_CIDR:-10.88.0.0/16}
SERVICE_CIDR=${SERVICE_CIDR:-10.96.0.0/16}
API_SERVICE_IP=${API_SERVICE_IP:-10.96.0.1}  # first address of SERVICE_CIDR
DNS_SERVICE_IP=${DNS_SERVICE_IP:-10.96.0.10}
API_PORT=${API_PORT:-6443}
ETCD_PORT=${ETCD_PORT:-23790}
ETCD_PEER_PORT=${ETCD_PEER_PORT:-23800}

CONTAINERD_SOCK=$K8S_STATE/run/containerd.sock

die() { echo "${0##*/}: $*" >&2; exit 1; }
say() { printf '[%s +%3ss] %s\n' "${0##*/}" "$SECONDS" "$*" >&2; }
