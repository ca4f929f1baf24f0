"""Tests of measuring and predicting plans from Python."""

import inspect
import os
import pathlib
import signal
import threading
import time

import numpy
import pytest

import inferometer as im
from inferometer import _inferometer


def test_a_run_has_its_results_its_table_and_its_report(measured, small):
    [cell] = measured.cells
    assert cell["input_length"] == 32 and cell["output_length"] == 8
    assert measured.summary["schema"].startswith("inferometer.summary/")
    assert "32" in measured.table() and "|" in measured.table(markdown=True)
    assert str(measured) == measured.table()
    assert measured.shortfall is None and measured.check() is measured
    assert (small["out"] / "report.html").exists()
    assert measured.folder == small["out"] and measured.store == small["store"]
    assert measured.plan()["cells"] == [{"input_length": 32, "output_length": 8}]


def test_keywords_a_mapping_and_a_file_make_the_same_plan(small, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text('input_lengths = [32]\noutput_lengths = [8]\nspeed = 1000\none_by_one = 3\n')
    keys = dict(small, salt="salt")
    progress = keys.pop("progress")
    rest = {key: keys[key] for key in ("requests", "store", "out", "salt")}
    plans = [
        im.run(**keys, progress=progress).plan(),
        im.run(keys, progress=progress).plan(),
        im.run(file, **rest, progress=progress).plan(),
        im.run(str(file), **rest, progress=progress).plan(),
    ]
    assert all(plan == plans[0] for plan in plans)


def test_a_plan_error_lists_every_mistake_before_anything_is_sent(small):
    with pytest.raises(im.PlanError) as raised:
        im.run(**dict(small, input_lengths=0, warmup=-1, requests=0))
    mistakes = raised.value.mistakes
    for key in ("input_lengths", "warmup", "requests"):
        assert any(key in mistake for mistake in mistakes), mistakes
    assert isinstance(raised.value, ValueError)
    assert not small["store"].exists()


@pytest.mark.parametrize(
    "keys, words",
    [
        (dict(input_length=[32]), "input_lengths"),
        (dict(rate=object()), "cannot be a value in a plan"),
        (dict(input_lengths="many"), "input_lengths"),
        (dict(plan="nowhere.toml"), "nowhere.toml"),
        (dict(num_prompts=3), "the keywords: `num_prompts` is not a key .*`requests` N"),
        (dict(max_concurrency=3), "`concurrency` N"),
        (dict(requests="many"), "the keywords: `requests` .*: a text, where a whole number is"),
        (dict(repeat=[1]), "a list, where a whole number is expected"),
        (dict(max_num_seqs=3), "max_num_seqs: engine arguments are for predictions"),
        (dict(requests=0), "^requests: is 0"),
        (dict(temperature=float("nan")), "nan is not a number that a plan can contain"),
    ],
)
def test_a_wrong_keyword_is_named_in_the_error(small, keys, words):
    with pytest.raises(im.PlanError, match=words):
        im.run(**dict(small, **keys))


def test_an_infinite_rate_sends_all_requests_at_the_start():
    lengths = dict(input_lengths=[32], output_lengths=[8])
    run = im.predict(model="chatglm3-6b", rate=float("inf"), requests=12, **lengths)
    assert run.cells[0]["passes"][0]["load"] == "open loop, inf requests/s"


def test_a_wrong_key_of_a_file_is_reported_with_the_name_of_the_file(small, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text("num_prompts = 3\n")
    with pytest.raises(im.PlanError) as raised:
        im.run(file, isl=3, **small)
    theirs, ours = sorted(raised.value.mistakes)
    assert theirs.startswith(f"{file}: `num_prompts`") and "`requests` N" in theirs
    assert ours.startswith("the keywords: `isl`") and "`input_lengths` N" in ours


def test_a_numpy_array_and_a_range_are_accepted_as_lists(small):
    lengths = numpy.array([16, 32])
    run = im.predict(input_lengths=lengths, output_lengths=range(8, 9), **_files(small))
    assert [cell["input_length"] for cell in run.cells] == [16, 32]


def _files(small):
    return {key: small[key] for key in ("store", "out")}


def test_an_unreachable_server_is_a_run_error(small):
    del small["speed"]
    with pytest.raises(im.RunError, match="127.0.0.1:9"):
        im.run(target="http://127.0.0.1:9", **small)


def test_the_lock_is_released_while_a_server_of_this_process_is_measured(small, server):
    del small["speed"], small["one_by_one"]
    run = im.run(target=server, concurrency=2, **small)
    outcomes = [p["outcomes"] for cell in run.cells for p in cell["passes"]]
    assert sum(one["complete"] for one in outcomes) == 12
    assert run.summary["target"]["model"] == "words"


def test_events_arrive_in_order_on_the_calling_thread(small):
    heard, threads = [], set()

    def hear(event):
        heard.append(event)
        threads.add(threading.current_thread())

    run = im.run(**dict(small, progress=hear))
    assert threads == {threading.current_thread()}
    names = [event["event"] for event in heard if event["event"] != "progress"]
    assert names.index("run_started") < names.index("pass_started") < names.index("pass_ended")
    assert names[-2:] == ["run_stored", "run_ended"] and heard[-1]["run_id"] == run.id
    notices = {event["notice"]: event for event in heard if event["event"] == "message"}
    assert notices["simulating"]["model"] in notices["simulating"]["text"]
    assert notices["estimate"]["least_s"] <= notices["estimate"]["most_s"]
    ended = [event for event in heard if event["event"] == "pass_ended"]
    assert [event["completed"] for event in ended] == [3, 12]


def test_an_interruption_ends_the_run_and_keeps_it(small):
    def hear(event):
        if event["event"] == "pass_started":
            os.kill(os.getpid(), signal.SIGINT)

    # The run is so long that only the interruption can end it.
    slow = dict(small, speed=1, output_lengths=[2000], warmup=0, progress=hear)
    with pytest.raises(im.Interrupted) as raised:
        im.run(**slow)
    kept = raised.value.run
    assert kept.shortfall.kind == "interrupted"
    [listed] = im.Store(small["store"]).runs()
    assert listed["run_id"] == kept.id and listed["state"] == "interrupted"


def test_a_second_interruption_leaves_no_thread(small):
    first, over = threading.Event(), threading.Event()

    def once_more():
        first.wait()
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted(_signal, _frame):
        first.set()
        # The second signal may arrive after the end of the run.
        if not over.is_set():
            raise KeyboardInterrupt

    def hear(event):
        if event["event"] == "pass_started":
            os.kill(os.getpid(), signal.SIGINT)

    second = threading.Thread(target=once_more)
    second.start()
    before = signal.signal(signal.SIGINT, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            im.run(**dict(small, speed=1, output_lengths=[2000], warmup=0, progress=hear))
    finally:
        over.set()
        second.join()
        signal.signal(signal.SIGINT, before)
    def names():
        return [name.read_text() for name in pathlib.Path("/proc/self/task").glob("*/comm")]

    # A thread needs a short time to end after it has sent its result.
    for _ in range(1000):
        if "inferometer\n" not in names():
            break
        time.sleep(0.01)
    assert "inferometer\n" not in names(), names()
    [listed] = im.Store(small["store"]).runs()
    assert listed["state"] == "interrupted"


def test_an_exception_of_a_callback_ends_the_run_and_is_raised(small):
    class Enough(Exception):
        pass

    def hear(event):
        if event["event"] == "pass_started":
            raise Enough

    slow = dict(small, speed=1, output_lengths=[2000], warmup=0, progress=hear)
    with pytest.raises(Enough):
        im.run(**slow)
    assert im.Store(small["store"]).runs()[0]["state"] == "interrupted"


def test_an_exception_of_a_callback_before_the_run_is_raised_too(small):
    def hear(event):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        im.run(**dict(small, speed=1, output_lengths=[2000], progress=hear))


def test_a_missed_objective_is_a_shortfall_and_only_check_raises_an_exception(small):
    # No machine reaches this throughput, and no delay of the client makes it uncertain.
    never = "output_tokens_per_s>1000000000"
    run = im.run(**dict(small, slo=never))
    assert run.shortfall.kind == "objective"
    with pytest.raises(im.ShortfallError, match="output_tokens_per_s"):
        run.check()
    assert im.Store(run.store).run(run.id).shortfall.kind == "objective"
    targets = [dict(name=name, speed=small.pop("speed", 1000)) for name in ("a", "b")]
    group = im.run(**dict(small, slo=never, target=targets))
    assert [run.shortfall.kind for run in group.runs] == ["objective", "objective"]


def test_a_plan_with_two_servers_gives_a_group(small, tmp_path):
    targets = [dict(name=name, speed=1000) for name in ("a", "b")]
    del small["speed"]
    group = im.run(target=targets, **small)
    assert len(group.runs) == 2 and not group.failures
    assert {run.summary["target"]["facts"]["variant"] for run in group.runs} == {"a", "b"}
    assert group.folder.exists()
    assert list(group.servers) == ["a", "b"] and group.id in repr(group)
    compared = group.compare("a", "b")
    assert compared.rows and "a" in str(compared)


def test_the_progress_line_ends_with_the_result_of_the_pass(small, capsys):
    im.run(**dict(small, progress=True))
    written = capsys.readouterr().err
    assert written.endswith("tokens/s\n"), written
    assert "saturated" in written


def test_a_prediction_sends_nothing_and_accepts_several_rates(small):
    run = im.predict(
        model="chatglm3-6b", rate=[2, 8], input_lengths=[64], output_lengths=[16], requests=50,
        **_files(small),
    )
    assert run.summary["predicted"] is True
    [cell] = run.cells
    assert len(cell["passes"]) >= 2
    with pytest.raises(im.PlanError, match="leave out target"):
        im.predict(target="http://127.0.0.1:8000", **_files(small))


def test_a_prediction_accepts_the_arguments_of_the_engine(small):
    plan = dict(input_lengths=[64], output_lengths=[64], requests=64, passes=["saturated"])
    narrow, wide = (
        im.predict(plan, max_num_seqs=n, gpu_memory_utilization=0.9, **_files(small))
        for n in (2, 64)
    )
    assert narrow.cells[0]["output_tokens_per_s"] < wide.cells[0]["output_tokens_per_s"] / 4
    smaller = im.predict(plan, model="qwen-14b", quantization="gptq", **_files(small))
    assert smaller.cells[0]["output_tokens_per_s"] > 0
    answers = [
        im.search(
            predict=True, slo="ttft_p90<2s", input_lengths=[64], output_lengths=[64],
            max_num_seqs=n, search=dict(max_requests=2000), **_files(small),
        ).summary["searches"][0]
        for n in (2, 64)
    ]
    assert answers[0]["guess"] < answers[1]["guess"]


def test_mistakes_in_arguments_of_the_engine_are_reported_with_all_other_mistakes(small):
    with pytest.raises(im.PlanError) as raised:
        im.predict(max_num_seqs="many", block_size=-1, requests="many", num_prompts=3, **_files(small))
    assert len(raised.value.mistakes) == 4, raised.value.mistakes
    for keys, words in [
        (dict(quantization="none"), "^weights: `none` is not known"),
        (dict(dtype="int3"), "^dtype: `int3` is not a type"),
        (dict(max_model_len=10**6), "^max_model_len"),
        (dict(weights="awq", quantization="awq"), "weights, quantization: both set the same value"),
    ]:
        with pytest.raises(im.PlanError, match=words):
            im.predict(**keys, **_files(small))


def test_the_arguments_of_the_engine_are_the_flags_of_the_command():
    keywords = inspect.signature(im.predict).parameters
    of_plan = {"plan", "against", "keys"}
    assert set(keywords) - of_plan == set(_inferometer.engine_keywords())


def test_a_search_in_virtual_time_has_an_answer(small):
    run = im.search(
        predict=True, slo="ttft_p90<2s", input_lengths=[64], output_lengths=[16],
        search=dict(max_requests=2000), **_files(small),
    )
    [answer] = run.summary["searches"]
    assert answer["low"] or answer["guess"]
    plan = dict(slo="ttft_p90<2s", input_lengths=[64], output_lengths=[16], **_files(small))
    plan["search"] = dict(over="concurrency", max_requests=2000)
    [answer] = im.search(plan, predict=True).summary["searches"]
    assert answer["over"] == "concurrency"


def test_a_sweep_in_virtual_time_ends_at_saturation(small):
    run = im.sweep(
        predict=True, input_lengths=[64], output_lengths=[16], max_num_seqs=8, sweep=dict(gpus=2),
        **_files(small),
    )
    [answer] = run.summary["sweeps"]
    assert "the server saturates at " in answer["answer"]
    assert answer["knee"]["load"] <= 8 and answer["gpus"] == 2


def test_a_prediction_has_the_lengths_of_the_measured_rows(small, tmp_path):
    table = tmp_path / "table.md"
    head = "| Input Length | Output Length | Throughput (requests/s) | Throughput (output token/s) "
    head += "| Average latency per token (ms) | Average latency per output token (ms) |\n"
    rule = "|---|---|---|---|---|---|\n"
    table.write_text(
        "# model: chatglm3-6b\n\n" + head + rule
        + "| 128 | 128 | 14.0 | 1800 | 5.6 | 11.3 |\n| 512 | 512 | 2.0 | 1000 | 5.6 | 11.3 |\n"
    )
    found = im.predict(model="chatglm3-6b", against=table, requests=40, **_files(small))
    lengths = [(cell["input_length"], cell["output_length"]) for cell in found.summary["cells"]]
    assert lengths == [(128, 128), (512, 512)]
    with pytest.raises(im.PlanError, match="no row in common with the prediction"):
        im.predict(model="chatglm3-6b", against=table, input_lengths=[7], output_lengths=[7], **_files(small))


def test_a_prediction_rejects_a_plan_with_a_search_or_a_server():
    for keys, why in [
        ({"search": {"over": "rate"}, "slo": "ttft_p95<500ms"}, "search"),
        ({"target": "http://127.0.0.1:1"}, "target"),
        ({"server": {"command": "true"}}, "server"),
    ]:
        with pytest.raises(im.PlanError, match=why):
            im.predict(plan=keys)
