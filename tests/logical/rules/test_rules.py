"""What holds for every rule: applied twice it changes nothing more, and the result stays what it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from planning import bound, logical_nodes

from panes.logical.plan import Plan, SparkQuery, StatefulFunction, Window
from panes.logical.rules import RULES, optimise

from .queries import queries, rows, run

NAMES = [rule.__name__ for rule in RULES]
QUERIES = [
    "SELECT a FROM t WHERE b > 0 AND b > 0",
    "SELECT a, lag(a) OVER (PARTITION BY k) FROM (SELECT ts, k, a FROM t WHERE b > 0) WHERE lag(a) > 1",
    "SELECT k, sum(v) FROM t GROUP BY tumblingwindow('ss', 10), k HAVING sum(v) > 1",
    "SELECT * FROM t GROUP BY slidingwindow('ss', 10, 5) OVER (PARTITION BY k WHEN ok), b",
    "SELECT s.x, count(*) FROM t GROUP BY statewindow(a > 0, ok) OVER (PARTITION BY k), s.x",
    "SELECT count(*) FROM (SELECT ts, k, b FROM t) GROUP BY sessionwindow('mi', 1)",
    "SELECT lead(v) OVER (PARTITION BY k ORDER BY ts), sum(v) OVER (PARTITION BY a ORDER BY ts) FROM t",
    "SELECT a, row_number() OVER (PARTITION BY k ORDER BY ts) r FROM t QUALIFY r <= 3 AND k = 'x'",
    "SELECT * FROM (SELECT rank() OVER (PARTITION BY window_end() ORDER BY sum(a)) r FROM t "
    "GROUP BY hoppingwindow('ss', 9, 4), k) WHERE r < 3",
    "SELECT v, rank() OVER (ORDER BY v) FROM (SELECT v FROM changes WHERE a > 0) WHERE v > 1",
    "SELECT name, lag(a) FROM (SELECT ts, t.a, name FROM t JOIN dim USING (k)) WHERE name > ''",
]


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
@pytest.mark.parametrize("sql", QUERIES)
def test_twice_is_once(rule: Callable[[Plan], Plan], sql: str) -> None:
    plan: Plan = bound(sql)
    for earlier in RULES[: RULES.index(rule)]:
        plan = earlier(plan)
    once = rule(plan)
    assert rule(once) == once


@pytest.mark.parametrize("sql", QUERIES)
def test_all_rules_twice_are_once(sql: str) -> None:
    once = optimise(bound(sql))
    assert optimise(once) == once


@given(queries())
def test_twice_is_once_for_random_queries(sql: str) -> None:
    plan: Plan = bound(sql)
    for rule in RULES:
        plan = rule(plan)
        assert rule(plan) == plan, rule.__name__


@given(queries(), rows)
def test_the_result_stays_what_it_was(sql: str, table: list[dict[str, int]]) -> None:
    plan: Plan = bound(sql)
    expected = run(plan, table)
    for rule in RULES:
        plan = rule(plan)
        if any(isinstance(node, SparkQuery) for node in logical_nodes(plan)):
            break  # the rest is Spark's
        assert run(plan, table) == expected, rule.__name__


@pytest.mark.parametrize("sql", QUERIES)
def test_no_rule_drops_a_window_or_a_stateful_call(sql: str) -> None:
    kinds = (Window, StatefulFunction)

    def kept(plan: Plan) -> list[tuple[type, object]]:
        return [(type(node), getattr(node, "calls", None)) for node in logical_nodes(plan) if isinstance(node, kinds)]

    assert kept(optimise(bound(sql))) == kept(bound(sql))
