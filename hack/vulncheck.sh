#!/usr/bin/env bash
# Fails when a known vulnerability can be reached from Assay's code. Where the
# database (GOVULNDB, else https://vuln.go.dev) cannot be reached, nothing is
# checked, and that is said.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
out=$("${GOVULNCHECK:?set it to govulncheck, or call make vulncheck}" -db "${GOVULNDB:-https://vuln.go.dev}" . 2>&1) || status=$?
case $status in
0) echo "$out" ;;
3)
    echo "$out" >&2
    echo "a known vulnerability can be reached: update the module, or Go (see \"Fixed in\" above)" >&2
    exit 1
    ;;
*)
    if [[ $out == *'fetching vulnerabilities'* ]]; then
        echo "SKIPPED: nothing was checked for known vulnerabilities, the database cannot be reached: ${out##*fetching vulnerabilities: }" >&2
        exit 0
    fi
    echo "$out" >&2
    exit "$status"
    ;;
esac
