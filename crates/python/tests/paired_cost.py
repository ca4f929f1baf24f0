#!/usr/bin/env python3
"""Compares the cost of the Python module with that of the command: both measure the same saturated load in turn.

    target/python/bin/python crates/python/tests/paired_cost.py [--pairs 12] [--requests 400] [--tokens 128] [--command FILE]

`crates/python/test.sh` creates the environment; its module is the development build. Without --command, the command
is the file `inferometer` beside this Python executable, which is the same build. The server is the embedded engine in
its own process. Both sides measure it in turn, at a speed at which the engine does not wait. Each measurement is a
process: `inferometer run` on one side, and a Python that calls `im.run` with the same plan on the other side. Every
second pair begins with the other side, so that a drift of the machine affects both. The output is the ratio Python /
command of the processor time (user and system) and of the wall time of the whole process: the geometric mean over the
pairs, with its 95 % interval by Student's t. The output also has these ratios without the time of a run of one request
(start, imports, report). The exit code is 1 if a measurement fails.
"""
import argparse
import math
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

# The 97.5 % quantile of Student's t. The index is the degrees of freedom.
T = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]
T += [2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045]
CALL = "import json, sys, inferometer as im; im.run(json.loads(sys.argv[1]), progress=False).check()"


def command(program, plan):
    words = [f"--{name.replace('_', '-')}={text(value)}" for name, value in plan.items()]
    return [*program, "run", "--quiet", *words]


def text(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def python(plan):
    import json

    return [sys.executable, "-c", CALL, json.dumps(plan)]


def measured(words, folder):
    """Returns the processor time and the wall time of a process with its children, in seconds."""
    began, before = time.monotonic(), os.times()
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    after = os.times()
    if done.returncode:
        sys.exit(f"{words[:3]}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, time.monotonic() - began


def interval(ratios):
    """Returns the geometric mean of ratios and its 95 % interval."""
    logs = [math.log(ratio) for ratio in ratios]
    half = T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.mean(logs)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def served(program, folder):
    """Starts a server for all measurements. Returns the process and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*program, "engine", "--listen", f"127.0.0.1:{port}", "--speed", "1000", "--until-stdin-closes"]
    server = subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return server, f"http://127.0.0.1:{port}"
        time.sleep(0.1)
    server.kill()
    sys.exit("the embedded engine does not listen")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12, choices=range(2, 31), metavar="2..30")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--command", type=pathlib.Path, default=pathlib.Path(sys.executable).with_name("inferometer"))
    given = parser.parse_args()
    program = [str(given.command.resolve())]
    with tempfile.TemporaryDirectory() as folder:
        server, url = served(program, folder)
        plan = dict(target=url, input_lengths=[32], output_lengths=[given.tokens], passes=["saturated"], warmup=0)

        def cost(side, requests, nth):
            own = dict(plan, requests=requests, store=f"{side}-{nth}.db", out=f"{side}-{nth}")
            return measured(python(own) if side == "python" else command(program, own), folder)

        sides = ["python", "command"]
        all_of = {side: [] for side in sides}
        least = {side: [] for side in sides}
        try:
            for side in sides:
                cost(side, 1, "first")
            for nth in range(given.pairs):
                for side in sides if nth % 2 == 0 else reversed(sides):
                    least[side].append(cost(side, 1, f"least-{nth}"))
                    all_of[side].append(cost(side, given.requests, nth))
        finally:
            server.stdin.close()
            server.wait()
    load = os.getloadavg()[1]
    print(f"{given.pairs} pairs of {given.requests} requests of {given.tokens} tokens, {os.cpu_count()} processors, "
          f"load of the machine over five minutes {load:.1f}")
    for at, name in enumerate(["processor time", "wall time"]):
        medians = {side: statistics.median(one[at] for one in all_of[side]) for side in sides}
        whole = interval([p[at] / c[at] for p, c in zip(all_of["python"], all_of["command"])])
        print(f"{name}: Python {medians['python']:.3f} s, command {medians['command']:.3f} s (medians)")
        print("  whole process: Python / command %.3f (95 %%: %.3f to %.3f)" % whole)
        net = {side: [a[at] - l[at] for a, l in zip(all_of[side], least[side])] for side in sides}
        if min(map(min, net.values())) > 0:
            print("  without a run of one request: %.3f (%.3f to %.3f)" % interval([p / c for p, c in zip(net["python"], net["command"])]))
        else:
            print("  without a run of one request: no figure, because this run took as long as all requests; "
                  "give more --requests")


if __name__ == "__main__":
    main()
