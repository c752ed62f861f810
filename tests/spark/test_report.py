"""What a report takes from Spark's progress: the watermark, and how much waits in the sources."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from panes.spark.counters import SHIFT
from panes.spark.places import Place, clocks_of, places_of
from panes.spark.progress import backlog_of, operators_of, watermark_of


def source(end: str | None, latest: str | None) -> Any:
    return SimpleNamespace(endOffset=end, latestOffset=latest)


@pytest.mark.parametrize(
    ("sources", "backlog"),
    [
        ([], None),
        ([source('{"logOffset":3}', None)], None),
        ([source("7", "9")], None),
        ([source('{"t":{"0":7,"1":5}}', '{"t":{"0":10,"1":5}}')], 3),
        ([source('{"t":{"0":7}}', '{"t":{"0":7,"1":4}}')], 4),  # a partition that is new
        ([source('{"t":{"0":7}}', '{"t":{"0":2}}')], 0),  # a topic that was made anew
        ([source('{"t":{"0":7}}', '{"t":{"0":9}}'), source('{"u":{"0":1}}', '{"u":{"0":2}}'), source(None, None)], 3),
    ],
)
def test_backlog(sources: list[Any], backlog: int | None) -> None:
    assert backlog_of(SimpleNamespace(sources=sources)) == backlog


@pytest.mark.parametrize(
    ("event_time", "counters", "watermark"),
    [
        ({}, {}, None),
        ({"watermark": "1970-01-01T00:00:00.000Z"}, {}, None),  # Spark's word for none
        ({"watermark": "2024-01-01T00:00:01.500Z"}, {}, 1_704_067_201_500_000),
        ({"watermark": "3939-01-01T00:00:40.000Z"}, {"rows_in": 1}, 40_000_000),  # shifted, and no shard was called
        ({"watermark": "1970-01-01T00:00:00.000Z"}, {"rows_in": 1}, None),
        ({"watermark": "3993-01-01T00:00:00.000Z"}, {"rows_in": 1, "watermark": 5}, 5),
    ],
)
def test_watermark(event_time: dict[str, str], counters: dict[str, int], watermark: int | None) -> None:
    assert watermark_of(SimpleNamespace(eventTime=event_time), counters) == watermark


def test_where_the_partitions_of_topics_are() -> None:
    files = SimpleNamespace(startOffset='{"logOffset":2}', endOffset='{"logOffset":3}', latestOffset=None)
    ends, latest = '{"t":{"10":7,"9":5}}', '{"t":{"10":8,"9":5}}'
    topic = SimpleNamespace(startOffset='{"t":{"9":5}}', endOffset=ends, latestOffset=latest)
    found = list(places_of(SimpleNamespace(sources=[files, topic])))
    assert found == [Place("t", "9", 5, 5, 5), Place("t", "10", None, 7, 8)]


def shifted(seconds: float) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=SHIFT, seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000Z"


@pytest.mark.parametrize(
    ("event_time", "is_shifted", "times"),
    [
        ({}, True, (None, None)),
        ({"min": shifted(-3), "max": shifted(5)}, True, (-3_000_000, 5_000_000)),
        ({"min": "1970-01-01T00:00:00.000Z", "max": shifted(5)}, True, (None, 5_000_000)),  # some had no time
        ({"min": "1970-01-01T00:00:00.000Z", "max": "1970-01-01T00:00:05.000Z"}, False, (0, 5_000_000)),
    ],
)
def test_times_of_rows(event_time: dict[str, str], is_shifted: bool, times: tuple[int | None, int | None]) -> None:
    assert clocks_of(SimpleNamespace(eventTime=event_time), is_shifted) == times


def test_each_operator_has_its_counters() -> None:
    def row(**values: int | None) -> Any:
        return SimpleNamespace(asDict=lambda: values)

    observed = {
        "panes_3f2a91bc_0_first": row(groups=2, next_due=None),
        "panes_3f2a91bc_10_last": row(groups=3),
        "own": row(),
    }
    assert operators_of(SimpleNamespace(observedMetrics=observed)) == {0: {"groups": 2}, 10: {"groups": 3}}
