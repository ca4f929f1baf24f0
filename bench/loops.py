#!/usr/bin/env python3
"""Measures the throughput and the CPU time per token of `inferometer run --loops N` for several numbers of event loops.

    python3 bench/loops.py                 # 1, 2, 4 and 8 loops; 8 servers; 3 rounds

The load is spread over several processes of the built-in server. Each of them sends tokens as fast as the client reads
them. Every second round measures the numbers of loops in reverse order. All processes run on this machine, so the
machine needs at least twice as many cores as event loops. The output has the medians over the rounds, and their ratios
to the first number of loops. The CPU time is that of the whole process, minus that of a run with one request.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def start_server(binary):
    command = [binary, "check-part", json.dumps({"server": {"first_us": 0, "gap_us": 0}})]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return server, f"http://{server.stdout.readline().strip().rsplit('/', 1)[-1]}"


def play(options, targets, loops, requests):
    """Makes a run. Returns the number of output tokens, the tokens/s of the pass, and the CPU time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            options.binary, "run", "--dialect", "openai-completions", "--loops", str(loops),
            "--concurrency", str(min(requests, options.streams)), "--requests", str(requests), "--input-lengths", "32",
            "--output-lengths", str(options.tokens), "--warmup", "0", "--max-failures", "0%",
            "--store", f"{folder}/runs.db", "--out", f"{folder}/out", "--quiet", "--json"]
        for target in targets:
            command += ["--target", target]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        told = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    (loop,) = told["cells"][0]["passes"]
    return loop["output_tokens"], loop["output_tokens_per_s"], usage.ru_utime + usage.ru_stime


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", default=ROOT / "target" / "release" / "inferometer")
    options.add_argument("--loops", default="1,2,4,8")
    options.add_argument("--servers", type=int, help="number of servers [default: the largest number of loops]")
    options.add_argument("--streams", type=int, default=512)
    options.add_argument("--requests", type=int, default=16_384)
    options.add_argument("--tokens", type=int, default=128)
    options.add_argument("--rounds", type=int, default=3)
    options = options.parse_args()
    numbers = [int(number) for number in options.loops.split(",")]
    servers = [start_server(options.binary) for _ in range(options.servers or max(numbers))]
    rates, costs = {number: [] for number in numbers}, {number: [] for number in numbers}
    try:
        targets = [target for _, target in servers]
        for number in range(options.rounds):
            for loops in numbers if number % 2 == 0 else reversed(numbers):
                _, _, cpu_of_one_s = play(options, targets, loops, 1)
                tokens, rate, cpu_s = play(options, targets, loops, options.requests)
                rates[loops].append(rate)
                costs[loops].append((cpu_s - cpu_of_one_s) / tokens * 1e6)
    finally:
        for server, _ in servers:
            server.kill()
            server.wait()
    base_rate, base_cost = (statistics.median(values[numbers[0]]) for values in (rates, costs))
    print("loops  tokens/s  ratio   us/token  ratio")
    for loops in numbers:
        rate, cost = statistics.median(rates[loops]), statistics.median(costs[loops])
        print(f"{loops:5}  {rate:8.0f}  {rate / base_rate:5.2f}  {cost:9.2f}  {cost / base_cost:5.2f}")


if __name__ == "__main__":
    main()
