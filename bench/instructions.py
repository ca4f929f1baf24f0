#!/usr/bin/env python3
"""Counts the instructions that a run executes in user space, with callgrind (Debian: valgrind).

    bench/instructions.py [--binary BINARY] [--top 10]      over a network in memory, in virtual time
    bench/instructions.py --check                           and compares with the newest count in instructions.toml
    bench/instructions.py --sockets                         `inferometer run` against a server of its own

In memory, the client and the reference server are one process. Two counts of the same binary then differ by up to 2 % per
token and by less than 1 % otherwise, however busy the machine is. Over sockets, only the client is counted. How many tokens arrive between two waits depends on
the machine there, so two counts per token differ by up to 6 %.

The load is that of 32 streams and 128 requests. Each figure is the difference of two runs, so that it contains nothing that
both runs do once:
- per token: 128 requests of 240 tokens, minus 128 requests of 40 tokens;
- per request: 640 requests of 1 token, minus 128 requests of 1 token;
- per run: 128 requests of 40 tokens, minus their tokens, without plots and with the plots of a default run.

If the binary has symbols (`CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=line-tables-only`), the functions
with the most instructions per token are listed.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile
import tomllib

import pairs

STREAMS, FEW, MANY = 32, 40, 240
REQUESTS, MORE = 128, 640
RECORDED = pathlib.Path(__file__).with_name("instructions.toml")
# By how much a count may exceed the recorded one.
ALLOWED = 0.03


def counted(options, folder, requests, tokens, plots):
    """The instructions of one run, by function."""
    out = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "run"
    plan = {"concurrency": [STREAMS], "requests": requests, "input_lengths": [32], "output_lengths": [tokens],
            "warmup": 0, "seed": 1, "salt": "same", "plots": plots, "store": f"{out}.db", "out": str(out)}
    if not options.sockets:
        return callgrind(options, out, ["check-part", json.dumps({"in_memory": plan})])
    load = pairs.Load(first_ms=100, gap_ms=20, streams=STREAMS, requests=requests, tokens=tokens)
    with pairs.Server(options, load) as port:
        plan |= {"target": f"http://127.0.0.1:{port}", "dialect": "openai-completions"}
        file = out.with_suffix(".toml")
        # JSON has the same spelling of strings, numbers and arrays.
        file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in plan.items()))
        return callgrind(options, out, ["run", file, "--quiet"])


def callgrind(options, out, arguments):
    profile = out.with_suffix(".callgrind")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", options.binary, *arguments]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}\n{done.stderr}")
    return by_function(profile)


def by_function(path):
    """The instructions of each function itself, from a file of callgrind."""
    names, counts, current, is_call = {}, collections.Counter(), None, False
    for line in path.open(errors="replace"):
        if found := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line):
            kind, number, name = found.groups()
            if name:
                names[number] = re.sub(r"'\d+$", "", name)
            if kind == "fn":
                current = number
        elif line.startswith("calls="):
            # The next line has the instructions of the called function.
            is_call = True
        elif line[0].isdigit() or line[0] in "+-*":
            if not is_call:
                counts[current] += int(line.split()[1])
            is_call = False
    named = collections.Counter()
    for number, count in counts.items():
        named[names[number]] += count
    return named


def count(options):
    """The four figures, and the instructions per token of each function."""
    runs = [(REQUESTS, FEW, "none"), (REQUESTS, MANY, "none"), (REQUESTS, FEW, "png"), (REQUESTS, 1, "none"),
            (MORE, 1, "none")]
    # How many records wait for the writing thread differs from run to run, and so does the work of allocating them: the
    # smallest of several counts differs least.
    times = 1 if options.sockets else 3
    # Runs over sockets would disturb each other.
    together = 1 if options.sockets else os.cpu_count()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(together) as pool:
        found = list(pool.map(lambda run: counted(options, folder, *run), times * runs))
    least = [min(found[at::len(runs)], key=lambda run: run.total()) for at in range(len(runs))]
    few, many, drawn, one, more = least
    tokens = REQUESTS * (MANY - FEW)
    per_token = (many.total() - few.total()) / tokens
    beside = FEW * REQUESTS * per_token
    many.subtract(few)
    return {
        "per_token": round(per_token),
        "per_request": round((more.total() - one.total()) / (MORE - REQUESTS)),
        "per_run": round(few.total() - beside),
        "per_run_with_plots": round(drawn.total() - beside),
    }, {name: count / tokens for name, count in many.most_common(options.top)}


def check(figures):
    """Ends with an error if a figure is larger than the newest recorded one."""
    newest = tomllib.loads(RECORDED.read_text())["count"][-1]
    larger = {name: found for name, found in figures.items() if found > newest[name] * (1 + ALLOWED)}
    for name, found in larger.items():
        print(f"{name}: {found:,} instructions, {found / newest[name] - 1:+.1%} of {newest[name]:,} ({newest['why']})")
    if larger:
        raise SystemExit(f"If the work is worth it, add a count with its reason to {RECORDED.name}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=pairs.ROOT / "target" / "release" / "inferometer")
    parser.add_argument("--top", type=int, default=10, help="the number of functions in the list [10]")
    parser.add_argument("--sockets", action="store_true", help="count `inferometer run` over sockets")
    parser.add_argument("--check", action="store_true", help="fail if a figure exceeds the newest recorded one by 3 %%")
    options = parser.parse_args()
    options.server = None
    figures, functions = count(options)
    for name, found in figures.items():
        print(f"{name} = {found}")
    for name, found in functions.items():
        print(f"{found:8.0f}  {name[:140]}")
    if options.check:
        check(figures)


if __name__ == "__main__":
    main()
