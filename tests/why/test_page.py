"""The page "Nothing comes out": every cause is on it, with a sentence that `panes why` says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from panes.why.facts import Operator, Partition, Query, State, Totals
from panes.why.finding import Cause
from panes.why.plan import OperatorPlan, Waits

from .queries import LEAD, MINUTES, NOW, ORDERS, SECOND, at, query, sentence, window

PAGE = (Path(__file__).parents[2] / "docs/how-to/nothing-comes-out.md").read_text(encoding="utf-8")
EMPTY = Operator(MINUTES, 0, None, 0, 0, 0)
HOUR = replace(ORDERS, delay=3600 * SECOND)
YEAR_AHEAD = at(366 * 86_400 + 10)
ROWS = OperatorPlan(0, "stateful functions", Waits.WATERMARK, True, "on-release")
STATE = OperatorPlan(0, "statewindow", Waits.CONDITION, condition="b = 1", partition_by=("user",))
COUNT = OperatorPlan(0, "countwindow", Waits.COUNT, count=10, partition_by=("k",))
UNKNOWN = OperatorPlan(0, "OVER", Waits.UNKNOWN)
TWO = Partition("t", "0", 7, 1_007, NOW), Partition("t", "1", 5, 205, NOW)
SILENT = Partition("t", "0", 7, 7, NOW), Partition("t", "1", 42, 42, NOW - 240)

SAID = [
    (Cause.OPEN_WINDOWS, query(window())),
    (Cause.IDLE, query(window(), rows_at=NOW - 240)),
    (Cause.DELAY, query(window(), stream=HOUR, watermark=at(-3550), earliest=at(0))),
    (Cause.SILENT_PARTITION, query(window(), partitions=SILENT)),
    (Cause.NULL_TIME, query(EMPTY, watermark=None, latest=None, totals=Totals(40, null_time=40))),
    (Cause.UNFINISHED_ROWS, query(Operator(LEAD, waiting=0, kept=3))),
    (Cause.WAITING_ROWS, query(Operator(ROWS, waiting=3, kept=3, due=at(45)))),
    (Cause.CONDITION, query(Operator(STATE, 2, at(0)))),
    (Cause.COUNT, query(Operator(COUNT, 4))),
    (Cause.LATE, query(EMPTY, totals=Totals(5, 0, late=5))),
    (Cause.LATE, query(EMPTY, totals=Totals(41, late=40), watermark=YEAR_AHEAD - 10 * SECOND, latest=YEAR_AHEAD)),
    (Cause.FILTERED, query(EMPTY, plan={"where": ("v > 100", "k <> 'a'")}, totals=Totals(1_200, 0))),
    (Cause.HAVING, query(EMPTY, plan={"having": ("sum(v) > 9",)}, totals=Totals(5, 2))),
    (Cause.NO_WINDOW, query(EMPTY, totals=Totals(5, 0, no_window=5))),
    (Cause.EXPIRED, query(EMPTY, totals=Totals(5, 0, expired=1))),
    (Cause.MALFORMED, query(EMPTY, totals=Totals(5, 0, malformed=2))),
    (Cause.FAILED, query(window(), state=State.FAILED, error="store-failed: no disk")),
    (Cause.NO_BATCH, query(window(), batch=None)),
    (Cause.BACKLOG, query(window(), backlog=1_200, partitions=TWO)),
    (Cause.NOT_RUNNING, query(window(), state=State.STOPPED, batch_at=NOW - 3_700, totals=None)),
    (Cause.NOTHING, query(EMPTY)),
    (Cause.SPARK_STATE, query(plan={"spark_keeps_state": True})),
    (Cause.UNKNOWN, query(Operator(UNKNOWN, kept=2))),
]


@pytest.mark.parametrize(("cause", "asked"), SAID, ids=[cause.value for cause, _ in SAID])
def test_the_page_has_the_sentence(cause: Cause, asked: Query) -> None:
    assert sentence(asked, cause) in " ".join(PAGE.split())
    assert f"`{cause.value}`" in PAGE


def test_every_cause_is_on_the_page() -> None:
    assert {cause for cause, _ in SAID} == set(Cause)
