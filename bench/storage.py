#!/usr/bin/env python3
"""Measures how many bytes a token takes in the run log, beside the entropy of what the log stores for it.

    bench/storage.py [--binary BINARY]

For each token, the log stores three times that vary at random, in ticks of 100 ns: its arrival after the previous token, the
delay until the program read it, and the width of the interval in which it arrived. All figures and their errors are computed
from these times again. The sum of the three entropies is what independent values would take at least. Values that depend on
each other, such as those of tokens that one read brought, take less.
"""
import argparse
import collections
import json
import math
import pathlib
import subprocess
import tempfile

import pairs

LOADS = {
    "32 streams, 20 ms": pairs.Load(first_ms=100, gap_ms=20, streams=32, requests=128, tokens=240),
    "256 streams, 10 ms": pairs.Load(first_ms=100, gap_ms=10, streams=256, requests=512, tokens=128),
    "64 streams, as fast as sent": pairs.Load(first_ms=0, gap_ms=0, streams=64, requests=1_024, tokens=128),
}


def entropy(values):
    """The empirical entropy of values, in bytes for each."""
    counts = collections.Counter(values)
    shares = [count / len(values) for count in counts.values()]
    return -sum(share * math.log2(share) for share in shares) / 8


def measured(options, load):
    """The size of the log in bytes, and the events of its streams."""
    with tempfile.TemporaryDirectory() as folder, pairs.Server(options, load) as port:
        store = pathlib.Path(folder) / "runs.db"
        run = [options.binary, "run", "--target", f"http://127.0.0.1:{port}", "--dialect", "openai-completions",
               "--concurrency", load.streams, "--requests", load.requests, "--input-lengths", 32, "--output-lengths",
               load.tokens, "--warmup", 0, "--plots", "none", "--store", store, "--out", folder, "--quiet"]
        subprocess.run([str(part) for part in run], check=True, stdout=subprocess.DEVNULL)
        export = [options.binary, "export", "--what", "events", "--format", "jsonl", "--store", store]
        rows = subprocess.run(export, check=True, capture_output=True, text=True).stdout.splitlines()
        [log] = pathlib.Path(folder).rglob("*.log")
        return log.stat().st_size, [json.loads(row) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=pairs.ROOT / "target" / "release" / "inferometer")
    options = parser.parse_args()
    options.server = None
    print("| load | bytes per token | entropy: arrival | delay | width | sum | bytes / sum |\n|---|---|---|---|---|---|---|")
    for name, load in LOADS.items():
        size, events = measured(options, load)
        arrived = [event for event in events if event["arrival_ns"] is not None]
        pairs_of_events = zip(arrived, arrived[1:])
        gaps = [(b["arrival_ns"] - a["arrival_ns"]) // 100 for a, b in pairs_of_events if a["request"] == b["request"]]
        delays = [(event["user_ns"] - event["arrival_ns"]) // 100 for event in arrived]
        widths = [(event["arrival_ns"] - (event["empty_before_ns"] or 0)) // 100 for event in arrived]
        parts = [entropy(values) for values in (gaps, delays, widths)]
        taken = size / (load.requests * load.tokens)
        cells = [taken, *parts, sum(parts), taken / sum(parts)]
        print(f"| {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")


if __name__ == "__main__":
    main()
