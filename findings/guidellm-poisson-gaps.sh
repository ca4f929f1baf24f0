#!/usr/bin/env bash
# guidellm 0.8.1, seen on 2026-11-30.
# Guess: with `--profile kind=poisson,rate=10`, requests are due after gaps that are exponential and independent of each other,
#   however many processes send them. The seed only makes the sequence repeatable.
# Behaviour: each of the 10 sending processes draws its gaps from its own generator, and all have the same seed. The gaps add
#   to one common time, so each gap occurs 10 times, about in a row: bursts of 10 requests with small gaps, then 10 large gaps.
#   Counts of requests vary much more than in a Poisson load, and so do queues and the tail of the first-token latency; another
#   seed changes the gaps, not this. Only one process (GUIDELLM__MAX_WORKER_PROCESSES=1) makes a Poisson load.
# Seen: 50 gaps at 10 requests per second: 6 different ones, in order 102.01 ms nine times, 2.53 ms, 32.16 ms and 25.26 ms ten
#   times each, and so on; with one process, 50.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
# Without what its scheduler does not load, such as torch.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps guidellm==0.8.1
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile culsans==0.10.0 loguru==0.7.3 msgpack==1.2.4 \
    pydantic==2.14.4 pydantic-settings==2.16.3 uvloop==0.23.0 numpy==2.4.6 2> /dev/null
# A file, since guidellm starts its processes with it.
cat > "$folder/poisson.py" <<'PY'
import asyncio
import collections
import sys

from guidellm.scheduler import AsyncPoissonStrategy, Scheduler
from guidellm.scheduler.schemas import ConversationNode
from guidellm.scheduler.schemas.conversation_graph import GenerativeConversationGraph
from guidellm.schemas import GenerationRequest

COUNT = 70  # The last ones are not looked at: at the end, times are drawn for which there is no request.


class AtOnce:
    """A backend of guidellm whose server answers at once."""

    processes_limit = requests_limit = None
    info = {}

    async def process_startup(self):
        pass

    validate = process_shutdown = process_startup

    async def resolve(self, request, info, history=None):
        yield None, info


def graph(name):
    node = ConversationNode(node_id="n", agent_id="a", request=GenerationRequest(columns={"text_column": ["hi"]}))
    return GenerativeConversationGraph(graph_id=name, nodes={"n": node})


async def due():
    times = []
    requests = [graph(str(at)) for at in range(COUNT)]
    async for _, _, info, _ in Scheduler().run(requests, AtOnce(), AsyncPoissonStrategy(rate=10), None):
        if info.status == "completed":
            times.append((info.timings.targeted_start, info.scheduler_node_id))
    return sorted(times)


if __name__ == "__main__":
    times = asyncio.run(due())
    assert len(times) == COUNT, len(times)
    # The times are seconds since 1970, whose last digits are lost.
    gaps = [round((after - before) * 1000, 2) for (before, _), (after, _) in zip(times, times[1:])][:50]
    processes = len({process for _, process in times})
    often = collections.Counter(gaps)
    print(f"{processes} processes, {len(gaps)} gaps: {len(often)} different ones; gaps in ms and how often, in order of time:",
          ", ".join(f"{gap} x {count}" for gap, count in list(often.items())[:13]))
    assert processes == int(sys.argv[1]), processes
    again = sum(count for count in often.values() if count >= 8)
    assert (again > 35) if processes > 1 else (again == 0), often
PY
cd "$folder"
# Time for ten processes to start on a busy machine, so that none is late.
export GUIDELLM__SCHEDULER_START_DELAY_NON_DISTRIBUTED=5
HOME=$folder venv/bin/python poisson.py 10
HOME=$folder GUIDELLM__MAX_WORKER_PROCESSES=1 venv/bin/python poisson.py 1
