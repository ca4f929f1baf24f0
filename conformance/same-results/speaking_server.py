#!/usr/bin/env python3
"""A server with fixed answers in every dialect (API). The embedded engine supports only some of the dialects.

    speaking_server.py [--requests FILE] [--pace SECONDS] [--status PATH=CODE ...]

The server runs no model. Each answer has as many tokens as the request asks for (4 if it states no number), one per
event. --pace is the time before each event. With --requests, the server writes each request to FILE, byte for byte
except for the port. With --status, requests for PATH get this status. The server also answers /dcgm, as a DCGM exporter
does. The server prints "listening on http://127.0.0.1:PORT", and ends when its standard input is closed.
"""
import argparse
import json
import os
import re
import socketserver
import sys
import threading
import time

STARTED = time.monotonic()
LOCK = threading.Lock()


def words(count):
    return [f" w{i}" for i in range(count)]


def whole_or_stream(path, body):
    """The messages of the answer to a request: one message if the answer is not streamed. None for an unknown path."""
    stream = body.get("stream", False) or path.endswith("_stream")
    asked = {**body, **body.get("sampling_params", {}), **body.get("parameters", {})}
    names = ("max_tokens", "max_output_tokens", "max_new_tokens", "n_predict", "max_completion_tokens")
    count = next((asked[name] for name in names if asked.get(name)), 4)
    text = "".join(words(count))
    usage = {"prompt_tokens": 10, "completion_tokens": count, "total_tokens": 10 + count}
    event = lambda value: "data: " + json.dumps(value) + "\n\n"
    named = lambda value: f"event: {value['type']}\n" + event(value)
    if path == "/v1/completions":
        choice = lambda word, why=None: {"choices": [{"index": 0, "text": word, "finish_reason": why}]}
        if not stream:
            return [json.dumps({**choice(text, "length"), "usage": usage})]
        last = {"choices": [], "usage": usage}
        return [event(choice(word)) for word in words(count)] + [
            event(choice("", "length")), event(last), "data: [DONE]\n\n"]
    if path == "/v1/chat/completions":
        if not stream:
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
            return [json.dumps({"choices": [choice], "usage": usage})]
        choice = lambda delta, why=None: {"choices": [{"index": 0, "delta": delta, "finish_reason": why}]}
        return [event(choice({"role": "assistant", "content": ""}))] + [
            event(choice({"content": word})) for word in words(count)] + [
            event(choice({}, "length")), event({"choices": [], "usage": usage}), "data: [DONE]\n\n"]
    if path == "/v1/responses":
        usage = {"input_tokens": 10, "output_tokens": count, "total_tokens": 10 + count}
        content = [{"type": "output_text", "text": text}]
        done = {"status": "completed", "usage": usage, "output": [{"type": "message", "content": content}]}
        if not stream:
            return [json.dumps(done)]
        return [named({"type": "response.created", "response": {"status": "in_progress"}})] + [
            named({"type": "response.output_text.delta", "delta": word}) for word in words(count)] + [
            named({"type": "response.completed", "response": done})]
    if path == "/v1/messages":
        usage = {"input_tokens": 10, "output_tokens": count}
        if not stream:
            return [json.dumps({"type": "message", "content": [{"type": "text", "text": text}],
                                "stop_reason": "max_tokens", "usage": usage})]
        delta = lambda word: {"type": "content_block_delta", "index": 0,
                              "delta": {"type": "text_delta", "text": word}}
        return [named({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}),
                named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                *[named(delta(word)) for word in words(count)],
                named({"type": "content_block_stop", "index": 0}),
                named({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": usage}),
                named({"type": "message_stop"})]
    if path == "/generate" and "sampling_params" in body:
        meta = lambda n, why=None: {"prompt_tokens": 10, "completion_tokens": n, "cached_tokens": 0,
                                    "finish_reason": why}
        length = {"type": "length", "length": count}
        if not stream:
            return [json.dumps({"text": text, "meta_info": meta(count, length)})]
        so_far = lambda n: {"text": "".join(words(n)), "meta_info": meta(n, length if n == count else None)}
        return [event(so_far(n + 1)) for n in range(count)] + ["data: [DONE]\n\n"]
    if path in ("/generate", "/generate_stream") and "parameters" in body:
        details = {"finish_reason": "length", "generated_tokens": count, "seed": None, "prefill": [],
                   "tokens": [{"id": n, "text": word, "logprob": -1.0, "special": False}
                              for n, word in enumerate(words(count))]}
        if not stream:
            return [json.dumps({"generated_text": text, "details": details})]
        token = lambda n, word: {"index": n + 1, "token": details["tokens"][n], "generated_text": None,
                                 "details": None}
        events = [token(n, word) for n, word in enumerate(words(count))]
        events[-1].update(generated_text=text, details={**details, "input_length": 10})
        return [event(value) for value in events]
    if path == "/generate":
        prompt = body["prompt"]
        if not stream:
            return [json.dumps({"text": [prompt + text]})]
        return [json.dumps({"text": [prompt + "".join(words(n + 1))]}) + "\0" for n in range(count)]
    if path == "/completion":
        last = {"content": "", "stop": True, "stop_type": "limit", "tokens_predicted": count,
                "tokens_evaluated": 10, "tokens": []}
        if not stream:
            return [json.dumps({**last, "content": text})]
        part = lambda n, word: {"index": 0, "content": word, "tokens": [n], "stop": False,
                                "tokens_predicted": n + 1, "tokens_evaluated": 10}
        return [event(part(n, word)) for n, word in enumerate(words(count))] + [event(last)]
    if re.fullmatch("/v2/models/[^/]+/generate(_stream)?", path):
        if not stream or path.endswith("generate"):
            return [json.dumps({"model_name": "canned", "text_output": text})]
        return [event({"model_name": "canned", "text_output": word}) for word in words(count)]
    return None


def dcgm():
    """Metrics of two cards. The energy of each card grows with time."""
    spent_mj = int((time.monotonic() - STARTED) * 300_000)
    label = lambda n: f'gpu="{n}",UUID="GPU-{n}",modelName="A card",DCGM_FI_DRIVER_VERSION="550.1"'
    return "".join(
        f"DCGM_FI_DEV_SM_CLOCK{{{label(n)}}} {1980 - n}\nDCGM_FI_DEV_GPU_UTIL{{{label(n)}}} {64 - n}\n"
        f"DCGM_FI_DEV_POWER_USAGE{{{label(n)}}} {300 - n}\n"
        f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{label(n)}}} {spent_mj}\n"
        f"DCGM_FI_DEV_FB_FREE{{{label(n)}}} 1024\nDCGM_FI_DEV_FB_USED{{{label(n)}}} 3072\n"
        for n in range(2))


class Handler(socketserver.StreamRequestHandler):
    timeout = 30
    disable_nagle_algorithm = True

    def handle(self):
        try:
            while self.one():
                pass
        except (ConnectionError, TimeoutError):
            pass

    def one(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return False
            head += line
        fields = re.search(rb"(?i)content-length: *(\d+)", head)
        raw = self.rfile.read(int(fields[1])) if fields else b""
        method, path = head.split(b" ")[:2]
        path = path.decode()
        self.server.note(head, raw)
        if path in self.server.statuses:
            return self.whole(self.server.statuses[path], "application/json", '{"error":"told to fail"}')
        if method == b"GET":
            known = {"/v1/models": json.dumps({"object": "list", "data": [{"id": "canned", "object": "model"}]}),
                     "/dcgm/metrics": dcgm(), "/dcgm": dcgm()}
            if path in known:
                return self.whole(200, "application/json", known[path])
            return self.whole(404, "application/json", '{"error":"not found"}')
        messages = whole_or_stream(path, json.loads(raw or b"{}"))
        if messages is None:
            return self.whole(404, "application/json", '{"error":"not found"}')
        if len(messages) == 1:
            return self.whole(200, "application/json", messages[0])
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n")
        for message in messages:
            time.sleep(self.server.pace)
            data = message.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")
        return True

    def whole(self, status, kind, text):
        data = text.encode()
        self.wfile.write(b"HTTP/1.1 %d Said\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
                         % (status, kind.encode(), len(data), data))
        return True


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, flags):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pace = flags.pace
        self.statuses = {path: int(code) for path, code in (s.split("=") for s in flags.status)}
        self.file = open(flags.requests, "wb") if flags.requests else None

    def note(self, head, body):
        if self.file:
            port = str(self.server_address[1]).encode()
            with LOCK:
                self.file.write(head.replace(b"127.0.0.1:" + port, b"HOST:PORT") + body + b"\n----\n")
                self.file.flush()


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--requests")
    flags.add_argument("--pace", type=float, default=0.001)
    flags.add_argument("--status", action="append", default=[])
    server = Server(flags.parse_args())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
