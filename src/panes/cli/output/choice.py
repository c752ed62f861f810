"""Which of the ways to show a run is taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from panes.cli.output.json_lines import JsonLines
from panes.cli.output.lines import Lines
from panes.cli.output.live import LiveTable
from panes.cli.script_file import console, errors
from panes.script import Step

if TYPE_CHECKING:
    from panes.spark.report import Report
    from panes.spark.rows import Rows


class Listener(Protocol):
    """What is told of the queries of a run."""

    def started(self, queries: list[str], ui: str | None) -> None: ...
    def batch(self, report: Report) -> None: ...
    def failed(self, query: str, error: Exception) -> None: ...


class Output(Listener, Protocol):
    """What shows a run to its user."""

    def step(self, step: Step) -> None: ...
    def rows(self, rows: Rows) -> None: ...
    def refused(self, error: Exception) -> None: ...
    def warned(self, message: str) -> None: ...
    def ended(self, reason: str) -> None: ...


@dataclass(frozen=True)
class Wanted:
    """What the user asked for."""

    quiet: bool = False
    json: bool = False
    log_json: bool = False
    most_rows: int = 20


class Logged(JsonLines):
    """Answers and rows as text on standard output, all else as JSON on standard error."""

    def __init__(self, most_rows: int, quiet: bool = False) -> None:
        super().__init__(log=True, quiet=quiet)
        self._text = Lines(most_rows=most_rows)

    def step(self, step: Step) -> None:
        self._text.step(step)

    def rows(self, rows: Rows) -> None:
        self._text.rows(rows)


def plain_output(wanted: Wanted) -> Output:
    """A way that suits every place that text can go to."""
    if wanted.json:
        return JsonLines(quiet=wanted.quiet)
    if wanted.log_json:
        return Logged(wanted.most_rows, wanted.quiet)
    return Lines(quiet=wanted.quiet, most_rows=wanted.most_rows)


@contextmanager
def output_for(wanted: Wanted, others_print: bool) -> Iterator[Output]:
    """A live table on a terminal that is ours alone, else lines."""
    screen = console if console.is_terminal else errors
    plain = wanted.json or wanted.log_json or wanted.quiet or others_print
    if plain or not (errors.is_terminal and screen.is_terminal) or screen.is_dumb_terminal:
        yield plain_output(wanted)
        return
    with LiveTable(screen, most_rows=wanted.most_rows) as table:
        yield table
