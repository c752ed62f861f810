"""Colours and type of a picture, light and dark: Okabe and Ito's blue, green and vermilion, and greys.

Each is said twice, plainly and as a custom property, so that programs that know none draw it too, and so that a page
may set its own.
"""

from __future__ import annotations

from enum import StrEnum


class Theme(StrEnum):
    LIGHT = "light"
    DARK = "dark"
    AUTO = "auto"  # as the reader's system has it


LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b2733",
    "muted": "#64717f",
    "line": "#dde3ea",
    "band": "#f4f6f9",
    "passed": "#e9edf2",
    "row": "#0067a5",
    "window": "#dcebf7",
    "edge": "#6aa5d1",
    "result": "#00785a",
    "late": "#c04a00",
    "mark": "#c04a00",
}
DARK = {
    "paper": "#11171e",
    "ink": "#e3e9ef",
    "muted": "#93a1b0",
    "line": "#2a333d",
    "band": "#18202a",
    "passed": "#202a35",
    "row": "#5cb3ec",
    "window": "#173650",
    "edge": "#3d7fb0",
    "result": "#3ccb9f",
    "late": "#ff9150",
    "mark": "#ff9150",
}
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"

# Each rule with what it says of colours, and the rest.
_RULES: tuple[tuple[str, dict[str, str], str], ...] = (
    (".paper", {"fill": "paper"}, ""),
    ("text", {"fill": "ink"}, f"font: 11px {SANS}"),
    (".data", {}, f"font: 11px {MONO}"),
    (".on-band", {"stroke": "band"}, "stroke-width: 3; stroke-linejoin: round; paint-order: stroke"),
    (".on-paper", {"stroke": "paper"}, "stroke-width: 3; stroke-linejoin: round; paint-order: stroke"),
    (".muted", {"fill": "muted"}, ""),
    (".head", {"fill": "muted"}, "font-size: 11px; font-weight: 600; letter-spacing: .02em"),
    (".code", {"fill": "ink"}, f"font: 12px {MONO}"),
    (".grid", {"stroke": "line"}, "stroke-width: 1"),
    (".band", {"fill": "band"}, ""),
    (".passed", {"fill": "passed"}, ""),
    (".row", {"fill": "row", "stroke": "paper"}, "stroke-width: 1"),
    (".waiting", {"fill": "paper", "stroke": "row"}, "stroke-width: 1.6; stroke-dasharray: 2.4 1.6"),
    (".no-window", {"fill": "paper", "stroke": "row"}, "stroke-width: 1.6"),
    (".filtered, .null-time, .unknown", {"fill": "paper", "stroke": "muted"}, "stroke-width: 1.6"),
    (".late", {"stroke": "late"}, "fill: none; stroke-width: 2.2; stroke-linecap: round"),
    (".window", {"fill": "window", "stroke": "edge"}, "stroke-width: 1.2"),
    (".open", {}, "stroke-dasharray: 4 3"),
    (".member", {"fill": "row"}, ""),
    (".trigger", {"stroke": "row"}, "stroke-width: 2"),
    (".result", {"fill": "result"}, ""),
    (".derived", {"fill": "result", "stroke": "paper"}, "stroke-width: 1"),
    (".past", {"stroke": "mark"}, "fill: none; stroke-width: 1; stroke-dasharray: 2 3; opacity: .6"),
    (".watermark", {"stroke": "mark"}, "fill: none; stroke-width: 2"),
    (".clock", {"fill": "mark"}, ""),
    (".badge", {"fill": "muted"}, ""),
    (".number", {"fill": "paper"}, "font-size: 9px; font-weight: 600; text-anchor: middle"),
    (".end", {}, "text-anchor: end"),
    (".middle", {}, "text-anchor: middle"),
    (".away", {}, "display: none"),
)


def style(theme: Theme) -> str:
    """The style sheet of a picture."""
    plain = DARK if theme is Theme.DARK else LIGHT
    lines = [f"svg.panes {{ {_variables(plain)} }}"]
    if theme is Theme.AUTO:
        lines.append(f"@media (prefers-color-scheme: dark) {{ svg.panes {{ {_variables(DARK)} }} }}")
    for selector, colours, rest in _RULES:
        said = [f"{name}: {plain[colour]}; {name}: var(--{colour})" for name, colour in colours.items()]
        where = ", ".join(f".panes {one}" for one in selector.split(", "))
        lines.append(f"{where} {{ {'; '.join([*said, *([rest] if rest else [])])} }}")
    return "\n".join(lines)


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours.items())
