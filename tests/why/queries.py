"""Queries as `panes why` sees them, made up: times are seconds of 2024-01-01 from 12:00:00 on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from panes.why.explain import why
from panes.why.facts import Operator, Query, State, Totals
from panes.why.finding import Cause
from panes.why.plan import OperatorPlan, QueryPlan, StreamPlan, Waits

NOON = 1_704_110_400_000_000
SECOND = 1_000_000
NOW = NOON / SECOND + 300.0  # 12:05:00 on the wall
ORDERS = StreamPlan("orders", "ts", 10 * SECOND)
MINUTES = OperatorPlan(0, "tumblingwindow", Waits.WATERMARK, size=60 * SECOND, emits="on-window-close")
LEAD = OperatorPlan(0, "OVER", Waits.ROWS, True, "on-window-close", calls=("lead(v)",), follows=1, partition_by=("k",))


def at(seconds: float) -> int:
    """A time in microseconds since 1970."""
    return NOON + round(seconds * SECOND)


def query(*operators: Operator, stream: StreamPlan = ORDERS, plan: dict[str, Any] | None = None, **known: Any) -> Query:
    """A query that runs, and had rows just now, until 12:00:50."""
    made = QueryPlan((stream,), tuple(one.plan for one in operators), **(plan or {}))
    found = Query("out", State.RUNNING, made, began=NOW - 600, batch=7, batch_at=NOW, rows_at=NOW, operators=operators)
    seen = {"watermark": at(40), "latest": at(50), "latest_now": at(50), "totals": Totals(5, 0)}
    return replace(found, **{**seen, **known})


def window(**known: Any) -> Operator:
    """One that is open from 12:00 to 12:01, for three keys."""
    return replace(Operator(MINUTES, 1, at(0), 0, 0, 3, at(60)), **known)


def said(query: Query, now: float = NOW) -> dict[str, str]:
    """Sentences by their causes."""
    return {one.cause.value: one.text for one in why(query, now)}


def sentence(query: Query, cause: Cause, now: float = NOW) -> str:
    return said(query, now)[cause.value]


def hint(query: Query, cause: Cause, now: float = NOW) -> str | None:
    return next(one.hint for one in why(query, now) if one.cause is cause)
