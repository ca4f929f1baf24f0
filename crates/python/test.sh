#!/usr/bin/env bash
# Builds the Python module for development and runs its tests, in the Python environment target/python.
# Usage: crates/python/test.sh [ARGUMENTS OF PYTEST]. With PREPARE=1, it only creates the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/python
needed=crates/python/tests/requirements.txt
cmp -s "$needed" "$environment/made-of.txt" || {
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r "$needed"
    # This copy shows later calls that the environment is complete.
    cp "$needed" "$environment/made-of.txt"
}
[ -z "${PREPARE:-}" ] || exit 0
# `--tests` selects the features of the tests, so that this build and the tests use the same compiled crates.
cargo build --workspace --lib --bins --tests --locked

# Copies the package and its library, and creates the command, like an installer of the wheel.
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
