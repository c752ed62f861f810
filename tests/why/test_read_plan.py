"""What a query can wait for, read from its plan, and from the identities of its operators where there is no plan."""

from __future__ import annotations

from typing import Any

import pytest
from planning import catalog, compiled

from panes.physical.identity import Identity
from panes.why.identity_plan import operator_of, plan_of_identities
from panes.why.plan import OperatorPlan, QueryPlan, Waits
from panes.why.read_plan import query_plan

SECOND = 1_000_000


def plan(sql: str, **known: Any) -> QueryPlan:
    found = catalog(**known)
    return query_plan(compiled(sql, found).physical, [one for one in found.streams if one.name == "t"], 4)


def operator(sql: str, **known: Any) -> OperatorPlan:
    (found,) = plan(sql, **known).operators
    return found


@pytest.mark.parametrize(
    ("group_by", "waits", "known"),
    [
        ("tumblingwindow('ss', 10), k", Waits.WATERMARK, {"size": 10 * SECOND}),
        ("hoppingwindow('ss', 10, 5), k", Waits.WATERMARK, {"size": 10 * SECOND}),
        ("tumblingwindow(INTERVAL 1 DAY, zone => 'Europe/Berlin'), k", Waits.WATERMARK, {"size": None}),
        ("sessionwindow('ss', 10), k", Waits.WATERMARK, {"gap": 10 * SECOND}),
        ("countwindow(3) OVER (PARTITION BY k)", Waits.COUNT, {"count": 3, "partition_by": ("k",)}),
        ("statewindow(a > 0, b = 1) OVER (PARTITION BY k)", Waits.CONDITION, {"condition": "b = 1", "opens": "a > 0"}),
        ("slidingwindow('ss', 10, 5) OVER (PARTITION BY k)", Waits.WATERMARK, {"size": None}),
    ],
)
def test_windows(group_by: str, waits: Waits, known: dict[str, Any]) -> None:
    found = operator(f"SELECT count(*) AS n FROM t GROUP BY {group_by}")
    assert found.waits is waits
    assert {name: getattr(found, name) for name in known} == known
    assert found.waits_for_clock == ("OVER" in group_by)  # its rows come in the order of time


@pytest.mark.parametrize(
    ("select", "follows", "keeps_passed", "calls"),
    [
        ("lead(v) OVER w", 1, False, ("lead(v)",)),
        ("lead(v, 3) OVER w, lead(a) OVER w", 3, False, ("lead(v, 3)", "lead(a)")),
        ("lead(v) OVER w, lag(v) OVER w", 1, True, ("lead(v)",)),
        ("lead(v) IGNORE NULLS OVER w", None, False, ("lead(v) IGNORE NULLS",)),
        ("sum(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING)", 2, True, None),
    ],
)
def test_over_that_waits_for_rows(
    select: str, follows: int | None, keeps_passed: bool, calls: tuple[str, ...] | None
) -> None:
    found = operator(f"SELECT k, {select} FROM t WINDOW w AS (PARTITION BY k ORDER BY ts)", state_ttl="1 day")
    assert (found.waits, found.waits_for_clock, found.follows, found.keeps_passed) == (
        Waits.ROWS,
        True,
        follows,
        keeps_passed,
    )
    assert found.calls == (calls or ("sum(v) up to 2 FOLLOWING",))
    assert (found.partition_by, found.state_ttl) == (("k",), 86_400 * SECOND)


@pytest.mark.parametrize(
    ("sql", "waits"),
    [
        ("SELECT lag(v) OVER (PARTITION BY k ORDER BY ts) AS l FROM t", Waits.WATERMARK),
        ("SELECT lag(v) OVER (PARTITION BY k) AS l FROM t", Waits.WATERMARK),
        ("SELECT lag(v) OVER (PARTITION BY k) AS l FROM t EMIT IMMEDIATELY", Waits.NOTHING),
        ("SELECT lag(v) OVER (PARTITION BY k) AS l FROM arrivals", Waits.NOTHING),
        ("SELECT lead(v) OVER (PARTITION BY k ORDER BY ts) AS l FROM t EMIT CHANGES", Waits.NOTHING),
        ("SELECT k, count(*) AS n FROM t GROUP BY tumblingwindow('ss', 10), k EMIT CHANGES", Waits.NOTHING),
        ("SELECT k, count(*) AS n FROM t GROUP BY countwindow(2) OVER (PARTITION BY k), k", Waits.COUNT),
    ],
)
def test_what_is_waited_for(sql: str, waits: Waits) -> None:
    found = operator(sql)
    assert found.waits is waits
    assert found.waits_for_clock == (waits is not Waits.NOTHING)


def test_conditions_below_and_above() -> None:
    found = plan("SELECT k, sum(v) AS s FROM t WHERE a > 1 GROUP BY tumblingwindow('ss', 10), k HAVING count(*) > 2")
    assert found.where == ("a > 1",)
    assert len(found.having) == 1
    assert (plan("SELECT k FROM t WHERE a > 1").where, plan("SELECT k FROM t").operators) == ((), ())


def test_operators_are_numbered_from_below_as_their_metrics_are() -> None:
    inner = "SELECT k, window_end() AS at, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
    found = plan(f"SELECT k, lag(s) OVER (PARTITION BY k) AS l FROM ({inner})")
    assert [(one.number, one.name) for one in found.operators] == [(0, "tumblingwindow"), (1, "stateful functions")]


def test_streams_and_their_clocks() -> None:
    found = plan("SELECT k FROM t")
    assert found.clock is not None
    assert (found.clock.name, found.clock.time, found.clock.delay) == ("t", "ts", 10 * SECOND)


SHARED = {"mode": "event_time", "emit": "on-window-close", "source": {"stream": "t"}}


@pytest.mark.parametrize(
    ("depends_on", "expected"),
    [
        (
            {"operator": "tumblingwindow", "size": "0.5 s", "hop": "0.5 s"},
            {"waits": Waits.WATERMARK, "size": SECOND // 2, "waits_for_clock": False},
        ),
        ({"operator": "tumblingwindow", "size": "86400 s", "zone": "UTC"}, {"waits": Waits.WATERMARK, "size": None}),
        ({"operator": "tumblingwindow", "size": "10 s", "emit": "changes"}, {"waits": Waits.NOTHING}),
        ({"operator": "sessionwindow", "gap": "60 s"}, {"gap": 60 * SECOND}),
        (
            {"operator": "statewindow", "open": "a", "emit on": "b", "waits": ["ts"], "partition by": ["k"]},
            {"waits": Waits.CONDITION, "condition": "b", "waits_for_clock": True, "partition_by": ("k",)},
        ),
        ({"operator": "countwindow", "count": 3, "every": None, "state_ttl": "1 s"}, {"count": 3, "state_ttl": SECOND}),
        ({"operator": "OVER", "order by": [], "waits": ["ts"]}, {"waits": Waits.UNKNOWN, "waits_for_clock": True}),
        ({"operator": "stateful functions", "waits": ["ts"]}, {"waits": Waits.WATERMARK, "waits_for_clock": True}),
        ({"operator": "the changelog", "key": ["k"]}, {"waits": Waits.NOTHING}),
    ],
)
def test_what_an_identity_says(depends_on: dict[str, Any], expected: dict[str, Any]) -> None:
    found = operator_of(3, {**SHARED, **depends_on})
    assert found is not None
    assert {name: getattr(found, name) for name in expected} == expected
    assert (found.number, found.name) == (3, depends_on["operator"])


def test_a_part_that_spark_runs_is_no_operator() -> None:
    assert plan_of_identities([Identity({"query": "q"}, {})]) == QueryPlan(knows_streams=False)
