"""The stateful rewrite: one placeholder per call, in every kind of expression."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present

from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance
from panes.sql import parse
from panes.sql.statements import SelectStmt


def select(sql: str, reserved: Sequence[str] = ()) -> Any:
    (statement,) = parse(sql, reserved=reserved)
    return statement


def fields(statement: Any) -> list[str]:
    return [field.expr.sql for field in statement.select_fields]


def calls(statement: Any) -> dict[str, str]:
    """Each placeholder and its call, OVER included."""
    found = {}
    for name, call in statement.stateful_mappings.items():
        keys = ", ".join(key.sql for key in call.over.partition_by)
        found[name] = call.sql + (f" BY {keys}" if keys else "")
    return found


def test_equal_calls_share_a_placeholder() -> None:
    statement = select("SELECT lag(a), lag(a) FROM t")
    assert fields(statement) == ["col_1", "col_1"]
    assert calls(statement) == {"col_1": "lag(a)"}
    assert [field.name for field in statement.select_fields] == ["lag(a)", "lag(a)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lag(a)", "LAG( A )"),
        ("lag(a, 1)", "lag(a,/* one */1)"),
        ("lag(`a`)", "lag(a)"),
        ("`lag`(a)", "lag(a)"),
        ("lag(a) FILTER (WHERE b)", "lag(a) OVER (WHEN b)"),
        ("lag(a) FILTER (WHERE b) OVER (PARTITION BY k)", "lag(a) OVER (PARTITION BY K WHEN B)"),
        ("lag(a) RESPECT NULLS", "lag(a)"),
        ("lag(lag(a))", "lag( lag(A) )"),
    ],
)
def test_the_same_call_written_twice(one: str, other: str) -> None:
    first, second = fields(select(f"SELECT {one}, {other} FROM t"))
    assert first == second


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("lag(a, 0 + 1)", "lag(a, 1)"),
        ("lag(a, 2L, b)", "lag(a, 2, b)"),
        ("lag(a, CAST(2 AS INT))", "lag(a, 2)"),
        ("lag(a IGNORE NULLS)", "lag(a) IGNORE NULLS"),
        ("lag(a IGNORE NULLS, 2 * 2, 0)", "lag(a, 4, 0) IGNORE NULLS"),
        ("lag(a, 2, 0 IGNORE NULLS)", "lag(a, 2, 0) IGNORE NULLS"),
        ("lag(a RESPECT NULLS)", "lag(a)"),
        ("lag(abs(a) IGNORE NULLS) FILTER (WHERE b)", "lag(abs(a)) IGNORE NULLS FILTER (WHERE b)"),
    ],
)
def test_normal_forms(written: str, normal: str) -> None:
    (call,) = select(f"SELECT {written} FROM t").stateful_mappings.values()
    assert call.sql == normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lag(a)", "lag(b)"),
        ("lag(a)", "lag(a, 2)"),
        ("lag('A')", "lag('a')"),
        (r"lag(r'\D')", r"lag(r'\d')"),
        ("lag(a)", "latest(a)"),
        ("lag(a)", "lag(a) IGNORE NULLS"),
        ("lag(a)", "lag(a) FILTER (WHERE b)"),
        ("lag(a)", "lag(a) OVER (PARTITION BY k)"),
        ("lag(a) OVER (PARTITION BY k)", "lag(a) OVER (PARTITION BY l)"),
        ("lag(a + 1)", "lag(1 + a)"),
    ],
)
def test_different_calls(one: str, other: str) -> None:
    first, second = fields(select(f"SELECT {one}, {other} FROM t"))
    assert first != second


@given(st.lists(st.sampled_from(["lag(a)", "LAG(a)", "latest(b)", "lag( b )", "acc_sum(a)", "lag(latest(b))"])))
def test_as_many_placeholders_as_different_calls(written: list[str]) -> None:
    statement = select("SELECT x, " + ", ".join([*written, "y"]) + " FROM t")
    different = {one.lower().replace(" ", "") for one in written}
    inner = {"latest(b)"} if "lag(latest(b))" in different else set()
    assert len(statement.stateful_mappings) == len(different | inner)


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        ("CAST(lag(a) AS STRING)", "CAST(col_1 AS STRING)"),
        ("lag(a)::string", "col_1::string"),
        ("CASE WHEN lag(a) > 1 THEN 2 ELSE 3 END", "CASE WHEN col_1 > 1 THEN 2 ELSE 3 END"),
        ("CASE lag(a) WHEN 1 THEN 2 END", "CASE col_1 WHEN 1 THEN 2 END"),
        ("lag(a) IS NULL", "col_1 IS NULL"),
        ("lag(a) IS NOT DISTINCT FROM a", "col_1 IS NOT DISTINCT FROM a"),
        ("lag(k) LIKE 'x%'", "col_1 LIKE 'x%'"),
        ("k LIKE lag(k)", "k LIKE col_1"),
        ("lag(a) IN (1, 2)", "col_1 IN (1, 2)"),
        ("a IN (lag(a), 2)", "a IN (col_1, 2)"),
        ("lag(a) BETWEEN 1 AND 2", "col_1 BETWEEN 1 AND 2"),
        ("lag(s).x", "col_1.x"),
        ("lag(arr)[0]", "col_1[0]"),
        ("arr[lag(a)]", "arr[col_1]"),
        ("transform(arr, x -> x + lag(a))", "transform(arr, x -> x + col_1)"),
        ("abs(coalesce(lag(a), 0))", "abs(coalesce(col_1, 0))"),
        ("-lag(a) + NOT lag(a)", "-col_1 + NOT col_1"),
        ("(lag(a))", "(col_1)"),
        ("struct(lag(a) AS p)", "struct(col_1 AS p)"),
        ("ts - INTERVAL 1 DAY * lag(a)", "ts - INTERVAL 1 DAY * col_1"),
        ("extract(hour FROM lag(a))", "extract(hour FROM col_1)"),
    ],
)
def test_every_kind_of_expression(written: str, rewritten: str) -> None:
    statement = select(f"SELECT {written} AS x FROM t WHERE {written}")
    assert fields(statement) == [rewritten]
    assert statement.where_condition.sql == rewritten
    assert len(statement.stateful_mappings) == 1


def test_every_clause() -> None:
    statement = select(
        "SELECT last_row(lag(a)) FROM t WHERE lag(b) > 0 "
        "GROUP BY statewindow(lag(c), had_changed(true, d)) OVER (PARTITION BY latest(e)), upper(lag(f))"
    )
    assert set(calls(statement).values()) == {
        "lag(a)", "lag(b)", "lag(c)", "had_changed(true, d)", "latest(e)", "lag(f)",
    }  # fmt: skip
    names = {call: name for name, call in calls(statement).items()}
    assert statement.where_condition.sql == f"{names['lag(b)']} > 0"
    assert statement.window.open.sql == names["lag(c)"]
    assert [key.sql for key in statement.window.partition_by] == [names["latest(e)"]]
    assert [key.sql for key in statement.group_by_exprs] == [f"upper({names['lag(f)']})"]
    assert [one.sql for one in statement.aggregate_mappings.values()] == [f"last_row({names['lag(a)']})"]


def test_nested_calls_are_computed_inside_out() -> None:
    statement = select("SELECT lag(latest(a) FILTER (WHERE lag(b))) OVER (PARTITION BY lag(c)) FROM t")
    assert fields(statement) == ["col_4"]
    assert list(calls(statement)) == ["col_1", "col_2", "col_3", "col_4"]
    assert calls(statement)["col_4"] == "lag(col_2) BY col_3"
    assert calls(statement)["col_2"] == "latest(a) FILTER (WHERE col_1)"


def test_placeholders_are_shared_out_between_rewrites() -> None:
    statement = select("SELECT sum(lag(a)) + count(*), window_end() FROM t GROUP BY tumblingwindow('ss', 1)")
    handed_out = [*statement.stateful_mappings, *statement.bound_mappings, *statement.aggregate_mappings]
    assert sorted(handed_out) == ["col_1", "col_2", "col_3", "col_4"]
    assert list(statement.stateful_mappings) == ["col_1"]


@pytest.mark.parametrize(
    ("sql", "reserved"),
    [
        ("SELECT col_1, lag(a) FROM t", ()),
        ("SELECT lag(COL_1) FROM t", ()),
        ("SELECT lag(`col_1`) FROM t", ()),
        ("SELECT lag(a) AS col_1 FROM t", ()),
        ("SELECT *, lag(a) FROM t", ("Col_1",)),
    ],
)
def test_a_column_called_col_1_does_not_clash(sql: str, reserved: tuple[str, ...]) -> None:
    assert list(select(sql, reserved).stateful_mappings) == ["col_2"]


def test_what_is_not_stateful() -> None:
    plain = select("SELECT s.lag(a), 'lag(a)', lag, `lag(a)`, lagging(a) FROM t")
    assert plain.stateful_mappings == {}
    ordered = select("SELECT lag(a) OVER (PARTITION BY k ORDER BY ts) FROM t")
    assert ordered.stateful_mappings == {} and len(ordered.over_mappings) == 1


def test_a_user_s_function_is_stateful_once_registered() -> None:
    class Mine(StatefulFunction):
        name = "Mine"

        def return_type(self, input_types: Sequence[str]) -> str:
            return "int"

        def create_instance(self) -> StatefulFunctionInstance:
            raise NotImplementedError

    functions = Functions()
    functions.stateful.register_function(Mine())
    (statement,) = parse("SELECT MINE(a, b) FROM t", functions)
    assert isinstance(statement, SelectStmt)
    assert [call.name for call in statement.stateful_mappings.values()] == ["mine"]
    assert select("SELECT mine(a, b) FROM t").stateful_mappings == {}


def test_the_span_is_the_call_s() -> None:
    (call,) = select("SELECT 1 + lag( a ) OVER (PARTITION BY k) FROM t").stateful_mappings.values()
    assert call.span.text == "lag( a ) OVER (PARTITION BY k)"


@pytest.mark.parametrize(
    ("call", "code", "place"),
    [
        ("lag(DISTINCT a)", "unsupported-clause", "lag(DISTINCT a)"),
        ("latest(a) IGNORE NULLS", "unsupported-clause", "latest(a) IGNORE NULLS"),
        ("latest(a IGNORE NULLS)", "unsupported-clause", "latest(a IGNORE NULLS)"),
        ("lag(a IGNORE NULLS) RESPECT NULLS", "parse-error", "RESPECT"),
        ("lag(a IGNORE NULLS, 1 IGNORE NULLS)", "parse-error", "IGNORE"),
        ("lag(a, 1 - 2)", "function-arguments", "1 - 2"),
        ("lag(a, 4 / 2)", "function-arguments", "4 / 2"),
        ("lag(a, 2147483648)", "function-arguments", "2147483648"),
        ("lag(x => a)", "function-arguments", "x => a"),
        ("lag(a) FILTER (WHERE b) OVER (WHEN c)", "unsupported-clause", "c"),
        ("lag(a) OVER ()", "over-needs-partition-by", "OVER ()"),
        ("lag(a) OVER (PARTITION BY k ROWS 1 PRECEDING)", "over-not-allowed", "ROWS 1 PRECEDING"),
        ("lag(a) OVER (RANGE UNBOUNDED PRECEDING)", "over-not-allowed", "RANGE UNBOUNDED PRECEDING"),
        ("lag(rank() OVER (ORDER BY ts))", "over-not-allowed", "rank() OVER (ORDER BY ts)"),
        ("lag()", "function-arguments", "lag()"),
        ("lag(a, 1, 2, 3)", "function-arguments", "lag(a, 1, 2, 3)"),
        ("lag(a, -1)", "function-arguments", "-1"),
        ("lag(a, b)", "function-arguments", "b"),
        ("latest(a, 1, 2)", "function-arguments", "latest(a, 1, 2)"),
        ("changed_col(a)", "function-arguments", "changed_col(a)"),
        ("changed_col(b, a)", "function-arguments", "b"),
        ("changed_col(1, a)", "function-arguments", "1"),
        ("had_changed(true)", "function-arguments", "had_changed(true)"),
        ("acc_sum()", "function-arguments", "acc_sum()"),
        ("acc_sum(a, b, c, d)", "function-arguments", "acc_sum(a, b, c, d)"),
        ("row_number(a)", "function-arguments", "row_number(a)"),
        ("lag(sum(a))", "aggregate-in-stateful", "sum(a)"),
        ("lag(a) FILTER (WHERE max(b) > 1)", "aggregate-in-stateful", "max(b)"),
        ("lag(a) OVER (PARTITION BY max(b))", "aggregate-in-stateful", "max(b)"),
        ("lag(1 + abs(sum(a)))", "aggregate-in-stateful", "sum(a)"),
    ],
)
def test_refused(call: str, code: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        select(f"SELECT {call} FROM t")
    assert (caught.value.code, present(caught.value.span).text) == (code, place)


@pytest.mark.parametrize(
    "call",
    [
        "lag(a)", "lag(a, 0)", "lag(a, 2, a + 1)", "lag(a) IGNORE NULLS", "latest(a)", "latest(a, 0)",
        "changed_col(true, a)", "changed_col(FALSE, a)", "had_changed(true, a)", "had_changed(false, a, b, c)",
        "acc_sum(a)", "acc_avg(a, b > 1)", "acc_min(a, b, c)", "acc_max(a)", "acc_count(a, b, c)",
        "row_number() OVER (PARTITION BY k)", "lag(a) FILTER (WHERE b) OVER (PARTITION BY k, l)",
    ],
)  # fmt: skip
def test_accepted(call: str) -> None:
    assert len(select(f"SELECT {call} FROM t").stateful_mappings) == 1
