#!/usr/bin/env python3
"""Runs one load alternately with the client and with a bare reader (a program that only time-stamps each read).

For each pair, the output has the CPU time of each whole process in microseconds per token, minus that of a run with one
request; the ratio of the two CPU times; the client's TTFT minus the reader's TTFT; and the client's memory for each
stream. At the end, the output has the median and the range of each figure.

The client is `inferometer run` as users start it, with prompts, records, kernel time stamps, store, report and plots.
Server and reader are parts of the program. `--server` and `--reader` replace them by other commands. The command of a
server may contain {port}, {first_ms} and {gap_ms}; that of a reader {port}, {streams}, {requests} and {tokens}. The
reader must print a JSON document with `out_tokens` and `ttft` (`mean` and `p99`, in milliseconds).
`--against BINARY` uses the client of another build instead of the reader. This shows whether a change makes the client
slower.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import socket
import statistics
import subprocess
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The time to the first token and the time between tokens in milliseconds, the numbers of streams and requests, and the
# number of tokens of each request.
LOADS = {
    "paced": (100, 10, 1_024, 2_048, 256),
    "slow": (100, 50, 4_096, 8_192, 64),
    "wide": (100, 10, 1_024, 4_096, 128),
    "fast": (0, 0, 64, 8_192, 128),
    "smoke": (5, 1, 8, 16, 16),
}


class Load(typing.NamedTuple):
    """The load of both runs of a pair."""

    first_ms: int
    gap_ms: int
    streams: int
    requests: int
    tokens: int

    def of_one_request(self):
        return self._replace(streams=1, requests=1)


@dataclasses.dataclass
class Run:
    """The results of one process. CPU time and peak memory are measured from its start to its end."""

    cpu_s: float
    tokens: int
    ttft_mean_ms: float
    ttft_p99_ms: float
    peak_mib: float


def finished(command):
    """Runs a command until it ends. Returns its JSON output, its CPU time in seconds and its peak memory in MiB."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))}: exit code {process.returncode}")
    return json.loads(out), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Server:
    """A server process. It is killed at the end of the `with` block."""

    def __init__(self, options, load):
        if options.server:
            self.port = options.port
            command = options.server.format(port=self.port, first_ms=load.first_ms, gap_ms=load.gap_ms)
            self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            while not answers(self.port):
                time.sleep(0.01)
        else:
            pace = {"first_us": load.first_ms * 1_000, "gap_us": load.gap_ms * 1_000}
            command = [options.binary, "check-part", json.dumps({"server": pace})]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def __enter__(self):
        return self.port

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def reader(options, load, port):
    if options.against:
        return client(options, load, port, options.against)
    if options.reader:
        command = shlex.split(options.reader.format(port=port, **load._asdict()))
    else:
        part = {"server": f"127.0.0.1:{port}", "streams": load.streams, "requests": load.requests,
                "tokens": load.tokens}
        command = [options.binary, "check-part", json.dumps({"reader": part})]
    told, cpu_s, peak = finished(command)
    return Run(cpu_s, told["out_tokens"], told["ttft"]["mean"], told["ttft"]["p99"], peak)


def client(options, load, port, binary=None):
    with tempfile.TemporaryDirectory() as folder:
        command = [
            binary or options.binary, "run", "--target", f"http://127.0.0.1:{port}", "--dialect", "openai-completions",
            "--concurrency", str(load.streams), "--requests", str(load.requests), "--input-lengths", "32",
            "--output-lengths", str(load.tokens), "--warmup", "0", "--max-failures", "0%",
            "--store", f"{folder}/runs.db", "--out", f"{folder}/out", "--quiet", "--json"]
        told, cpu_s, peak = finished(command)
    (loop,) = told["cells"][0]["passes"]
    return Run(cpu_s, loop["output_tokens"], loop["ttft_ms"]["mean"], loop["ttft_ms"]["p99"], peak)


def us_per_token(run, one):
    return (run.cpu_s - one.cpu_s) / (run.tokens - one.tokens) * 1e6


def pair(options, load):
    one = load.of_one_request()
    sides = []
    for play in (reader, client):
        with Server(options, load) as port:
            sides.append((play(options, one, port), play(options, load, port)))
    return sides


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("load", choices=LOADS)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--binary", default=ROOT / "target" / "release" / "inferometer")
    options.add_argument("--against", metavar="BINARY", help="use another build of the client instead of the reader")
    options.add_argument("--server", help="use this command as the server")
    options.add_argument("--reader", help="use this command as the reader")
    options.add_argument("--port", type=int, default=18_431, help="port of the command in --server [default: 18431]")
    options = options.parse_args()
    load = Load(*LOADS[options.load])
    other = "other build" if options.against else "reader"
    columns = {f"{other} us/token": [], "client us/token": [], "ratio": [],
               f"TTFT mean minus that of the {other}, ms": [], f"TTFT p99 minus that of the {other}, ms": [],
               "client's memory, KiB/stream": []}
    for number in range(1, options.rounds + 1):
        (reader_one, reader_all), (client_one, client_all) = pair(options, load)
        bare, ours = us_per_token(reader_all, reader_one), us_per_token(client_all, client_one)
        row = (bare, ours, ours / bare, client_all.ttft_mean_ms - reader_all.ttft_mean_ms,
               client_all.ttft_p99_ms - reader_all.ttft_p99_ms,
               (client_all.peak_mib - client_one.peak_mib) * 1024 / load.streams)
        for values, value in zip(columns.values(), row):
            values.append(value)
        print(f"{options.load} {number}: " + ", ".join(
            f"{name} {value:.3f}" for name, value in zip(columns, row)), flush=True)
    for name, values in columns.items():
        print(f"{options.load}, {name}: {spread(values, 3)}")


if __name__ == "__main__":
    main()
