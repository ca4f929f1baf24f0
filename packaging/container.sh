#!/usr/bin/env bash
# Builds the container image inferometer:VERSION with buildah, podman or docker, of which the first is
# taken that there is. Usage: packaging/container.sh [TARGET]. With BINARY=FILE it packs that file.
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
    echo "inferometer:$version by $builder"
    exit
done
echo "error: there is no buildah, podman or docker" >&2
exit 2
