#!/usr/bin/env bash
# Makes an OCI layout that stands for the golang image where no registry can be
# reached: busybox, this machine's Go and its certificate authorities.
#
#   base.sh FOLDER      prints the digest of the image in it
set -euo pipefail

out=${1:?usage: base.sh FOLDER}
busybox=$(command -v busybox) || { echo "busybox is not installed (apt-get install busybox-static)" >&2; exit 1; }
case $(ldd "$busybox" 2>&1 || true) in
*'not a dynamic executable'* | *'statically linked'*) ;;
*) echo "$busybox is not static (apt-get install busybox-static)" >&2; exit 1 ;;
esac
authorities=/etc/ssl/certs/ca-certificates.crt
[ -f "$authorities" ] || { echo "$authorities is not there (apt-get install ca-certificates)" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root blobs=$out/blobs/sha256
mkdir -p "$blobs" "$root"/{bin,etc/ssl/certs,go,root,tmp,usr/local}
chmod 1777 "$root/tmp"
cp "$busybox" "$root/bin/busybox"
for command in sh cat mkdir env uname; do ln -s busybox "$root/bin/$command"; done
cp -L "$authorities" "$root/etc/ssl/certs/"
echo root:x:0:0:root:/root:/bin/sh >"$root/etc/passwd"
goroot=$(go env GOROOT)
mkdir "$root/usr/local/go"
cp -a "$goroot"/{bin,pkg,src,lib,go.env,VERSION,LICENSE} "$root/usr/local/go/"

# blob FILE: moves it to its content address; prints its digest and size.
blob() {
    local sum size
    sum=$(sha256sum "$1" | cut -d' ' -f1) size=$(stat -c %s "$1")
    mv "$1" "$blobs/$sum"
    echo "sha256:$sum $size"
}

tar -C "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/layer" .
read -r layer layer_size < <(blob "$work/layer")
arch=$(go env GOHOSTARCH)
cat >"$work/config" <<END
{"architecture": "$arch", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["$layer"]},
 "config": {"WorkingDir": "/go", "Env": ["PATH=/go/bin:/usr/local/go/bin:/bin", "GOPATH=/go", "GOTOOLCHAIN=local", "HOME=/root"]}}
END
read -r config config_size < <(blob "$work/config")
cat >"$work/manifest" <<END
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
 "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": "$config", "size": $config_size},
 "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "$layer", "size": $layer_size}]}
END
read -r manifest manifest_size < <(blob "$work/manifest")
cat >"$out/index.json" <<END
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [
 {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "$manifest", "size": $manifest_size,
  "platform": {"architecture": "$arch", "os": "linux"}}]}
END
echo '{"imageLayoutVersion": "1.0.0"}' >"$out/oci-layout"
echo "$manifest"
