"""Writes what a run of conformance/plan.toml gave as Markdown: engines and versions, the comparison, and
what was found in each of them.

    results.py FOLDER_OF_THE_RUN EXIT_CODE SECONDS
"""

import datetime
import json
import platform
import sys
from pathlib import Path


def engine(target: dict) -> str:
    name = target["engine"] or "not told"
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
    print(f"Made by `conformance/run.sh` in {seconds // 60} min {seconds % 60} s (exit code {code}), Inferometer "
          f"{runs[0]['tool']['version']}, on {host['cpus']} processors ({host['cpu']}), "
          f"{host['memory_bytes'] / 2**30:.0f} GiB, {host['kernel']}, Python {platform.python_version()}. A small model "
          "on a processor: the speeds say nothing about the engines. The embedded engine plays a model of a card, ten "
          "times faster than real time.\n")

    first = {}
    for run in runs:
        first.setdefault(run["target"]["facts"]["variant"], run)
    same = len({run["workload_hash"] for run in runs}) == 1
    print(f"All {len(runs)} runs got the same requests, byte for byte: {'yes' if same else 'NO'} (workload "
          f"`{runs[0]['workload_hash'][:16]}`).\n")
    rows = []
    for name, run in first.items():
        facts, target = run["target"]["facts"], run["target"]
        metrics = "none" if facts.get("server_metrics", "none").startswith("none") else "read"
        peak = facts.get("server_peak_rss_bytes")
        memory = f"{int(peak) / 2**20:.0f}" if peak else "-"
        rows.append([name, engine(target), target["dialect"], metrics, facts.get("server_cpu_s", "-"), memory,
                     facts.get("server_processes", "-")])
    print(table(["target", "engine", "dialect", "metrics", "its processor time (s)", "peak memory (MiB)", "processes"],
                rows))
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

    print("## The server beside the client\n\nSaturated passes: the mean of TTFT and ITL in ms as the "
          "client saw it and as the server says; output tokens likewise; the most that ran and waited at once.\n")
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

    print("## What was found\n")
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
