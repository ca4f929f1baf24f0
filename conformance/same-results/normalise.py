"""Replaces the parts of outputs that differ between two runs of the same command: names of new runs, times, ports, ...
This module runs no command."""
import datetime
import json
import re
import sqlite3
import time

RUN_ID = re.compile(r"\b20\d{6}-\d{6}-[0-9a-f]{4}\b")
INSTANT = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?")
UNIX_NS = re.compile(r"\b1\d{18}\b")
PORT = re.compile(r"127\.0\.0\.1:\d+")
# Files that are not compared: stores and logs of new runs (new.db is compared as text), and the usage of a server.
NOT_COMPARED = r"\.db-|\.sqlite|inferometer\.runs/|-usage\.csv$"
# Times after this one belong to the comparison and are replaced. Times of recorded runs are older and are not replaced.
# Some texts state only the minute, so times of the last minute count as times of the comparison.
BEGAN_S = 0.0


def begin():
    """Notes the start of the comparison."""
    global BEGAN_S
    BEGAN_S = time.time() - 60


def content(path):
    """The name and the bytes that represent a file in the comparison."""
    data = path.read_bytes()
    if path.suffix == ".db":
        return path.name + ".txt", dump(path).encode()
    return path.name, data


def dump(path, with_rows=True):
    """The schema of a database as text. With `with_rows`, also the rows of its tables and views: one line per value,
    and JSON indented."""
    text = []
    number = lambda written: f"~{written}"      # Keeps a number as it is written: 1.0 and 1.00 differ.
    with sqlite3.connect(path) as db:
        db.row_factory = sqlite3.Row
        names = db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        text += [f"{kind} {name}: {sql}" for kind, name, sql in names]
        text.append(f"user_version {db.execute('PRAGMA user_version').fetchone()[0]}")
        order = {run: at for at, (run,) in enumerate(db.execute("SELECT id FROM runs ORDER BY started_unix_ns"))}
        for kind, name, _ in names if with_rows else []:
            # v_differences would have rows for all pairs of runs. The other excluded views repeat the tables.
            if kind not in ("table", "view") or name in ("v_differences", "v_figures", "v_requests", "v_runs"):
                continue
            rows = []
            in_order = lambda row: order.get(row[0] if row.keys()[0] in ("id", "run_id", "run") else None, -1)
            for row in sorted(db.execute(f'SELECT * FROM "{name}"'), key=in_order):
                lines = []
                for key in row.keys():
                    value = row[key]
                    if isinstance(value, str) and value[:1] in ("{", "["):
                        value = json.dumps(json.loads(value, parse_float=number), indent=1, ensure_ascii=False)
                    lines.append(f"  {key} = {value!r}" if not isinstance(value, str) else f"  {key} = {value}")
                rows.append("\n".join(lines))
            text += [f"{name}: {len(rows)} rows"] + [f"{name} {row}" for row in rows]
    db.close()
    return "\n".join(text) + "\n"


def without_now(found, stored):
    """Replaces names of new runs, times after the start of the comparison, ports, process ids, and the durations of
    simulations. `stored` are the names of recorded runs, which are not replaced."""
    names = {}

    def run(match):
        if match[0] in stored:
            return match[0]
        return names.setdefault(match[0], f"NEW-RUN-{len(names) + 1}")

    def instant(match):
        text = match[0].rstrip("Z").replace(" ", "T")
        at = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()
        return "NOW" if at >= BEGAN_S else match[0]

    def unix_ns(match):
        return "NOW-NS" if int(match[0]) / 1e9 >= BEGAN_S else match[0]

    def replaced(text):
        text = RUN_ID.sub(run, text)
        text = UNIX_NS.sub(unix_ns, INSTANT.sub(instant, text))
        text = PORT.sub("127.0.0.1:PORT", text)
        text = re.sub(r"\bserver-\d+-(\d+\.log)", r"server-PID-\1", text)
        return re.sub(r"^(simulated .* in )[\d.]+ \w+", r"\1SOME TIME", text, flags=re.MULTILINE)

    return {replaced(name): replaced(data.decode()).encode() if b"\0" not in data else data
            for name, data in found.items()}


def identity(folder, case):
    """The parts of a new run's summary that do not depend on time, and the requests that the server received."""
    summary = json.loads((folder / "summary.json").read_text())
    passes = ("kind", "load", "repeat", "concurrency", "rate", "planned", "outcomes", "input_tokens", "output_tokens",
              "tokens_from")
    classes = ("class", "planned", "outcomes", "input_tokens", "output_tokens")
    # The plan contains the port of the server. The bodies of a conversation contain the answers of the server.
    hashes = {"plan_hash": "{" not in case.command, "workload_hash": True, "body_hash": "turns" not in case.command}
    result = {key: summary[key] for key, is_fixed in hashes.items() if is_fixed}
    result["target"] = {key: value for key, value in summary["target"].items() if key not in ("url", "facts")}
    result["cells"] = [
        {"input_length": cell["input_length"], "output_length": cell["output_length"], "passes": [
            {**{key: one.get(key) for key in passes},
             "classes": [{key: of.get(key) for key in classes} for of in one.get("classes") or []]}
            for one in cell["passes"]]}
        for cell in summary["cells"]]
    requests = folder / "requests.txt"
    if requests.exists():
        result["sent"] = requests.read_bytes().decode().split("\n----\n")
    return (json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode()


def messages(text, world):
    """The command and its standard error, without figures, ports, process ids and names of new groups."""
    text = "$" + text.partition("$")[2].partition("\n")[0] + "\n" + text.partition("--- stderr\n")[2]
    for pattern, by in ((r"in [\d.]+ s, [\d.]+ tokens/s", "in SOME TIME, SO MANY tokens/s"),
                        (r"estimate: .*", "estimate: SOME TIME"), (r"group-[0-9a-f]{8}", "GROUP"),
                        (r"\bserver-\d+-", "server-PID-"),
                        (r" = [\d.]+ [mu]?s( \([^)]*\))?, limit", " = SOME VALUE, limit")):
        text = re.sub(pattern, by, text)
    return PORT.sub("127.0.0.1:PORT", text.replace(str(world.binary), "BINARY"))
