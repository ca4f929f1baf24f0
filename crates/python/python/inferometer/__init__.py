"""Measures how fast LLM serving engines are, and states how wrong its own numbers can be.

>>> import inferometer as im
>>> run = im.run(target="http://127.0.0.1:8000", input_lengths=[128], output_lengths=[128])
>>> print(run.table())

The keywords of :func:`run`, :func:`predict`, :func:`search` and :func:`sweep` are the keys of a plan file.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Union

from . import _inferometer
from ._errors import (
    InferometerError,
    PlanError,
    RunError,
    ShortfallError,
    StoreError,
)
from ._program import program as _program
from ._progress import Event, Progress, listener as _listener
from ._run import Comparison, Group, Interrupted, PathLike, Run, Shortfall, Store

__version__ = _inferometer.__version__
__all__ = [
    "Comparison",
    "Event",
    "Group",
    "InferometerError",
    "Interrupted",
    "PlanError",
    "Run",
    "RunError",
    "Shortfall",
    "ShortfallError",
    "Store",
    "StoreError",
    "compare",
    "predict",
    "run",
    "search",
    "sweep",
]

#: A plan: the path of a plan file (TOML), or a mapping with the keys of a plan.
Plan = Union[PathLike, Mapping[str, Any], None]


def run(
    plan: Plan = None, *, progress: Progress = None, strict: bool = False, **keys: Any
) -> Union[Run, Group]:
    """Measures a server, or the embedded engine if the plan names no server (``target``, ``server``).

    ``plan`` is a plan file or a mapping. The keywords are the keys of a plan file, and override the
    keys of ``plan``. Returns a :class:`Group` for a plan with several servers or rounds, otherwise a
    :class:`Run`.

    ``progress`` is a function, ``True`` or ``False``. A function is called with each event. An event is a
    ``dict``; its key ``event`` is ``message``, ``warning``, ``run_started``, ``prompts_started``,
    ``warm_up_started``, ``pass_started``, ``progress``, ``pass_ended``, ``finding``, ``run_stored`` or
    ``run_ended``. A ``message`` or a ``warning`` has its line in ``text``, its kind in ``notice``, such as
    ``server_starting``, and its values under further keys. ``True`` shows a line or a bar, and ``False`` shows nothing. Without ``progress``, a
    notebook shows a bar, and a program shows a line if standard error is a terminal. With ``strict``, a
    suspect run and an undecided search have a shortfall.

    Python's lock is released during the measurement. Ctrl-C ends the run, stores the records so far, and
    raises :class:`Interrupted`. After a second Ctrl-C, no report is written, and ``KeyboardInterrupt`` is
    raised when the run has ended, or after ten seconds without an event. A third Ctrl-C raises
    ``KeyboardInterrupt`` immediately.

    Raises :class:`PlanError` with every mistake in the plan before the first request is sent,
    :class:`RunError` if the plan cannot be carried out, and :class:`StoreError` if the store cannot be
    used. Failed requests and missed objectives raise no exception: see :attr:`Run.shortfall` and
    :meth:`Run.check`.
    """
    file, text = _split(plan, keys)
    program = _program()
    if program is None:
        warnings.warn(
            "the command `inferometer` is not found: the embedded engine is served by a thread of "
            "this process, and servers cannot be started",
            RuntimeWarning,
            stacklevel=2,
        )
    document, interrupted = _inferometer.run(text, file, program, strict, _listener(progress))
    results = json.loads(document)
    if "group" in results:
        group = Group(results)
        if interrupted:
            raise Interrupted(f"interrupted; the runs are in {group.folder}", group=group)
        return group
    measured = Run._of_document(results)
    if interrupted:
        message = measured.shortfall.message if measured.shortfall else "interrupted"
        raise Interrupted(message, measured)
    return measured


def predict(
    plan: Plan = None,
    *,
    against: Union[Run, PathLike, None] = None,
    engine: Optional[str] = None,
    card: Optional[str] = None,
    weights: Optional[str] = None,
    quantization: Optional[str] = None,
    dtype: Optional[str] = None,
    kv_cache_dtype: Optional[str] = None,
    long_prefill_token_threshold: Optional[int] = None,
    max_model_len: Optional[int] = None,
    max_num_batched_tokens: Optional[int] = None,
    max_num_seqs: Optional[int] = None,
    max_paddings: Optional[int] = None,
    block_size: Optional[int] = None,
    gpu_memory_utilization: Optional[float] = None,
    tensor_parallel_size: Optional[int] = None,
    pipeline_parallel_size: Optional[int] = None,
    enable_prefix_caching: Optional[bool] = None,
    no_enable_prefix_caching: Optional[bool] = None,
    async_scheduling: Optional[bool] = None,
    no_async_scheduling: Optional[bool] = None,
    **keys: Any,
) -> Run:
    """Predicts a plan with the embedded engine in virtual time. No request is sent, and the prediction does
    not wait in real time.

    The arguments of the engine, from ``engine`` (such as ``vllm-0.23``) and ``card`` to
    ``no_async_scheduling``, are the flags of ``inferometer predict``. An absent argument has the
    default of this command. All other keywords are the keys of a plan file.

    ``against`` is a published table (Markdown), a result file of a tool or a stored run. If it is given,
    the prediction has the grid and the numbers of requests of these measurements, unless ``keys`` state
    other ones, and the report shows the differences. Absent arguments of the engine have the values that a
    result file or a run states. Ctrl-C raises ``KeyboardInterrupt`` immediately; the prediction continues
    in the background until it ends.
    """
    of_engine = dict(
        engine=engine,
        card=card,
        weights=weights,
        quantization=quantization,
        dtype=dtype,
        kv_cache_dtype=kv_cache_dtype,
        long_prefill_token_threshold=long_prefill_token_threshold,
        max_model_len=max_model_len,
        max_num_batched_tokens=max_num_batched_tokens,
        max_num_seqs=max_num_seqs,
        max_paddings=max_paddings,
        block_size=block_size,
        gpu_memory_utilization=gpu_memory_utilization,
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        enable_prefix_caching=enable_prefix_caching,
        no_enable_prefix_caching=no_enable_prefix_caching,
        async_scheduling=async_scheduling,
        no_async_scheduling=no_async_scheduling,
    )
    keys.update((name, value) for name, value in of_engine.items() if value is not None)
    file, text = _split(plan, keys)
    return Run._of_document(json.loads(_inferometer.predict(text, file, _name(against))))


def search(
    plan: Plan = None,
    *,
    predict: bool = False,
    progress: Progress = None,
    strict: bool = False,
    **keys: Any,
) -> Union[Run, Group]:
    """Searches for the highest arrival rate or concurrency that meets the objectives ``slo`` and
    ``goodput``, or those of the tiers in ``search``.

    ``search`` contains the keys of the table ``[search]`` of a plan, for example
    ``search={"over": "concurrency"}``. With ``predict``, the search runs in virtual time, without
    progress, and also accepts the arguments of the engine that :func:`predict` accepts. The answers are in
    ``run.summary["searches"]``.
    """
    return _trials("search", plan, predict, progress, strict, keys)


def sweep(
    plan: Plan = None,
    *,
    predict: bool = False,
    progress: Progress = None,
    strict: bool = False,
    **keys: Any,
) -> Union[Run, Group]:
    """Raises the load from one request in flight until the server is saturated, and finds the knee.

    ``sweep`` contains the keys of the table ``[sweep]`` of a plan, for example ``sweep={"by": "rate"}``.
    With ``predict``, the sweep runs in virtual time, as with :func:`search`. The answers are in
    ``run.summary["sweeps"]``.
    """
    return _trials("sweep", plan, predict, progress, strict, keys)


def _trials(
    table: str,
    plan: Plan,
    predict: bool,
    progress: Progress,
    strict: bool,
    keys: Dict[str, Any],
) -> Union[Run, Group]:
    if isinstance(plan, Mapping):
        plan, keys = None, {**plan, **keys}
    keys.setdefault(table, {})
    if not predict:
        return run(plan, progress=progress, strict=strict, **keys)
    if progress or strict:
        why = "these keywords apply only to measurements; leave them out with predict=True"
        raise PlanError([f"progress, strict: {why}"])
    file, text = _split(plan, keys)
    return Run._of_document(json.loads(_inferometer.predict_search(text, file)))


def compare(
    baseline: Union[Run, PathLike],
    contender: Union[Run, PathLike],
    *,
    margin: float = 0.05,
    gate: Optional[str] = None,
    seed: int = 0,
    store: Optional[PathLike] = None,
) -> Comparison:
    """Compares a result with a baseline, figure by figure.

    Each of the two results is a :class:`Run`, or a text as in ``inferometer compare``: the name of a stored
    run, a tag, the path of a result file, several of these separated by commas, or ``GROUP/SERVER``.
    ``margin`` is a share of the baseline, above 0 and below 1: smaller differences do not matter. ``gate``
    contains conditions such as ``"output_tokens_per_s>-3%,ttft_p99<+5%"``. ``seed`` is the seed of the
    random numbers for the intervals. ``store`` is the database of the names; absent: that of the given
    :class:`Run`, otherwise ``inferometer.db``.
    """
    runs = [one for one in (baseline, contender) if isinstance(one, Run)]
    stores = {one.store.resolve() for one in runs}
    if store is not None:
        stores = {Path(store)}
    if len(stores) > 1:
        raise PlanError([
            "the runs are in different stores: give the path of the summary.json of one of them, or pack one with "
            "`inferometer bundle` and import it into the other store"
        ])
    where = stores.pop() if stores else Path("inferometer.db")
    names = (_name(baseline) or "", _name(contender) or "")
    return Comparison(_inferometer.compare(*names, where, margin, gate, seed))


def _split(plan: Plan, keys: Mapping[str, Any]) -> tuple[Optional[str], str]:
    """Returns the path of the plan file (or ``None``), and all other keys as JSON."""
    if plan is None or isinstance(plan, Mapping):
        file, keys = None, {**(plan or {}), **keys}
    else:
        file = os.fspath(plan)
    try:
        return file, json.dumps(_without_infinity(keys), default=_plain)
    except (TypeError, ValueError) as error:
        raise PlanError([f"the keys of the plan: {error}"]) from None


def _without_infinity(value: Any) -> Any:
    """JSON has no infinity, so a plan contains the text ``inf``, such as in ``rate="inf"`` (all at once)."""
    if isinstance(value, float) and not math.isfinite(value):
        if value == math.inf:
            return "inf"
        raise ValueError(f"{value} is not a number that a plan can contain")
    if isinstance(value, Mapping):
        return {key: _without_infinity(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_infinity(one) for one in value]
    return value


def _plain(value: Any) -> Any:
    """Converts a value of another type to a type that JSON has: paths to text, NumPy numbers to numbers,
    NumPy arrays, ranges and sets to lists."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (range, set, frozenset)):
        return list(value)
    raise TypeError(f"{value!r} cannot be a value in a plan")


def _name(of: Union[Run, PathLike, None]) -> Optional[str]:
    if of is None:
        return None
    return of.id if isinstance(of, Run) else os.fspath(of)
