#!/usr/bin/env python3
"""How often the intervals of a pass hold the truth, by predictions of one load with many seeds.

    conformance/coverage/coverage.py target/release/inferometer [--seeds 200] [--to FILE.jsonl] [...]

Each seed is a run of its own: other arrivals, other noise, other lengths. All loads of one number of requests are
passes of one prediction, so that a seed takes as many processes as there are numbers of requests. What was played is
kept in FILE, a line for each process; a call with the same settings goes on where the last one ended, and any call
prints the table of all lines with its settings.

Truth: of a mean and a throughput the mean over seeds; of a quantile of TTFT, TPOT and E2E the quantile over the
requests of all seeds; of one of ITL, whose gaps are not kept, the mean over seeds. An interval speaks of a run like
this one, so the noise by default has nothing that stays the same for longer than a pass (no drift, no warm-up).

Columns: passes; the share of them that state an interval; how often these intervals hold the truth (95 % is meant),
with twice its own standard error; half their width (median) over 1.96 standard deviations of the figure over seeds,
which is 1 where the width is right; the truth.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

SAMPLES = ("ttft_ms", "tpot_ms", "e2e_ms")
# What of a pass is looked at; its other latencies are these in other words.
LOOKED_AT = (*SAMPLES, "itl_ms", "requests_per_s", "output_tokens_per_s")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda kind: lambda text: [kind(part) for part in text.split(",") if part]
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=200, help="runs of each load [200]")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N", help="the first seed [0]")
    parser.add_argument("--requests", type=numbers(int), default=[100, 400, 2000], metavar="N,...",
                        help="requests of each loop [100,400,2000]")
    parser.add_argument("--one-by-one", type=numbers(int), default=[10, 100], metavar="N,...",
                        help="requests one by one [10,100]; none with ''")
    parser.add_argument("--concurrency", type=numbers(int), default=[8, 64], metavar="N,...",
                        help="closed loops [8,64]; none with ''")
    parser.add_argument("--shares", type=numbers(float), default=[0.3, 0.7, 0.9], metavar="S,...",
                        help="Poisson arrivals at these shares of the capacity [0.3,0.7,0.9]; none with ''")
    parser.add_argument("--capacity", type=float, metavar="R",
                        help="requests/s; else those of 2000 requests at once, without noise")
    parser.add_argument("--model", default="chatglm3-6b")
    parser.add_argument("--lengths", default="128x32", metavar="INxOUT", help="lengths [128x32]")
    parser.add_argument("--range-ratio", type=float, metavar="R",
                        help="lengths drawn from R times to once those of --lengths")
    parser.add_argument("--noise", default="step=0.05", metavar="PART,...",
                        help="of the engine [step=0.05]; none with ''")
    parser.add_argument("--more", default="", metavar="'FLAGS'", help="further flags of predict")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once [2]")
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path("coverage.jsonl"),
                        metavar="FILE", help="what was played [coverage.jsonl]")
    given = parser.parse_args()
    if not given.binary.is_file():
        parser.error(f"{given.binary}: there is no such program")
    if "x" not in given.lengths:
        parser.error(f"--lengths {given.lengths}: write it as 128x32")
    return given


def predict(given, flags, read):
    """Plays a prediction and gives what `read` makes of its summary and its store."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="coverage-"))
    try:
        inputs, outputs = given.lengths.split("x")
        command = [given.binary.resolve(), "predict", "--model", given.model, "--json", "--quiet",
                   "--input-lengths", inputs, "--output-lengths", outputs,
                   "--store", folder / "s.db", "--out", folder / "o", *given.more.split(), *flags]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=folder)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
        return read(json.loads(done.stdout), folder / "s.db")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def figures(part, path=()):
    """The figures of a pass that have an interval, or could have one: name, value, interval."""
    found = {}
    for key, value in part.items():
        name = ".".join((*path, key))
        if key.endswith("_ci"):
            base = key[:-3]
            if base in part:
                found[".".join((*path, base))] = [part[base], bounds(value)]
            elif isinstance(value, dict):
                # One object with the intervals of several figures.
                for figure, interval in value.items():
                    if isinstance(part.get(figure), (int, float)):
                        found[".".join((*path, figure))] = [part[figure], bounds(interval)]
        elif isinstance(value, dict) and key in LOOKED_AT:
            found.update(figures(value, (*path, key)))
        elif key in ("requests_per_s", "output_tokens_per_s") or (path and key in ("mean", "p50", "p90", "p99")):
            found.setdefault(name, [value, None])
    return {name: figure for name, figure in found.items() if name.split(".")[0] in LOOKED_AT}


def bounds(interval):
    if isinstance(interval, dict):
        interval = [interval.get(low, interval.get(other)) for low, other in (("low", "lo"), ("high", "hi"))]
    return interval if isinstance(interval, list) and None not in interval else None


def played(summary, store):
    """The passes of a prediction: their loads, figures and the latencies of their requests."""
    passes = []
    samples = [{metric: [] for metric in SAMPLES} for _ in summary["cells"][0]["passes"]]
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as rows:
        query = ("SELECT pass, ttft_ms, e2e_ms, output_tokens FROM v_requests "
                 "WHERE outcome = 'complete' ORDER BY pass, request")
        for number, ttft, e2e, tokens in rows.execute(query):
            of = samples[number]
            of["e2e_ms"].append(round(e2e, 6))
            if ttft is not None:
                of["ttft_ms"].append(round(ttft, 6))
                if tokens > 1:
                    of["tpot_ms"].append(round((e2e - ttft) / (tokens - 1), 6))
    rows.close()
    for number, one in enumerate(summary["cells"][0]["passes"]):
        passes.append({"load": one["load"], "requests": one["planned"], "figures": figures(one),
                       "samples": samples[number]})
    return passes


def jobs_of(given, capacity):
    """The processes of one seed: a name, and their flags."""
    noise = ["--noise", given.noise] if given.noise else []
    lengths = [] if given.range_ratio is None else ["--range-ratio", str(given.range_ratio)]
    for count in given.one_by_one:
        yield f"one by one {count}", ["--passes", "one_by_one", "--one-by-one", count, *noise, *lengths]
    loads = []
    if given.concurrency:
        loads += ["--concurrency", ",".join(map(str, given.concurrency))]
    if given.shares:
        loads += ["--rate", ",".join(f"{share * capacity:.4g}" for share in given.shares)]
    for count in given.requests if loads else []:
        yield f"loops {count}", [*loads, "--requests", count, *noise, *lengths]


def play(given, settings, done, jobs):
    """Plays what is missing, a line of the file for each process as it ends."""
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    missing = [(seed, *job) for seed in seeds for job in jobs if (seed, job[0]) not in done]
    if not missing:
        return
    print(f"{len(missing)} predictions to play, {len(done)} are there", file=sys.stderr)

    def one(seed, name, flags):
        return seed, name, predict(given, [*flags, "--seed", seed, "--salt", f"seed {seed}"], played)

    with given.to.open("a") as file, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        running = [pool.submit(one, *job) for job in missing]
        try:
            for number, ended in enumerate(concurrent.futures.as_completed(running), 1):
                seed, name, passes = ended.result()
                line = {"settings": settings, "seed": seed, "job": name, "passes": passes}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
                file.flush()
                done[seed, name] = passes
                if sys.stderr.isatty() or number % 50 == 0 or number == len(missing):
                    print(f"{number} of {len(missing)}", file=sys.stderr)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def kept(path, settings):
    """What the file has of these settings. A last line that was cut is left out."""
    done = {}
    if path.exists():
        for number, text in enumerate(path.read_text().splitlines(), 1):
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                print(f"{path}: line {number} is not whole and is played again", file=sys.stderr)
                continue
            if line["settings"] == settings:
                done[line["seed"], line["job"]] = line["passes"]
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            with path.open("a") as file:
                file.write("\n")
    return done


def quantile(values, share):
    """By linear interpolation, as the program's own."""
    position = share * (len(values) - 1)
    low = math.floor(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


def truth(name, passes, values):
    metric, _, statistic = name.partition(".")
    if metric in SAMPLES and statistic.startswith("p"):
        pooled = sorted(value for one in passes for value in one["samples"][metric])
        return quantile(pooled, float(f"0.{statistic[1:]}"))
    return statistics.fmean(values)


def table(done):
    cases = {}
    for (seed, job), passes in sorted(done.items()):
        for one in passes:
            cases.setdefault((job, one["load"], one["requests"]), []).append(one)
    print(f"{'load':<38} {'requests':>8}  {'figure':<22} {'passes':>6} {'stated':>7} {'holds the truth':>17} "
          f"{'half/1.96sd':>11} {'truth':>11}")
    pooled = {}
    for (_, load, requests), passes in cases.items():
        names = sorted({name for one in passes for name in one["figures"]})
        for name in names:
            all_of = [one["figures"][name] for one in passes if name in one["figures"]]
            all_of = [(value, interval) for value, interval in all_of if value is not None]
            values = [value for value, _ in all_of]
            stated = [interval for _, interval in all_of if interval]
            if len(values) < 2:
                continue
            true = truth(name, passes, values)
            spread = statistics.stdev(values)
            # Samples are kept to the nanosecond.
            slack = 1e-6 + 1e-9 * abs(true)
            hits = sum(low - slack <= true <= high + slack for low, high in stated)
            row = [f"{load[:38]:<38} {requests:>8}  {name:<22} {len(passes):>6}",
                   f"{100 * len(stated) / len(passes):>6.0f}%"]
            if stated:
                half = statistics.median((high - low) / 2 for low, high in stated)
                relative = f"{half / (1.96 * spread):.2f}" if spread > 0 else "-"
                row += [f"{share(hits, len(stated)):>17}", f"{relative:>11}"]
            else:
                row += [f"{'-':>17}", f"{'-':>11}"]
            of = pooled.setdefault(name, [0, 0, 0])
            of[0] += hits
            of[1] += len(stated)
            of[2] += len(passes)
            print(" ".join(row), f"{true:>11.5g}")
    print("\nover all loads")
    for name, (hits, stated, passes) in sorted(pooled.items()):
        print(f"  {name:<22} {passes:>6} passes, {100 * stated / passes:>4.0f}% stated, {share(hits, stated)}")


def share(hits, of):
    if not of:
        return "-"
    part = hits / of
    return f"{100 * part:.1f} ± {200 * math.sqrt(max(part * (1 - part), 1e-9) / of):.1f} %"


def main():
    given = arguments()
    at_once = ["--passes", "saturated", "--requests", "2000"]
    capacity = given.capacity or predict(
        given, at_once, lambda summary, _: summary["cells"][0]["requests_per_s"])
    print(f"capacity {capacity:.4g} requests/s", file=sys.stderr)
    jobs = list(jobs_of(given, capacity))
    settings = {"model": given.model, "lengths": given.lengths, "more": given.more,
                "jobs": [[name, [str(flag) for flag in flags]] for name, flags in jobs]}
    done = kept(given.to, settings)
    play(given, settings, done, jobs)
    table(done)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, KeyboardInterrupt) as why:
        sys.exit(f"coverage.py: {why or 'interrupted; call it again to go on'}")
