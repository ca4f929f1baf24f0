#!/bin/sh
# Makes the first inputs of the fuzz targets, in fuzz/corpus: the small ones of fuzz/seeds, and the fixtures of tests
# that are too large to stand there.
# The bytes before a recording choose the dialect, streamed or whole, and the cut (see src/response.rs).
set -eu
cd "$(dirname "$0")"
mkdir -p corpus
cp -R seeds/. corpus/
for file in ../crates/wire/fixtures/*/*.http; do
    name=$(basename "$(dirname "$file")")-$(basename "$file" .http)
    # Places in the list of `wire/src/dialect/mod.rs`.
    case $name in
        tgi-generate*) dialect=6 ;;
        sglang-generate*) dialect=5 ;;
        llama-cpp-completion-*) dialect=7 ;;
        *-responses-*) dialect=2 ;;
        *-messages-*) dialect=3 ;;
        *chat*) dialect=1 ;;
        *) dialect=0 ;;
    esac
    case $name in *whole*) stream=0 ;; *) stream=2 ;; esac
    { printf "\\0$stream$dialect\\100\\001"; cat "$file"; } > "corpus/response/$name"
    { printf '\100\001'; grep -a '^data' "$file" || true; printf '\n'; } > "corpus/sse/$name"
done
cp ../crates/formats/fixtures/* corpus/import/
cp ../crates/store/tests/fixtures/*.log corpus/log/
cp ../crates/servers/fixtures/*.txt corpus/metrics/
cp ../conformance/same-results/plans/*.toml corpus/plan/
