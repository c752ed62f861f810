"""Tables as wide as the place that they go to: a terminal has a width, a pipe or a file has none (None)."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

ENDLESS = Console(width=1_000_000, markup=False, emoji=False)


def width_of(screen: Console) -> int | None:
    """How wide a table may be."""
    return screen.width if screen.is_terminal else None


def natural_width(table: Table) -> int:
    """The width at which nothing is cut or folded."""
    return Measurement.get(ENDLESS, ENDLESS.options, table).maximum


def fitted(table: Table, width: int | None) -> Table:
    """A table that is whole where there is no width; else Rich folds it."""
    if width is None:
        table.width = natural_width(table)
    return table


def listing_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> Table:
    """Texts as they are; long ones are folded, not cut."""
    table = Table(show_edge=False)
    for name in header:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return fitted(table, width)


def figures_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    width: int | None,
    *,
    words: int,
    expendable: Sequence[str],
) -> Table:
    """Figures to the right of some columns of words; where it is narrow, the `expendable` columns go, one by one."""
    table = _figures(columns, rows, words, ())
    for number in range(len(expendable)):
        if width is None or natural_width(table) <= width:
            break
        table = _figures(columns, rows, words, expendable[: number + 1])
    return fitted(table, width)


def _figures(columns: Sequence[str], rows: Sequence[Sequence[str | Text]], words: int, without: Sequence[str]) -> Table:
    shown = [number for number, name in enumerate(columns) if name not in without]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number in shown:
        table.add_column(Text(columns[number]), justify="left" if number < words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in (row[number] for number in shown)))
    return table
