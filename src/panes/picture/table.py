"""What comes out, as a table: the micro-batch, the change type of a changelog, the values."""

from __future__ import annotations

from dataclasses import dataclass

from panes.picture.element import element, number, title
from panes.picture.view import WIDTH, View, badge, fitted, label, value_text, wide

LINE = 17.0
WIDEST = 420.0
LONGEST = 12  # rows below each other, where there is room for some beside them
LEAD = 44.0  # the micro-batch before the columns


@dataclass(frozen=True)
class Columns:
    """The columns of a table: their names and widths, and the cells of each result."""

    names: tuple[str, ...]
    widths: tuple[float, ...]
    cells: tuple[tuple[str, ...], ...]

    @property
    def width(self) -> float:
        return LEAD + sum(self.widths)


def table(view: View, top: float) -> tuple[list[str], float]:
    """The results from `top` on, in parts beside each other where they are many, and where they end."""
    results, columns = view.trace.results, _columns(view)
    if not results:
        return [label(16, top + 14, "nothing comes out", "muted")], top + 25
    beside = min(max(int((WIDTH - 16) / (columns.width + 24)), 1), -(-len(results) // LONGEST))
    size = -(-len(results) // beside)
    parts: list[str] = []
    for number_ in range(beside):
        left = 16 + number_ * (columns.width + 24)
        shown = range(number_ * size, min((number_ + 1) * size, len(results)))
        parts += _part(view, columns, shown, left, top) if shown else []
    return parts, top + 25 + LINE * size


def _columns(view: View) -> Columns:
    trace = view.trace
    change = ("_change_type",) if trace.changelog else ()
    names = (*change, *trace.columns)
    cells = tuple(
        (*([result.change or ""] if change else []), *map(value_text, result.values)) for result in trace.results
    )
    widths = [min(max(wide(row[index]) for row in (names, *cells)) + 18, WIDEST) for index in range(len(names))]
    room = min((WIDTH - 32 - LEAD) / (sum(widths) or 1.0), 1.0)
    return Columns(names, tuple(width * room for width in widths), cells)


def _part(view: View, columns: Columns, shown: range, left: float, top: float) -> list[str]:
    """Some of the results below each other; the micro-batch stands at the first row of each."""
    lefts = [left + LEAD + sum(columns.widths[:index]) for index in range(len(columns.widths))]
    parts = [label(left, top + 14, "out", "head")]
    parts += [
        label(x, top + 14, fitted(name, width - 8), "data muted")
        for x, name, width in zip(lefts, columns.names, columns.widths, strict=True)
    ]
    right = WIDTH - 16 if left + columns.width * 2 > WIDTH else left + columns.width
    for line, index in enumerate(shown):
        result, y = view.trace.results[index], top + 21 + LINE * line
        if not line or view.trace.results[index - 1].step != result.step:
            rule = element("path", d=f"M{number(left)} {number(y)}H{number(right)}", class_="grid")
            name = view.step_name(result.step)
            parts += [rule, badge(left + 14, y + LINE / 2 + 1, name, **view.at("", result.step))]
        cells = [
            label(x, y + 12.5, fitted(cell, width - 8), "data" if cell != "NULL" else "data muted")
            for x, cell, width in zip(lefts, columns.cells[index], columns.widths, strict=True)
        ]
        made = " ".join(map(str, result.rows)) if result.rows is not None else None
        told = title(_told(result.rows))
        parts.append(element("g", told, *cells, data_result=result.id, data_rows=made, **view.at("line", result.step)))
    return parts


def _told(rows: tuple[int, ...] | None) -> str:
    if rows is None:
        return "which rows made it is not known"
    return f"made of row{'s' * (len(rows) != 1)} {', '.join(map(str, rows))}"
