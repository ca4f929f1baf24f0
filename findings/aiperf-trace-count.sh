#!/usr/bin/env bash
# aiperf 0.13.0, seen on 2026-11-29.
# Guess: a Weka trace is played once, and each of its prompts is made of plain words.
# Behaviour: without a count, 10 requests are sent, however many the file has: the trace begins again with the same words, and
#   ends in mid-job. A server with a prefix cache finds the whole prompts of the second time, so its hits are too high. The
#   "theoretical" hits that AIPerf prints count each time as the first. `--conversation-num 1` plays it once (the help says that
#   this flag is for synthetic data). And with a Mooncake trace, the text of each block begins with the begin or end token of
#   the tokenizer, as text of the user's message.
# Seen: a Weka trace of 3 calls: 10 requests, 7 of them with prompts that were sent before, and "theoretical" hits of 47.4 % of
#   the blocks, as if none were; 3 requests with the flag. A Mooncake row of two blocks: its end token `<end>` twice.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile aiperf==0.13.0
HOME=$folder TMPDIR=$folder "$folder/venv/bin/python" - "$folder" <<'PY'
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time

import aiperf
from tokenizers import Tokenizer, models, pre_tokenizers

folder = pathlib.Path(sys.argv[1])
# A token is a word between spaces.
words = (pathlib.Path(aiperf.__file__).parent / "dataset/generator/assets/shakespeare.txt").read_text().split()
vocabulary = {word: at for at, word in enumerate(dict.fromkeys(["<unk>", "<end>", *words]))}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
(folder / "tokenizer").mkdir()
tokenizer.save(str(folder / "tokenizer/tokenizer.json"))
(folder / "tokenizer/tokenizer_config.json").write_text(json.dumps(
    {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>", "unk_token": "<unk>",
     "clean_up_tokenization_spaces": False}))
arrived = []


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        arrived.append((time.monotonic(), asked))
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage, "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "word"}, "finish_reason": "stop"}]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


def profile(kind, file, *arguments):
    command = [pathlib.Path(sys.executable).parent / "aiperf", "profile", "--model", "m", "--endpoint-type", "chat",
               "--url", f"http://127.0.0.1:{server.server_port}", "--tokenizer", folder / "tokenizer",
               "--prompt-corpus", "sonnet", "--custom-dataset-type", kind, "--input-file", file, "--workers-max", "1",
               "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics", "--artifact-dir", folder / "out", *arguments]
    done = subprocess.run(command, timeout=120, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    return json.loads((folder / "out/profile_export_aiperf.json").read_text())


def call(t, tokens, blocks):
    return {"t": t, "type": "n", "model": "m", "in": tokens, "out": 1, "hash_ids": list(range(1, blocks + 1)),
            "input_types": ["text"], "output_types": ["text"], "stop": "", "api_time": 0.01}


(folder / "job.json").write_text(json.dumps({
    "id": "job", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "tool_tokens": 0, "system_tokens": 0,
    "requests": [call(0, 128, 2), call(0.1, 256, 4), call(0.2, 384, 6)]}))
figures = profile("weka_trace", folder / "job.json", "--concurrency", "1")
prompts = [json.dumps(asked["messages"]) for _, asked in arrived]
again = sum(prompt in prompts[:at] for at, prompt in enumerate(prompts))
theoretical = figures["theoretical_prefix_cache_hit"]["avg"]
print(f"{len(prompts)} requests, {again} of them as before, {theoretical:.1f} % theoretical hits")
assert (len(prompts), again) == (10, 7), (len(prompts), again)
# Three times 2, 4 and 6 blocks with 0, 2 and 4 hits, then 2 blocks more.
assert abs(theoretical - 100 * 18 / 38) < 0.1, theoretical
arrived.clear()
profile("weka_trace", folder / "job.json", "--concurrency", "1", "--conversation-num", "1")
print(f"{len(arrived)} requests with --conversation-num 1")
assert len(arrived) == 3
arrived.clear()
row = {"timestamp": 0, "input_length": 128, "output_length": 1, "hash_ids": [1, 2]}
(folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
profile("mooncake_trace", folder / "rows.jsonl", "--isl-block-size", "64")
text = json.dumps(arrived[0][1]["messages"])
print(f"Mooncake: {text.count('<end>')} times <end> in {text[:80]}...")
assert text.count("<end>") == 2, text
PY
