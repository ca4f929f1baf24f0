#!/usr/bin/env bash
# Builds the container image inferometer:VERSION with buildah, podman or docker, of which the first is
# taken that there is. Usage: packaging/container.sh [TARGET]. With BINARY=FILE it packs that file.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-$(uname -m)-unknown-linux-gnu}
case $target in
    x86_64-*) platform=linux/amd64 ;;
    aarch64-*) platform=linux/arm64 ;;
    *) echo "error: $target: images are built for x86_64 and aarch64" >&2; exit 2 ;;
esac
binary=${BINARY:-}
if [ -z "$binary" ]; then
    binary=target/packages/inferometer-static-${target%%-*}
    packaging/static.sh "$target" "$binary"
fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
install -m 755 "$binary" "$context/inferometer"
cp packaging/Containerfile "$context/"

for builder in buildah podman docker; do
    command -v "$builder" > /dev/null || continue
    exec 3>&1
    "$builder" build --platform "$platform" --tag "inferometer:$version" \
        --file "$context/Containerfile" "$context" >&3
    echo "inferometer:$version by $builder"
    exit
done
echo "error: there is no buildah, podman or docker" >&2
exit 2
