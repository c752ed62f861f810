"""Counters and gauges of a running query, read from Spark's progress reports."""

from __future__ import annotations

from typing import Any

from panes.spark.processor import CLOCK, OLDEST, SUMS


def counters(query: Any) -> dict[str, int]:
    """Those of a running query's last micro-batch that had any; empty before the first."""
    return next((found for one in reversed(query.recentProgress) if (found := counters_of(one))), {})


def counters_of(progress: Any) -> dict[str, int]:
    """Panes' counters and gauges in a progress report of a running query; empty where it has none.

    Of several operators in a chain, `rows_in` is the first one's and `rows_out` the last one's; the rest is summed.
    """
    found = [progress.observedMetrics[name] for name in sorted(progress.observedMetrics) if name.startswith("panes")]
    chain = [_named(one.asDict()) for one in found]
    if not chain:
        return {}
    last, *before = [{name: one[name] or 0 for name in SUMS} for one in chain]
    counters = {name: sum(one[name] for one in (last, *before)) for name in SUMS}
    for name, pick in ((OLDEST, min), (CLOCK, max)):
        times = [one[name] for one in chain if one[name] is not None]
        counters |= {name: pick(times)} if times else {}
    return counters | {"rows_in": (before or [last])[0]["rows_in"], "rows_out": last["rows_out"]}


def _named(found: dict[str, Any]) -> dict[str, Any]:
    """Metrics by name; Spark Connect gives the values and their schema beside each other."""
    if "schema" not in found:
        return found
    return dict(zip((field["name"] for field in found["schema"]["fields"]), found["values"], strict=True))
