"""Tests of the files that packages contain in addition to the program: manual pages and shell completions."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = Path(sys.executable).with_name("inferometer")

#: A fake maturin. It writes a wheel with COMMAND as its command, and copies the data folder next to the wheel.
MATURIN = f"""#!{sys.executable}
import pathlib, shutil, sys, zipfile
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(out / "fake.whl", "w") as wheel:
    wheel.writestr("inferometer/__init__.py", "")
    # PYTHONPATH is removed, because the command would otherwise import this package instead of its own.
    wheel.writestr("inferometer/__main__.py",
        "import os, sys; del os.environ['PYTHONPATH']; os.execv({str(COMMAND)!r}, sys.argv)")
data = pathlib.Path("crates/python/inferometer._inferometer.data/data")
if data.exists():
    shutil.copytree(data, out / "data")
"""


@pytest.fixture
def tree(tmp_path):
    """A copy of the packaging scripts, with fake tools that compile nothing."""
    shutil.copytree(ROOT / "packaging", tmp_path / "packaging")
    for name in ("Cargo.toml", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    tools = tmp_path / "target/packaging/venv/bin"
    tools.mkdir(parents=True)
    (tmp_path / "crates/python").mkdir(parents=True)
    (tools / "maturin").write_text(MATURIN)
    (tools / "maturin").chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    return tmp_path


def called(tree, script, *arguments, **variables):
    # The script does not get the variables INFEROMETER* of the process that runs the tests.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INFEROMETER")}
    ended = subprocess.run(
        [tree / "packaging" / script, *arguments],
        env={**kept, **variables}, capture_output=True, text=True, timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def check(share, zsh, page=".1"):
    pages = {file.name for file in (share / "man/man1").iterdir()}
    assert {f"inferometer{page}", f"inferometer-run{page}", f"inferometer-bench-serve{page}"} <= pages
    for file in ("bash-completion/completions/inferometer", f"{zsh}/_inferometer",
                 "fish/vendor_completions.d/inferometer.fish"):
        assert "input-lengths" in (share / file).read_text(), file


@pytest.mark.parametrize("runs", [{}, {"INFEROMETER": str(COMMAND)}], ids=["its own", "another"])
def test_the_wheel_has_manual_pages_and_completions_in_the_folders_that_man_and_shells_search(tree, runs):
    called(tree, "wheel.sh", **runs)
    check(tree / "target/wheels/data/share", "zsh/site-functions")
    # The script removes the files from the source tree, so that later builds do not contain them.
    assert not list((tree / "crates/python").iterdir())


def test_a_wheel_for_another_processor_asks_for_a_command_that_runs_here(tree):
    with pytest.raises(AssertionError, match="set INFEROMETER to a command that runs here"):
        called(tree, "wheel.sh", "sparc-unknown-linux-gnu")


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb")
def test_the_debian_package_has_manual_pages_and_completions_too(tree):
    target = f"{os.uname().machine}-unknown-linux-gnu"
    called(tree, "deb.sh", target, tree / "out", BINARY=str(COMMAND))
    [package] = (tree / "out").glob("*.deb")
    subprocess.run(["dpkg-deb", "--extract", package, tree / "root"], check=True)
    check(tree / "root/usr/share", "zsh/vendor-completions", page=".1.gz")
