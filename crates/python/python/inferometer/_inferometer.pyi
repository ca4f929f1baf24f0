"""The extension module. Its functions exchange documents as JSON text."""

import os
from typing import Any, Callable, Optional, Union, final

_PathLike = Union[str, "os.PathLike[str]"]

__all__ = [
    "Rows",
    "__version__",
    "compare",
    "engine_keywords",
    "main",
    "of_run",
    "predict",
    "predict_search",
    "run",
    "run_document",
    "runs",
    "table",
    "write_report",
]

__version__: str

def main(arguments: list[str], program: Optional[_PathLike]) -> int: ...
def run(
    keys: str,
    plan: Optional[_PathLike],
    program: Optional[_PathLike],
    strict: bool,
    on_event: Optional[Callable[[str], None]],
) -> tuple[str, bool]: ...
def predict(keys: str, plan: Optional[_PathLike], against: Optional[str]) -> str: ...
def predict_search(keys: str, plan: Optional[_PathLike]) -> str: ...
def engine_keywords() -> list[str]: ...
def compare(
    baseline: str,
    contender: str,
    store: _PathLike,
    margin: float,
    gate: Optional[str],
    seed: int,
) -> tuple[str, str, str, str]: ...
def runs(store: _PathLike, filter: str) -> str: ...
def run_document(store: _PathLike, name: str) -> str: ...
def table(store: _PathLike, name: str, markdown: bool) -> str: ...
def write_report(store: _PathLike, name: str, out: Optional[_PathLike]) -> _PathLike: ...
def of_run(store: _PathLike, name: str) -> str: ...

@final
class Rows:
    """Rows of a run, available through the PyCapsule interface of Arrow."""

    def __new__(cls, store: _PathLike, run: str, what: str) -> Rows: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
