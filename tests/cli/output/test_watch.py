"""What a run remembers for `panes why`, and what facts become of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from panes.cli.output.board import Board
from panes.spark.places import Place
from panes.spark.report import Report
from panes.why.facts import Operator, Partition, Query, Totals
from panes.why.plan import OperatorPlan, QueryPlan, StreamPlan, Waits

from ..reports import report

WINDOW = OperatorPlan(0, "tumblingwindow", Waits.WATERMARK, size=60_000_000, shards=2)
PLAN = QueryPlan((StreamPlan("t", "ts", 10_000_000),), (WINDOW,))


def facts(*reports: Report, plan: QueryPlan = PLAN) -> Query:
    """The facts of a query that began at 0 and had a report a second, written down and read again."""
    from panes.cli.output.watch import facts_of

    board = Board()
    board.plans({"out": plan}, 0.0)
    for second, one in enumerate(reports, 1):
        board.batch(one, float(second))
    (written,) = json.loads(json.dumps(board.document(100.0)))
    return facts_of(written)


def test_before_the_first_micro_batch() -> None:
    assert facts() == Query("out", facts().state, PLAN, began=0.0, operators=(Operator(WINDOW),), totals=Totals())


def test_gauges_are_those_of_the_last_micro_batch_and_counters_add_up() -> None:
    gauges = {"open_windows": 2, "oldest_open_window": 5, "waiting_rows": 1, "buffered_rows": 4, "groups": 3}
    found = facts(
        report(rows_in=3, late_rows=1, null_time_rows=2, open_windows=9, shards=2),
        report(batch=1, rows_in=4, rows_out=5, no_window_rows=1, expired_rows=1, next_due=65, shards=2, **gauges),
    )
    assert found.operators == (Operator(WINDOW, 2, 5, 1, 4, 3, 65),)
    assert found.totals == Totals(7, 5, 1, 2, 1, 1)


GAUGES = {
    "open_windows": 4,
    "oldest_open_window": 5,
    "waiting_rows": 1,
    "buffered_rows": 6,
    "groups": 9,
    "next_due": 65,
}


def test_a_micro_batch_that_calls_no_shard_changes_nothing() -> None:
    everything = report(rows_in=3, shards=2, **GAUGES)
    assert facts(everything, report(batch=1)).operators == facts(everything).operators
    assert facts(everything).operators == (Operator(WINDOW, 4, 5, 1, 6, 9, 65),)


def test_a_micro_batch_that_calls_some_shards_says_what_has_changed_in_them() -> None:
    """When something falls due in the others is not known then."""
    before = {"open_windows_before": 3, "waiting_rows_before": 1, "buffered_rows_before": 4, "groups_before": 3}
    some = report(batch=1, shards=1, open_windows=1, buffered_rows=2, groups=2, next_due=99, **before)
    found = facts(report(rows_in=3, shards=2, **GAUGES), some, report(batch=2))
    assert found.operators == (Operator(WINDOW, 2, None, 0, 4, 8, None),)
    assert facts(some).operators == (Operator(WINDOW),)


def test_times_of_rows() -> None:
    """Spark sees them less the delay."""
    found = facts(
        report(rows_read=1, rows_in=1, earliest=0, latest=50_000_000),
        report(rows_read=1, rows_in=1, earliest=-5_000_000, latest=20_000_000),
        report(rows_read=0, rows_in=0),
    )
    assert (found.earliest, found.latest, found.latest_now) == (5_000_000, 60_000_000, 30_000_000)
    assert found.rows_at == 2.0


def test_the_earliest_is_not_known_where_some_row_had_no_time() -> None:
    first, second = report(rows_read=1, latest=5), report(rows_read=1, earliest=5, latest=5)
    assert facts(second, first, second).earliest is None
    assert facts(second, second).earliest == 10_000_005


def test_times_of_a_query_without_operators_are_as_they_are() -> None:
    assert facts(report(rows_read=1, latest=5), plan=replace(PLAN, operators=())).latest == 5


def test_times_of_several_streams_are_not_known() -> None:
    both = replace(PLAN, streams=(*PLAN.streams, StreamPlan("u", "ts", 0)))
    assert facts(report(rows_read=1, latest=5), plan=both).latest is None


def test_a_heartbeat_is_no_row() -> None:
    beats = replace(PLAN, streams=(replace(PLAN.streams[0], heartbeat=1_000_000),))
    found = facts(report(rows_read=3, rows_in=2), report(rows_read=1, rows_in=0), plan=beats)
    assert found.rows_at == 1.0
    assert facts(report(rows_read=3, rows_in=2), report(rows_read=1, rows_in=0)).rows_at == 2.0


def read_to(*ends: int, start: int | None = None, latest: int | None = None) -> Report:
    places = [Place("t", str(number), start, end, latest) for number, end in enumerate(ends)]
    return replace(report(), places=tuple(places))


def test_partitions_and_since_when_they_have_stood_still() -> None:
    found = facts(read_to(5, 7), read_to(6, 7), read_to(6, 8, latest=9), read_to(6, 8, latest=9))
    assert found.partitions == (Partition("t", "0", 6, 9, 2.0), Partition("t", "1", 8, 9, 3.0))


def test_what_is_read_twice_has_not_moved() -> None:
    """After a restart the first micro-batch tells where it began."""
    assert facts(read_to(5, start=5)).partitions == (Partition("t", "0", 5, None, 0.0),)
    assert facts(read_to(5, start=4)).partitions == (Partition("t", "0", 5, None, 1.0),)


def test_a_run_of_an_older_version_says_less() -> None:
    from panes.cli.output.watch import WHY, facts_of

    board = Board()
    board.batch(report(rows_in=1), 1.0)
    written: dict[str, Any] = board.document(2.0)[0]
    del written[WHY]
    found = facts_of(written)
    assert (found.plan.knows_streams, found.totals, found.operators) == (False, None, ())
