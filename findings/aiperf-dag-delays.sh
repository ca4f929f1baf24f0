#!/usr/bin/env bash
# aiperf 0.13.0, seen on 2026-11-29.
# Guess: in a file of `dag_jsonl`, each turn waits for its `delay` (its description: "milliseconds to wait before dispatching
#   this turn").
# Behaviour: the first turn of a spawned session does not wait, nor does the turn that joins spawned sessions; only the second
#   and later turns of one session wait. So the time of an agent before it starts sub-agents, and after they ended, is lost.
# Seen: delays of 2,000 ms at each turn: the second turns of the root and of the helper wait, the first turn of the helper and
#   the join start at once. The job takes 4 s, not 8 s.
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


def turn(name, **more):
    return {"messages": [{"role": "user", "content": name}], "max_tokens": 1, **more}


sessions = [
    {"session_id": "root", "turns": [turn("root-1"), turn("root-2", delay=2000, spawns=["helper"]), turn("join", delay=2000)]},
    {"session_id": "helper", "turns": [turn("helper-1", delay=2000), turn("helper-2", delay=2000)]}]
(folder / "job.jsonl").write_text("".join(json.dumps(it) + "\n" for it in sessions))
profile("dag_jsonl", folder / "job.jsonl", "--concurrency", "1")
seen = {asked["messages"][-1]["content"]: at for at, asked in arrived}
order = ["root-1", "root-2", "helper-1", "helper-2", "join"]
assert sorted(seen, key=seen.get) == order, seen
waited = {after: seen[after] - seen[before] for before, after in zip(order, order[1:])}
for name, seconds in waited.items():
    print(f"{name}: {seconds * 1000:.0f} ms after the call before it")
assert waited["root-2"] > 1.9 and waited["helper-2"] > 1.9, waited
assert waited["helper-1"] < 1 and waited["join"] < 1, waited
PY
