#!/usr/bin/env bash
# Brings a one-node Kubernetes up on this machine, from the binaries that
# build-k8s.sh made, and writes an administrator's kubeconfig.
#
#   up.sh [KUBECONFIG]      where to write it; down.sh removes it again
#                           (default: $K8S_STATE/admin.kubeconfig)
#
# etcd, containerd, the control plane, kubelet and kube-proxy run as plain
# processes (pids are in $K8S_STATE/run), CoreDNS as a Deployment. They listen on
# 127.0.0.1 or on the pod bridge ($NODE_IP), and not on the machine's outside
# interface. Pods reach each other, Services and the node, and nothing else:
# nothing is masqueraded and CoreDNS has no upstream. There is no StorageClass, no
# metrics-server, and NetworkPolicies are accepted and not enforced.
#
# Needs root, and one cluster a machine. down.sh stops it and removes what it wrote.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/versions.sh"
. "$HERE/proc.sh"

[ "$(uname -s)" = Linux ] || die "needs Linux"
[ "$(id -u)" = 0 ] || die "must run as root"
[ ! -e "$K8S_STATE" ] || die "$K8S_STATE exists: run down.sh first"
[ -x "$K8S_BIN/pause" ] || die "no binaries in $K8S_BIN: run build-k8s.sh first"
! ip link show "$BRIDGE" >/dev/null 2>&1 || die "another cluster holds the bridge $BRIDGE: run down.sh with its K8S_STATE"
[ -e /proc/sys/net/bridge ] || modprobe br_netfilter || die "the kernel module br_netfilter is missing"
[ ! -e "${1:-/nonexistent}" ] || grep -q 'name: onenode' "$1" || die "$1 is another cluster's; will not overwrite it"
mkdir -p "$K8S_STATE"/{run,logs,pki,conf,etcd,containerd,kubelet,pod-logs,volume-plugins,cni/net.d,cni/ipam}
S=$K8S_STATE
touch "$S/.onenode" # down.sh removes no folder that lacks this
chmod 700 "$S/pki" "$S/etcd"
admin_conf=$(realpath -m "${1:-$S/admin.kubeconfig}")
mkdir -p "$(dirname "$admin_conf")"
server=https://$NODE_IP:$API_PORT
# The paths that no flag moves below $S, as far as they are not there already, and
# the kubeconfig: down.sh removes what is listed.
for p in /run/containerd /var/lib/kubelet /var/lib/cni /usr/libexec/kubernetes /var/log/containers; do
    [ -e "$p" ] || echo "$p"
done >"$S/conf/created"
echo "$admin_conf" >>"$S/conf/created"
trap 'rc=$?; [ $rc = 0 ] || say "failed; logs are in $S/logs, down.sh cleans up"' EXIT

# --- certificates -----------------------------------------------------------
# ca NAME; cert NAME SUBJECT USAGE [SAN]: P-256, signed by $CA (default: ca).
genkey() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }
ca() {
    genkey "$S/pki/$1.key"
    openssl req -x509 -new -key "$S/pki/$1.key" -subj "/CN=onenode-$1" -days 365 \
        -addext basicConstraints=critical,CA:true \
        -addext keyUsage=critical,keyCertSign,digitalSignature -out "$S/pki/$1.crt"
}
cert() {
    genkey "$S/pki/$1.key"
    openssl req -new -key "$S/pki/$1.key" -subj "$2" |
        openssl x509 -req -CA "$S/pki/${CA:-ca}.crt" -CAkey "$S/pki/${CA:-ca}.key" -days 365 \
            -out "$S/pki/$1.crt" -extfile <(
                echo "keyUsage=critical,digitalSignature"
                echo "extendedKeyUsage=$3"
                [ -z "${4:-}" ] || echo "subjectAltName=$4"
            ) 2>/dev/null
}
# kubeconfig NAME FILE: for the client certificate NAME.
kubeconfig() {
    (
        umask 077
        cat >"$2" <<YAML
apiVersion: v1
kind: Config
clusters:
- name: onenode
  cluster: {server: "$server", certificate-authority-data: $(base64 -w0 "$S/pki/ca.crt")}
users:
- name: $1
  user: {client-certificate-data: $(base64 -w0 "$S/pki/$1.crt"), client-key-data: $(base64 -w0 "$S/pki/$1.key")}
contexts:
- name: onenode
  context: {cluster: onenode, user: $1}
current-context: onenode
YAML
    )
}
ca ca
ca front-proxy-ca
cert apiserver /CN=kube-apiserver serverAuth \
    "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost,IP:$NODE_IP,IP:$API_SERVICE_IP,IP:127.0.0.1"
cert kubelet-server /CN=$NODE_NAME serverAuth "DNS:$NODE_NAME,IP:$NODE_IP"
cert apiserver-kubelet-client /O=system:masters/CN=apiserver-kubelet-client clientAuth
cert admin /O=system:masters/CN=admin clientAuth
cert controller-manager /CN=system:kube-controller-manager clientAuth
cert scheduler /CN=system:kube-scheduler clientAuth
cert proxy /CN=system:kube-proxy clientAuth
cert kubelet /O=system:nodes/CN=system:node:$NODE_NAME clientAuth
CA=front-proxy-ca cert front-proxy-client /CN=front-proxy-client clientAuth
genkey "$S/pki/sa.key"
openssl pkey -in "$S/pki/sa.key" -pubout -out "$S/pki/sa.pub"
for c in controller-manager scheduler proxy kubelet; do kubeconfig $c "$S/conf/$c.kubeconfig"; done
kubeconfig admin "$admin_conf"
export KUBECONFIG=$admin_conf
kubectl() { "$K8S_BIN/kubectl" "$@"; }

# --- network ----------------------------------------------------------------
# The bridge is made before any pod is, because its address is the node's. down.sh
# sets back the settings that change here and that the kubelet changes.
sysctl net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables vm.overcommit_memory \
    vm.panic_on_oom kernel.panic kernel.panic_on_oops >"$S/conf/sysctl.before"
sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
ip link add "$BRIDGE" type bridge
ip addr add "$NODE_IP/${POD_CIDR#*/}" dev "$BRIDGE"
ip link set "$BRIDGE" up
cat >"$S/cni/net.d/10-bridge.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "onenode", "plugins": [
  {"type": "bridge", "bridge": "$BRIDGE", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$S/cni/ipam",
            "ranges": [[{"subnet": "$POD_CIDR", "gateway": "$NODE_IP"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON

# --- etcd, API server, containerd -------------------------------------------
start etcd "$K8S_BIN/etcd" --data-dir="$S/etcd" --unsafe-no-fsync \
    --listen-client-urls="http://127.0.0.1:$ETCD_PORT" --advertise-client-urls="http://127.0.0.1:$ETCD_PORT" \
    --listen-peer-urls="http://127.0.0.1:$ETCD_PEER_PORT"

start kube-apiserver "$K8S_BIN/kube-apiserver" \
    --etcd-servers="http://127.0.0.1:$ETCD_PORT" \
    --bind-address="$NODE_IP" --advertise-address="$NODE_IP" --secure-port="$API_PORT" \
    --service-cluster-ip-range="$SERVICE_CIDR" --allow-privileged \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --client-ca-file="$S/pki/ca.crt" \
    --tls-cert-file="$S/pki/apiserver.crt" --tls-private-key-file="$S/pki/apiserver.key" \
    --kubelet-certificate-authority="$S/pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
    --kubelet-client-certificate="$S/pki/apiserver-kubelet-client.crt" \
    --kubelet-client-key="$S/pki/apiserver-kubelet-client.key" \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$S/pki/sa.pub" --service-account-signing-key-file="$S/pki/sa.key" \
    --requestheader-client-ca-file="$S/pki/front-proxy-ca.crt" \
    --requestheader-allowed-names=front-proxy-client --requestheader-username-headers=X-Remote-User \
    --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$S/pki/front-proxy-client.crt" \
    --proxy-client-key-file="$S/pki/front-proxy-client.key"

cat >"$S/conf/containerd.toml" <<TOML
version = 4
root = "$S/containerd/root"
state = "$S/containerd/state"
imports = []
disabled_plugins = ["io.containerd.nri.v1.nri"]
[plugins."io.containerd.server.v1.grpc"]
  address = "$CONTAINERD_SOCK"
[plugins."io.containerd.server.v1.ttrpc"]
  address = "$CONTAINERD_SOCK.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "$S/containerd/opt"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "localhost/pause:$PAUSE_VERSION"
[plugins."io.containerd.cri.v1.runtime"]
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true   # without CAP_SYS_RESOURCE, scores can only rise
  cdi_spec_dirs = []
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "$(command -v runc)"
  Root = "$S/containerd/runc"
  SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["$K8S_BIN/cni"]
  conf_dir = "$S/cni/net.d"
TOML
# containerd finds its shim on PATH.
start containerd env PATH="$K8S_BIN:$PATH" "$K8S_BIN/containerd" --config "$S/conf/containerd.toml"

wait_for 20 containerd "$K8S_BIN/ctr" -a "$CONTAINERD_SOCK" --connect-timeout 1s version
IMAGE_USER=65535:65535 "$HERE/load-image.sh" localhost/pause:$PAUSE_VERSION "$K8S_BIN/pause"
"$HERE/load-image.sh" localhost/coredns:$COREDNS_VERSION "$K8S_BIN/coredns"

wait_for 60 kube-apiserver kubectl get --raw /readyz
say "API server ready"

# --- the rest of the control plane, and the node ----------------------------
start kube-controller-manager "$K8S_BIN/kube-controller-manager" \
    --kubeconfig="$S/conf/controller-manager.kubeconfig" \
    --authentication-kubeconfig="$S/conf/controller-manager.kubeconfig" \
    --authorization-kubeconfig="$S/conf/controller-manager.kubeconfig" \
    --bind-address=127.0.0.1 --leader-elect=false --use-service-account-credentials \
    --root-ca-file="$S/pki/ca.crt" --service-account-private-key-file="$S/pki/sa.key" \
    --cluster-signing-cert-file="$S/pki/ca.crt" --cluster-signing-key-file="$S/pki/ca.key" \
    --requestheader-client-ca-file="$S/pki/front-proxy-ca.crt" \
    --flex-volume-plugin-dir="$S/volume-plugins"

start kube-scheduler "$K8S_BIN/kube-scheduler" \
    --kubeconfig="$S/conf/scheduler.kubeconfig" \
    --authentication-kubeconfig="$S/conf/scheduler.kubeconfig" \
    --authorization-kubeconfig="$S/conf/scheduler.kubeconfig" \
    --bind-address=127.0.0.1 --leader-elect=false

# Images cannot be pulled again: none is evicted or collected for disk space.
cat >"$S/conf/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
healthzBindAddress: 127.0.0.1
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $S/pki/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: $S/pki/kubelet-server.crt
tlsPrivateKeyFile: $S/pki/kubelet-server.key
containerRuntimeEndpoint: unix://$CONTAINERD_SOCK
cgroupDriver: cgroupfs
failCgroupV1: false   # works on old machines, too
failSwapOn: false
# Without CAP_SYS_RESOURCE, neither this can be lowered nor that be raised.
oomScoreAdj: 0
maxOpenFiles: $(ulimit -Hn)
clusterDomain: cluster.local
clusterDNS: [$DNS_SERVICE_IP]
resolvConf: ""        # no name server outside the cluster
podLogsDir: $S/pod-logs
volumePluginDir: $S/volume-plugins
makeIPTablesUtilChains: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 200Mi}
YAML
start kubelet "$K8S_BIN/kubelet" --config="$S/conf/kubelet.yaml" \
    --kubeconfig="$S/conf/kubelet.kubeconfig" --root-dir="$S/kubelet" --cert-dir="$S/kubelet/pki" \
    --hostname-override="$NODE_NAME" --node-ip="$NODE_IP"

cat >"$S/conf/proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: $S/conf/proxy.kubeconfig}
hostnameOverride: $NODE_NAME
clusterCIDR: $POD_CIDR
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
nodePortAddresses: [$NODE_IP/32]
oomScoreAdj: 0
iptables: {localhostNodePorts: false}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
start kube-proxy "$K8S_BIN/kube-proxy" --config="$S/conf/proxy.yaml"

sed -e "s|@IMAGE@|localhost/coredns:$COREDNS_VERSION|" -e "s|@DNS_SERVICE_IP@|$DNS_SERVICE_IP|" \
    "$HERE/coredns.yaml" | kubectl apply -f - >/dev/null

wait_for 60 kubelet kubectl wait --for=condition=Ready "node/$NODE_NAME" --timeout=1s
say "node $NODE_NAME ready"
wait_for 60 kube-controller-manager kubectl -n kube-system rollout status deploy/coredns --timeout=1s
wait_for 30 kube-controller-manager kubectl get serviceaccount default
say "cluster up; KUBECONFIG=$admin_conf"
