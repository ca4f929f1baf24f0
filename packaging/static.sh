#!/usr/bin/env bash
# Builds the command as one file that needs no library of the system, for containers. This binary reads NVIDIA cards
# through nvidia-smi, because it cannot load the driver's library. Usage: packaging/static.sh [TARGET] [FILE].
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-$(uname -m)-unknown-linux-gnu}
out=${2:-target/packages/inferometer-static-${target%%-*}}

# The commit that --version prints after the version. Outside of a checkout, it is empty.
export INFEROMETER_COMMIT=${INFEROMETER_COMMIT:-$(git rev-parse --short=12 HEAD 2> /dev/null || true)}
# For another processor, the compiler of Debian's package gcc-aarch64-linux-gnu links.
if [ "${target%%-*}" != "$(uname -m)" ]; then
    linker=$(tr a-z- A-Z_ <<< "CARGO_TARGET_$target")_LINKER
    export "$linker=${!linker:-${target%%-*}-linux-gnu-gcc}"
fi
RUSTFLAGS="-C target-feature=+crt-static" CARGO_TARGET_DIR=target/packaging/static \
    cargo build --release --locked --package inferometer --bin inferometer --target "$target"
mkdir -p "$(dirname "$out")"
cp "target/packaging/static/$target/release/inferometer" "$out"
echo "$out"
