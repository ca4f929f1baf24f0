#!/usr/bin/env python3
"""Alternates the client and the bare reader on one load; prints CPU per million tokens and ratios."""
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "target" / "release" / "inferometer"
# first token and gap in microseconds; streams, requests, tokens of each
LOADS = {"paced": (100_000, 10_000, 1_024, 2_048, 256), "fast": (0, 0, 64, 8_000, 128)}


def part(name, *arguments):
    done = subprocess.run([BINARY, "check-part", name, *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def pair(load):
    first, gap, streams, requests, tokens = LOADS[load]
    server = subprocess.Popen(
        [BINARY, "check-part", "server", "--first-us", str(first), "--gap-us", str(gap)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip().rsplit("/", 1)[1]
        flags = ["--server", address, "--streams", streams, "--requests", requests, "--tokens", tokens]
        return [measured["cpu_s"] / measured["tokens"] * 1e6
                for measured in (part("reader", *flags), part("client", *flags))]
    finally:
        server.kill()
        server.wait()


def main():
    load, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    ratios = []
    for number in range(1, rounds + 1):
        reader, client = pair(load)
        ratios.append(client / reader)
        print(f"{load} {number}: reader {reader:.2f}, client {client:.2f} CPU s per million tokens, "
              f"ratio {ratios[-1]:.3f}", flush=True)
    print(f"{load}: ratio {statistics.median(ratios):.3f} (median), {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
