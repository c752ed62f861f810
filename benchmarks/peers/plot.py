"""A bar chart as SVG: groups of bars on a logarithmic scale, with the spread as a line."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

COLOURS = "#1b6ca8 #9aa5b1 #cbd2d9 #e0a458 #c8553d #6a994e #a7c957 #7b2cbf #577590 #f28482 #84a59d".split()
LEFT, TOP, WIDTH, ROW, GAP = 130, 60, 620, 11, 14


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Group:
    name: str
    bars: tuple[Bar, ...]


def chart(title: str, names: list[str], groups: list[Group]) -> str:
    """Groups from top to bottom; `names` give colours their order."""
    lows = [bar.low for group in groups for bar in group.bars] or [1.0]
    highs = [bar.high for group in groups for bar in group.bars] or [10.0]
    first, last = floor(log10(min(lows))), max(ceil(log10(max(highs))), floor(log10(min(lows))) + 1)

    def x(value: float) -> float:
        return LEFT + (log10(value) - first) / (last - first) * WIDTH

    height = TOP + sum(len(group.bars) * ROW + GAP for group in groups) + 30
    colours = dict(zip(names, COLOURS * (len(names) // len(COLOURS) + 1), strict=False))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 90}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18" font-size="14">{escape(title)}</text>',
    ]
    place = 10.0
    for name in names:
        parts.append(f'<rect x="{place:.0f}" y="30" width="10" height="10" fill="{colours[name]}"/>')
        parts.append(f'<text x="{place + 14:.0f}" y="39">{escape(name)}</text>')
        place += 26 + 6.2 * len(name)
    for power in range(first, last + 1):
        parts.append(f'<path d="M{x(10**power):.1f} {TOP - 8}V{height - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(10**power):.1f}" y="{height - 6}" text-anchor="middle">{10.0**power:,.0f}</text>')
    y = float(TOP)
    for group in groups:
        middle = y + len(group.bars) * ROW / 2 + 4
        parts.append(f'<text x="{LEFT - 8}" y="{middle:.1f}" text-anchor="end">{escape(group.name)}</text>')
        for bar in group.bars:
            line = y + ROW / 2 - 0.5
            width = max(x(bar.value) - LEFT, 1)
            parts.append(
                f'<rect x="{LEFT}" y="{y:.1f}" width="{width:.1f}" height="{ROW - 1}" fill="{colours[bar.name]}"/>'
            )
            parts.append(f'<path d="M{x(bar.low):.1f} {line:.1f}H{x(bar.high):.1f}" stroke="#222"/>')
            parts.append(f'<text x="{x(bar.high) + 4:.1f}" y="{y + ROW - 2:.1f}" font-size="9">{bar.value:,.0f}</text>')
            y += ROW
        y += GAP
    return "\n".join([*parts, "</svg>", ""])
