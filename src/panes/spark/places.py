"""Where the sources of a query are, and how old its rows: what Spark's progress reports and logs tell of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from panes.spark.counters import SHIFT

Offsets = Mapping[tuple[str, str], int]  # by topic and partition


@dataclass(frozen=True)
class Place:
    """Where a partition of a topic was read from and to in a micro-batch, and where it ends, if that is known."""

    topic: str
    partition: str
    start: int | None
    end: int
    latest: int | None = None


def places_of(progress: Any) -> Iterator[Place]:
    """The partitions of a query's topics, in the order of their numbers."""
    for source in progress.sources:
        yield from places(source.startOffset, source.endOffset, source.latestOffset)


def places(start: str | None, end: str | None, latest: str | None) -> Iterator[Place]:
    """Those of one source; none if it counts another way.

    >>> list(places('{"t":{"0":5}}', '{"t":{"0":7,"1":2}}', None))[0]
    Place(topic='t', partition='0', start=5, end=7, latest=None)
    """
    starts, ends, latests = offsets(start) or {}, offsets(end) or {}, offsets(latest) or {}
    for topic, partition in sorted(ends, key=lambda place: (place[0], len(place[1]), place[1])):
        at = topic, partition
        yield Place(topic, partition, starts.get(at), ends[at], latests.get(at))


def offsets(text: str | None) -> Offsets | None:
    """Offsets by topic and partition; None if a source counts another way."""
    try:
        topics = json.loads(text or "null")
        return {(topic, partition): int(at) for topic, places in topics.items() for partition, at in places.items()}
    except (ValueError, TypeError, AttributeError):
        return None


def clocks_of(progress: Any, shifted: bool) -> tuple[int | None, int | None]:
    """The earliest and the latest time of a micro-batch's rows, in microseconds since 1970; in whole milliseconds.

    Where Panes has operators Spark sees times that are `shifted`, and less the delay; what has no time is 0 there, so
    that the earliest of the others is not known.
    """
    return _time(progress.eventTime.get("min"), shifted), _time(progress.eventTime.get("max"), shifted)


def _time(text: str | None, shifted: bool) -> int | None:
    if text is None:
        return None
    micros = round(datetime.fromisoformat(text).timestamp() * 1_000_000)
    if shifted:
        return micros - SHIFT if micros > 0 else None
    return micros
