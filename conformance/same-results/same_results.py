#!/usr/bin/env python3
"""Runs many commands with an older and a newer binary on the same recorded runs, and prints each difference.

    same_results.py OLD NEW                 the exit code is 1 if a difference is not listed, or if a listed difference
                                            is not found
    same_results.py OLD NEW --only 'reports/*table*'     only cases whose names match (can be repeated)
    same_results.py OLD NEW --store FOLDER  uses the store in this folder; records it there first if there is none

OLD records the store: small runs of every kind (measure.py). cases.txt lists the commands, and allowed.toml lists the
allowed differences with their reasons. README.md states what is replaced before outputs are compared.
"""
import argparse
import concurrent.futures
import datetime
import difflib
import fnmatch
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request

import measure
import normalise
from normalise import NOT_COMPARED, content, dump, identity, messages, without_now

HERE = pathlib.Path(__file__).resolve().parent


class Section:
    """Cases that are run in the same way."""

    def __init__(self, words):
        self.name, *flags = words
        # Each case is run once for each recorded run with one of these tags; `!` excludes a tag. If the list is empty,
        # each case is run once.
        self.each = next((f[5:].split(",") for f in flags if f.startswith("each=")), [])
        # The header of cases.txt explains these words.
        self.is_fresh = "fresh" in flags
        self.has_own_store = "own" in flags
        self.is_live = "live" in flags
        self.has_messages = "messages" in flags
        self.is_web = "web" in flags
        self.cases = []


def sections():
    found = []
    for line in (HERE / "cases.txt").read_text().splitlines():
        if line.startswith("== "):
            found.append(Section(line.split("#")[0].split()[1:]))
        elif line.strip() and not line.startswith("#"):
            name, command = line.split(": ", 1)
            found[-1].cases.append((name, command.strip()))
    return found


class World:
    """The working folder of the cases for one binary, with its own copy of the recorded store and the data."""

    def __init__(self, binary, store, folder):
        self.folder, self.binary = folder, binary
        shutil.copytree(store, folder)
        (folder / "bin").mkdir()
        os.symlink(binary, folder / "bin" / "inferometer")
        with sqlite3.connect(folder / "inferometer.db") as db:
            self.tags = dict(db.execute("SELECT tag, run_id FROM tags ORDER BY run_id"))
            group = "SELECT t.tag, r.target ->> '$.facts.group' FROM runs r JOIN tags t ON t.run_id = r.id"
            groups = [(tag, name) for tag, name in db.execute(group) if name]
            (began,) = db.execute("SELECT min(started_unix_ns) FROM runs WHERE id IN (SELECT run_id FROM tags"
                                  " WHERE tag NOT LIKE 'imported%')").fetchone()
        db.close()
        self.today = str(datetime.datetime.fromtimestamp(began / 1e9, datetime.UTC).date())
        self.tags.update({f"group of {tag}": name for tag, name in groups})
        keep = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
        self.environment = {**keep, "HOME": str(folder), "PATH": f"{folder}/bin:/usr/bin:/bin", "TZ": "UTC",
                            "LANG": "C.UTF-8", "HF_HUB_OFFLINE": "1", "INFEROMETER_CACHE": str(folder / "cache")}

    def runs(self):
        return [tag for tag in self.tags if not tag.startswith("group of ")]

    def copy(self, folder):
        """Returns a copy of this working folder, so that a case can change the store."""
        other = object.__new__(World)
        other.__dict__.update(self.__dict__, folder=folder)
        folder.mkdir(parents=True)
        for name in ("data", "plans", "inferometer.runs", "inferometer.db", "dumped.jsonl"):
            source = self.folder / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)
        return other


class Case:
    def __init__(self, section, name, command, tag=None):
        self.section, self.tag = section, tag
        self.command = command.replace("{run}", f"[{tag}]")
        self.name = f"{section.name}/{tag}/{name}" if tag else f"{section.name}/{name}"

    def outputs(self, world):
        """Runs the case. Returns its printed texts and written files: {name: bytes}."""
        if self.section.has_own_store:
            world = world.copy(world.folder / "own" / self.name)
        out = f"out/{self.name}"
        (world.folder / out).mkdir(parents=True, exist_ok=True)
        texts = [self.play(world, part.strip(), out) for part in self.command.split(" ; ")]
        found = {}
        if self.section.has_messages:
            found[f"{self.name}.txt"] = messages("".join(texts), world).encode()
        elif self.section.is_live:
            has_results = (world.folder / out / "summary.json").exists()
            found[f"{self.name}.json"] = identity(world.folder / out, self) if has_results else "".join(texts).encode()
        else:
            found[f"{self.name}.txt"] = "".join(texts).encode()
            for path in sorted((world.folder / out).rglob("*")):
                if path.is_file() and not re.search(NOT_COMPARED, str(path)):
                    name, data = content(path)
                    if self.section.is_fresh and path.suffix == ".png":
                        data = b"not compared: it shows the name of a new run; its SVG is compared\n"
                    found[f"{self.name}/{path.relative_to(world.folder / out).with_name(name)}"] = data
        if self.section.is_fresh:
            found = without_now(found, set(world.tags.values()))
        return {name: data.replace(str(world.folder).encode(), b"WORK") for name, data in found.items()}

    def play(self, world, command, out):
        with_names = re.sub(r"\[([\w .-]+)\]", lambda m: world.tags.get(m[1], m[0]), command)
        with_names = with_names.replace("{out}", out).replace("{today}", world.today)
        servers, words = [], []
        try:
            for word in shlex.split(with_names):
                if word.startswith(("{engine", "{canned")):
                    child, word = serve(world, word[1:-1], world.folder / out)
                    servers.append(child)
                words.append(word)
            if words[:1] == ["DUMP"]:
                return dump(world.folder / words[1], with_rows=False)
            done = subprocess.run(["inferometer", *words], cwd=world.folder, env=world.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=3600)
        finally:
            for child in servers:
                child.stdin.close()
                child.wait(timeout=10)
                child.stdout.close()
        texts = [t.decode(errors="backslashreplace") for t in (done.stdout, done.stderr)]
        stderr = f"--- stderr\n{texts[1]}" if texts[1] else ""
        return f"$ inferometer {command}\n{texts[0]}{stderr}--- exit code {done.returncode}\n"


def serve(world, words, folder):
    """Starts an embedded engine or speaking_server.py. Returns the process and the address of the server."""
    kind, *flags = words.split("+")
    embedded = ["inferometer", "engine", "--listen", "127.0.0.1:0", "--until-stdin-closes"]
    canned = [sys.executable, str(HERE / "speaking_server.py"), "--requests", str(folder / "requests.txt")]
    child = subprocess.Popen((embedded if kind == "engine" else canned) + flags, cwd=world.folder,
                             env=world.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return child, child.stdout.readline().strip().removeprefix("listening on ")


class Web:
    """The dashboard of the recorded store. Pages are requested one after the other."""

    def __init__(self, world):
        words = ["inferometer", "web", "--listen", "127.0.0.1:0", "--until-stdin-closes"]
        self.world = world
        self.child = subprocess.Popen(words, cwd=world.folder, env=world.environment, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.url = self.child.stdout.readline().strip().removeprefix("listening on ").rstrip("/")

    def outputs(self, case):
        path = re.sub(r"\[([\w .-]+)\]", lambda m: self.world.tags.get(m[1], m[0]), case.command)
        try:
            answer = urllib.request.urlopen(self.url + path, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        data, head = answer.read(), sorted(answer.headers.items())
        head = "".join(f"{name}: {value}\n" for name, value in head if name.lower() != "content-length")
        text = f"GET {case.command}\n{answer.status}\n{head}\n".encode() + data
        return {f"{case.name}.txt": text.replace(self.url.encode(), b"http://HOST:PORT")}

    def close(self):
        self.child.stdin.close()
        self.child.wait(timeout=10)
        self.child.stdout.close()


def chosen(section, world, only):
    cases = []
    for name, command in section.cases:
        fits = lambda tag, sign: any(fnmatch.fnmatch(tag, one[len(sign):]) for one in section.each
                                     if one.startswith("!") == (sign == "!"))
        tags = [tag for tag in world.runs() if fits(tag, "") and not fits(tag, "!")] if section.each else [None]
        cases += [Case(section, name, command, tag) for tag in tags]
    return [case for case in cases if not only or any(fnmatch.fnmatch(case.name, one) for one in only)]


def play(section, world, cases, jobs):
    """Runs the cases of a section. Returns all their outputs: {name: bytes}."""
    web = Web(world) if section.is_web and cases else None
    one = web.outputs if web else lambda case: case.outputs(world)
    # Measurements would disturb each other, and the dashboard answers one request at a time.
    with concurrent.futures.ThreadPoolExecutor(1 if web or section.is_live else jobs) as pool:
        found = list(pool.map(one, cases))
    if web:
        web.close()
    return {name: data for outputs in found for name, data in outputs.items()}


class Allowed:
    """The differences in allowed.toml, and which of them were found."""

    def __init__(self):
        self.entries = tomllib.loads((HERE / "allowed.toml").read_text()).get("difference", [])
        self.used = set()
        for entry in self.entries:
            if not entry.get("reason") or not entry.get("files"):
                sys.exit(f"allowed.toml: this entry has no files or no reason: {entry}")

    def has(self, name, line):
        for number, entry in enumerate(self.entries):
            fits = any(fnmatch.fnmatch(name, one) for one in entry["files"])
            listed = line in entry.get("lines", []) or any(
                re.fullmatch(one, line, re.DOTALL) for one in entry.get("patterns", []))
            if fits and listed:
                self.used.add(number)
                return True
        return False


def compare(old, new, allowed):
    """Prints each difference that is not listed. Returns the number of files with such a difference."""
    differing = 0
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if before is None or after is None:
            lines = ["-(the file)" if after is None else "+(the file)"]
        elif b"\0" in before or b"\0" in after:
            lines = [f"-({len(before)} bytes)", f"+({len(after)} other bytes)"]
        else:
            texts = [data.decode(errors="backslashreplace").splitlines() for data in (before, after)]
            lines = list(difflib.unified_diff(*texts, "old", "new", lineterm="", n=1))
            lines = lines or ["-(the end of a line)"]
        changed = [line for line in lines if line[:1] in "+-" and not line.startswith(("--- ", "+++ "))]
        if all([allowed.has(name, line) for line in changed]):
            continue
        differing += 1
        print(f"\n{name}")
        for line in lines[:60]:
            print(line if len(line) < 400 else f"{line[:400]} ... ({len(line)} characters)")
        if len(lines) > 60:
            print(f"... and {len(lines) - 60} more lines")
    return differing


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("old", type=lambda path: pathlib.Path(path).resolve())
    flags.add_argument("new", type=lambda path: pathlib.Path(path).resolve())
    flags.add_argument("--only", action="append", help="only cases whose names match; * matches any text")
    flags.add_argument("--jobs", type=int, default=2, help="cases that run at the same time [default: 2]")
    flags.add_argument("--store", metavar="FOLDER", type=pathlib.Path, help="the recorded store, to use it several times")
    flags.add_argument("--keep", metavar="FOLDER", help="work in this new folder, and do not remove it")
    flags = flags.parse_args()
    folder = pathlib.Path(flags.keep or tempfile.mkdtemp(prefix="same-results-")).resolve()
    began = time.monotonic()
    allowed = Allowed()
    store = (flags.store or folder / "store").resolve()
    if not (store / "inferometer.db").exists():
        measure.record(flags.old, store)
        print(f"recorded the store in {time.monotonic() - began:.0f} s", file=sys.stderr)
    normalise.begin()
    # The names have the same length, because the width of a path can change a table.
    worlds = [World(flags.old, store, folder / "old"), World(flags.new, store, folder / "new")]
    differing = files = 0
    for section in sections():
        cases = chosen(section, worlds[0], flags.only)
        if not cases:
            continue
        at = time.monotonic()
        old, new = (play(section, world, cases, flags.jobs) for world in worlds)
        differing += compare(old, new, allowed)
        files += len(new)
        print(f"{section.name}: {len(cases)} commands, {len(new)} files, {time.monotonic() - at:.1f} s",
              file=sys.stderr)
    stale = [] if flags.only else [
        entry for number, entry in enumerate(allowed.entries) if number not in allowed.used]
    for entry in stale:
        print(f"\nallowed.toml: no difference matches this entry: {entry}")
    if not flags.keep:
        shutil.rmtree(folder)
    print(f"{files} files in {time.monotonic() - began:.0f} s: {differing} with differences that are not listed")
    sys.exit(1 if differing or stale else 0)


if __name__ == "__main__":
    main()
