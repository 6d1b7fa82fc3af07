#!/usr/bin/env bash
# Prints config/default with another image: hack/deploy.sh IMAGE:TAG
set -euo pipefail
cd "$(dirname "$0")/.."

image=${1:?usage: hack/deploy.sh IMAGE:TAG}
case ${image##*/} in *:*) ;; *) echo "give the image with a tag: $image:v0.1.0, say" >&2; exit 1 ;; esac
overlay=$(mktemp -d -p config)
trap 'rm -rf "$overlay"' EXIT
cat >"$overlay/kustomization.yaml" <<END
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../default]
images:
- name: ghcr.io/assay-dev/assay
  newName: ${image%:*}
  newTag: ${image##*:}
END
kubectl kustomize "$overlay"
