#!/usr/bin/env bash
# inference-perf 0.7.0 (Python 3.12), seen on 2026-11-30.
# Guess: load of `type: constant` sends requests at equal gaps (its README: "Constant rate, Poisson arrival"), `type: poisson` at
#   random ones.
# Behaviour: the gaps of both are exponential. `constant` fixes only the number of requests in the stage: it draws random gaps and
#   scales them to the duration (`poisson` does so for each second, with a random number). So a "constant" load has the bursts and
#   queues of a Poisson load: its tail of the first-token latency is not comparable with that of a tool that sends at equal gaps.
#   The draws have no seed, so each run has other bursts.
# Seen: 200 requests in 10 s: gaps from under 1 ms to 300 ms, not 50 ms; 28 % under a quarter of the mean. The deviation of the
#   gaps is about as large as their mean, for `constant` as for `poisson`; at equal gaps it would be 0.
set -euo pipefail
for python in python3 python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2> /dev/null && break
done
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile inference-perf==0.7.0
HOME=$folder TMPDIR=$folder HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - "$folder" 2> /dev/null <<'PY'
import http.server
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import threading
import time

from inference_perf.loadgen.load_timer import ConstantLoadTimer, PoissonLoadTimer
from tokenizers import Tokenizer, models, pre_tokenizers

folder = pathlib.Path(sys.argv[1])
# A token is a word between spaces.
tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "<end>": 1, "word": 2}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
(folder / "tokenizer").mkdir()
tokenizer.save(str(folder / "tokenizer/tokenizer.json"))
(folder / "tokenizer/tokenizer_config.json").write_text(json.dumps(
    {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>", "unk_token": "<unk>",
     "clean_up_tokenization_spaces": False}))
arrived = []


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        arrived.append(time.monotonic())
        self.rfile.read(int(self.headers["content-length"]))
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps({"id": "c", "object": "text_completion", "created": 1, "model": "m", "usage": usage, "choices": [
            {"index": 0, "text": "word", "finish_reason": "length"}]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


def show(name, times):
    times = sorted(times)
    gaps = [after - before for before, after in zip(times, times[1:])]
    mean = statistics.mean(gaps)
    deviation = statistics.stdev(gaps) / mean
    short = sum(gap < mean / 4 for gap in gaps) / len(gaps)
    print(f"{name}: {len(times)} requests, gaps of {1000 * min(gaps):.1f} to {1000 * max(gaps):.0f} ms, mean {1000 * mean:.0f} ms, "
          f"deviation {deviation:.2f} of the mean, {100 * short:.0f} % under a quarter of it")
    return deviation, short, max(gaps) / mean


(folder / "config.yml").write_text(json.dumps({
    "api": {"type": "completion", "streaming": False}, "data": {"type": "mock"},
    "load": {"type": "constant", "num_workers": 1, "stages": [{"rate": 20, "duration": 10}]},
    "server": {"type": "vllm", "model_name": "m", "base_url": f"http://127.0.0.1:{server.server_port}", "ignore_eos": True},
    "tokenizer": {"pretrained_model_name_or_path": str(folder / "tokenizer")},
    "storage": {"local_storage": {"path": str(folder / "out")}}}))
done = subprocess.run([pathlib.Path(sys.executable).parent / "inference-perf", "-c", folder / "config.yml"], timeout=150,
                      cwd=folder, capture_output=True, text=True)
assert done.returncode == 0, done.stderr[-2000:]
assert len(arrived) == 200, len(arrived)
deviation, short, longest = show("constant, as it arrived", arrived)
assert deviation > 0.6 and short > 0.1 and longest > 2.5, (deviation, short, longest)
# The same from its timers, which no busy machine disturbs.
constant = show("constant, as planned", ConstantLoadTimer(20, 100).start_timer(0))
poisson = show("poisson, as planned", itertools.islice(PoissonLoadTimer(20, 100).start_timer(0), 2000))
for deviation, short, longest in (constant, poisson):
    assert 0.8 < deviation < 1.2 and 0.15 < short < 0.3 and longest > 4, (deviation, short, longest)
PY
