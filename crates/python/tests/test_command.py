"""Tests of the command of the package, and of its type annotations."""

import os
import re
import signal
import subprocess
import sys

import pytest

import inferometer

COMMAND = [sys.executable, "-m", "inferometer"]
SMALL = ["--speed", "1000", "--input-lengths", "32", "--output-lengths", "8", "--requests", "12"]


def called(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=120, **options
    )


def test_the_command_prints_its_version_and_its_help():
    # A binary that was built in a checkout also prints its commit.
    printed = called("--version").stdout
    assert re.fullmatch(rf"inferometer {re.escape(inferometer.__version__)}( \(commit [0-9a-f]+\))?\n", printed)
    assert "Usage: inferometer" in called("--help").stdout


def test_the_default_run_works_in_an_empty_folder(tmp_path):
    ended = called("run", *SMALL, "--quiet", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "inferometer.db").exists() and "32" in ended.stdout


@pytest.mark.parametrize(
    "arguments, code",
    [(["run", "--rate", "-1"], 2), (["runs"], 2), (["run", *SMALL, "--slo", "failures<0%"], 3)],
)
def test_exit_codes_are_those_of_the_command(tmp_path, arguments, code):
    ended = called(*arguments, cwd=tmp_path)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_interruption_keeps_the_records(tmp_path):
    # The second pass is so long that only the interruption can end it.
    slow = ["--speed", "10", "--input-lengths", "32", "--output-lengths", "2000"]
    slow += ["--one-by-one", "1", "--requests", "2000"]
    process = subprocess.Popen(
        [*COMMAND, "run", *slow], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "one by one: 1 complete" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(timeout=60) == 130, rest
    assert "the records are kept" in rest


def test_the_type_annotations_of_the_package_match_its_extension(tmp_path):
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "inferometer._inferometer", "--ignore-disjoint-bases"],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONSAFEPATH": "1"},
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    program = tmp_path / "program.py"
    program.write_text(
        "import inferometer as im\n"
        "run = im.predict(rate=[2, 8])\n"
        "reveal_type(run.cells)\n"
        "im.compare(run, run).passed\n"
        "im.compare(3, run)\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert "list[dict[str, Any]]" in checked.stdout.replace("builtins.", ""), checked.stdout
    assert 'Argument 1 to "compare" has incompatible type "int"' in checked.stdout
    assert "Found 1 error" in checked.stdout, checked.stdout
