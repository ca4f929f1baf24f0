#!/usr/bin/env bash
# inference-perf 0.7.0 (Python 3.12), seen on 2026-11-30.
# Guess: `goodput_percentage` is the share of the requests that were sent, so a failed request is not good; and an answer of one
#   token, as in a test of the prefill with a length of 1, has a time to first token.
# Behaviour: failed requests are in no part of it: a server that refuses most of its load and is quick with the rest has a goodput
#   of 100 %, with the `total_requests` of those it answered. And an answer of one token has no time to first token: it is in no
#   percentile of it, and it misses every objective on it, however high, so its goodput is 0 %. The two errors can cancel out.
# Seen: of 30 requests, 10 fail, 10 answers have one token, 10 have three. All answers arrive at once; the objective is 30 s:
#   goodput 50 % of 20, where 20 of 30 are good. Of 20 answers, only those of three tokens have a time to first token.
set -euo pipefail
for python in python3 python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2> /dev/null && break
done
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile inference-perf==0.7.0
HOME=$folder TMPDIR=$folder HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - "$folder" 2> /dev/null <<'PY'
import http.server
import json
import pathlib
import subprocess
import sys
import threading

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
turn = iter([0, 1, 3] * 100)
count = threading.Lock()


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        with count:
            tokens = next(turn)
        body = ""
        if tokens:
            chunks = [{"choices": [{"index": 0, "text": " word", "finish_reason": None}]}] * tokens
            chunks.append({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})
            chunks.append({"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": tokens, "total_tokens": 2 + tokens}})
            of_all = {"id": "c", "object": "text_completion", "created": 1, "model": "m"}
            body = "".join(f"data: {json.dumps({**of_all, **it})}\n\n" for it in chunks) + "data: [DONE]\n\n"
        self.send_response(200 if tokens else 503)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
(folder / "config.yml").write_text(json.dumps({
    "api": {"type": "completion", "streaming": True}, "data": {"type": "mock"},
    "load": {"type": "constant", "num_workers": 1, "stages": [{"rate": 10, "duration": 3}]},
    "server": {"type": "vllm", "model_name": "m", "base_url": f"http://127.0.0.1:{server.server_port}", "ignore_eos": True},
    "tokenizer": {"pretrained_model_name_or_path": str(folder / "tokenizer")},
    "report": {"goodput": {"constraints": {"ttft": 30}},
               "request_lifecycle": {"per_request": True, "per_request_fields": {"computed_metrics": True}}},
    "storage": {"local_storage": {"path": str(folder / "out")}}}))
done = subprocess.run([pathlib.Path(sys.executable).parent / "inference-perf", "-c", folder / "config.yml"], timeout=150,
                      cwd=folder, capture_output=True, text=True)
assert done.returncode == 0, done.stderr[-2000:]
report = json.loads((folder / "out/summary_lifecycle_metrics.json").read_text())
answered, failed = report["successes"]["count"], report["failures"]["count"]
good = report["successes"]["goodput_metrics"]
slowest = report["successes"]["latency"]["request_latency"]["max"]
print(f"{answered + failed} requests, {failed} failed; the slowest answer took {slowest:.2f} s; objective 30 s to the first token")
print(f"goodput {good['goodput_percentage']:.0f} %: {good['good_requests']} of {good['total_requests']} requests")
rows = [row["computed_metrics"] for row in json.loads((folder / "out/per_request_lifecycle_metrics.json").read_text())
        if not row["error"]]
first = sorted((row["output_tokens"], row["time_to_first_token"] is not None) for row in rows)
print(f"with a time to first token: {sum(has for count, has in first if count == 1)} of 10 answers of one token, "
      f"{sum(has for count, has in first if count == 3)} of 10 answers of three")
assert first == [(1, False)] * 10 + [(3, True)] * 10, first
assert (answered, failed) == (20, 10) and slowest < 30, (answered, failed, slowest)
assert (good["good_requests"], good["total_requests"], good["goodput_percentage"]) == (10, 20, 50), good
PY
