"""Runs: measured, predicted or read from a store."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from . import _inferometer
from ._errors import ShortfallError

PathLike = Union[str, "os.PathLike[str]"]


class Shortfall(NamedTuple):
    """The reason why the results of a run are not a success."""

    #: ``interrupted``, ``failed``, ``objective``, ``suspect`` or ``undecided``.
    kind: str
    #: The reason, in one sentence.
    message: str


class Run:
    """A run in a store, with its results."""

    def __init__(
        self,
        run_id: str,
        store: PathLike,
        summary: dict[str, Any],
        folder: Optional[PathLike] = None,
        shortfall: Optional[Shortfall] = None,
    ) -> None:
        #: The id of the run in the store.
        self.id = run_id
        #: The path of the database.
        self.store = Path(store)
        #: The results, with the content of ``summary.json`` in the report of the run.
        self.summary = summary
        #: The folder of the report; ``None`` if no report was written.
        self.folder = Path(folder) if folder is not None else None
        #: The most severe reason why the results are not a success; ``None`` if they are a success.
        self.shortfall = shortfall

    @classmethod
    def _of_document(cls, document: dict[str, Any]) -> Run:
        head = document["run"]
        shortfall = head["shortfall"] and Shortfall(**head["shortfall"])
        return cls(head["run_id"], head["store"], document["summary"], head["folder"], shortfall)

    @property
    def run_id(self) -> str:
        """The same as ``id``, under the name that summaries and tables use."""
        return self.id

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The results of each pair of lengths: ``summary["cells"]``."""
        return self.summary["cells"]

    def check(self) -> Run:
        """Returns the run if its results are a success, otherwise raises :class:`ShortfallError`. If the
        results are not a success, the command has an exit code other than 0."""
        if self.shortfall is not None:
            raise ShortfallError(*self.shortfall)
        return self

    def table(self, markdown: bool = False) -> str:
        """Returns the tables of the run: as the text that the command prints, or as Markdown."""
        return _inferometer.table(self.store, self.id, markdown)

    def requests(self) -> _inferometer.Rows:
        """Returns one row for each planned request, as an Arrow stream. The rows can be read several times."""
        return _inferometer.Rows(self.store, self.id, "requests")

    def events(self) -> _inferometer.Rows:
        """Returns one row for each event of each response, as an Arrow stream. The rows can be read several
        times."""
        return _inferometer.Rows(self.store, self.id, "events")

    def figures(self) -> _inferometer.Rows:
        """Returns one row for each pass with all its figures, as an Arrow stream."""
        return _inferometer.Rows(self.store, self.id, "cells")

    def plan(self) -> dict[str, Any]:
        """Returns the resolved plan of the run, with all default values."""
        return json.loads(_inferometer.run_document(self.store, self.id))["stored"]["plan"]

    def report(self, out: Optional[PathLike] = None) -> Path:
        """Writes the report again from the records, and returns the folder of the report."""
        return Path(_inferometer.write_report(self.store, self.id, out))

    def __repr__(self) -> str:
        target = self.summary["target"]
        of = target["facts"].get("variant")
        return f"<Run {self.id}: {target['model']}{f', {of}' if of else ''}>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return _inferometer.of_run(self.store, self.id)


class Group:
    """The runs of a plan with several servers or rounds."""

    def __init__(self, document: dict[str, Any]) -> None:
        head, self.comparison = document["group"], document["comparison"]
        store = head["store"]
        #: The id of the group in the store. ``"ID/SERVER"`` is the name of all rounds of a server.
        self.id: str = self.comparison["group"]
        #: The path of the database.
        self.store = Path(store)
        #: The runs that were carried out, in the order of their measurement.
        self.runs = [
            Run(one["run_id"], store, one, shortfall=fallen and Shortfall(**fallen))
            for one, fallen in zip(self.comparison["runs"], head["shortfalls"])
        ]
        #: The runs that failed, each as ``{"server": ..., "message": ...}``.
        self.failures: list[dict[str, str]] = head["failures"]
        #: The folder of the comparison.
        self.folder = Path(head["folder"])

    @property
    def servers(self) -> dict[str, list[Run]]:
        """The runs of each server by its name, in the order of the rounds."""
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.summary["target"]["facts"].get("variant", ""), []).append(run)
        return found

    def compare(
        self,
        baseline: str,
        contender: str,
        *,
        margin: float = 0.05,
        gate: Optional[str] = None,
        seed: int = 0,
    ) -> Comparison:
        """Compares all rounds of the server ``contender`` with all rounds of the server ``baseline``."""
        names = [f"{self.id}/{name}" for name in (baseline, contender)]
        return Comparison(_inferometer.compare(*names, self.store, margin, gate, seed))

    def __repr__(self) -> str:
        return f"<Group {self.id}: {', '.join(self.servers)}, {len(self.runs)} runs>"

    def _repr_html_(self) -> str:
        return "\n".join(run._repr_html_() for run in self.runs)


class Store:
    """A database of runs."""

    def __init__(self, path: PathLike = "inferometer.db") -> None:
        #: The path of the database.
        self.path = Path(path)

    def runs(
        self,
        *,
        model: Optional[str] = None,
        engine: Optional[str] = None,
        card: Optional[str] = None,
        tags: Union[str, list[str], None] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        state: Optional[str] = None,
        kind: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> list[dict[str, Any]]:
        """Returns the runs that meet all conditions, the oldest first, in the form of
        ``inferometer runs --json``.

        ``model``, ``engine`` and ``card`` are parts of the names. A run must have all ``tags`` (one or a list).
        ``since`` and ``until`` are in UTC, such as ``2026-11-20`` or ``2026-11-20T05:12``. ``state`` is ``running``,
        ``killed``, ``complete``, ``interrupted`` or ``failed``. ``kind`` is ``measured``, ``predicted`` or
        ``imported``. If more than ``limit`` runs meet the conditions, the newest ones are returned.
        """
        given = dict(
            model=model,
            engine=engine,
            card=card,
            tags=[tags] if isinstance(tags, str) else tags or [],
            since=since,
            until=until,
            state=state,
            kind=kind,
            limit=limit,
        )
        return json.loads(_inferometer.runs(self.path, json.dumps(given)))

    def run(self, name: str) -> Run:
        """Returns the run with this name: its id, a unique part of its id, a unique tag, ``latest`` (the last
        measured run), ``latest-predicted`` or ``latest-imported``."""
        document = json.loads(_inferometer.run_document(self.path, name))
        head = document["stored"]
        shortfall = head["shortfall"] and Shortfall(**head["shortfall"])
        return Run(head["row"]["run_id"], self.path, document["summary"], shortfall=shortfall)

    def __getitem__(self, name: str) -> Run:
        return self.run(name)

    def __repr__(self) -> str:
        return f"Store({os.fspath(self.path)!r})"


class Comparison:
    """A result compared with a baseline."""

    def __init__(self, parts: tuple[str, str, str, str]) -> None:
        document, self._text, self._markdown, self._html = parts
        judged = json.loads(document)
        #: The comparison with all its rows, in the form of ``inferometer compare --json``.
        self.comparison: dict[str, Any] = judged["comparison"]
        #: The conditions of the gate that are not met.
        self.missed: list[str] = judged["missed"]
        #: The conditions of the gate that are undecided. More repeats can decide them.
        self.undecided: list[str] = judged["undecided"]
        self._has_gate = bool(self.comparison["gate"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The figures that both results have, each with its difference, interval and verdict."""
        return self.comparison["rows"]

    @property
    def passed(self) -> Optional[bool]:
        """Whether the gate is met; ``None`` without a gate, or if a condition is undecided."""
        if self.missed:
            return False
        return None if self.undecided or not self._has_gate else True

    def table(self, markdown: bool = False) -> str:
        """Returns the comparison: as the text that the command prints, or as Markdown."""
        return self._markdown if markdown else self._text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.rows)} figures>"

    def _repr_html_(self) -> str:
        return self._html


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run, or the runs of a plan with several servers. ``run`` or ``group`` contains the
    results so far. These results are also in the store."""

    def __init__(
        self, message: str, run: Optional[Run] = None, group: Optional[Group] = None
    ) -> None:
        super().__init__(message)
        self.run = run
        self.group = group
