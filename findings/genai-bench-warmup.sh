#!/usr/bin/env bash
# genai-bench 0.0.5, seen on 2026-11-30.
# Guess: `--warmup-ratio` and `--cooldown-ratio` cut requests at both ends, and the tokens per second are those of the part that is
#   kept. `error_rate` is the share of failed requests.
# Behaviour: the tokens are those of the kept requests, but they are divided by the duration of the whole run, so a ratio of 0.3
#   at both ends makes the server seem 2.5 times slower. Requests per second count all requests, so the two figures do not fit each
#   other. `error_rate` is always 0: it is computed before the number of requests, by which it is divided, is set; its warning
#   at 0.5 never comes. The same file has the right number of errors.
# Seen: each second request fails with 503: error_rate 0, about half of all are errors. With both ratios 0.3, tokens per second
#   times duration is about 40 % of the tokens that were sent.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile genai-bench==0.0.5
HOME=$folder TMPDIR=$folder HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - "$folder" <<'PY'
import http.server
import importlib.util
import json
import pathlib
import subprocess
import sys
import threading
import time

from tokenizers import Tokenizer, models, pre_tokenizers

folder = pathlib.Path(sys.argv[1])
# A token is a word between spaces. (An import of genai_bench would change how threads work.)
package = pathlib.Path(importlib.util.find_spec("genai_bench").origin).parent
words = (package / "data/sonnet.txt").read_text().split()
vocabulary = {word: at for at, word in enumerate(dict.fromkeys(["<unk>", "<end>", *words]))}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
(folder / "tokenizer").mkdir()
tokenizer.save(str(folder / "tokenizer/tokenizer.json"))
(folder / "tokenizer/tokenizer_config.json").write_text(json.dumps(
    {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>", "unk_token": "<unk>",
     "clean_up_tokenization_spaces": False}))
count = 0


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, text):
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
        self.wfile.flush()

    def chunk(self, choices, **more):
        self.say("data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                                        "choices": choices, **more}) + "\n\n")

    def do_POST(self):
        global count
        count += 1
        self.rfile.read(int(self.headers["content-length"]))
        if count % 2:
            time.sleep(0.1)
            self.send_response(503)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for _ in range(10):
            self.chunk([{"index": 0, "delta": {"role": "assistant", "content": "word "}, "finish_reason": None}])
            time.sleep(0.01)
        self.chunk([{"index": 0, "delta": {}, "finish_reason": "length"}])
        self.chunk([], usage={"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20})
        self.say("data: [DONE]\n\n")
        self.say("")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.handle_error = lambda *_: None  # It closes connections at the end of the run.
threading.Thread(target=server.serve_forever, daemon=True).start()
command = [pathlib.Path(sys.executable).parent / "genai-bench", "benchmark", "--api-backend", "openai", "--api-base",
           f"http://127.0.0.1:{server.server_port}", "--api-key", "none", "--api-model-name", "m", "--model", "m",
           "--model-tokenizer", folder / "tokenizer", "--task", "text-to-text", "--traffic-scenario", "D(10,10)",
           "--num-concurrency", "4", "--max-time-per-run", "1", "--max-requests-per-run", "80", "--warmup-ratio", "0.3",
           "--cooldown-ratio", "0.3", "--experiment-base-dir", folder, "--experiment-folder-name", "out"]
done = subprocess.run(command, timeout=200, cwd=folder, capture_output=True, text=True)
assert done.returncode == 0, done.stderr[-3000:]
figures = json.loads(next((folder / "out").glob("D10_10_*.json")).read_text())["aggregated_metrics"]
errors, good, total = (figures[name] for name in ("num_error_requests", "num_completed_requests", "num_requests"))
print(f"{errors} of {total} requests failed ({100 * errors / total:.0f} %), error_rate {figures['error_rate']}")
assert errors > 0.3 * total and figures["error_rate"] == 0, figures
duration = figures["run_duration"]
rate = figures["mean_output_throughput_tokens_per_s"]
tokens = 10 * good
print(f"{good} answers of 10 tokens in {duration:.2f} s are {tokens / duration:.1f} tokens/s; the file says {rate:.1f} tokens/s "
      f"({100 * rate * duration / tokens:.0f} %) and {figures['requests_per_second']:.2f} requests/s")
assert 0.25 < rate * duration / tokens < 0.55, (rate, duration, tokens)
assert abs(figures["requests_per_second"] * duration - good) < 0.01, figures
PY
