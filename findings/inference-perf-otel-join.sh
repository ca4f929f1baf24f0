#!/usr/bin/env bash
# inference-perf 0.7.0 (Python 3.12), seen on 2026-11-29.
# Guess: in a replay of OpenTelemetry spans, a call that follows two parallel sub-agents waits for both, and then as long as
#   in the trace after the last of them.
# Behaviour: a call waits for the calls whose answers its prompt repeats, and for one more: of the calls that had ended, the one
#   that *started* last. The results of sub-agents are no such answers, so the call waits for one sub-agent only. Its waiting
#   time counts from the end of that one. On a slow server it starts before the other sub-agent has ended; on a fast server it
#   starts too late.
# Seen: a helper from 1.0 to 5.0 s, one from 1.1 to 2.0 s, the next call at 6.0 s: it waits for the second one only, and then
#   4,000 ms, not 1,000 ms after the first one.
set -euo pipefail
for python in python3 python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2> /dev/null && break
done
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile inference-perf==0.7.0
HOME=$folder TMPDIR=$folder "$folder/venv/bin/python" - 2> /dev/null <<'PY'
import json

from inference_perf.datagen.replay.otel_trace_to_replay_graph import build_graph, build_raw_calls


def span(name, start, end, messages):
    return {"trace_id": "t", "span_id": name, "parent_span_id": None, "name": "chat m", "kind": "SPAN_KIND_CLIENT",
            "start_time": f"2026-01-05T09:00:{start:06.3f}Z", "end_time": f"2026-01-05T09:00:{end:06.3f}Z",
            "status": {"code": 1, "message": ""},
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9,
                           "gen_ai.usage.output_tokens": 9, "gen_ai.output.text": f"answer of {name}",
                           "gen_ai.input.messages": json.dumps(messages)}}


def user(text):
    return {"role": "user", "content": text}


asked = [user("the task")]
joined = [*asked, {"role": "assistant", "content": "answer of root-1"}, user("first result"), user("second result")]
spans = [span("root-1", 0, 0.9, asked), span("helper-1", 1, 5, [user("part one")]),
         span("helper-2", 1.1, 2, [user("part two")]), span("root-2", 6, 7, joined)]
calls, _ = build_raw_calls(spans)
found = {event.call.call_id: event for event in build_graph(calls).events.values()}
names = {event.event_id: name for name, event in found.items()}
waits = {name: ({names[at]: kind for at, kind in event.predecessor_dependency_types.items()}, event.wait_ms)
         for name, event in found.items()}
for name, (parents, wait) in waits.items():
    print(f"{name}: waits for {parents or 'nothing'}, then {wait} ms")
assert waits["helper-1"] == ({"root-1": "temporal"}, 100), waits
assert waits["helper-2"] == ({"root-1": "temporal"}, 200), waits
assert waits["root-2"] == ({"root-1": "full_match", "helper-2": "temporal"}, 4000), waits
PY
