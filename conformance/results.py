"""Writes the results of a run of conformance/plan.toml as Markdown: the engines with their versions, the comparison,
and the findings for each engine.

    results.py FOLDER_OF_THE_RUN EXIT_CODE SECONDS
"""

import datetime
import json
import platform
import sys
from pathlib import Path


def engine(target: dict) -> str:
    name = target["engine"] or "unknown"
    if target["simulated"]:
        name += " (simulated)"
    return f"{name} {target['engine_version'] or ''}".strip()


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main() -> None:
    work, code, seconds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    comparison = json.loads((work / "out/comparison.json").read_text())
    runs = comparison["runs"]
    host = runs[0]["environment"]
    print(f"# Real engines, {datetime.date.today().isoformat()}\n")
    print("`conformance/run.sh` measured several servers with the same prompts. The measurement took "
          f"{seconds // 60} min {seconds % 60} s (exit code {code}) with Inferometer "
          f"{runs[0]['tool']['version']}, on {host['cpus']} CPUs "
          f"({host['cpu']}), {host['memory_bytes'] / 2**30:.0f} GiB, {host['kernel']}, Python "
          f"{platform.python_version()}. The servers ran a small model on the CPU, so do not compare the speeds of the "
          "engines. The embedded engine (the built-in simulated serving engine) simulates a GPU, ten times faster than "
          "real time.\n")

    first = {}
    for run in runs:
        first.setdefault(run["target"]["facts"]["variant"], run)
    same = len({run["workload_hash"] for run in runs}) == 1
    print(f"Did all {len(runs)} runs send the same prompts, byte for byte? {'yes' if same else 'NO'} (hash of the "
          f"workload: `{runs[0]['workload_hash'][:16]}`).\n")
    print('In the table, "dialect" is the API that was used, and "metrics" states whether the server\'s `/metrics` '
          'were read. A "-" means: not known.\n')
    rows = []
    for name, run in first.items():
        facts, target = run["target"]["facts"], run["target"]
        metrics = "none" if facts.get("server_metrics", "none").startswith("none") else "read"
        peak = facts.get("server_peak_rss_bytes")
        memory = f"{int(peak) / 2**20:.0f}" if peak else "-"
        rows.append([name, engine(target), target["dialect"], metrics, facts.get("server_cpu_s", "-"), memory,
                     facts.get("server_processes", "-")])
    print(table(["target", "engine", "dialect", "metrics", "CPU time of the server (s)", "peak memory (MiB)",
                 "processes"], rows))
    print()

    print("## The comparison\n")
    rows = []
    columns = [("requests_per_s", "requests/s"), ("output_tokens_per_s", "output tokens/s"),
               ("latency_per_token_ms", "latency per token (ms)"),
               ("latency_per_output_token_ms", "latency per output token (ms)")]
    for name in first:
        of = [run for run in runs if run["target"]["facts"]["variant"] == name]
        for at, cell in enumerate(of[0]["cells"]):
            row = [name, f"{cell['input_length']} x {cell['output_length']}"]
            for key, _ in columns:
                values = [run["cells"][at][key] for run in of if len(run["cells"]) > at]
                known = [value for value in values if value is not None]
                mean = sum(known) / len(known) if known else None
                row.append(shown(mean))
            rows.append(row)
    print(table(["target", "input x output", *[words for _, words in columns]], rows))
    print()

    print("## The server beside the client\n\nThe table has the saturated passes (all requests start together): the "
          "mean of TTFT and ITL in ms, and the output tokens, each as the client measured it and as the server's own "
          'metrics state it. "running" and "waiting" are the maximum numbers of running and waiting requests, from the '
          "server's metrics.\n")
    rows = []
    for name, run in first.items():
        for cell in run["cells"]:
            passed = cell["passes"][-1]
            says = passed.get("server") or {}
            def both(key, inner="mean", passed=passed, says=says):
                ours, theirs = passed.get(key) or {}, says.get(key) or {}
                return f"{shown(ours.get(inner))} / {shown(theirs.get(inner))}"
            most = [shown((says.get(key) or {}).get("max")) for key in ("running", "waiting")]
            tokens = says.get("generation_tokens")
            rows.append([name, f"{cell['input_length']} x {cell['output_length']}", both("ttft_ms"), both("itl_ms"),
                         f"{passed['output_tokens']} / {'-' if tokens is None else int(tokens)}", *most])
    print(table(["target", "input x output", "TTFT client / server", "ITL client / server",
                 "output tokens client / server", "running", "waiting"], rows))
    print()

    print("## What was found\n\nFor each target: the verdict (valid or suspect: whether the client's figures are "
          "reliable), and the findings (problems, as the program printed them).\n")
    for name, run in first.items():
        print(f"**{name}**, {run['verdict']['validity']}\n")
        told = {}
        for finding in run["findings"]:
            told.setdefault(finding["code"], []).append(finding)
        for code, findings in told.items():
            more = f" ({len(findings)} times)" if len(findings) > 1 else ""
            print(f"- `{code}`{more}: {findings[0]['message']}")
        print()
    for failed in comparison["failed"] + comparison["remarks"]:
        print(f"- {failed}")
    versions = Path(sys.prefix).parent
    print("\n## Versions\n\n```text")
    for environment in ("vllm", "llama-cpp", "transformers"):
        packages = sorted(path.name.removesuffix(".dist-info") for path in
                          (versions / environment).glob("lib/python*/site-packages/*.dist-info"))
        wanted = ("vllm", "torch-", "transformers-", "xllamacpp", "tokenizers-", "gguf-")
        print(f"{environment}: {', '.join(name for name in packages if name.startswith(wanted))}")
    print("```")


main()
