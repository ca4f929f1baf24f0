#!/usr/bin/env bash
# Builds the wheel: the command and the Python module on one shared library, for Linux with glibc 2.17
# or later, with manual pages and the completions of shells. Usage: packaging/wheel.sh [TARGET] [FOLDER]. It needs
# Python 3.9 or later; maturin and zig, which links for old systems, come from PyPI into an environment of their own.
# The pages and completions are those of the command in the wheel itself; of one for another processor they are made by
# INFEROMETER, a command that runs here.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/shell-files.sh
. packaging/optimised.sh
machine=$(uname -m)
target=${1:-$machine-unknown-linux-gnu}
out=${2:-target/wheels}
case $target in
    "$machine"-*) ;;
    *) [ -n "${INFEROMETER:-}" ] || { echo "error: $target: name a command that runs here (INFEROMETER)" >&2; exit 2; } ;;
esac

# What --version says beside the version; outside of a checkout there is none.
export INFEROMETER_COMMIT=${INFEROMETER_COMMIT:-$(git rev-parse --short=12 HEAD 2> /dev/null || true)}
# As one unit the library is 8 % smaller, so that the wheel stays below 15 MB; it takes three times as long.
export CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1
tools=target/packaging/venv
[ -x "$tools/bin/maturin" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' 'ziglang>=0.13,<0.16'
}
# The folder in which maturin looks for what is installed beside the package. It is here while this script runs, no longer.
data=crates/python/inferometer._inferometer.data
made=$(mktemp -d)
trap 'rm -rf "$made" "$data"' EXIT
rm -rf "$data"

# wheel FOLDER: zig is found as `python -m ziglang` of the environment.
wheel() {
    CARGO_PROFILE_RELEASE_LTO=thin PATH="$PWD/$tools/bin:$PATH" "$tools/bin/maturin" build "${optimised[@]}" --release --locked --strip \
        --manifest-path crates/python/Cargo.toml --target "$target" \
        --zig --compatibility manylinux2014 --out "$1"
}

runs=${INFEROMETER:-}
if [ -z "$runs" ]; then
    # What is compiled for the first wheel is not compiled again for the second one.
    wheel "$made/wheel"
    "$tools/bin/python" -m zipfile -e "$made"/wheel/*.whl "$made/package"
    runs=$made/inferometer
    printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s" -m inferometer "$@"\n' "$made/package" "$PWD/$tools/bin/python" > "$runs"
    chmod +x "$runs"
fi
shell_files "$runs" "$data/data/share" zsh/site-functions
wheel "$out"
