#!/usr/bin/env bash
# Builds the wheel for Linux with glibc 2.17 or later: the command and the Python module with one shared library, manual
# pages and shell completions. Usage: packaging/wheel.sh [TARGET] [FOLDER]. The script needs Python 3.9 or later. It
# installs maturin and zig (which links for old systems) from PyPI into target/packaging/venv.
# The command in the wheel writes the pages and completions. If the wheel is for another processor, INFEROMETER must
# name a command that runs on this machine and writes them.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/shell-files.sh
machine=$(uname -m)
target=${1:-$machine-unknown-linux-gnu}
out=${2:-target/wheels}
case $target in
    "$machine"-*) ;;
    *) [ -n "${INFEROMETER:-}" ] || { echo "error: $target: set INFEROMETER to a command that runs here" >&2; exit 2; } ;;
esac

# The commit that --version prints after the version. Outside of a checkout, it is empty.
export INFEROMETER_COMMIT=${INFEROMETER_COMMIT:-$(git rev-parse --short=12 HEAD 2> /dev/null || true)}
tools=target/packaging/venv
[ -x "$tools/bin/maturin" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' 'ziglang>=0.13,<0.16'
}
# maturin packs the files in this folder, which are installed in addition to the package. The folder is removed when
# this script ends.
data=crates/python/inferometer._inferometer.data
made=$(mktemp -d)
trap 'rm -rf "$made" "$data"' EXIT
rm -rf "$data"

# wheel FOLDER: builds a wheel into FOLDER. maturin calls zig as `python -m ziglang` of the environment.
wheel() {
    PATH="$PWD/$tools/bin:$PATH" "$tools/bin/maturin" build --release --locked \
        --manifest-path crates/python/Cargo.toml --target "$target" \
        --zig --compatibility manylinux2014 --compression-level 9 --out "$1"
}

runs=${INFEROMETER:-}
if [ -z "$runs" ]; then
    # The second wheel below uses the code that is compiled for this first one.
    wheel "$made/wheel"
    "$tools/bin/python" -m zipfile -e "$made"/wheel/*.whl "$made/package"
    runs=$made/inferometer
    printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s" -m inferometer "$@"\n' "$made/package" "$PWD/$tools/bin/python" > "$runs"
    chmod +x "$runs"
fi
shell_files "$runs" "$data/data/share" zsh/site-functions
wheel "$out"
