#!/usr/bin/env bash
# aiperf 0.13.0, seen on 2026-11-29.
# Guess: rows of a Mooncake file with `session_id` are whole prompts, as rows without it are, so a second row that repeats the
#   blocks of the first one is sent with its `input_length`. And the first row of another session, which a sub-agent has in
#   such a file, waits for what it follows.
# Behaviour: a row is what is new. It is sent after the rows before it and after the answers of the server, and blocks that it
#   repeats are sent again. First rows of sessions are sent at their timestamp, however late other sessions are.
# Seen: rows of 128 and 256 tokens, the second one with the two blocks of the first: 128 and 385 words are sent, the blocks
#   twice. With a server that takes a second, the row of another session with a timestamp of 500 ms arrives before its answer.
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
        time.sleep(1)
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


def row(session, tokens, blocks, **more):
    return {"session_id": session, "input_length": tokens, "output_length": 1, "hash_ids": blocks, **more}


rows = [row("root", 128, [1, 2], timestamp=0), row("helper", 64, [9], timestamp=500), row("root", 256, [1, 2, 3, 4], delay=100)]
(folder / "rows.jsonl").write_text("".join(json.dumps(it) + "\n" for it in rows))
profile("mooncake_trace", folder / "rows.jsonl", "--isl-block-size", "64")
texts = [" ".join(message["content"] for message in asked["messages"]) for _, asked in arrived]
for (at, _), text in zip(arrived, texts):
    print(f"after {(at - arrived[0][0]) * 1000:.0f} ms: {len(text.split())} words")
lengths = [len(text.split()) for text in texts]
assert lengths == [128, 64, 128 + 1 + 256], lengths
assert texts[2].count(texts[0]) == 2
assert arrived[1][0] - arrived[0][0] < 0.9, arrived
PY
