#!/bin/sh
# Makes the first inputs of the fuzz targets out of the fixtures of tests, in fuzz/corpus.
# The bytes before a recording choose the dialect, streamed or whole, and the cut
# (see fuzz_targets/response.rs).
set -eu
cd "$(dirname "$0")"
mkdir -p corpus/sse corpus/response
for file in ../crates/wire/fixtures/*/*.http; do
    name=$(basename "$(dirname "$file")")-$(basename "$file" .http)
    case $name in *generate*) dialect=3 ;; *chat*) dialect=1 ;; *) dialect=0 ;; esac
    case $name in *whole*) stream=0 ;; *) stream=2 ;; esac
    { printf "\\0$stream$dialect\\100\\001"; cat "$file"; } > "corpus/response/$name"
    { printf '\100\001'; grep -a '^data' "$file" || true; printf '\n'; } > "corpus/sse/$name"
done
mkdir -p corpus/import corpus/log corpus/metrics corpus/plan
cp ../crates/formats/fixtures/* corpus/import/
cp ../crates/store/tests/fixtures/*.log corpus/log/
cp ../crates/observe/fixtures/*.txt corpus/metrics/
cp ../conformance/same-results/plans/*.toml corpus/plan/
