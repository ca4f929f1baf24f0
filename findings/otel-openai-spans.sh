#!/usr/bin/env bash
# opentelemetry-instrumentation-openai-v2 2.3b0 (openai 1.109.1, opentelemetry-sdk 1.45.2, wrapt 1.17.3), seen on 2026-11-29.
# Guess: a span of a chat request states what the answer states: its tokens, those from the cache, those of reasoning, and
#   the finish reason; with OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental under the newest names.
# Behaviour: a streamed request has no tokens unless the application itself asks for `include_usage`, and never a finish
#   reason. Cached and reasoning tokens are in no span, although each answer has them. The opt-in changes no name:
#   `gen_ai.system` stays, `gen_ai.provider.name` is absent. So traces made of such spans have no cache hits, and most of
#   their streamed calls have no lengths.
# Seen: plain: 9 and 2 tokens, finish reason; streamed: neither; streamed with usage: 9 and 2 tokens, no finish reason.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opentelemetry-instrumentation-openai-v2==2.3b0 \
    opentelemetry-sdk==1.45.2 openai==1.109.1 wrapt==1.17.3
OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental "$folder/venv/bin/python" - <<'PY'
import http.server
import json
import threading

from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11,
         "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 1}}
OF_ALL = {"id": "c1", "created": 1, "model": "m"}


def chunk(choices, **more):
    return {**OF_ALL, "object": "chat.completion.chunk", "choices": choices, **more}


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": "ab"}
        if asked.get("stream"):
            chunks = [chunk([{"index": 0, "delta": message, "finish_reason": None}]),
                      chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])]
            if (asked.get("stream_options") or {}).get("include_usage"):
                chunks.append(chunk([], usage=USAGE))
            body = "".join(f"data: {json.dumps(it)}\n\n" for it in chunks) + "data: [DONE]\n\n"
        else:
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = json.dumps({**OF_ALL, "object": "chat.completion", "choices": [choice], "usage": USAGE})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
OpenAIInstrumentor().instrument(tracer_provider=provider)
from openai import OpenAI

chat = OpenAI(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}/v1").chat.completions
asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
chat.create(**asked)
list(chat.create(**asked, stream=True))
list(chat.create(**asked, stream=True, stream_options={"include_usage": True}))
spans = [dict(span.attributes) for span in exporter.get_finished_spans()]
for span in spans:
    print({name: value for name, value in span.items() if name.startswith("gen_ai")})
tokens = [(span.get("gen_ai.usage.input_tokens"), span.get("gen_ai.usage.output_tokens")) for span in spans]
assert tokens == [(9, 2), (None, None), (9, 2)], tokens
assert ["gen_ai.response.finish_reasons" in span for span in spans] == [True, False, False]
names = set().union(*spans)
assert "gen_ai.system" in names and "gen_ai.provider.name" not in names, names
assert not any("cache" in name or "reasoning" in name for name in names), names
PY
