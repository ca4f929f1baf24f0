#!/usr/bin/env python3
"""Counts the instructions that `inferometer run` executes in user space, with callgrind (Debian: valgrind).

    bench/instructions.py [--binary BINARY] [--top 10]

A count does not depend on how busy the machine is, apart from how many tokens arrive between two waits: two counts per
token of the same binary differed by up to 6 %. The load is that
of 32 streams with a token every 20 ms, 128 requests; the server is a part of the program and a process of its own. Each
figure is the difference of two runs, so that it contains nothing that both runs do once:
- per token: 128 requests of 240 tokens, minus 128 requests of 40 tokens;
- per request: 640 requests of 1 token, minus 128 requests of 1 token;
- per run: 128 requests of 40 tokens, minus their tokens, with the plots of a default run and without plots.

If the binary has symbols (`CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=line-tables-only`), the functions
with the most instructions per token are listed.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import tempfile

import pairs

STREAMS, FEW, MANY = 32, 40, 240
REQUESTS, MORE = 128, 640


def counted(options, folder, requests, tokens, plots):
    """The instructions of one run, by function."""
    out = pathlib.Path(folder) / f"{requests}-{tokens}-{plots}"
    load = pairs.Load(first_ms=100, gap_ms=20, streams=STREAMS, requests=requests, tokens=tokens)
    with pairs.Server(options, load) as port:
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}.callgrind", options.binary, "run", "--target",
            f"http://127.0.0.1:{port}", "--dialect", "openai-completions", "--concurrency", STREAMS, "--requests", requests,
            "--input-lengths", 32, "--output-lengths", tokens, "--warmup", 0, "--seed", 1, "--plots", plots,
            "--store", f"{out}.db", "--out", out, "--quiet"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}\n{done.stderr}")
    return by_function(pathlib.Path(f"{out}.callgrind"))


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=pairs.ROOT / "target" / "release" / "inferometer")
    parser.add_argument("--top", type=int, default=10, help="the number of functions in the list [10]")
    options = parser.parse_args()
    options.server = None
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *load, plots="none": counted(options, folder, *load, plots)
        few, many = run(REQUESTS, FEW), run(REQUESTS, MANY)
        requests = run(MORE, 1).total() - run(REQUESTS, 1).total()
        drawn = run(REQUESTS, FEW, plots="png").total()
    tokens = REQUESTS * (MANY - FEW)
    per_token = (many.total() - few.total()) / tokens
    print(f"per token: {per_token:,.0f}")
    print(f"per request of 32 tokens in and 1 out: {requests / (MORE - REQUESTS):,.0f}")
    beside = FEW * REQUESTS * per_token
    print(f"per run beside its tokens: {(few.total() - beside) / 1e6:,.0f} million without plots, "
          f"{(drawn - beside) / 1e6:,.0f} million with plots")
    many.subtract(few)
    for name, count in many.most_common(options.top):
        print(f"{count / tokens:8.0f}  {name[:140]}")


if __name__ == "__main__":
    main()
