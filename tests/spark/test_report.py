"""What a report takes from Spark's progress: the watermark, and how much waits in the sources."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from panes.spark.progress import backlog_of, watermark_of


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
        ({"watermark": "3993-01-01T00:00:00.000Z"}, {"rows_in": 1}, None),  # shifted: Panes' operators use it
        ({"watermark": "3993-01-01T00:00:00.000Z"}, {"rows_in": 1, "watermark": 5}, 5),
    ],
)
def test_watermark(event_time: dict[str, str], counters: dict[str, int], watermark: int | None) -> None:
    assert watermark_of(SimpleNamespace(eventTime=event_time), counters) == watermark
