#!/usr/bin/env bash
# mistral-common 1.13.1 (sentencepiece 0.2.3), seen on 2026-11-29.
# Guess: the system prompt stands at the begin of the prompt, so a second turn begins with the whole prompt of the first,
#   and a prefix cache serves it.
# Behaviour: the tokenizers v2 and v3 put the system prompt into the
#   *last* message of the user. It moves with each turn: turn 2 has only `<s>` and `[INST]` in common with turn 1, and the
#   server computes the system prompt again. v1 and v7 keep it at the front.
# Seen: v1 253 of 253 tokens in common, v2 2 of 248, v3 2 of 248, v7 248 of 248.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mistral-common==1.13.1 sentencepiece==0.2.3
"$folder/venv/bin/python" - <<'PY'
from mistral_common.protocol.instruct.messages import AssistantMessage, SystemMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

system = SystemMessage(content="You are a careful assistant who answers in one short sentence. " * 20)
first = [system, UserMessage(content="first question")]
second = [*first, AssistantMessage(content="first answer"), UserMessage(content="second question")]
seen = {}
for name in ("v1", "v2", "v3", "v7"):
    tokenizer = getattr(MistralTokenizer, name)()
    one, two = (tokenizer.encode_chat_completion(ChatCompletionRequest(messages=messages)).tokens
                for messages in (first, second))
    common = next((at for at, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
    seen[name] = (common, len(one))
    print(f"{name}: turn 2 begins with {common} of the {len(one)} tokens of turn 1")
assert seen == {"v1": (253, 253), "v2": (2, 248), "v3": (2, 248), "v7": (248, 248)}, seen
PY
