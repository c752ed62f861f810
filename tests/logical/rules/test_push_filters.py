"""Filters move towards the source, where that cannot change the result."""

from __future__ import annotations

import pytest
from planning import bound, logical_nodes
from present import present

from panes.logical.plan import Filter, OverWindow, Plan
from panes.logical.rules.push_filters import may_move, push_filters_below_over, push_filters_below_project
from panes.logical.rules.top_n import recognise_top_n
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize


def shape(plan: Plan) -> list[str]:
    """The nodes, top to bottom, each Filter with its predicates."""
    return [
        " AND ".join(one.sql for one in node.predicates) if isinstance(node, Filter) else type(node).__name__
        for node in logical_nodes(plan)
    ][1:]


@pytest.mark.parametrize(
    ("sub_query", "condition", "expected"),
    [
        ("SELECT a AS x FROM t", "x > 0", ["Project", "Project", "a > 0", "DataSource"]),
        ("SELECT s AS x FROM t", "x.y > 0", ["Project", "Project", "s.y > 0", "DataSource"]),
        ("SELECT a AS b, b AS a FROM t", "a > b", ["Project", "Project", "b > a", "DataSource"]),
        ("SELECT a FROM t WHERE b > 0", "a > 0", ["Project", "Project", "a > 0", "b > 0", "DataSource"]),
        ("SELECT a, a + 1 AS x FROM t", "a > 0 AND x > 0", ["Project", "x > 0", "Project", "a > 0", "DataSource"]),
        ("SELECT a FROM (SELECT a FROM t)", "a > 0", ["Project", "Project", "Project", "a > 0", "DataSource"]),
        # A stateful call sees every row, so nothing goes below it.
        ("SELECT a, lag(a) AS l FROM t", "a > 0", ["Project", "Project", "a > 0", "StatefulFunction", "DataSource"]),
    ],
)
def test_below_a_projection(sub_query: str, condition: str, expected: list[str]) -> None:
    assert shape(push_filters_below_project(bound(f"SELECT 1 FROM ({sub_query}) WHERE {condition}"))) == expected


@pytest.mark.parametrize(
    ("sub_query", "condition"),
    [
        ("SELECT a + 1 AS x FROM t", "x > 0"),
        ("SELECT a AS x, a + 1 AS y FROM t", "x > y"),
        ("SELECT a AS x FROM t", "rand() < x"),
        ("SELECT b AS k, a FROM t", "exists(array(a), b -> b > k)"),  # below, the lambda's b would catch the column b
    ],
)
def test_not_below_a_projection(sub_query: str, condition: str) -> None:
    plan = bound(f"SELECT 1 FROM ({sub_query}) WHERE {condition}")
    assert push_filters_below_project(plan) == plan


OVER = "SELECT k, a, sum(v) OVER (PARTITION BY k ORDER BY ts) AS c FROM t"


def test_below_an_over_window_whose_partitions_it_drops() -> None:
    plan = push_filters_below_over(push_filters_below_project(bound(f"SELECT 1 FROM ({OVER}) WHERE k = 'x' AND c > 0")))
    assert shape(plan) == ["Project", "Project", "col_1 > 0", "OverWindow", "k = 'x'", "DataSource"]


def test_below_several_over_windows() -> None:
    sql = """SELECT k, rank() OVER (PARTITION BY k, a ORDER BY ts) AS x, rank() OVER (PARTITION BY K ORDER BY v) AS y
             FROM files QUALIFY x + y > 0 AND upper(k) = 'X' AND a > 0"""
    plan = push_filters_below_over(bound(sql))
    assert shape(plan)[1:] == [
        "col_1 + col_2 > 0 AND a > 0",
        "OverWindow",
        "OverWindow",
        "upper(k) = 'X'",
        "DataSource",
    ]


@pytest.mark.parametrize(
    "sql",
    [
        f"{OVER} QUALIFY a > 0",  # not a partition key: the sums would change
        f"{OVER} QUALIFY c > 0",
        f"{OVER} QUALIFY k > rand()",
        f"{OVER} QUALIFY 1 = 0",
        "SELECT sum(a) OVER (PARTITION BY upper(k) ORDER BY ts) AS c FROM t QUALIFY k = 'x'",
    ],
)
def test_not_below_an_over_window(sql: str) -> None:
    plan = bound(sql)
    assert push_filters_below_over(plan) == plan


def test_a_limit_stays_on_its_window() -> None:
    sql = "SELECT row_number() OVER (PARTITION BY k ORDER BY ts) AS r FROM t QUALIFY r <= 3 AND k = 'x'"
    limited = recognise_top_n(bound(sql))
    plan = push_filters_below_over(limited)
    assert shape(plan) == ["Project", "col_1 <= 3", "OverWindow", "k = 'x'", "DataSource"]
    assert [present(node.top_n).limit for node in logical_nodes(plan) if isinstance(node, OverWindow)] == [3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 0", True),
        ("upper(k) = 'x'", True),
        ("RAND() < 0.5", False),
        ("coalesce(uuid(), k) = 'x'", False),
        ("exists(l, x -> x > 0)", False),
        ("k = 'rand()'", True),
    ],
)
def test_may_move(text: str, expected: bool) -> None:
    assert may_move(Expr(tokenize(Source(text)))) is expected
