"""The live table: what it shows of each query, and that all else scrolls by above it."""

from __future__ import annotations

import io

from rich.console import Console

from panes.cli.output.board import Board
from panes.cli.output.live import COLUMNS, LiveTable, cells, queries_table
from panes.errors import PanesError

from ..reports import report

NOON = 1_704_110_400  # 2024-01-01 12:00:00


def shown(board: Board, now: float) -> list[list[str]]:
    console = Console(width=150, file=io.StringIO(), record=True)
    console.print(queries_table(board, now, 150))
    return [line.split() for line in console.export_text().splitlines() if line.strip(" ─")]


def test_a_line_per_query_with_all_figures() -> None:
    board = Board()
    board.query("totals", NOON - 100.0)
    figures = report(
        "totals",
        rows_in=1000,
        rows_out=20,
        late_rows=3,
        open_windows=1234,
        state_bytes=2048,
        watermark=(NOON - 75) * 1_000_000,
        backlog=5000,
    )
    board.batch(figures, NOON)
    named = dict(zip(COLUMNS, cells(board.queries["totals"], NOON), strict=True))
    assert named == {
        "in/s": "100",
        "out/s": "2.0",
        "batch": "0.50 s",
        "watermark": "2024-01-01 11:58:45",
        "behind": "1 min 15 s",
        "open": "1,234",
        "late": "3",
        "state": "2.0 KiB",
        "backlog": "5,000",
    }
    header, line = shown(board, NOON)
    assert header == ["query", *COLUMNS]
    assert line[0] == "totals"


def test_what_is_not_known_is_left_out() -> None:
    board = Board()
    board.query("one", 0.0)
    board.batch(report("two"), 0.0)
    board.failed("three", "no disk", 0.0)
    one, two, three = (cells(query, 1.0) for query in board.queries.values())
    assert one[0] == "starting"
    assert [cell for cell in two if cell] == ["0", "0", "0.50 s", "0"]
    assert three[0] == "failed"


def test_it_is_drawn_on_a_terminal_with_errors_above() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=150, highlight=False)
    with LiveTable(console, clock=lambda: 0.0) as table:
        table.started(["totals"], "http://127.0.0.1:4040")
        table.batch(report("totals", rows_in=1))
        table.failed("totals", PanesError("value-failed", "an overflow (INSERT INTO totals)"))
        table.ended("done")
    drawn = screen.getvalue()
    assert "value-failed: an overflow (INSERT INTO totals)" in drawn
    assert "http://127.0.0.1:4040" in drawn
    assert table.board.queries["totals"].state == "failed"
