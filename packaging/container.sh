#!/usr/bin/env bash
# Builds the container image inferometer:VERSION with the first of buildah, podman and docker that is installed.
# Usage: packaging/container.sh [TARGET]. With BINARY=FILE, it packs this file and compiles nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-$(uname -m)-unknown-linux-gnu}
source packaging/common.sh
platform=$(for_processor linux/amd64 linux/arm64 images)
binary=$(static_binary)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
install -m 755 "$binary" "$context/inferometer"
cp packaging/Containerfile "$context/"

for builder in buildah podman docker; do
    command -v "$builder" > /dev/null || continue
    "$builder" build --platform "$platform" --tag "inferometer:$version" \
        --file "$context/Containerfile" "$context"
    echo "built inferometer:$version with $builder"
    exit
done
echo "error: none of buildah, podman and docker is installed; install one of them" >&2
exit 2
