"""Top-N: where only the first ranks of each partition are wanted, the OverWindow is told so."""

from __future__ import annotations

import pytest
from planning import bound, compiled, logical_nodes

from panes.logical.plan import OverWindow, Plan, TopN
from panes.logical.rules.top_n import recognise_top_n, upper_limit
from panes.source import Source
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize


def limits(plan: Plan) -> list[TopN | None]:
    return [node.top_n for node in logical_nodes(plan) if isinstance(node, OverWindow)]


@pytest.mark.parametrize(
    ("condition", "limit"),
    [
        ("r <= 3", 3),
        ("3 >= r", 3),
        ("R < 3", 2),
        ("3 > r", 2),
        ("r = 2", 2),
        ("2 = r", 2),
        ("r <= 0", 0),
        ("r < 0", 0),
        ("r <= 3 AND a > 0", 3),
        ("r <= 1 + 2", 3),
        ("r < CAST(4 AS INT)", 3),
        ("r <= 3 AND r < 3", 2),
    ],
)
@pytest.mark.parametrize("rank", ["row_number", "rank", "dense_rank"])
def test_limits(rank: str, condition: str, limit: int) -> None:
    sql = f"SELECT a, {rank}() OVER (PARTITION BY k ORDER BY v) AS r FROM files"
    assert limits(recognise_top_n(bound(f"{sql} QUALIFY {condition}"))) == [TopN("col_1", limit)]
    assert limits(compiled(f"SELECT a FROM ({sql}) WHERE {condition}").logical) == [TopN("col_1", limit)]


@pytest.mark.parametrize("condition", ["r > 3", "r >= 3", "r <> 3", "a <= 3", "r <= a", "r <= 3 OR a > 0", "r <= 2.5"])
def test_no_limit(condition: str) -> None:
    plan = bound(f"SELECT a, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM files QUALIFY {condition}")
    assert recognise_top_n(plan) == plan


@pytest.mark.parametrize("other", ["sum(a)", "lead(a)", "percent_rank()", "count(*)"])
def test_not_where_another_call_may_look_beyond(other: str) -> None:
    sql = f"SELECT rank() OVER w AS r, {other} OVER w FROM files WINDOW w AS (PARTITION BY k ORDER BY v) QUALIFY r <= 3"
    assert limits(compiled(sql).logical) == [None]


def test_several_ranks_of_one_window() -> None:
    sql = """SELECT rank() OVER w AS r, row_number() OVER w AS n FROM files WINDOW w AS (PARTITION BY k ORDER BY v)
             QUALIFY r <= 3 AND n <= 2"""
    assert limits(compiled(sql).logical) == [TopN("col_2", 2)]


def test_only_the_window_next_to_the_filter() -> None:
    sql = """SELECT rank() OVER (PARTITION BY k ORDER BY v) AS r, rank() OVER (PARTITION BY a ORDER BY v)
             FROM files QUALIFY r <= 3"""
    assert limits(compiled(sql).logical) == [None, None]


@pytest.mark.parametrize("number", [10**30, 9_999_999_999_999_999_999, 2**31])
def test_a_number_that_no_rank_reaches_is_no_limit(number: int) -> None:
    assert upper_limit(Expr(tokenize(Source(f"r <= {number}")))) is None
