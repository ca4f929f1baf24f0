#!/usr/bin/env python3
"""Adds one new part of each kind to a copy of the code, builds the copy, and checks that each part appears everywhere.

    conformance/one-of-each/one_of_each.py [--check] [--keep FOLDER]

This tests the table "Where a change goes" in ARCHITECTURE.md for eight kinds: a metric of requests, a metric of whole
passes, a finding, a chart, a load model, a workload, a dialect and a flag. Each part is a file in `added/`, plus the
lines in ADDED below; a flag has no file. Schemas and expected files of tests are not checked. With `--check`, the script
only checks that the copy compiles; this takes about a minute if the dependencies have been compiled before.
"""
import argparse
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# For each kind: the new file and its place. Then for each inserted text: the file, the text before it, and the text.
ADDED = {
    "metric": [
        ("decode_time.rs", "crates/model/src/metrics/decode_time.rs"),
        ("crates/model/src/metrics/mod.rs", "pub mod e2e;\n", "pub mod decode_time;\n"),
        ("crates/model/src/metrics/mod.rs", "    &e2e::FROM_SENT,\n", "    &decode_time::DEFINITION,\n"),
    ],
    "metric of a pass": [
        ("planned_rate.rs", "crates/model/src/metrics/planned_rate.rs"),
        ("crates/model/src/metrics/mod.rs", "pub mod e2e;\n", "pub mod planned_rate;\n"),
        ("crates/model/src/metrics/mod.rs", "    &failures::DEFINITION,\n", "    &planned_rate::DEFINITION,\n"),
    ],
    "finding": [
        ("even_outputs.rs", "crates/analysis/src/inspect/even_outputs.rs"),
        ("crates/analysis/src/inspect.rs", "mod cut_off;\n", "mod even_outputs;\n"),
        ("crates/analysis/src/inspect.rs", "checks! {\n", "    even_outputs::EvenOutputs,\n"),
    ],
    "chart": [
        ("attempts.rs", "crates/report/src/charts/attempts.rs"),
        ("crates/report/src/charts/mod.rs", "mod blocks;\n", "mod attempts;\n"),
        ("crates/report/src/charts/mod.rs", "timeline::charts", ", attempts::charts"),
    ],
    "load": [
        ("bursts.rs", "crates/model/src/load/pass/bursts.rs"),
        ("crates/model/src/load/pass/mod.rs", "mod at_once;\n", "mod bursts;\n"),
        ("crates/model/src/load/pass/mod.rs", "load_models! {\n",
         "    /// Groups of requests.\n    Bursts(bursts::BurstsPlan),\n"),
        ("crates/plan/src/resolve/passes.rs", '            "saturated" => passes.push(PassPlan::saturated(requests)),\n',
         '            "bursts" => passes.push(PassPlan::Bursts(inferometer_model::load::BurstsPlan { requests })),\n'),
    ],
    "workload": [
        ("repeated_word.rs", "crates/workload/src/repeated_word.rs"),
        ("crates/workload/src/lib.rs", "mod random;\n", "mod repeated_word;\n"),
        ("crates/workload/src/lib.rs", "        WorkloadPlan::Random => Box::new(RandomWords),\n",
         "        WorkloadPlan::RepeatedWord => Box::new(repeated_word::RepeatedWord),\n"),
        ("crates/plan/src/spec/workload_plan.rs", "    Random,\n", "    /// One repeated word.\n    RepeatedWord,\n"),
        ("crates/plan/src/spec/workload_plan.rs", '            Self::Prefix(_) => "prefix",\n',
         '            Self::RepeatedWord => "repeated-word",\n'),
        ("crates/plan/src/spec/workload_plan.rs", "            Self::Random | Self::Drawn(_) | Self::Classes(_) | Self::Prefix(_) => None,\n",
         "            Self::RepeatedWord => None,\n"),
        ("crates/plan/src/spec/workload.rs", "static WORKLOADS: [WorkloadDefinition; 11] = [\n",
         '    WorkloadDefinition { name: "repeated-word", keys: &[], resolve: |_, _, _| WorkloadPlan::RepeatedWord },\n'),
    ],
    "dialect": [
        ("plain_completions.rs", "crates/wire/src/dialect/plain_completions.rs"),
        ("crates/wire/src/dialect/mod.rs", "mod openai_completions;\n", "mod plain_completions;\n"),
        ("crates/wire/src/dialect/mod.rs", "    &openai_completions::DIALECT,\n", "    &plain_completions::DIALECT,\n"),
    ],
    "flag": [
        None,
        ("crates/plan/src/spec/keys.rs", "    pub cooldown: Option<Value>,\n",
         "    /// Pause after the warm-up of each cell [default: none]\n"
         '    #[serde(skip_serializing_if = "Option::is_none")]\n'
         '    #[arg(long, value_name = "TIME", help_heading = "Load")]\n'
         "    pub settle: Option<Value>,\n"),
        ("crates/plan/src/resolve/mod.rs", "    pub cooldown: Option<Duration>,\n",
         "    /// The pause after the warm-up of each cell.\n"
         '    #[serde(default, with = "optional_nanoseconds", skip_serializing_if = "Option::is_none")]\n'
         "    pub settle: Option<Duration>,\n"),
        ("crates/plan/src/resolve/mod.rs", 'self.cooldown.as_ref(), values::span),\n',
         '            settle: mistakes.read("settle", self.settle.as_ref(), values::span),\n'),
        ("crates/run/src/session/passes.rs", "        self.request.events.emit(Event::WarmUpEnded);\n",
         "        self.runner.rest(plan.settle.unwrap_or_default()).map_err(RunError::Sockets)?;\n"),
    ],
}
# Lists that are arrays: the file, the text before the length, and the number of new entries.
COUNTS = [
    ("crates/wire/src/dialect/mod.rs", "static DIALECTS: [&Dialect; ", 1),
    ("crates/report/src/charts/mod.rs", "const OF_RUN: [OfRun; ", 1),
    ("crates/plan/src/spec/workload.rs", "static WORKLOADS: [WorkloadDefinition; ", 1),
]


def copied(folder):
    """Copies the files that git tracks, as they are in the working tree."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def add(folder):
    """Writes the new files and lines. Prints how many lines each kind needs in addition to its file."""
    for kind, parts in ADDED.items():
        new, lines = parts[0], parts[1:]
        if new:
            shutil.copy(HERE / "added" / new[0], folder / new[1])
        for name, anchor, line in lines:
            path = folder / name
            text = path.read_text()
            if anchor not in text:
                sys.exit(f"{kind}: {name} has no line `{anchor.strip()}`: correct the table ADDED")
            path.write_text(text.replace(anchor, anchor + line, 1))
        print(f"{kind:8} {'a file' if new else 'no file'} and {sum(line.count(chr(10)) or 1 for _, _, line in lines)} lines in "
              f"{len({name for name, _, _ in lines})} files")
    for name, before, more in COUNTS:
        path = folder / name
        head, tail = path.read_text().split(before, 1)
        number, rest = tail.split("]", 1)
        path.write_text(f"{head}{before}{int(number) + more}]{rest}")


def cargo(folder, target, command, *arguments):
    """Runs a cargo command in the copy."""
    subprocess.run(["cargo", command, "--workspace", "--locked", "--quiet", *arguments], cwd=folder,
                   env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=True)


def look(binary, folder):
    """Checks each part in all outputs that users see. Returns the names of the checks that fail."""
    def run(*arguments):
        done = subprocess.run([binary, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"inferometer {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    measured = run("run", "--speed", "100", "--input-lengths", "32", "--output-lengths", "8", "--one-by-one", "4",
                   "--requests", "8", "--passes", "table,bursts", "--workload", "repeated-word", "--dialect", "plain-completions", "--settle", "1ms",
                   "--goodput", "decode_time<60s",
                   "--slo", "decode_time_p99<60s,planned_per_s>0", "--store", "runs.db", "--out", "out", "--json", "--yes")
    summary = json.loads(measured)
    passes = summary["cells"][0]["passes"]
    run("export", "latest", "--store", "runs.db", "--format", "csv", "--out", "rows.csv")
    columns = next(csv.reader(open(folder / "rows.csv")))
    compared = run("compare", "latest", "latest", "--store", "runs.db", "--json")
    again = run("report", "latest", "--store", "runs.db", "--out", "again", "--json")
    predicted = run("predict", "--input-lengths", "32", "--output-lengths", "8", "--requests", "8", "--one-by-one", "4",
                    "--passes", "table,bursts", "--json")
    found = lambda code: any(finding["code"] == code for finding in summary["findings"])
    rows_of_passes = next(csv.reader(open(folder / "out/cells.csv")))
    view = sqlite3.connect(folder / "runs.db").execute("SELECT DISTINCT figure FROM v_figures").fetchall()
    page = (folder / "out/report.html").read_text()
    text = (folder / "out/report.md").read_text()
    return [name for name, holds in {
        "metric in `metrics`": "decode_time (ms" in run("metrics"),
        "metric in the results of each pass": all("decode_time_ms" in one for one in passes),
        "metric as an objective": any("decode_time" in json.dumps(one) for one in summary["verdict"]["slo"]),
        "metric as goodput": all("decode_time" in one["goodput"]["objectives"] for one in passes),
        "metric in exported rows": "decode_time_ms" in columns,
        "metric in the report": "Decode time" in text and "Decode time" in page,
        "metric in comparisons": "decode_time_p50" in compared,
        "metric in the views of the store": ("decode_time_p50_ms",) in view and ("planned_requests_per_s",) in view,
        "metric of a pass in `metrics`": "planned_per_s (requests/s" in run("metrics"),
        "metric of a pass in the results of each pass": all("planned_requests_per_s" in one for one in passes),
        "metric of a pass in the results of each cell": "planned_requests_per_s" in summary["cells"][0],
        "metric of a pass as an objective": any("planned_per_s" in one["objective"] for one in summary["verdict"]["slo"]),
        "metric of a pass in tables": "Planned/s" in text and "Planned/s" in page,
        "metric of a pass in comparisons": "planned_requests_per_s" in compared,
        "metric of a pass in rows of passes": "planned_requests_per_s" in rows_of_passes,
        "metric in a report from the log": json.loads(again) == summary,
        "finding in `findings`": "outputs_are_even" in run("findings"),
        "finding in results, report and page": found("outputs_are_even") and "outputs_are_even" in text + page,
        "chart as a file": (folder / "out/attempts.png").is_file(),
        "chart in report and page": "attempts.png" in text and "Planned requests by pass" in page,
        "load model as a pass": [one["kind"] for one in passes] == ["one_by_one", "saturated", "open"],
        "load model in the report": "bursts of 4 requests" in text and "bursts of 4 requests" in page,
        "load model in predictions": len(json.loads(predicted)["cells"][0]["passes"]) == 3,
        "workload in the plan": '"repeated-word"' in run("show", "latest", "--store", "runs.db", "--json"),
        "workload in completions": "repeated-word" in run("completions", "bash"),
        "flag in the plan": '"settle"' in run("show", "latest", "--store", "runs.db", "--json"),
        "flag in help": "--settle <TIME>" in run("search", "--help"),
        "dialect in `dialects`": "plain-completions" in run("dialects"),
        "dialect in results": summary["target"]["dialect"] == "plain-completions",
    }.items() if not holds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", metavar="FOLDER", help="write the copy to this folder, and do not remove it")
    parser.add_argument("--check", action="store_true", help="only check that the copy compiles")
    arguments = parser.parse_args()
    keep = arguments.keep
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    # Always use the same folder, so that cargo can reuse what it compiled for an earlier copy.
    folder = pathlib.Path(keep or target / "one-of-each/copy").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        copied(folder)
        add(folder)
        # Use the target folder of the repository, so that dependencies are not checked again.
        cargo(folder, target, "check", "--lib", "--bins")
        if arguments.check:
            print("the copy with one new part of each kind compiles")
            return
        # Use a separate target folder, so that the binary of the repository is not replaced.
        own = target / "one-of-each/target"
        cargo(folder, own, "build", "--bin", "inferometer")
        with tempfile.TemporaryDirectory() as place:
            missing = look(own / "debug/inferometer", pathlib.Path(place))
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    for name in missing:
        print(f"MISSING: {name}")
    print("each part appears everywhere" if not missing else f"{len(missing)} checks failed")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
