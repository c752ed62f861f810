"""What Panes knows of a scalar expression: its columns, its conjuncts, whether it is a literal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present

from panes.errors import PanesError
from panes.source import Source, Span
from panes.sql.expr import Expr, column_expr, conjunction, conjuncts
from panes.sql.tokens import tokenize


def expr(sql: str) -> Expr:
    return Expr(tokenize(Source(sql)))


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("a", ["a"]),
        ("a + B * a", ["a", "B", "a"]),
        ("`a b` + `C`", ["a b", "C"]),
        ("s.x.y", ["s.x.y"]),
        ("arr[i].x", ["arr", "i"]),
        ("m['k']", ["m"]),
        ("transform(arr, x -> x + a)", ["arr", "a"]),
        ("aggregate(arr, 0, (acc, x) -> acc + x * b, acc -> acc + c)", ["arr", "b", "c"]),
        ("exists(arr, x -> x.y > s.y)", ["arr", "s.y"]),
        ("transform(arr, a -> a) || a", ["arr", "a"]),
        ("CASE WHEN a THEN b ELSE c END", ["a", "b", "c"]),
        ("CASE a WHEN 1 THEN b END", ["a", "b"]),
        ("CAST(a AS STRUCT<b: INT>)", ["a"]),
        ("a IS NULL", ["a"]),
        ("a LIKE b ESCAPE '!'", ["a", "b"]),
        ("a BETWEEN b AND c", ["a", "b", "c"]),
        ("a IN (b, 'c')", ["a", "b"]),
        ("extract(hour FROM ts)", ["ts"]),
        ("ts - INTERVAL 10 SECONDS", ["ts"]),
        ("date_trunc('day', ts)", ["ts"]),
        ("named_struct('a', b)", ["b"]),
        ("if(a, b, 'c')", ["a", "b"]),
        ("count(*)", []),
        ("current_timestamp()", []),
        ("TRUE AND NULL", []),
        ("1 + 'a'", []),
    ],
)
def test_columns(sql: str, columns: list[str]) -> None:
    assert [".".join(ref.parts) for ref in expr(sql).columns] == columns


def test_columns_say_where_they_stand() -> None:
    (first, second) = expr("f(s.x) + `b`").columns
    assert ((first.first, first.last), (second.first, second.last)) == ((2, 4), (7, 7))


def test_column_names_are_folded_once_each() -> None:
    assert expr("A + s.x + a + B").column_names == ("a", "s", "b")


@pytest.mark.parametrize(
    ("sql", "name"),
    [("a", "a"), ("`a b`", "a b"), ("s.a", None), ("(a)", None), ("a + 1", None), ("1", None), ("TRUE", None)],
)
def test_one_column(sql: str, name: str | None) -> None:
    assert expr(sql).column == name


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("a", ["a"]),
        ("a AND b AND c", ["a", "b", "c"]),
        ("(a AND b) AND (c AND (d))", ["a", "b", "c", "d"]),
        ("(a OR b) AND c", ["a OR b", "c"]),
        ("a OR b AND c", ["a OR b AND c"]),
        ("NOT (a AND b)", ["NOT (a AND b)"]),
        ("a BETWEEN 1 AND 2 AND b", ["a BETWEEN 1 AND 2", "b"]),
        ("a AND b NOT BETWEEN 1 AND 2", ["a", "b NOT BETWEEN 1 AND 2"]),
        ("a BETWEEN 1 AND 2", ["a BETWEEN 1 AND 2"]),
        ("CASE WHEN a AND b THEN c END AND d", ["CASE WHEN a AND b THEN c END", "d"]),
        ("CASE WHEN a BETWEEN 1 AND 2 AND b THEN c END", ["CASE WHEN a BETWEEN 1 AND 2 AND b THEN c END"]),
        ("f(a AND b) AND c", ["f(a AND b)", "c"]),
        ("arr[a AND b] AND c", ["arr[a AND b]", "c"]),
    ],
)
def test_conjuncts(sql: str, parts: list[str]) -> None:
    assert [part.sql for part in conjuncts(expr(sql))] == parts


PART = st.sampled_from(["a", "b = 1", "c BETWEEN 1 AND 2", "CASE WHEN a AND b THEN c END", "(a OR b)", "NOT a"])


@given(st.lists(PART, min_size=1, max_size=5))
def test_conjunction_undoes_conjuncts(parts: list[str]) -> None:
    once = conjuncts(expr(" AND ".join(parts)))
    assert len(once) == len(parts)
    assert conjuncts(conjunction(once)) == once


@pytest.mark.parametrize(
    ("sql", "by", "expected"),
    [
        ("a + b", {"a": "x"}, "x + b"),
        ("A * 2", {"a": "x + y"}, "(x + y) * 2"),
        ("s.f + 1", {"s": "latest"}, "latest.f + 1"),
        ("transform(arr, a -> a + b)", {"a": "z", "b": "c"}, "transform(arr, a -> a + c)"),
        ("a.b + b", {"b": "c"}, "a.b + c"),
        ("'a' || a", {"a": "x"}, "'a' || x"),
        ("a + b", {"a": "b", "b": "a"}, "b + a"),
        ("a", {}, "a"),
    ],
)
def test_substitute(sql: str, by: dict[str, str], expected: str) -> None:
    assert expr(sql).substitute({name: expr(new) for name, new in by.items()}).sql == expected


@pytest.mark.parametrize(
    ("sql", "value"), [("10", 10), ("0", 0), ("-1", None), ("1.5", None), ("10L", None), ("'1'", None), ("1 + 1", None)]
)
def test_unsigned(sql: str, value: int | None) -> None:
    assert expr(sql).unsigned == value


@pytest.mark.parametrize(
    ("sql", "value"), [("'ss'", "ss"), ('"ss"', "ss"), (r"'it\'s'", "it's"), ("ss", None), ("`ss`", None), ("1", None)]
)
def test_string(sql: str, value: str | None) -> None:
    assert expr(sql).string == value


@pytest.mark.parametrize(
    ("sql", "value"), [("TRUE", True), ("false", False), ("`true`", None), ("'true'", None), ("NOT true", None)]
)
def test_boolean(sql: str, value: bool | None) -> None:
    assert expr(sql).boolean is value


def test_equal_wherever_written() -> None:
    assert expr("LAG( a )") == expr("lag(A)")
    assert len({expr("a + 1"), expr("A+1"), expr("a + 2")}) == 2
    assert expr("a") != "a"


def test_the_user_s_text_reaches_spark() -> None:
    assert expr("To_Char( x , '99' )").sql == "To_Char(x, '99')"


def test_a_made_up_column() -> None:
    made = column_expr("a b", Span(Source("lag(a)"), 0, 6))
    assert (made.sql, made.column, made.span.text) == ("`a b`", "a b", "lag(a)")


@pytest.mark.parametrize(
    ("sql", "place"), [("a +", "+"), ("a b c", "c"), ("CASE WHEN a", "a"), ("a,", ","), ("CAST(a AS)", ")")]
)
def test_what_is_no_expression(sql: str, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        _ = expr(sql).tree
    assert (caught.value.code, present(caught.value.span).text) == ("parse-error", place)


@pytest.mark.parametrize("sql", ["a AS b", "a b", "f(a) `b`", "a AS (b, c)"])
def test_a_name_is_no_part_of_an_expression(sql: str) -> None:
    with pytest.raises(PanesError) as caught:
        _ = expr(sql).columns
    assert (caught.value.code, present(caught.value.span).text) == ("parse-error", sql)
    assert [ref.parts for ref in expr("struct(a AS b)").columns] == [("a",)]
