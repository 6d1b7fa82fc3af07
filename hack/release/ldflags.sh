#!/bin/sh
# Prints the linker's flags for a version, so that every build stamps the same:
#   ldflags.sh VERSION [COMMIT [DATE]]
set -eu

package=github.com/assay-dev/assay/internal/version
flags="-s -w -X $package.Version=${1:?usage: ldflags.sh VERSION [COMMIT [DATE]]}"
[ -z "${2:-}" ] || flags="$flags -X $package.linkedCommit=$2"
[ -z "${3:-}" ] || flags="$flags -X $package.linkedDate=$3"
echo "$flags"
