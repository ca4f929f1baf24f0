#!/usr/bin/env bash
# evalscope 1.14.1, seen on 2026-11-30.
# Guess: the "KV Cache Hit Rate (%)" of `evalscope perf --multi-turn` comes from the `cached_tokens` of the answers; it is absent
#   if the server sends none, as many servers do by default.
# Behaviour: without `cached_tokens`, each turn counts the whole prompt and answer of the turn before it as hits. So the report
#   states what a perfect cache would reach, also for a server without any cache, and nothing marks it as computed: in the
#   summary, in the table of traces (where the "Eligible Cache Hit Rate (%)" is then always 100), and in the cached tokens per
#   second. Two servers that do not send the field look the same, however many prompts they compute again.
# Seen: 3 conversations of 4 turns; without the field 72.4 % and 100 % eligible, with a field of 0 it is 0 % and 0 %.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
# Without what `evalscope perf` does not load.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps evalscope==1.14.1
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile aiohttp==3.14.5 colorlog==6.12.0 datasets==4.8.4 \
    docstring_parser==0.18.0 editdistance==0.8.1 fastapi==0.165.0 filetype==1.2.0 jinja2==3.1.6 jsonlines==4.0.0 \
    jsonschema==4.26.0 openai==3.57.0 pillow==13.0.0 pydantic==2.14.4 python-dotenv==1.2.4 requests==2.34.2 rich==15.0.0 \
    simplejson==4.3.0 sse-starlette==3.7.0 tabulate==0.10.0 tqdm==4.70.1 uvicorn==0.54.0 2> /dev/null
HOME=$folder TMPDIR=$folder HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - "$folder" 2> /dev/null <<'PY'
import contextlib
import http.server
import json
import os
import pathlib
import sys
import threading

folder = pathlib.Path(sys.argv[1])
os.chdir(folder)
told = {}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        # A token is a word between spaces.
        words = sum(len(message["content"].split()) for message in asked["messages"])
        usage = {"prompt_tokens": words, "completion_tokens": 10, "total_tokens": words + 10, **told}
        message = {"role": "assistant", "content": " ".join(["word"] * 10)}
        if asked.get("stream"):
            chunks = [{"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                      {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
            body = "".join("data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **it})
                           + "\n\n" for it in chunks) + "data: [DONE]\n\n"
        else:
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                               "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


def user(count):
    return {"role": "user", "content": " ".join(["word"] * count)}


# The answers of the file are not used.
answer = {"role": "assistant", "content": "word"}
talk = [user(100), answer, user(20), answer, user(20), answer, user(20)]
(folder / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for _ in range(3)))

from evalscope.perf.arguments import Arguments
from evalscope.perf.main import run_perf_benchmark


def rates(name, more):
    told.clear()
    told.update(more)
    with contextlib.redirect_stdout(sys.stderr):
        run_perf_benchmark(Arguments(
            model="m", url=f"http://127.0.0.1:{server.server_port}/v1/chat/completions", api="openai", dataset="custom_multi_turn",
            dataset_path=str(folder / "talks.jsonl"), multi_turn=True, number=3, parallel=1, max_tokens=10, stream=True,
            no_test_connection=True, outputs_dir=str(folder / name)))
    summary = json.loads(next((folder / name).rglob("benchmark_summary.json")).read_text())
    traces = json.loads(next((folder / name).rglob("trace_summary.json")).read_text())["rows"]
    eligible = next(row["mean"] for row in traces if row["metric"] == "Eligible Cache Hit Rate (%)")
    seen = (round(summary["KV Cache Hit Rate (%)"], 1), round(eligible, 1))
    print(f"{name}: {seen[0]} % KV cache hit rate, {seen[1]} % of the eligible ({summary['Total Requests']} requests)")
    return seen


# Turns of 100, 130, 160 and 190 tokens; 110, 140 and 170 are those of the turns before.
assert rates("no cached_tokens", {}) == (round(100 * 420 / 580, 1), 100), "without"
assert rates("cached_tokens of 0", {"prompt_tokens_details": {"cached_tokens": 0}}) == (0, 0), "with"
PY
