"""The aggregate rewrite: one placeholder per aggregate, after the stateful calls have theirs."""

from typing import Any

import pytest
from present import present

from panes.errors import PanesError
from panes.functions.refused import REFUSED
from panes.sql import parse


def select(items: str, rest: str = "") -> Any:
    (statement,) = parse(f"SELECT {items} FROM t GROUP BY tumblingwindow('ss', 10), k {rest}")
    return statement


def test_equal_aggregates_share_a_placeholder() -> None:
    statement = select("sum(a) / count(*), SUM( A ), k", "HAVING sum(a) > 1")
    assert [field.expr.sql for field in statement.select_fields] == ["col_1 / col_2", "col_1", "k"]
    assert statement.having.sql == "col_1 > 1"
    assert {name: call.sql for name, call in statement.aggregate_mappings.items()} == {
        "col_1": "sum(a)",
        "col_2": "count(*)",
    }


def test_the_stateful_rewrite_comes_first() -> None:
    statement = select("last_row(lag(a)), lag(a)")
    assert [call.sql for call in statement.stateful_mappings.values()] == ["lag(a)"]
    assert [call.sql for call in statement.aggregate_mappings.values()] == ["last_row(col_1)"]
    assert [field.expr.sql for field in statement.select_fields] == ["col_2", "col_1"]


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("mean(a)", "avg(a)"),
        ("stddev(a)", "stddev_samp(a)"),
        ("std(a)", "stddev_samp(a)"),
        ("variance(a)", "var_samp(a)"),
        ("array_agg(a)", "collect_list(a)"),
        ("every(a > 0)", "bool_and(a > 0)"),
        ("some(a > 0)", "bool_or(a > 0)"),
        ("any(a > 0)", "bool_or(a > 0)"),
        ("first_value(a)", "first(a)"),
        ("first(a, true)", "first(a) IGNORE NULLS"),
        ("first(a, false)", "first(a)"),
        ("last(a) IGNORE NULLS", "last(a) IGNORE NULLS"),
        ("last(a) RESPECT NULLS", "last(a)"),
        ("any_value(a, true)", "any_value(a) IGNORE NULLS"),
        ("first_value(a IGNORE NULLS)", "first(a) IGNORE NULLS"),
        ("last(a RESPECT NULLS)", "last(a)"),
        ("any_value(a + 1 ignore nulls) FILTER (WHERE b > 0)", "any_value(a + 1) IGNORE NULLS FILTER (WHERE b > 0)"),
        ("percentile(a, 1 / 4)", "percentile(a, 1 / 4)"),
        ("percentile(a, abs(-0.5))", "percentile(a, abs(-0.5))"),
        ("count(DISTINCT a, b)", "count(DISTINCT a, b)"),
        ("sum(DISTINCT a)", "sum(DISTINCT a)"),
        ("avg(DISTINCT a)", "avg(DISTINCT a)"),
        ("sum(a) FILTER (WHERE b > 0)", "sum(a) FILTER (WHERE b > 0)"),
        ("percentile(a, 0.5)", "percentile(a, 0.5)"),
        ("percentile(a, array(0.1, 0.9))", "percentile(a, array(0.1, 0.9))"),
        ("approx_count_distinct(a, 0.01)", "approx_count_distinct(a, 0.01)"),
        ("min_by(a, b)", "min_by(a, b)"),
        ("median(a)", "median(a)"),
        ("mode(a, true)", "mode(a)"),
        ("mode() WITHIN GROUP (ORDER BY a ASC)", "mode() WITHIN GROUP (ORDER BY a)"),
        ("string_agg(a, ',')", "listagg(a, ',')"),
        (
            "listagg(a, ',') within group (order by b desc, c asc nulls last) FILTER (WHERE b > 0)",
            "listagg(a, ',') WITHIN GROUP (ORDER BY b DESC, c NULLS LAST) FILTER (WHERE b > 0)",
        ),
        ("listagg(DISTINCT a) WITHIN GROUP (ORDER BY A)", "listagg(DISTINCT a) WITHIN GROUP (ORDER BY A)"),
        (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC NULLS LAST)",
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC)",
        ),
    ],
)
def test_normal_forms(written: str, normal: str) -> None:
    (call,) = select(written).aggregate_mappings.values()
    assert call.sql == normal


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        ("CAST(sum(a) AS STRING)", "CAST(col_1 AS STRING)"),
        ("CASE WHEN sum(a) > 1 THEN sum(a) END", "CASE WHEN col_1 > 1 THEN col_1 END"),
        ("sum(a) IS NULL", "col_1 IS NULL"),
        ("max(s).x", "col_1.x"),
        ("collect_list(a)[0]", "col_1[0]"),
        ("filter(collect_list(a), x -> x > min(a))", "filter(col_1, x -> x > col_2)"),
        ("concat_ws(',', collect_list(a))", "concat_ws(',', col_1)"),
    ],
)
def test_every_kind_of_expression(written: str, rewritten: str) -> None:
    assert [field.expr.sql for field in select(written).select_fields] == [rewritten]


@pytest.mark.parametrize(
    ("written", "code", "place"),
    [
        ("sum()", "function-arguments", "sum()"),
        ("sum(a, b)", "function-arguments", "sum(a, b)"),
        ("min_by(a)", "function-arguments", "min_by(a)"),
        ("min(DISTINCT a)", "function-arguments", "min(DISTINCT a)"),
        ("collect_list(DISTINCT a)", "function-arguments", "collect_list(DISTINCT a)"),
        ("sum(a) IGNORE NULLS", "function-arguments", "sum(a) IGNORE NULLS"),
        ("first(a, true) IGNORE NULLS", "function-arguments", "first(a, true) IGNORE NULLS"),
        ("sum(a IGNORE NULLS)", "function-arguments", "sum(a IGNORE NULLS)"),
        ("first(a, true IGNORE NULLS)", "function-arguments", "first(a, true IGNORE NULLS)"),
        ("first(a IGNORE NULLS) IGNORE NULLS", "parse-error", "IGNORE"),
        ("first(a, b)", "function-arguments", "b"),
        ("first(a, NULL)", "function-arguments", "NULL"),
        ("first(x => a)", "function-arguments", "x => a"),
        ("count()", "function-arguments", "count()"),
        ("percentile(a, 1.5)", "function-arguments", "1.5"),
        ("percentile(a, -0.1)", "function-arguments", "-0.1"),
        ("percentile(a, 1 + 0.1)", "function-arguments", "1 + 0.1"),
        ("percentile(a, NULL)", "function-arguments", "NULL"),
        ("percentile(a, CAST(NULL AS DOUBLE))", "function-arguments", "CAST(NULL AS DOUBLE)"),
        ("percentile(a, array())", "function-arguments", "array()"),
        ("percentile(a, array(0.5, 2))", "function-arguments", "array(0.5, 2)"),
        ("percentile(a, array(0.5, NULL))", "function-arguments", "array(0.5, NULL)"),
        ("approx_count_distinct(a, 0.5)", "function-arguments", "0.5"),
        ("approx_count_distinct(a, 0)", "function-arguments", "0"),
        ("approx_count_distinct(a, 0.0001)", "function-arguments", "0.0001"),
        ("approx_count_distinct(a, -0.05)", "function-arguments", "-0.05"),
        ("approx_count_distinct(a, NULL)", "function-arguments", "NULL"),
        ("approx_count_distinct(a, b)", "function-arguments", "b"),
        ("percentile(a, b)", "function-arguments", "b"),
        ("count(DISTINCT *)", "function-arguments", "count(DISTINCT *)"),
        ("count(a, *)", "unsupported-clause", "*"),
        ("sum(max(a))", "aggregate-in-aggregate", "max(a)"),
        ("sum(a) FILTER (WHERE max(a) > 1)", "aggregate-in-aggregate", "max(a)"),
        ("sum(rank() OVER (ORDER BY ts))", "over-not-allowed", "rank() OVER (ORDER BY ts)"),
        ("corr(a)", "function-arguments", "corr(a)"),
        ("histogram_numeric(a, 5)", "unknown-function", "histogram_numeric(a, 5)"),
        ("sum(a) WITHIN GROUP (ORDER BY a)", "function-arguments", "sum(a) WITHIN GROUP (ORDER BY a)"),
        ("percentile_cont(0.5)", "function-arguments", "percentile_cont(0.5)"),
        ("percentile_cont(b) WITHIN GROUP (ORDER BY a)", "function-arguments", "b"),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY a, b)", "function-arguments", "b"),
        ("mode(a) WITHIN GROUP (ORDER BY a)", "function-arguments", "mode(a) WITHIN GROUP (ORDER BY a)"),
        ("mode(a, b)", "function-arguments", "b"),
        ("mode()", "function-arguments", "mode()"),
        ("listagg(a, b)", "function-arguments", "b"),
        ("listagg(DISTINCT a) WITHIN GROUP (ORDER BY b)", "function-arguments", "b"),
        ("listagg(a) WITHIN GROUP (PARTITION BY b)", "parse-error", "PARTITION BY"),
        ("listagg(a) WITHIN GROUP (ORDER BY sum(b))", "aggregate-in-aggregate", "sum(b)"),
    ],
)
def test_refused(written: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        select(written)
    assert (caught.value.code, present(caught.value.span).text) == (code, place)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_spark_s_other_aggregates_are_refused_not_taken_for_scalars(name: str) -> None:
    with pytest.raises(PanesError) as caught:
        select(f"{name}(a)")
    assert caught.value.code == "unknown-function"
    assert caught.value.hint
