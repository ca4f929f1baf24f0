"""Shows the progress of a run as a line on a terminal or a bar in a notebook, or calls a function."""

from __future__ import annotations

import html
import json
import sys
from typing import Any, Callable, Optional, Union

#: An event of a run. The key ``event`` is the kind of the event: see ``help(inferometer.run)``.
Event = dict[str, Any]
Progress = Union[bool, None, Callable[[Event], None]]


def listener(progress: Progress) -> Optional[Callable[[str], None]]:
    """Returns the function that receives the events of a run, or ``None`` if progress is not shown."""
    if progress is False:
        return None
    if callable(progress):
        return lambda text: progress(json.loads(text))
    if _in_notebook():
        return _Bar().hear
    if progress or sys.stderr.isatty():
        return _Line().hear
    return None


def _in_notebook() -> bool:
    # In a notebook, IPython is always imported already.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def _share(event: Event) -> Optional[float]:
    return event["ended"] / event["requests"] if event["requests"] else None


def _is_running(event: Event, before: bool) -> bool:
    """Whether a pass is in progress after this event."""
    return event["event"] == "pass_started" or before and event["event"] != "pass_ended"


def _words(event: Event) -> str:
    of = f"/{event['requests']}" if event["requests"] else ""
    return f"{event['label']}: {event['ended']}{of} requests"


class _Line:
    """A line on standard error that each progress event overwrites. Messages, warnings and the results of
    passes are printed above this line."""

    def __init__(self) -> None:
        self._shown = 0
        self._is_running = False

    def hear(self, text: str) -> None:
        event = json.loads(text)
        self._is_running = _is_running(event, self._is_running)
        if event["event"] == "progress":
            # For a pass that has ended, the result is shown instead.
            if self._is_running:
                self._write(_words(event), end="")
        elif event["event"] in ("message", "warning"):
            self._write(event["text"], end="\n")
        elif event["event"] == "pass_ended":
            rate = event["output_tokens_per_s"] or 0
            self._write(f"{event['label']}: {rate:.1f} tokens/s", end="\n")

    def _write(self, words: str, end: str) -> None:
        blank = " " * max(self._shown - len(words), 0)
        back = "\r" if self._shown else ""
        self._shown = 0 if end else len(words)
        print(f"{back}{words}{blank}", end=end, file=sys.stderr, flush=True)


class _Bar:
    """A progress bar in a notebook. Above the bar, there is one line for each warning and each ended pass."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._lines: list[str] = []
        self._is_running = False
        self._display = display(HTML(""), display_id=True)

    def hear(self, text: str) -> None:
        event = json.loads(text)
        bar = ""
        self._is_running = _is_running(event, self._is_running)
        if event["event"] == "progress":
            if not self._is_running:
                return
            share = _share(event)
            value = "" if share is None else f' value="{share:.4f}"'
            bar = f"<progress{value}></progress> {html.escape(_words(event))}"
        elif event["event"] == "warning":
            self._lines.append(f"warning: {event['text']}")
        elif event["event"] == "pass_ended":
            rate = event["output_tokens_per_s"] or 0
            self._lines.append(f"{event['label']}: {rate:.1f} tokens/s")
        elif event["event"] != "run_ended":
            return
        above = "".join(f"<div>{html.escape(line)}</div>" for line in self._lines)
        self._display.update(self._html(above + bar))
