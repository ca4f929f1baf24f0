#!/usr/bin/env python3
"""Measures how often the intervals of a pass contain the true value, by simulating the same load with many seeds.

    conformance/coverage/coverage.py target/release/inferometer [--seeds 200] [--to FILE.jsonl] [...]

Each seed gives other arrivals, other noise and other lengths. For each seed and each number of requests, one process
simulates all loads as passes of one prediction (`inferometer predict`). FILE gets one line for each process. A call
with the same settings adds the missing processes, and prints the table of all lines with these settings.

The true value of a figure is:
- for a mean or a throughput: the mean over all seeds;
- for a quantile of TTFT, TPOT or E2E: the quantile over the requests of all seeds;
- for a quantile of ITL: the mean over all seeds, because the single gaps are not stored.

An interval is a statement about runs under the same conditions. So the default noise contains nothing that stays the
same for longer than a pass (no drift, no warm-up).

Two kinds of load have an engine of their own (llama-3.1-8b, fp8, on an L40S), because most passes of other engines
state no interval or do not show the problem:
- limited: arrivals above the capacity with a limit of requests in flight, and equal lengths. The requests run in
  lockstep, so that one pass shows one pattern;
- exponential and lognormal: closed loops with random output lengths. Their duration includes the end of the longest
  answer;
- classes: two classes of traffic with objectives of their own. The figures of each class are checked, too: means, medians
  and the share of requests that meet the objectives.

The columns of the table are:
- passes: the number of passes;
- stated: the share of passes that state an interval;
- holds the truth: the share of these intervals that contain the true value (it should be 95 %) +- two standard errors;
- half/1.96sd: half the width of an interval (median), divided by 1.96 standard deviations of the figure over the seeds;
  it is 1 if the width is right;
- effective: the median of the effective numbers of requests; for rates, which state none, those of the mean E2E;
- truth: the true value.

At the end, the script lists the cells (a load and a figure) that miss a limit: fewer than 91 % of the intervals contain
the true value, or half/1.96sd is above 1.5. The second limit is 2.5 if there are fewer than 20 effective requests: the
variance of so few is known only to a factor, and Student's t makes their intervals wider. With at least 600 requests of
the two kinds of load above, at least 80 % of the passes must state an interval of each mean and median. The exit code is
1 if a cell misses a limit by more than chance explains: the first limit by more than two standard errors (Wilson), the
others with at least 30 passes.
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
# The figures of a pass that are checked. The other latencies of a pass follow from these.
LOOKED_AT = (*SAMPLES, "itl_ms", "requests_per_s", "output_tokens_per_s")
LEAST_SHARE = 0.91
FEWEST_WIDTHS = 30
# The least share of passes that state a mean or a median, with at least so many requests, of loads in `SPECIAL`.
LEAST_STATED, OF_REQUESTS = 0.8, 600
SPECIAL = ("limited", "exponential", "lognormal")
CLASSES = ("chat; rate=5; input=512; output=lognormal:128,64; goodput=ttft<120ms,tpot<16ms",
           "batch; rate=1; input=2048; output=256; goodput=e2e<4s")
# The engine of these loads.
L40S = ("--model", "llama-3.1-8b", "--card", "l40s", "--weights", "fp8", "--input-lengths", "938")
# The form of the lines of FILE. Lines of another form are not used.
FORMAT = 3
# The largest half/1.96sd: with at least FEW effective requests, and with fewer.
WIDEST, WIDEST_OF_FEW, FEW = 1.5, 2.5, 20


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda kind: lambda text: [kind(part) for part in text.split(",") if part]
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=200, help="number of seeds [200]")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N", help="the first seed [0]")
    parser.add_argument("--requests", type=numbers(int), default=[100, 400, 2000], metavar="N,...",
                        help="requests of each pass with --concurrency or --shares [100,400,2000]")
    parser.add_argument("--one-by-one", type=numbers(int), default=[10, 100], metavar="N,...",
                        help="requests of passes with one request at a time [10,100]; '' for no such pass")
    parser.add_argument("--concurrency", type=numbers(int), default=[8, 64], metavar="N,...",
                        help="requests in flight of closed loops [8,64]; '' for no such pass")
    parser.add_argument("--shares", type=numbers(float), default=[0.3, 0.7, 0.9], metavar="S,...",
                        help="Poisson arrivals at these shares of the capacity [0.3,0.7,0.9]; '' for no such pass")
    parser.add_argument("--limited", type=numbers(int), default=[600], metavar="N,...",
                        help="requests of passes at 16 requests/s with at most 16 in flight [600]; '' for no such pass")
    parser.add_argument("--random-lengths", type=numbers(int), default=[400, 2000], metavar="N,...",
                        help="requests of closed loops of 16 and 64 with random output lengths [400,2000]; '' for no "
                             "such pass")
    parser.add_argument("--classes", type=numbers(int), default=[600], metavar="N,...",
                        help="requests of passes with two classes of traffic [600]; '' for no such pass")
    parser.add_argument("--capacity", type=float, metavar="R",
                        help="the capacity in requests/s [measured with 2000 requests of the same lengths at once, "
                             "without noise]")
    parser.add_argument("--model", default="chatglm3-6b")
    parser.add_argument("--lengths", default="128x32", metavar="INxOUT", help="input and output tokens [128x32]")
    parser.add_argument("--range-ratio", type=float, metavar="R",
                        help="random lengths, from 1 - R to 1 + R times --lengths")
    parser.add_argument("--noise", default="step=0.05", metavar="PART,...",
                        help="noise of the engine [step=0.05]; '' for no noise")
    parser.add_argument("--more", default="", metavar="'FLAGS'", help="more flags of `inferometer predict`")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time [2]")
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path("coverage.jsonl"),
                        metavar="FILE", help="file for the results of the processes [coverage.jsonl]")
    given = parser.parse_args()
    if not given.binary.is_file():
        parser.error(f"{given.binary}: there is no such program")
    if "x" not in given.lengths:
        parser.error(f"--lengths {given.lengths}: write it as 128x32")
    return given


def predict(given, flags, read):
    """Makes a prediction. Returns the result of `read`, which gets the summary and the path of the store."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="coverage-"))
    try:
        command = [given.binary.resolve(), "predict", "--json", "--quiet", "--plots", "none",
                   "--store", folder / "s.db", "--out", folder / "o", *flags]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=folder)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
        return read(json.loads(done.stdout), folder / "s.db")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def figures(part, path=()):
    """The figures of a pass, by name: value, interval (None if there is none), effective number of requests."""
    found = {}
    effective = part.get("effective_n")
    for key, value in part.items():
        name = ".".join((*path, key))
        if key.endswith("_ci"):
            base = key[:-3]
            if base in part:
                found[".".join((*path, base))] = [part[base], bounds(value), effective]
            elif isinstance(value, dict):
                # This object has the intervals of several figures.
                for figure, interval in value.items():
                    if isinstance(part.get(figure), (int, float)):
                        found[".".join((*path, figure))] = [part[figure], bounds(interval), effective]
        elif isinstance(value, dict) and key in LOOKED_AT:
            found.update(figures(value, (*path, key)))
        elif key in ("requests_per_s", "output_tokens_per_s") or (path and key in ("mean", "p50", "p90", "p99")):
            found.setdefault(name, [value, None, effective])
    return {name: figure for name, figure in found.items() if name.split(".")[0] in LOOKED_AT}


def with_classes(one):
    """The figures of a pass and of its classes, and the shares of requests that met objectives."""
    found = figures(one)
    for part in one.get("classes", []):
        kept = {name: of for name, of in figures(part).items() if name.endswith((".mean", ".p50"))}
        found |= {f"{part['class']} {name}": of for name, of in kept.items()}
    for part in (one, *one.get("classes", [])):
        if met := part.get("goodput"):
            name = " ".join(filter(None, (part.get("class"), "attainment")))
            found[name] = [met["attainment"], bounds(met.get("attainment_ci")), None]
    return found


def bounds(interval):
    if isinstance(interval, dict):
        interval = [interval.get(low, interval.get(other)) for low, other in (("low", "lo"), ("high", "hi"))]
    return interval if isinstance(interval, list) and None not in interval else None


def played(summary, store):
    """The passes of a prediction: load, number of requests, figures, and the latencies of all requests."""
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
        passes.append({"load": one["load"], "requests": one["planned"], "figures": with_classes(one),
                       "samples": samples[number]})
    return passes


def engine_and_lengths(given):
    inputs, outputs = given.lengths.split("x")
    ratio = [] if given.range_ratio is None else ["--range-ratio", given.range_ratio]
    return ["--model", given.model, "--input-lengths", inputs, "--output-lengths", outputs, *ratio, *given.more.split()]


def jobs_of(given, capacity):
    """The processes of one seed: the name and the flags of each."""
    noise = ["--noise", given.noise] if given.noise else []
    base = [*engine_and_lengths(given), *noise]
    for count in given.one_by_one:
        yield f"one by one {count}", [*base, "--passes", "one_by_one", "--one-by-one", count]
    loads = []
    if given.concurrency:
        loads += ["--concurrency", ",".join(map(str, given.concurrency))]
    if given.shares:
        loads += ["--rate", ",".join(f"{share * capacity:.4g}" for share in given.shares)]
    for count in given.requests if loads else []:
        yield f"loops {count}", [*base, *loads, "--requests", count]
    for count in given.limited:
        yield f"limited {count}", [*L40S, "--output-lengths", 256, "--rate", 16, "--max-in-flight", 16,
                                   "--requests", count, *noise]
    for count in given.random_lengths:
        for kind in ("exponential:128", "lognormal:128,128"):
            yield f"{kind} {count}", [*L40S, "--output-distribution", kind, "--concurrency", "16,64",
                                      "--requests", count, *noise]
    for count in given.classes:
        classes = [word for one in CLASSES for word in ("--class", one)]
        yield f"classes {count}", [*L40S[:-2], *classes, "--requests", count, *noise]


def play(given, settings, done, jobs):
    """Runs the missing processes. Writes a line to the file when a process ends."""
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    missing = [(seed, *job) for seed in seeds for job in jobs if (seed, job[0]) not in done]
    if not missing:
        return
    print(f"{len(missing)} predictions are missing, {len(done)} are in the file", file=sys.stderr)

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
    """The results in the file with these settings. Incomplete lines are ignored."""
    done = {}
    if path.exists():
        for number, text in enumerate(path.read_text().splitlines(), 1):
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                print(f"{path}: line {number} is incomplete, so its prediction is made again", file=sys.stderr)
                continue
            if line["settings"] == settings:
                done[line["seed"], line["job"]] = line["passes"]
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            with path.open("a") as file:
                file.write("\n")
    return done


def quantile(values, share):
    """The quantile by linear interpolation, as the program computes quantiles."""
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
          f"{'half/1.96sd':>11} {'effective':>9} {'truth':>11}")
    pooled, missed, cells, is_good = {}, [], 0, True
    for (job, load, requests), passes in cases.items():
        is_special = job.startswith(SPECIAL)
        load = f"{job.split(':')[0].split()[0]}, {load}" if is_special else load
        names = sorted({name for one in passes for name in one["figures"]})
        for name in names:
            all_of = [one["figures"][name] for one in passes if name in one["figures"]]
            all_of = [figure for figure in all_of if figure[0] is not None]
            values = [value for value, _, _ in all_of]
            stated = [interval for _, interval, _ in all_of if interval]
            numbers = effective_numbers(name, passes)
            effective = statistics.median(numbers) if numbers else None
            if len(values) < 2:
                continue
            true = truth(name, passes, values)
            spread = statistics.stdev(values)
            # The stored latencies are rounded to nanoseconds.
            slack = 1e-6 + 1e-9 * abs(true)
            hits = sum(low - slack <= true <= high + slack for low, high in stated)
            row = [f"{load[:38]:<38} {requests:>8}  {name:<22} {len(passes):>6}",
                   f"{100 * len(stated) / len(passes):>6.0f}%"]
            if stated:
                half = statistics.median((high - low) / 2 for low, high in stated)
                relative = half / (1.96 * spread) if spread > 0 else None
                row += [f"{share(hits, len(stated)):>17}", f"{'-' if relative is None else f'{relative:.2f}':>11}",
                        f"{'-' if effective is None else f'{effective:.0f}':>9}"]
                cells += 1
                why, is_by_chance = what_is_missed(hits, len(stated), relative, effective)
                is_good &= is_by_chance
                if why:
                    part = f"stated by {100 * len(stated) / len(passes):.0f} % of {len(passes)} passes"
                    part += ", chance may explain it" if is_by_chance else ""
                    missed.append(f"  {load}, {requests} requests, {name}: {why} ({part})")
            must_state = is_special and requests >= OF_REQUESTS and name.endswith((".mean", ".p50"))
            if must_state and len(stated) < LEAST_STATED * len(passes):
                is_good &= len(passes) < FEWEST_WIDTHS
                missed.append(f"  {load}, {requests} requests, {name}: stated by {len(stated)} of {len(passes)} passes")
            if not stated:
                row += [f"{'-':>17}", f"{'-':>11}", f"{'-':>9}"]
            of = pooled.setdefault(name, [0, 0, 0])
            of[0] += hits
            of[1] += len(stated)
            of[2] += len(passes)
            print(" ".join(row), f"{true:>11.5g}")
    print("\nall loads together")
    for name, (hits, stated, passes) in sorted(pooled.items()):
        print(f"  {name:<22} {passes:>6} passes, {100 * stated / passes:>4.0f}% stated, {share(hits, stated)}")
    print(f"\n{len(missed)} of {cells} cells miss a limit")
    print("\n".join(missed))
    return is_good


def effective_numbers(name, passes):
    """The effective numbers of requests of the passes that state an interval of this figure."""
    of_rate = name if "." in name else "e2e_ms.mean"
    stating = [one["figures"] for one in passes if (one["figures"].get(name) or [None, None])[1]]
    numbers = [figures[of_rate][2] for figures in stating if of_rate in figures]
    return [number for number in numbers if number is not None]


def what_is_missed(hits, of, relative, effective):
    """The limits that a cell misses, in words, and whether chance may explain all of them. Empty if it misses none."""
    widest = WIDEST if effective is not None and effective >= FEW else WIDEST_OF_FEW
    parts, is_by_chance = [], True
    if hits / of < LEAST_SHARE:
        parts.append(f"{share(hits, of)} contain the true value, the minimum is {100 * LEAST_SHARE:.0f} %")
        is_by_chance = highest_share(hits, of) >= LEAST_SHARE
    if relative is not None and relative > widest:
        parts.append(f"half/1.96sd is {relative:.2f}, the maximum is {widest}")
        is_by_chance &= of < FEWEST_WIDTHS
    return "; ".join(parts), is_by_chance


def highest_share(hits, of, z=2):
    """The upper end of Wilson's interval of a share, with z standard errors."""
    part = hits / of
    middle = part + z * z / (2 * of)
    return (middle + z * math.sqrt(part * (1 - part) / of + z * z / (4 * of * of))) / (1 + z * z / of)


def share(hits, of):
    if not of:
        return "-"
    part = hits / of
    return f"{100 * part:.1f} ± {200 * math.sqrt(max(part * (1 - part), 1e-9) / of):.1f} %"


def main():
    given = arguments()
    at_once = [*engine_and_lengths(given), "--passes", "saturated", "--requests", "2000"]
    needs_capacity = given.shares and not given.capacity
    capacity = predict(given, at_once, lambda summary, _: summary["cells"][0]["requests_per_s"]) \
        if needs_capacity else given.capacity or 0
    print(f"capacity {capacity:.4g} requests/s", file=sys.stderr)
    jobs = list(jobs_of(given, capacity))
    settings = {"format": FORMAT, "jobs": [[name, [str(flag) for flag in flags]] for name, flags in jobs]}
    done = kept(given.to, settings)
    play(given, settings, done, jobs)
    sys.exit(0 if table(done) else 1)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, KeyboardInterrupt) as why:
        sys.exit(f"coverage.py: {why or 'interrupted; to continue, start it again with the same settings'}")
