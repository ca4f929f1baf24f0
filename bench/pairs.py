#!/usr/bin/env python3
"""Alternates the client with a bare reader on one load: CPU per million tokens of each whole process, less that of
a run of one request; what each says of TTFT; the ratio of every pair, the median and range of the ratios.

The client is `inferometer run` as users start it: prompts, records, kernel stamps, store, report and plots included.
Server and reader are the program's own, or any that `--server` and `--reader` name, as commands with the places
{port}, {first_ms}, {gap_ms} and {port}, {streams}, {requests}, {tokens}; such a reader prints one JSON document with
`out_tokens` and `ttft` (mean, p99, in milliseconds). With `--against BINARY` the client of another build takes the
reader's place, on the same server: whether a change made the client slower.
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
# first token and gap in milliseconds; streams, requests, tokens of each
LOADS = {
    "paced": (100, 10, 1_024, 2_048, 256),
    "slow": (100, 50, 4_096, 8_192, 64),
    "wide": (100, 10, 1_024, 4_096, 128),
    "fast": (0, 0, 64, 8_192, 128),
    "smoke": (5, 1, 8, 16, 16),
}


class Load(typing.NamedTuple):
    """What a pair of runs has in common."""

    first_ms: int
    gap_ms: int
    streams: int
    requests: int
    tokens: int

    def of_one_request(self):
        return self._replace(streams=1, requests=1)


@dataclasses.dataclass
class Run:
    """One process, from its start to its end."""

    cpu_s: float
    tokens: int
    ttft_mean_ms: float
    ttft_p99_ms: float
    peak_mib: float


def finished(command):
    """Runs a command to its end: what it printed, its CPU time, its peak memory."""
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
    """A server that lives as long as this."""

    def __init__(self, options, load):
        if options.server:
            self.port = options.port
            command = options.server.format(port=self.port, first_ms=load.first_ms, gap_ms=load.gap_ms)
            self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            while not answers(self.port):
                time.sleep(0.01)
        else:
            command = [options.binary, "check-part", "server",
                       "--first-us", str(load.first_ms * 1_000), "--gap-us", str(load.gap_ms * 1_000)]
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
        command = [options.binary, "check-part", "reader", "--server", f"127.0.0.1:{port}",
                   "--streams", str(load.streams), "--requests", str(load.requests), "--tokens", str(load.tokens)]
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
    options.add_argument("--against", metavar="BINARY", help="another build of the client, instead of the reader")
    options.add_argument("--server", help="a command instead of the program's own server")
    options.add_argument("--reader", help="a command instead of the program's own reader")
    options.add_argument("--port", type=int, default=18_431, help="of --server")
    options = options.parse_args()
    load = Load(*LOADS[options.load])
    other = "other build" if options.against else "reader"
    columns = {f"{other} us/token": [], "client us/token": [], "ratio": [], "TTFT mean beyond, ms": [],
               "TTFT p99 beyond, ms": [], "client's memory, KB/stream": []}
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
