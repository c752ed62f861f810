"""The counters of a running query, which notebooks show as a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import escape

from panes.spark.counters import CLOCK, DUE, OLDEST

STYLE = """
.panes-counters { border-collapse: collapse; font-size: 13px; }
.panes-counters td, .panes-counters th { padding: 2px 12px 2px 0; text-align: left; }
.panes-counters td + td { text-align: right; font-variant-numeric: tabular-nums; }
.panes-counters .panes-none { opacity: 0.5; }
"""


class Counters(dict[str, int]):
    """Counters and gauges by name, in the order in which they are documented."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no micro-batch yet</p>"
        rows = "".join(_row(name, value) for name, value in self.items())
        head = "<tr><th>counter</th><th>last micro-batch</th></tr>"
        return f'<div><style>{STYLE}</style><table class="panes-counters">{head}{rows}</table></div>'


def _row(name: str, value: int) -> str:
    dim = "" if value else ' class="panes-none"'
    return f"<tr{dim}><td>{escape(name)}</td><td>{escape(shown(name, value))}</td></tr>"


def shown(name: str, value: int) -> str:
    """A value as it is read: times as times, large numbers in groups.

    >>> shown("rows_in", 1234567), shown("watermark", 1_704_110_400_000_000)
    ('1,234,567', '2024-01-01 12:00:00 UTC')
    """
    if name not in (CLOCK, DUE, OLDEST):
        return f"{value:,}"
    try:
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value):%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:  # before year 1 or after 9999, which Spark's times can be
        return f"{value:,} µs"
