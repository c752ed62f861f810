"""The page and the plot of `growth`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from math import log10

from benchmarks.page_figures import FOLDER, machine, replace_figures, table

BEGIN, END = "<!-- figures: written by make bench ARGS=growth -->", "<!-- end of figures -->"
LEFT, TOP, WIDTH, ROW = 330, 62, 420, 20
LOW, HIGH, TARGET = 0.1, 100.0, 1.5
COLOURS = {"rows written": "#9aa5b1", "bytes written": "#e0a458", "processor time": "#1b6ca8"}


@dataclass(frozen=True)
class Growth:
    """A case: the cost of its largest size against that of the smallest, and the processor time of both."""

    name: str
    grows: str
    sizes: tuple[int, ...]
    ratios: tuple[float, float, float]  # rows written, bytes written, processor time
    milliseconds: tuple[float, float]


def write_page(grown: Sequence[Growth]) -> None:
    (FOLDER / "growth.svg").write_text(plot(grown), encoding="utf-8")
    replace_figures(FOLDER / "growth.md", BEGIN, END, markdown(grown))


def markdown(grown: Sequence[Growth]) -> str:
    head = ["case", "what grows", *COLOURS, "processor time, ms"]
    rows = [
        [
            one.name,
            f"{one.grows}: {one.sizes[0]:,} → {one.sizes[-1]:,}",
            *(f"{ratio:.2f}" if ratio <= TARGET else f"**{ratio:.2f}**" for ratio in one.ratios),
            " → ".join(f"{each:.1f}" for each in one.milliseconds),
        ]
        for one in grown
    ]
    about = f"Measured on {datetime.now(UTC):%Y-%m-%d}: {machine()}. Above {TARGET} in bold."
    return f"{about}\n\n![How much more a micro-batch costs](growth.svg)\n\n{table(head, rows)}"


def plot(grown: Sequence[Growth]) -> str:
    """A line for each case with a dot for each ratio; what is right of the dashed line costs more than it should."""
    height = TOP + ROW * len(grown) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="18" font-size="14">What a micro-batch costs when state has grown: large / small</text>',
    ]
    for number, (name, colour) in enumerate(COLOURS.items()):
        at = 16 + 130 * number
        parts.append(f'<circle cx="{at}" cy="36" r="4" fill="{colour}"/><text x="{at + 8}" y="40">{name}</text>')
    for tick in (0.1, 0.5, 1, 2, 10, 100):
        parts.append(f'<path d="M{_x(tick):.1f} {TOP - 6}V{height - 24}" stroke="#ddd"/>')
        parts.append(f'<text x="{_x(tick):.1f}" y="{height - 8}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<path d="M{_x(TARGET):.1f} {TOP - 6}V{height - 24}" stroke="#c8553d" stroke-dasharray="4 3"/>')
    for number, one in enumerate(grown):
        y = TOP + ROW * number + ROW / 2
        parts.append(f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(one.name)}</text>')
        parts.append(f'<path d="M{LEFT} {y:.1f}H{LEFT + WIDTH}" stroke="#f2f2f2"/>')
        for colour, ratio in zip(COLOURS.values(), one.ratios, strict=True):
            parts.append(f'<circle cx="{_x(ratio):.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity="0.85"/>')
    return "\n".join([*parts, "</svg>", ""])


def _x(ratio: float) -> float:
    inside = min(max(ratio, LOW), HIGH)
    return LEFT + WIDTH * (log10(inside) - log10(LOW)) / (log10(HIGH) - log10(LOW))
