"""Counters and gauges of a running query, read from Spark's progress reports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from panes.spark.counters import CLOCK, DUE, OLDEST, SHIFT, SUMS
from panes.spark.counters_table import Counters
from panes.spark.places import offsets


def counters(query: Any) -> Counters:
    """Panes' counters and gauges of a running query's last micro-batch that had any, by name; empty before the first.

    They are a dictionary, `panes.counters(query)["late_rows"]`, which a notebook shows as a table.
    [What a running query tells](../concepts/counters.md) has the names.
    """
    return Counters(next((found for one in reversed(query.recentProgress) if (found := counters_of(one))), {}))


METRICS = re.compile(r"panes_[0-9a-f]{8}_(?P<number>\d+)_(?P<place>only|first|middle|last)")


def metrics_name(result: str, number: int, *, reads_source: bool, feeds_another: bool) -> str:
    """The name of an operator's metrics: Spark takes each name once in a query, which may join several results.

    >>> metrics_name("3f2a91bc", 0, reads_source=True, feeds_another=True)
    'panes_3f2a91bc_0_first'
    """
    place = ("first" if feeds_another else "only") if reads_source else ("middle" if feeds_another else "last")
    return f"panes_{result}_{number}_{place}"


MALFORMED = "panes_malformed_"


def malformed_name(stream: str) -> str:
    """The name of what a stream's reader counts."""
    return f"{MALFORMED}{stream.lower()}"


def counters_of(progress: Any) -> dict[str, int]:
    """Panes' counters and gauges in a progress report of a running query; empty where it has none.

    Of several operators in a chain, `rows_in` is the first one's and `rows_out` the last one's; the rest is summed.
    `malformed_rows` is there where a stream has dead letters.
    """
    named = {name: METRICS.fullmatch(name) for name in progress.observedMetrics}
    found = [
        (place["place"], _named(progress.observedMetrics[name].asDict())) for name, place in named.items() if place
    ]
    malformed = [_named(one.asDict()) for name, one in progress.observedMetrics.items() if name.startswith(MALFORMED)]
    malformed_rows = {"malformed_rows": sum(one["malformed_rows"] or 0 for one in malformed)} if malformed else {}
    if not found:
        return malformed_rows
    counters = {name: sum(one[name] or 0 for _, one in found) for name in SUMS}
    for name, places in (("rows_in", ("first", "only")), ("rows_out", ("last", "only"))):
        counters[name] = sum(one[name] or 0 for place, one in found if place in places)
    for name, pick in ((OLDEST, min), (DUE, min), (CLOCK, max)):
        times = [one[name] for _, one in found if one[name] is not None]
        counters |= {name: pick(times)} if times else {}
    return counters | malformed_rows


def operators_of(progress: Any) -> dict[int, dict[str, int]]:
    """The counters and gauges of each operator by its number; those that it does not have are left out."""
    named = {name: METRICS.fullmatch(name) for name in progress.observedMetrics}
    found = {int(one["number"]): _named(progress.observedMetrics[name].asDict()) for name, one in named.items() if one}
    return {number: {name: value for name, value in of.items() if value is not None} for number, of in found.items()}


def watermark_of(progress: Any, counters: Mapping[str, int]) -> int | None:
    """The watermark in microseconds since 1970; None before there is one.

    `counters` are those of the report: where Panes has operators, Spark's own watermark is shifted, and shards tell
    theirs, if the micro-batch has called any.
    """
    text = progress.eventTime.get("watermark")
    micros = round(datetime.fromisoformat(text).timestamp() * 1_000_000) if text is not None else 0
    if "rows_in" in counters:  # malformed records are counted for any query
        return counters.get(CLOCK, micros - SHIFT if micros > 0 else None)
    return micros or None


def backlog_of(progress: Any) -> int | None:
    """How many rows wait in the sources, where they tell how far they reach: Kafka does."""
    behind = [_behind(one.endOffset, one.latestOffset) for one in progress.sources]
    known = [rows for rows in behind if rows is not None]
    return sum(known) if known else None


def _behind(end: str | None, latest: str | None) -> int | None:
    """The distance between two places in the partitions of topics.

    >>> _behind('{"orders":{"0":7,"1":5}}', '{"orders":{"0":10,"1":5}}')
    3
    """
    ends, latests = offsets(end), offsets(latest)
    if ends is None or latests is None:
        return None
    return sum(max(0, offset - ends.get(place, 0)) for place, offset in latests.items())


def _named(found: dict[str, Any]) -> dict[str, Any]:
    """Metrics by name; Spark Connect gives the values and their schema beside each other."""
    if "schema" not in found:
        return found
    return dict(zip((field["name"] for field in found["schema"]["fields"]), found["values"], strict=True))
