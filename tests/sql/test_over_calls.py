"""The OVER rewrite: which calls go with OVER, and how each is checked."""

from typing import Any

import pytest
from present import present

from panes.errors import PanesError
from panes.sql import parse


def select(sql: str) -> Any:
    (statement,) = parse(sql)
    return statement


def test_every_rewrite_has_its_mappings() -> None:
    statement = select(
        "SELECT k, sum(a) AS s, rank() OVER (PARTITION BY window_end() ORDER BY sum(a) DESC) AS r, "
        "max(sum(a)) OVER (PARTITION BY window_end()) AS m "
        "FROM t GROUP BY tumblingwindow('ss', 10), k QUALIFY r <= 3"
    )
    (bound,) = statement.bound_mappings
    (total,) = statement.aggregate_mappings
    first, second = statement.over_mappings.values()
    assert (first.name, first.over.partition_by[0].sql, first.over.order_by[0].sql) == ("rank", bound, f"{total} DESC")
    assert second.sql == f"max({total})"
    assert statement.qualify.sql == "r <= 3"


def test_equal_calls_share_a_placeholder() -> None:
    statement = select("SELECT sum(a) OVER (ORDER BY ts), SUM(A) over ( order by TS ) FROM t")
    assert len(statement.over_mappings) == 1


def test_another_frame_is_another_call() -> None:
    statement = select("SELECT sum(a) OVER (ORDER BY ts), sum(a) OVER (ORDER BY ts ROWS 1 PRECEDING) FROM t")
    assert len(statement.over_mappings) == 2


def test_within_group_stands_before_over() -> None:
    over = "OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING)"
    statement = select(f"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) {over} FROM t")
    (call,) = statement.over_mappings.values()
    assert call.name == "percentile_cont"


def test_a_stateful_call_may_be_an_argument() -> None:
    statement = select("SELECT sum(lag(a) OVER (PARTITION BY k)) OVER (PARTITION BY latest(b) ORDER BY ts) FROM t")
    assert len(statement.stateful_mappings) == 2
    (call,) = statement.over_mappings.values()
    assert call.args[0].sql in statement.stateful_mappings


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("ntile(2*2)", "ntile(4)"),
        ("nth_value(a, 1+1)", "nth_value(a, 2)"),
        ("nth_value(a IGNORE NULLS, 2)", "nth_value(a, 2) IGNORE NULLS"),
        ("nth_value(a, 2 IGNORE NULLS)", "nth_value(a, 2) IGNORE NULLS"),
        ("lead(a, 0 + 1, b)", "lead(a, 1, b)"),
        ("lead(a IGNORE NULLS)", "lead(a) IGNORE NULLS"),
        ("lag(a RESPECT NULLS)", "lag(a)"),
        ("first_value(a IGNORE NULLS)", "first(a) IGNORE NULLS"),
        ("last_value(a IGNORE NULLS)", "last(a) IGNORE NULLS"),
        ("any_value(a IGNORE NULLS)", "any_value(a) IGNORE NULLS"),
    ],
)
def test_normal_forms(written: str, normal: str) -> None:
    (call,) = select(f"SELECT {written} OVER (ORDER BY ts) FROM t").over_mappings.values()
    assert call.sql == normal


@pytest.mark.parametrize(
    "call",
    [
        "row_number() OVER (ORDER BY ts)",
        "rank() OVER (PARTITION BY k ORDER BY ts)",
        "dense_rank() OVER (ORDER BY ts)",
        "percent_rank() OVER (ORDER BY ts)",
        "cume_dist() OVER (ORDER BY ts)",
        "ntile(4) OVER (ORDER BY ts)",
        "lag(a) OVER (ORDER BY ts)",
        "lag(a, 2, 0) IGNORE NULLS OVER (ORDER BY ts)",
        "lead(a) OVER (ORDER BY ts)",
        "first_value(a) OVER (ORDER BY ts ROWS 2 PRECEDING)",
        "last_value(a) IGNORE NULLS OVER (ORDER BY ts)",
        "nth_value(a, 2) IGNORE NULLS OVER (ORDER BY ts ROWS 2 PRECEDING)",
        "sum(a) OVER ()",
        "sum(a) OVER (PARTITION BY k)",
        "count(*) FILTER (WHERE b > 0) OVER (PARTITION BY k ORDER BY ts)",
        "last(a) IGNORE NULLS FILTER (WHERE b > 0) OVER (ORDER BY ts)",
        "count(DISTINCT a) OVER (ORDER BY ts ROWS 2 PRECEDING)",
        "sum(a) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        "sum(a) OVER (ORDER BY a, b RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        "sum(a) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW)",
    ],
)
def test_accepted(call: str) -> None:
    statement = select(f"SELECT {call} FROM t")
    assert [field.expr.sql for field in statement.select_fields] == list(statement.over_mappings)


@pytest.mark.parametrize(
    ("call", "code", "place"),
    [
        ("rank() OVER (PARTITION BY k)", "over-arguments", "OVER (PARTITION BY k)"),
        ("lead(a) OVER ()", "over-arguments", "OVER ()"),
        ("rank() OVER (ORDER BY ts ROWS 1 PRECEDING)", "over-arguments", "ROWS 1 PRECEDING"),
        ("lead(a) OVER (ORDER BY ts RANGE CURRENT ROW)", "over-arguments", "RANGE CURRENT ROW"),
        ("sum(a) OVER (ROWS 1 PRECEDING)", "over-arguments", "ROWS 1 PRECEDING"),
        ("sum(a) OVER (ORDER BY a, b RANGE 1 PRECEDING)", "over-arguments", "RANGE 1 PRECEDING"),
        ("rank(a) OVER (ORDER BY ts)", "function-arguments", "rank(a) OVER (ORDER BY ts)"),
        ("ntile(0) OVER (ORDER BY ts)", "function-arguments", "0"),
        ("ntile(a) OVER (ORDER BY ts)", "function-arguments", "a"),
        ("nth_value(a, 0) OVER (ORDER BY ts)", "function-arguments", "0"),
        ("lag(a, -1) OVER (ORDER BY ts)", "function-arguments", "-1"),
        ("lag(DISTINCT a) OVER (ORDER BY ts)", "function-arguments", "lag(DISTINCT a) OVER (ORDER BY ts)"),
        (
            "rank() FILTER (WHERE b) OVER (ORDER BY ts)",
            "function-arguments",
            "rank() FILTER (WHERE b) OVER (ORDER BY ts)",
        ),
        ("rank() IGNORE NULLS OVER (ORDER BY ts)", "function-arguments", "rank() IGNORE NULLS OVER (ORDER BY ts)"),
        ("min(DISTINCT a) OVER (ORDER BY ts)", "function-arguments", "min(DISTINCT a) OVER (ORDER BY ts)"),
        ("sum(a) OVER (PARTITION BY k WHEN b)", "over-not-allowed", "b"),
        ("lag(a) OVER (ORDER BY ts WHEN b)", "over-not-allowed", "b"),
        ("sum(rank() OVER (ORDER BY a)) OVER (ORDER BY ts)", "over-not-allowed", "rank() OVER (ORDER BY a)"),
        ("sum(a) OVER (ORDER BY rank() OVER (ORDER BY a))", "over-not-allowed", "rank() OVER (ORDER BY a)"),
        ("upper(a) OVER (ORDER BY ts)", "unknown-function", "upper(a) OVER (ORDER BY ts)"),
        ("approx_top_k(a) OVER (ORDER BY ts)", "unknown-function", "approx_top_k(a) OVER (ORDER BY ts)"),
    ],
)
def test_refused(call: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        select(f"SELECT {call} FROM t")
    assert (caught.value.code, present(caught.value.span).text) == (code, place)


@pytest.mark.parametrize(
    ("typo", "meant"), [("latst", "latest"), ("row_numbr", "row_number"), ("summ", "sum"), ("leed", "lead")]
)
def test_a_mistyped_name_is_suggested(typo: str, meant: str) -> None:
    with pytest.raises(PanesError) as caught:
        select(f"SELECT {typo}(a) OVER (PARTITION BY k) FROM t")
    assert caught.value.code == "unknown-function"
    assert meant in present(caught.value.hint)
