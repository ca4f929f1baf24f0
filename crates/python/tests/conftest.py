"""Fixtures for several test files: small plans, and a server that is written in Python."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import inferometer as im

#: A short plan: the embedded engine runs a thousand times faster than the simulated hardware.
SMALL = dict(
    speed=1000,
    input_lengths=[32],
    output_lengths=[8],
    one_by_one=3,
    requests=12,
    progress=False,
)


@pytest.fixture
def small(tmp_path):
    """The keywords of a small plan. Its files are in the temporary folder of the test."""
    return dict(SMALL, store=tmp_path / "runs.db", out=tmp_path / "report")


@pytest.fixture
def measured(small):
    return im.run(**small)


class Completions(BaseHTTPRequestHandler):
    """A server of the OpenAI dialect. It generates one word for each requested token."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        known = {"/v1/models": {"object": "list", "data": [{"id": "words", "object": "model"}]}}
        self.answer(200 if self.path in known else 404, known.get(self.path, {}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not body.get("stream"):
            return self.answer(400, {"error": {"message": "stream only"}})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        tokens = body.get("max_tokens", 1)
        for at in range(tokens):
            choice = {"index": 0, "text": " w", "finish_reason": None}
            if at + 1 == tokens:
                choice["finish_reason"] = "length"
            self.event({"id": "1", "object": "text_completion", "choices": [choice]})
        usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
        self.event({"id": "1", "object": "text_completion", "choices": [], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def event(self, document):
        self.chunk(b"data: " + json.dumps(document).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """The address of a server on a thread of this process."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}"
    listening.shutdown()
    thread.join()
    listening.server_close()
