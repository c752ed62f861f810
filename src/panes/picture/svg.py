"""A trace → SVG: rows as they arrive, what each operator makes of them, what comes out.

Everything that appears and goes carries the steps in which it does (`data-from`, `data-to`, both counted from 0), and
what is not there in the step that is shown has the class `away`. So a page can step through the picture, and highlight
by `data-row`, `data-window`, `data-result` and `data-rows`, without drawing anything.
"""

from __future__ import annotations

from panes.picture.arrivals import arrivals
from panes.picture.axis import axis
from panes.picture.element import element, number, text, title
from panes.picture.lanes import lanes
from panes.picture.legend import legend
from panes.picture.scale import tick_texts
from panes.picture.table import table
from panes.picture.theme import Theme, style
from panes.picture.view import LEFT, RIGHT, WIDTH, View, label
from panes.trace import Trace
from panes.trace.values import moment_text


def svg(trace: Trace, step: int | None = None, theme: Theme | str = Theme.AUTO) -> str:
    """The picture of a trace after a step, by default the last one."""
    shown = max(trace.steps - 1, 0) if step is None else step
    if not 0 <= shown < max(trace.steps, 1):
        raise ValueError(f"there is no step {shown}: the trace has {trace.steps}")
    view = View(trace, shown)
    body, y = arrivals(view, 40)
    below: list[str] = []
    first_lane = y + 10
    for number_ in range(len(trace.levels)):
        drawn, y = lanes(view, number_, y + 12)
        below += drawn
    before, clocks = _clocks(view, first_lane + 22, y) if trace.levels else ([], [])
    scale = axis(view, 8, y)
    out, y = table(view, y + 8)
    key, y = legend(view, y + 2)
    height = y + 8
    paper = element("rect", width=WIDTH, height=height, rx=8, class_="paper")
    parts = [paper, *body[:1], *_bands_first(scale, body[1:]), *before, *_windows_first(below, clocks), *out, *key]
    sheet = element("style", style(Theme(theme)))
    described = element("desc", text(_described(trace)))
    content = "\n".join([title(_title(trace)), described, sheet, *(part for part in parts if part)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(WIDTH)} {number(height)}" '
        f'class="panes" role="img" data-step="{shown}" data-steps="{trace.steps}">\n{content}\n</svg>\n'
    )


def _bands_first(scale: list[str], body: list[str]) -> list[str]:
    """Bands, then the lines of the axis on them, then the rest."""
    bands = [part for part in body if 'class="band' in part or 'class="passed' in part]
    return [*bands, *scale, *(part for part in body if part not in bands)]


def _windows_first(below: list[str], clocks: list[str]) -> list[str]:
    """Windows, then the watermark on them, then rows and texts."""
    bars = [part for part in below if 'class="window' in part]
    return [*bars, *clocks, *(part for part in below if part not in bars)]


def _clocks(view: View, top: float, bottom: float) -> tuple[list[str], list[str]]:
    """The watermark through all lanes: weak lines where it was, and a strong one where it is."""
    past: list[str] = []
    parts: list[str] = []
    for step, moment in enumerate(view.watermarks):
        if moment is None or view.x(moment) <= LEFT:
            continue
        later = [one for one in range(step + 1, len(view.watermarks)) if view.watermarks[one] != moment]
        until = later[0] - 1 if later else None
        if step and view.watermarks[step - 1] == moment:
            continue
        path = f"M{number(view.x(moment))} {number(top)}V{number(bottom)}"
        told = title(f"watermark after micro-batch {step + 1}: {moment_text(moment)}")
        parts.append(element("path", told, d=path, **view.at("watermark", step, until)))
        parts.append(_clock(view, moment, top + 9, step, until))
        if until is not None:
            past.append(element("path", told, d=path, **view.at("past", until + 1)))
    return past, parts


def _clock(view: View, moment: int, y: float, step: int, until: int | None) -> str:
    """The time of the watermark, at the side of its line where there is room."""
    x, (name,) = view.x(moment), tick_texts([moment])
    if x > RIGHT - 60:
        return label(x - 5, y, name, **view.at("data clock end", step, until))
    return label(x + 5, y, name, **view.at("data clock", step, until))


def _title(trace: Trace) -> str:
    kinds = [f"{level.kind} window" if level.windows else level.kind for level in trace.levels]
    return f"{' over '.join(reversed(kinds)) or 'query'}: {len(trace.rows)} rows, {len(trace.results)} results"


def _described(trace: Trace) -> str:
    return " ".join(trace.sql.split())
