#!/usr/bin/env bash
# Builds the Python module for development and runs its tests, in an environment of its own.
# Usage: crates/python/test.sh [ARGUMENTS OF PYTEST]; with PREPARE=1 it makes the environment alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/python
needed=crates/python/tests/requirements.txt
cmp -s "$needed" "$environment/made-of.txt" || {
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r "$needed"
    # Whoever finds it knows that nothing is missing.
    cp "$needed" "$environment/made-of.txt"
}
[ -z "${PREPARE:-}" ] || exit 0
# With the features of all tests, so that what they were built with serves here too.
cargo build --workspace --lib --bins --tests --locked

# What an installer does with a wheel: the package, its library, and the command.
site=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
rm -rf "$site/inferometer"
cp -r crates/python/python/inferometer "$site/"
cp target/debug/lib_inferometer.so "$site/inferometer/_inferometer.abi3.so"
cat > "$environment/bin/inferometer" <<END
#!$PWD/$environment/bin/python
import sys
from inferometer.__main__ import main
sys.exit(main())
END
chmod +x "$environment/bin/inferometer"
"$environment/bin/python" -m pytest -q -p no:cacheprovider crates/python/tests "$@"
