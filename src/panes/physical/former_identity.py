"""What an operator's state depends on, as former versions of Panes wrote it, in today's words.

Lengths of windows were kept as they were spelled:

    {"kind": "tumbling", "unit": "mi", "length": 2, "offset": "-1 min"}
    {"kind": "tumbling", "length": "120 s", "offset": "60 s"}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from panes.kernels.kernel import seconds

LENGTHS = ("length", "size", "hop", "gap", "lookback", "lookahead")
WINDOW_UNITS = {"dd": 86_400_000_000, "hh": 3_600_000_000, "mi": 60_000_000, "ss": 1_000_000, "ms": 1_000}
UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000, "µs": 1}


def today(depends_on: Any) -> Any:
    """The same in today's words, which it may be in already."""
    match depends_on:
        case {"kind": _, "unit": _}:
            return _window(depends_on)
        case Mapping():
            return {name: today(one) for name, one in depends_on.items()}
        case list():
            return [today(one) for one in depends_on]
        case _:
            return depends_on


def _window(window: Mapping[str, Any]) -> dict[str, Any]:
    unit = WINDOW_UNITS[window["unit"]]
    lengths = {name: window[name] * unit for name in LENGTHS if window.get(name) is not None}
    found = {name: one for name, one in window.items() if name not in ("unit", "offset")}
    found |= {name: seconds(one) for name, one in lengths.items()}
    if "offset" in window:
        number, of = window["offset"].split()
        offset = int(number) * UNITS[of] % lengths["hop" if "hop" in lengths else "length"]
        found |= {"offset": seconds(offset)} if offset else {}
    return found
