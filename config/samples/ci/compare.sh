#!/usr/bin/env bash
# Runs a suite against the run of the main branch, writes a comment for the pull
# request, and ends with the verdict of the suite.
set -uo pipefail

baseline=()
if [ -s main.json ]; then baseline=(--baseline main.json); fi

assay run -f suite.yaml -f golden.yaml --endpoint ci "${baseline[@]}" -o json > head.json
verdict=$?

if [ -s main.json ] && [ -s head.json ]; then
    assay compare main.json head.json > comment.txt || true
fi
case $verdict in
    0) echo "passed" ;;
    1) echo "a bound is missed: see head.json" >&2 ;;
    2) echo "not decided: $(jq -r .message head.json)" >&2 ;;
    *) echo "could not run" >&2 ;;
esac
exit $verdict
