#!/usr/bin/env bash
# Builds the wheel: the command and the Python module on one shared library, for Linux with glibc 2.17
# or later. Usage: packaging/wheel.sh [TARGET] [FOLDER]. It needs Python 3.9 or later; maturin and zig,
# which links for old systems, come from PyPI into an environment of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-$(uname -m)-unknown-linux-gnu}
out=${2:-target/wheels}

tools=target/packaging/venv
[ -x "$tools/bin/maturin" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' 'ziglang>=0.13,<0.16'
}
# zig is found as `python -m ziglang` of the environment.
PATH="$PWD/$tools/bin:$PATH" "$tools/bin/maturin" build --release --locked --strip \
    --manifest-path crates/python/Cargo.toml --target "$target" \
    --zig --compatibility manylinux2014 --out "$out"
