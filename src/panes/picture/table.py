"""What comes out, as a table: the micro-batch, the change type of a changelog, the values."""

from __future__ import annotations

from panes.picture.element import element, number, title
from panes.picture.view import WIDTH, View, badge, fitted, label, value_text, wide

LINE = 17.0
WIDEST = 190.0


def table(view: View, top: float) -> tuple[list[str], float]:
    """The results from `top` on, and where they end."""
    trace = view.trace
    names = [*(["_change_type"] if trace.changelog else []), *trace.columns]
    rows = [
        [*([result.change or ""] if trace.changelog else []), *map(value_text, result.values)]
        for result in trace.results
    ]
    widths = [min(max(wide(row[index]) for row in [names, *rows]) + 18, WIDEST) for index in range(len(names))]
    room = (WIDTH - 76) / sum(widths) if widths else 1.0
    widths = [width * min(room, 1.0) for width in widths]
    lefts = [56 + sum(widths[:index]) for index in range(len(widths))]
    parts = [label(16, top + 14, "comes out", "head")] if not rows else []
    parts += [label(16, top + 14, "out", "head")] if rows else []
    parts += [
        label(x, top + 14, fitted(name, width - 8), "data muted")
        for x, name, width in zip(lefts, names, widths, strict=True)
    ]
    y, before = top + 21, -1
    for result, row in zip(trace.results, rows, strict=True):
        if result.step != before:
            rule = element("path", d=f"M16 {number(y)}H{number(WIDTH - 16)}", class_="grid")
            parts += [rule, badge(30, y + LINE / 2 + 1, view.step_name(result.step), **view.at("", result.step))]
            before = result.step
        cells = [
            label(x, y + 12.5, fitted(cell, width - 8), "data" if cell != "NULL" else "data muted")
            for x, cell, width in zip(lefts, row, widths, strict=True)
        ]
        told = title(_told(view, result.rows))
        made = " ".join(map(str, result.rows)) if result.rows is not None else None
        parts.append(element("g", told, *cells, data_result=result.id, data_rows=made, **view.at("line", result.step)))
        y += LINE
    if not rows:
        parts.append(label(56, top + 14, "nothing so far", "muted"))
    return parts, y + 4


def _told(view: View, rows: tuple[int, ...] | None) -> str:
    if rows is None:
        return "which rows made it is not known"
    return f"made of row{'s' * (len(rows) != 1)} {', '.join(map(str, rows))}"
