"""Why the watermark does not move, and who is silent, in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from panes.why.facts import Operator, Partition, State
from panes.why.finding import Cause
from panes.why.plan import QueryPlan, StreamPlan

from .queries import LEAD, NOW, ORDERS, SECOND, at, hint, query, said, sentence, window


def test_an_idle_source() -> None:
    found = query(window(), rows_at=NOW - 240)
    assert sentence(found, Cause.IDLE) == (
        "no micro-batch has brought a row for 4 min: the watermark stands still until one comes, and reaches "
        "2024-01-01 12:01:00 with a row of 12:01:10"
    )
    assert hint(found, Cause.IDLE) == (
        "Declare idle_timeout on orders: then its clock goes on without rows. An input that has an end: run it with "
        "--flush."
    )
    assert "idle-source" not in said(query(window(), rows_at=NOW - 9))


def test_an_idle_source_where_it_is_not_known_what_falls_due() -> None:
    unknown = query(window(due=None, oldest=None), rows_at=NOW - 240)
    text = "no micro-batch has brought a row for 4 min: the watermark stands still until one comes"
    assert sentence(unknown, Cause.IDLE) == text
    assert hint(unknown, Cause.IDLE) == hint(query(window(), rows_at=NOW - 240), Cause.IDLE)


def test_an_idle_source_since_the_run_began() -> None:
    text = sentence(query(window(), rows_at=None, latest=None), Cause.IDLE)
    assert text.startswith(
        "no micro-batch has brought a row for 10 min, since the run began: the watermark stands still"
    )


def test_an_idle_source_with_a_timeout() -> None:
    stream = replace(ORDERS, idle_timeout=900 * SECOND)
    text = sentence(query(window(), stream=stream, rows_at=NOW - 240), Cause.IDLE)
    assert text == (
        "no micro-batch has brought a row for 4 min: idle_timeout, 15 min, moves the clock of orders on, at heartbeats"
    )


def test_an_idle_source_where_rows_are_waited_for() -> None:
    assert sentence(query(Operator(LEAD, kept=3), rows_at=NOW - 60), Cause.IDLE) == (
        "no micro-batch has brought a row for 1 min"
    )


def test_a_source_is_idle_for_nobody_where_nothing_waits() -> None:
    assert set(said(query(window(open_windows=0), rows_at=NOW - 240))) == {"nothing-waits"}


def test_a_checkpoint_says_nothing_of_rows_that_may_be_there() -> None:
    assert "idle-source" not in said(query(window(), rows_at=NOW - 240, state=State.STOPPED))


def test_a_delay_that_is_too_large() -> None:
    stream = replace(ORDERS, delay=3600 * SECOND)
    found = query(window(), stream=stream, watermark=at(-3550), earliest=at(0))
    assert sentence(found, Cause.DELAY) == (
        "the delay of orders, 1 h, is longer than the time between the first row and the last one that have come, 50 s "
        "(2024-01-01 12:00:00 to 12:00:50): the watermark is still before the first, and reaches 12:01:00 with a row "
        "of 13:01:00"
    )
    assert "WATERMARK FOR ts AS ts - INTERVAL" in (hint(found, Cause.DELAY) or "")


@pytest.mark.parametrize("known", [{"earliest": None}, {"earliest": at(0), "watermark": at(40)}, {"earliest": at(41)}])
def test_a_delay_that_has_been_outlived_or_is_not_known(known: dict[str, Any]) -> None:
    assert "delay-too-large" not in said(query(window(), **known))


def partition(number: int, offset: int, still: float | None, latest: int | None = None, topic: str = "t") -> Partition:
    return Partition(topic, str(number), offset, latest if latest is not None else offset, still)


BEHIND = ": what waits for rows of its keys waits for it. The watermark does not: it goes by the latest row of all"


def test_a_partition_that_never_had_a_row() -> None:
    found = query(window(), partitions=(partition(0, 7, NOW), partition(1, 0, NOW)))
    assert sentence(found, Cause.SILENT_PARTITION) == (
        f"partition 1 of topic t has never had a row, while others have{BEHIND}"
    )


def test_a_partition_that_fell_silent() -> None:
    found = query(window(), partitions=(partition(0, 7, NOW), partition(1, 42, NOW - 240), partition(2, 9, NOW - 1)))
    text = sentence(found, Cause.SILENT_PARTITION)
    assert text == f"partition 1 of topic t has had no row for 4 min (read to offset 42), while others have{BEHIND}"


def test_two_partitions_that_fell_silent_with_rows_to_read() -> None:
    quiet = (partition(1, 42, NOW - 240, 45), partition(2, 42, NOW - 60))
    text = sentence(query(window(), partitions=(partition(0, 7, NOW), *quiet)), Cause.SILENT_PARTITION)
    assert text.startswith(
        "partition 1 of topic t and partition 2 of topic t have had no row for 1 min, while others have, and 3 rows of "
        "it had not been read: "
    )


def test_partitions_that_all_are_silent_are_an_idle_source() -> None:
    found = query(window(), partitions=(partition(0, 7, NOW - 240), partition(1, 42, NOW - 241)), rows_at=NOW - 240)
    assert set(said(found)) == {"open-windows", "idle-source"}


def test_a_silent_topic_of_two() -> None:
    both = (partition(0, 7, NOW), partition(0, 5, NOW - 240, topic="users"), partition(1, 5, NOW - 240, topic="users"))
    found = query(window(), partitions=both)
    found = replace(found, plan=QueryPlan((ORDERS, StreamPlan("users", "at", 0)), found.plan.operators))
    assert sentence(found, Cause.SILENT_PARTITION) == (
        "topic users has had no row for 4 min, while others have: the watermark is that of the slowest stream"
    )


def test_a_backlog() -> None:
    found = query(window(), backlog=1_200, partitions=(partition(0, 7, NOW, 1_007), partition(1, 5, NOW, 205)))
    assert sentence(found, Cause.BACKLOG) == (
        "1,200 rows of the source had not been read after the last micro-batch: partition 0 of topic t 1,000 and "
        "partition 1 of topic t 200"
    )
    assert "backlog" not in said(query(window(), backlog=0))
