"""A run as lines of text: where there is no terminal, or one that others write to."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from rich.console import Console

from panes.cli.output.failure_text import in_short
from panes.cli.output.rows import table_of
from panes.cli.output.tables import width_of
from panes.cli.script_file import console, errors, print_listing, print_plan
from panes.compile import Compiled
from panes.errors import PanesError
from panes.script import Done, Explanation, Listing, Step

if TYPE_CHECKING:
    from panes.spark.report import Report
    from panes.spark.rows import Rows


class Lines:
    """A line per micro-batch on standard error, or another `screen`; answers and rows on standard output."""

    def __init__(self, *, quiet: bool = False, most_rows: int = 20, screen: Console = errors) -> None:
        self.quiet, self.most_rows, self.screen = quiet, most_rows, screen

    def started(self, queries: list[str], ui: str | None) -> None:
        if ui is not None and not self.quiet:
            self.screen.print(f"Spark UI: {ui}", style="dim")

    def step(self, step: Step) -> None:
        match step:
            case Done(message=message):
                console.print(message)
            case Explanation(text=text):
                print_plan(text)
            case Listing():
                print_listing(step)
            case Compiled():
                pass
            case _:
                assert_never(step)

    def batch(self, report: Report) -> None:
        if not self.quiet:
            self.screen.print(batch_line(report), style="dim")

    def rows(self, rows: Rows) -> None:
        console.print(table_of(rows, self.most_rows, width_of(console)))

    def failed(self, query: str, error: Exception) -> None:
        self.screen.print(failure_line(query, error))

    def refused(self, error: Exception) -> None:
        self.screen.print(in_short(error))

    def warned(self, message: str) -> None:
        self.screen.print(message, markup=False)

    def ended(self, reason: str) -> None:
        pass


def batch_line(report: Report) -> str:
    """One micro-batch."""
    backlog = {"backlog": report.backlog} if report.backlog is not None else {}
    counters = " ".join(f"{name}={value}" for name, value in {**report.counters, **backlog}.items())
    return f"{report.sink} batch {report.batch} {report.seconds:.2f} s {counters}".rstrip()


def failure_line(query: str, error: Exception) -> str:
    """What failed, with the name of its query; an error of Panes begins with its code."""
    if not isinstance(error, PanesError):
        return f"{query} failed: {in_short(error)}"
    if "INSERT INTO " in error.message:
        return in_short(error)
    return in_short(PanesError(error.code, f"{error.message} ({query})", error.span, error.hint))
