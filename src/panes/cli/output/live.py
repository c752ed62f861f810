"""A run as a table that is drawn again and again, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from panes.cli.output.board import Board, QueryState
from panes.cli.output.figures import length, moment, rate, size
from panes.cli.output.lines import Lines
from panes.cli.output.tables import figures_table

if TYPE_CHECKING:
    from panes.spark.report import Report

# Where the terminal is narrow, the first of EXPENDABLE goes first.
COLUMNS = ("in/s", "out/s", "batch", "watermark", "behind", "open", "late", "state", "backlog")
EXPENDABLE = ("backlog", "out/s", "batch", "watermark", "open", "late", "state")
LOOKS = {"running": "green", "failed": "bold red", "done": "dim"}


class LiveTable(Lines):
    """Answers, rows and errors scroll by above the table."""

    def __init__(self, screen: Console, *, most_rows: int = 20, clock: Callable[[], float] = time.time) -> None:
        super().__init__(quiet=True, most_rows=most_rows, screen=screen)  # others would draw over the table
        self.board, self._clock = Board(), clock
        self._ui: str | None = None
        self._live = Live(_Drawn(self), console=screen, refresh_per_second=4)

    def __enter__(self) -> LiveTable:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def started(self, queries: list[str], ui: str | None) -> None:
        self._ui = ui
        for name in queries:
            self.board.query(name, self._clock())

    def batch(self, report: Report) -> None:
        self.board.batch(report, self._clock())

    def failed(self, query: str, error: Exception) -> None:
        super().failed(query, error)
        self.board.failed(query, str(error), self._clock())

    def ended(self, reason: str) -> None:
        for one in self.board.queries.values():
            one.state = "done" if one.state == "running" else one.state

    def drawn(self, width: int) -> RenderableType:
        now = self._clock()
        link = [Text(f"Spark UI {self._ui} · Ctrl-C stops", style="dim")] if self._ui is not None else []
        return Group(queries_table(self.board, now, width), *link)


class _Drawn:
    """Asked for what there is to see each time the screen is drawn."""

    def __init__(self, of: LiveTable) -> None:
        self._of = of

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._of.drawn(options.max_width)


def queries_table(board: Board, now: float, width: int | None) -> Table:
    """A line per query."""
    rows: list[list[str | Text]] = [
        [Text(one.name, style=LOOKS[one.state]), *cells(one, now)] for one in list(board.queries.values())
    ]
    return figures_table(("query", *COLUMNS), rows, width, words=1, expendable=EXPENDABLE)


def cells(one: QueryState, now: float) -> list[str]:
    """The figures of a query, in the order of COLUMNS; what is not known is left out."""
    if one.last is None:
        return [one.state if one.state != "running" else "starting", *[""] * (len(COLUMNS) - 1)]
    rows_in, rows_out = one.rates(now)
    behind, backlog = one.behind(now), one.last.backlog
    windows, held = one.gauge("open_windows"), one.gauge("state_bytes")
    return [
        rate(rows_in),
        rate(rows_out),
        f"{one.last.seconds:.2f} s",
        moment(one.last.watermark).partition(".")[0],
        length(behind) if behind is not None else "",
        f"{windows:,}" if windows is not None else "",
        f"{one.late_rows:,}",
        size(held) if held is not None else "",
        f"{backlog:,}" if backlog is not None else "",
    ]
