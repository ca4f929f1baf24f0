"""Tests of the gate in CI: the action, the script that it runs, and the workflows of the repository."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "packaging/gate.sh"
COMMAND = Path(sys.executable).with_name("inferometer")
EXAMPLES = [ROOT / "docs/ci/github.yml", ROOT / "docs/ci/gitlab.yml"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml")) + EXAMPLES

#: Short loads, so that a test takes little longer than the start of the servers.
SMALL = {"rounds": "4", "input-lengths": "32", "output-lengths": "8", "requests": "20"}


def document(path):
    return yaml.safe_load(path.read_text())


def strings(node):
    """Returns all texts in a document."""
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        return [text for child in node for text in strings(child)]
    return [node] if isinstance(node, str) else []


def engine(speed):
    return f"{shlex.quote(str(COMMAND))} engine --listen 127.0.0.1:{{port}} --speed {speed}"


def plan(folder, base="base", speeds=(20, 20)):
    file = folder / "the plan.toml"
    file.write_text(
        "rounds = 4\ninput_lengths = [32]\noutput_lengths = [8]\nrequests = 20\npasses = ['saturated']\n"
        f"[[target]]\nname = '{base}'\nserver = {{ command = '''{engine(speeds[0])}''' }}\n"
        f"[[target]]\nname = 'head'\nserver = {{ command = '''{engine(speeds[1])}''' }}\n"
    )
    return {"plan": file.name}


class Ended:
    """The results of a call of the action: exit code, output, last line, summary and answer."""

    def __init__(self, ended, folder):
        self.code, self.stdout, self.stderr = ended.returncode, ended.stdout, ended.stderr
        self.last = ended.stderr.splitlines()[-1]
        self.summary = (folder / "summary.md").read_text()
        self.answer = (folder / "output").read_text()


@pytest.fixture
def act(tmp_path):
    """Does what a runner of CI does: fills in the inputs of the action, and runs its script."""
    folder = tmp_path / "a folder"
    folder.mkdir()

    def act(**options):
        inputs = {"inferometer": str(COMMAND), **options.pop("inputs")}
        action = document(ROOT / "action.yml")
        known = {name: said.get("default", "") for name, said in action["inputs"].items()}
        assert set(inputs) <= set(known)
        known.update(inputs)
        (step,) = action["runs"]["steps"]
        given = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: known[found[1]], value)
            for name, value in step["env"].items()
        }
        (folder / "summary.md").write_text("# Of a step before\n")
        (folder / "output").write_text("")
        runner = {
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_OUTPUT": str(folder / "output"),
        }
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder, env={**os.environ, **runner, **given, **options.pop("env", {})},
            capture_output=True, text=True, timeout=240,
        )
        return Ended(ended, folder)

    act.folder = folder
    return act


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_script_that_a_workflow_names_exists_and_is_executable(path):
    text = "\n".join(strings(document(path)))
    named = re.findall(r"(?:^|[\s\"'/])((?:packaging|\.ci|crates)/[\w./-]+)", text)
    for script in named:
        assert os.access(ROOT / script, os.X_OK), script
    assert named or path == ROOT / "docs/ci/github.yml"


def test_every_input_reaches_the_script_and_the_script_reads_no_other_variable():
    action = document(ROOT / "action.yml")
    (step,) = action["runs"]["steps"]
    for name in action["inputs"]:
        assert step["env"][name.upper().replace("-", "_")] == f"${{{{ inputs.{name} }}}}"
    assert len(step["env"]) == len(action["inputs"])
    lines = SCRIPT.read_text().splitlines()
    code = "\n".join(line for line in lines if not line.startswith("#"))
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)\b", code))
    assert read - {"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"} == set(step["env"])
    # The measured servers inherit none of these variables.
    kept = re.search(r"^export -n ((?:.*\\\n)*.*)$", code, re.MULTILINE)[1]
    assert set(kept.replace("\\", "").split()) == set(step["env"])
    described = "\n".join(line for line in lines if line.startswith("#"))
    assert all(re.search(rf"\b{name}\b", described) for name in step["env"])


def test_the_examples_use_only_existing_inputs_and_variables():
    action = document(ROOT / "action.yml")
    (job,) = document(EXAMPLES[0])["jobs"].values()
    (used,) = [step for step in job["steps"] if "inferometer@" in step.get("uses", "")]
    required = {name for name, said in action["inputs"].items() if said.get("required")}
    assert required <= set(used["with"]) <= set(action["inputs"])
    (job,) = document(EXAMPLES[1]).values()
    read = set(action["runs"]["steps"][0]["env"]) | {"GIT_DEPTH", "GATE_REPOSITORY"}
    assert set(job["variables"]) <= read
    assert job["artifacts"]["reports"]["junit"] == "inferometer-gate/gate.xml"


def test_a_release_publishes_only_on_a_tag_and_has_few_permissions():
    release = document(ROOT / ".github/workflows/release.yml")
    assert release["permissions"] == {"contents": "read"}
    jobs = release["jobs"]
    targets = {at["target"].split("-")[0] for at in jobs["build"]["strategy"]["matrix"]["include"]}
    assert targets == {"x86_64", "aarch64"}
    for name, job in jobs.items():
        if "publish" in "\n".join(strings(job)):
            assert job["if"] == "github.event_name == 'push' && github.ref_type == 'tag'", name
        else:
            assert "permissions" not in job, name
    assert sorted(set(jobs) - {"book", "build"}) == ["crates-io", "pypi"]


@pytest.mark.parametrize("by", ["commands", "plan"])
def test_equal_builds_pass(act, by):
    what = plan(act.folder) if by == "plan" else {
        **SMALL, "base-command": engine(20), "head-command": engine(20)
    }
    # The limit is so wide that the test also passes on a busy machine. An undecided condition does not fail.
    ended = act(inputs={**what, "gate": "output_tokens_per_s>-60%"})
    assert ended.code == 0, ended.stderr
    assert re.match("(PASS|UNDECIDED): ", ended.last), ended.stderr
    assert "measured: in turn, 4 rounds each" in ended.stdout
    answer = ended.last.split(":")[0]
    assert ended.answer == f"answer={answer}\n"
    # The page is appended to the existing summary, and begins with the answer.
    assert ended.summary.split("\n", 1)[1].lstrip().startswith(f"## {answer}\n"), ended.summary


def test_a_much_slower_build_fails(act):
    # The command contains characters that are special in a shell or in TOML: quotes, a backslash, a line
    # break. The server starts only if the command is read unchanged, and inherits no variable of the script.
    command = (
        'note="it\'s a \\\\ \\"slow\\" one"\n'
        f'test "$note$GATE$HEAD_COMMAND" = \'it\'"\'"\'s a \\ "slow" one\' && exec {engine(5)}'
    )
    slow = {**SMALL, "base-command": engine(50), "head-command": command}
    gate = {"gate": "output_tokens_per_s>-10%", "strict": "true", "margin": "3"}
    ended = act(inputs={**slow, **gate, "rounds": "6", "out": "the results", "junit": "for ci/gate.xml"})
    assert ended.code == 3, ended.stderr
    assert ended.last.startswith("FAIL: not met: output_tokens_per_s -"), ended.stderr
    assert ended.answer == "answer=FAIL\n"
    assert ended.summary.split("\n", 1)[1].lstrip().startswith("## FAIL\n"), ended.summary
    cases = ElementTree.parse(act.folder / "for ci/gate.xml").getroot()
    assert cases.find(".//failure") is not None
    assert (act.folder / "the results/inferometer.db").exists()
    assert (act.folder / "the results/plan.toml").read_text().startswith("rounds = 6\n")


#: A fake command. It records its arguments, and prints answers like those of the command.
RECORDER = r"""#!/usr/bin/env bash
printf '<%s>' "$@" >> calls; echo >> calls
case "$*" in
    "compare --help") echo 'GROUP/SERVER --gate --margin --strict --junit --markdown' ;;
    *--dry-run*) printf '# base; rounds: 4\n# head; rounds: 4\n' ;;
    run*) printf '{\n  "schema": "x",\n  "group": "group-0a1b2c3d",\n' > "the results/comparison.json" ;;
    "compare base head"*) echo 'error: base is no run' >&2; exit 2 ;;
    *) printf 'note: no error\nUNDECIDED: more repeats would tell\n' >&2 ;;
esac
"""


def test_every_option_becomes_its_flag(act):
    command = act.folder / "the command"
    command.write_text(RECORDER)
    command.chmod(0o755)
    load = {"input-lengths": "1,2", "output-lengths": "3", "concurrency": "4", "rate": "5,6", "requests": "7"}
    judge = {"gate": "e2e_p99<+1%", "margin": "8", "strict": "true", "junit": "a b/c.xml", "out": "the results"}
    ended = act(inputs={**plan(act.folder), **load, **judge, "inferometer": "./the command"})
    assert (ended.code, ended.last) == (0, "UNDECIDED: more repeats would tell"), ended.stderr
    assert ended.answer == "answer=UNDECIDED\n"
    flags = "<--input-lengths=1,2><--output-lengths=3><--concurrency=4><--rate=5,6><--requests=7><--><the plan.toml>"
    store = "<--store=the results/inferometer.db>"
    conditions = f"<--gate=e2e_p99<+1%>{store}<--margin=8><--strict>"
    assert (act.folder / "calls").read_text().splitlines() == [
        "<compare><--help>",
        f"<compare><base><head>{conditions}",
        f"<run><--dry-run>{flags}",
        f"<run>{store}<--out=the results>{flags}",
        f"<compare><group-0a1b2c3d/base><group-0a1b2c3d/head>{conditions}<--junit=a b/c.xml>"
        f"<--markdown={act.folder / 'summary.md'}>",
    ]


def test_a_server_that_does_not_start_is_an_error_without_an_answer(act):
    dead = {"base-command": engine(20), "head-command": "echo no {port}; exit 9"}
    ended = act(inputs={**SMALL, **dead, "rounds": "1", "gate": "output_tokens_per_s>-60%"})
    assert ended.code == 1, ended.stderr
    assert ended.last == "error: inferometer run ended with exit code 1 (see above): nothing was compared"
    assert ended.answer == "" and not (act.folder / "inferometer-gate/gate.xml").exists()


GATE = {"gate": "output_tokens_per_s>-60%"}
BOTH = {"base-command": "base {port}", "head-command": "head {port}"}


@pytest.mark.parametrize(
    "inputs, told",
    [
        ({**BOTH}, "GATE is missing: give conditions"),
        ({**GATE}, "BASE_COMMAND is missing: give PLAN, or BASE_COMMAND and HEAD_COMMAND"),
        ({**GATE, "base-command": "base {port}"}, "HEAD_COMMAND is missing"),
        ({**GATE, **BOTH, "head-command": "head"}, "HEAD_COMMAND has no {port}"),
        ({**GATE, **BOTH, "plan": "p.toml"}, "PLAN already states what is measured"),
        ({**GATE, "plan": "no such.toml"}, "PLAN: no such.toml is not a file"),
        ({**GATE, **BOTH, "rounds": "many"}, "ROUNDS is `many`: give a number"),
        ({**GATE, **BOTH, "rounds": "0"}, "ROUNDS is `0`: give a number"),
        ({**GATE, **BOTH, "rounds": "1001"}, "ROUNDS is `1001`: give a number from 1 to 1000"),
        ({**GATE, **BOTH, "strict": "yes"}, "STRICT is `yes`: give true or false"),
        ({**GATE, **BOTH, "inferometer": "/no/such"}, "/no/such: no such command; install it"),
        ({**BOTH, "gate": "faster"}, "`faster` is not a condition"),
        ({**GATE, **BOTH, "margin": "200"}, "invalid value '200' for '--margin <PERCENT>'"),
        ({**GATE, **BOTH, "rate": "fast"}, "`fast` is not a rate"),
        ({**GATE, **BOTH, "input-lengths": "x"}, "input"),
    ],
)
def test_wrong_inputs_are_reported_before_anything_is_measured(act, inputs, told):
    ended = act(inputs=inputs)
    assert ended.code == 2, ended.stderr
    # Every mistake in a plan is reported on a separate line.
    assert all(line.startswith("error: ") for line in ended.stderr.splitlines()), ended.stderr
    assert told in ended.stderr and ended.stdout == "", ended.stderr
    assert not list(act.folder.glob("inferometer-gate/*round*"))


def test_an_older_command_is_rejected_before_anything_is_measured(act):
    command = act.folder / "old"
    command.write_text(
        "#!/bin/sh\ncase $1 in\n--version) echo inferometer 0.0.9 ;;\n"
        "compare) echo '--gate --margin --strict' ;;\n*) touch measured ;;\nesac\n"
    )
    command.chmod(0o755)
    ended = act(inputs={**GATE, **BOTH, "inferometer": "./old"})
    assert ended.code == 2 and not (act.folder / "measured").exists(), ended.stderr
    assert ended.last.startswith("error: ./old (inferometer 0.0.9) is older than gate.sh: its `compare` has no")


def test_a_plan_without_a_target_named_base_is_rejected_before_anything_is_measured(act):
    ended = act(inputs={**GATE, **plan(act.folder, base="old")})
    assert (ended.code, ended.stderr) == (2, "error: the plan.toml has no [[target]] with the name base\n")


def test_the_script_takes_no_arguments():
    ended = subprocess.run([SCRIPT, "--help"], capture_output=True, text=True)
    assert ended.returncode == 2 and "gate.sh takes no arguments" in ended.stderr
