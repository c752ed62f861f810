"""Tables: whole in a pipe, and on a narrow terminal without what matters least."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table
from rich.text import Text

from panes.cli.output.board import Board
from panes.cli.output.live import queries_table
from panes.cli.output.tables import fitted, listing_table
from panes.cli.status import runs_table

from ..reports import report

NOON = 1_704_110_400  # 2024-01-01 12:00:00
NAME = "orders_by_shop"


def lines(table: Table, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True, markup=False, emoji=False)
    console.print(table, soft_wrap=True)
    return console.export_text().splitlines()


def board() -> Board:
    found = Board()
    found.query(NAME, NOON - 1000.0)
    figures = {"rows_in": 10**7, "rows_out": 10**6, "late_rows": 30, "open_windows": 123_456, "state_bytes": 10**9}
    found.batch(report(NAME, watermark=(NOON - 75) * 1_000_000, backlog=1_234_567, **figures), NOON)
    return found


def test_the_live_table_on_80_columns_has_the_name_of_the_query() -> None:
    shown = lines(queries_table(board(), NOON, 80))
    assert all(len(line.rstrip()) <= 80 for line in shown)
    assert "…" not in "".join(shown)
    assert NAME in "".join(shown)
    assert "1 min 15 s" in "".join(shown)


def test_status_on_80_columns_has_the_name_and_the_state_of_the_query() -> None:
    shown = "\n".join(lines(runs_table(board().document(NOON), NOON, 80)))
    assert max(map(len, shown.splitlines())) <= 80
    assert NAME in shown
    assert "running" in shown
    assert "10,000,000" in shown
    assert "…" not in shown


def test_on_a_wide_terminal_and_in_a_pipe_no_column_is_left_out() -> None:
    for limit, width in ((200, 200), (None, 80)):
        assert "1,234,567" in "".join(lines(queries_table(board(), NOON, limit), width))
        assert "1,234,567" in "".join(lines(runs_table(board().document(NOON), NOON, limit), width))


def test_in_a_pipe_a_table_is_as_wide_as_it_is() -> None:
    table = Table(*(f"column_{number}" for number in range(16)))
    table.add_row(*["a3f2c1d0-1111-2222-3333-444444444444"] * 16)
    (line,) = (line for line in lines(fitted(table, None)) if "a3f2" in line)
    assert line.count("a3f2c1d0-1111-2222-3333-444444444444") == 16


def test_a_listing_shows_what_was_written() -> None:
    cells = ("data/[a-z]*/x.json", "b[/*x*/0]", "user:key:")
    shown = "\n".join(lines(listing_table(("[path]", "b", "c"), [cells], None)))
    assert all(one in shown for one in (*cells, "[path]"))


def test_on_a_terminal_a_long_word_of_a_listing_is_folded() -> None:
    shown = "".join(line.strip(" ") for line in lines(listing_table(("path",), [("x" * 100,)], 80)))
    assert shown.count("x") == 100


def test_texts_of_tables_are_no_markup() -> None:
    table = queries_table(board(), NOON, 80)
    assert all(isinstance(cell, Text) for column in table.columns for cell in column.cells)
