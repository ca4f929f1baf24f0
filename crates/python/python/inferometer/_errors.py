"""What can go wrong. The extension module raises these."""

from __future__ import annotations


class InferometerError(Exception):
    """Something that this package could not do."""


class PlanError(InferometerError, ValueError):
    """A plan, or another argument, cannot be used as it is. Nothing was sent.

    ``mistakes`` has every mistake, each with its key.
    """

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes


class RunError(InferometerError, RuntimeError):
    """The plan could not be carried out. What was recorded until then is stored."""


class StoreError(InferometerError, LookupError):
    """A store cannot be read, or does not have what is asked for."""


class ShortfallError(InferometerError):
    """The results are not what was asked for: see :meth:`Run.check`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
