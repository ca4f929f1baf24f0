#!/usr/bin/env bash
# inference-perf 0.7.0 (Python 3.12), seen on 2026-11-29.
# Guess: a replay of a Weka trace sends prompts of the recorded lengths. The head of weka_trace_replay_datagen.py says so: the
#   answers of the server are discarded, and texts made beforehand take their place, so that all offsets stay as recorded.
# Behaviour: the answers of the server do go into the next prompts. The place of an answer has whole blocks, so a shorter answer
#   shortens the prompt, and all that follows is at another offset. And if a first user message has no whole block, as many
#   tokens as it had are cut off the end of the *system* message of the next call: a prefix cache no longer finds that block.
#   No setting changes this.
# Seen: the file says 350, 470 and 600 tokens; 350, 406 and 516 are sent. The second call has 290 of the 320 tokens of the
#   system message. So 34 tokens are missing for an answer of 30 in a block of 64, and 30 for the first user message.
set -euo pipefail
for python in python3 python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2> /dev/null && break
done
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile inference-perf==0.7.0
HOME=$folder TMPDIR=$folder HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - "$folder" <<'PY'
import http.server
import json
import pathlib
import subprocess
import sys
import threading

import inference_perf
from tokenizers import Tokenizer, models, pre_tokenizers

folder = pathlib.Path(sys.argv[1])
# A token is a word between spaces.
words = (pathlib.Path(inference_perf.__file__).parent / "assets/shakespeare.txt").read_text().split()
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
    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        arrived.append({"asked": asked["max_tokens"],
                        "words": [(message["role"], len(message["content"].split())) for message in asked["messages"]]})
        said = " ".join(["word"] * asked["max_tokens"])
        usage = {"prompt_tokens": 1, "completion_tokens": asked["max_tokens"], "total_tokens": 1 + asked["max_tokens"]}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage, "choices": [
            {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "length"}]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()


def call(t, tokens, output, blocks):
    return {"t": t, "type": "n", "model": "m", "in": tokens, "out": output, "hash_ids": list(range(1, blocks + 1)),
            "input_types": ["text"], "output_types": ["text"], "stop": "", "api_time": 0.1}


(folder / "trace").mkdir()
(folder / "trace/job.json").write_text(json.dumps({
    "id": "job", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "tool_tokens": 200, "system_tokens": 100,
    "requests": [call(0, 350, 30, 5), call(0.2, 470, 44, 7), call(0.4, 600, 50, 9)]}))
(folder / "config.yml").write_text(json.dumps({
    "api": {"type": "chat", "streaming": False},
    "data": {"type": "weka_trace_replay", "weka_trace_replay": {
        "trace_directory": str(folder / "trace"), "use_static_model": True, "static_model_name": "m"}},
    "load": {"type": "trace_session_replay", "num_workers": 1, "stages": [{"concurrent_sessions": 1}]},
    "server": {"type": "vllm", "model_name": "m", "base_url": f"http://127.0.0.1:{server.server_port}"},
    "tokenizer": {"pretrained_model_name_or_path": str(folder / "tokenizer")},
    "storage": {"local_storage": {"path": str(folder / "out")}}}))
done = subprocess.run([pathlib.Path(sys.executable).parent / "inference-perf", "-c", folder / "config.yml"], timeout=120,
                      cwd=folder, capture_output=True, text=True)
assert done.returncode == 0, done.stderr[-2000:]
for it in arrived:
    print(f"asks {it['asked']} tokens: {sum(count for _, count in it['words'])} tokens sent: {it['words']}")
sent = {it["asked"]: it["words"] for it in arrived}
assert sent[30] == [("system", 320), ("user", 30)], sent
assert sent[44] == [("system", 290), ("assistant", 30), ("user", 86)], sent
assert sum(count for _, count in sent[50]) == 516, sent
PY
