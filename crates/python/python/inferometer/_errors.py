"""The exceptions of this package. The extension module raises most of them; :meth:`Run.check` raises
:class:`ShortfallError`."""

from __future__ import annotations


class InferometerError(Exception):
    """The base class of the exceptions of this package."""


class PlanError(InferometerError, ValueError):
    """A plan or another argument is invalid. No request was sent.

    ``mistakes`` is the list of all mistakes. Each mistake names its key.
    """

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes


class RunError(InferometerError, RuntimeError):
    """The plan could not be carried out. The records up to the error are stored."""


class StoreError(InferometerError, LookupError):
    """A store cannot be read, or does not contain the requested run or data."""


class ShortfallError(InferometerError):
    """The results of a run are not a success: see :meth:`Run.check`.

    ``kind`` is one of the kinds of :class:`Shortfall`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
