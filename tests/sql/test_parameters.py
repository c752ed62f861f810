"""Parameters: what each value is written as, that it is read back as that, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present
from sqlglot import transpile

from panes.errors import PanesError
from panes.kernels.duck import query
from panes.sql.parameters import Args, literal, with_args

SCALARS: list[st.SearchStrategy[Any]] = [
    st.none(),
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9),
    st.text(st.characters(exclude_categories=["C"])),
    st.dates(),
    st.datetimes(datetime(1000, 1, 1), timezones=st.just(UTC)),
]


@given(st.one_of(SCALARS))
def test_a_literal_is_the_value(value: Any) -> None:
    """As DuckDB reads it, in its own spelling of Spark's SQL."""
    (sql,) = transpile(f"SELECT {literal(value)} AS x", read="spark", write="duckdb")
    found = query(sql)["x"].to_pylist()
    assert found == [value]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**31, "2147483648L"),
        (-5, "(-5)"),
        (float("nan"), "double('nan')"),
        (float("-inf"), "double('-inf')"),
        (Decimal("-1.50"), "(-1.50BD)"),
        (b"\x00\xff", "X'00ff'"),
        (datetime(2024, 1, 1, tzinfo=UTC), "TIMESTAMP'2024-01-01 00:00:00+00:00'"),
        (date(1, 1, 1), "DATE'0001-01-01'"),
        (timedelta(seconds=-1, microseconds=-500), "INTERVAL '-1.000500' SECOND"),
        ({"a": [1, None]}, "map('a', array(1, NULL))"),
        ("a\\'b", "'a\\\\\\'b'"),
    ],
)
def test_literals(value: object, expected: str) -> None:
    assert literal(value) == expected


class Column:
    """As much of Spark's as is looked at."""


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (object(), "Values are"),
        (2**63, "Decimal"),
        (Decimal("NaN"), "Values are"),
        ({1, 2}, "Values are"),
        (Column(), "lit(x)"),
        (time(12, 30), "isoformat()"),
        ([1, time(12, 30)], "isoformat()"),
    ],
)
def test_what_has_no_literal(value: object, hint: str) -> None:
    with pytest.raises(PanesError) as caught:
        with_args("SELECT 1 + :a", {"a": value})
    assert (caught.value.code, present(caught.value.span).text) == ("parse-error", ":a")
    assert hint in present(caught.value.hint)


@pytest.mark.parametrize(
    ("sql", "args", "expected"),
    [
        ("SELECT :a+:b, ':a', v:a, m[:a], x::int -- :a", {"a": 1, "b": 2}, "SELECT 1+2, ':a', v:a, m[1], x::int -- :a"),
        ("SELECT f(a):b, arr[0]:b", {"b": 2}, "SELECT f(a):b, arr[0]:b"),
        ("tumblingwindow('ss', ?) /* ? */", (10,), "tumblingwindow('ss', 10) /* ? */"),
        ("tumblingwindow(:length)", {"length": timedelta(seconds=2)}, "tumblingwindow(INTERVAL '2.000000' SECOND)"),
        ("SELECT 1", {"unused": 1}, "SELECT 1"),
        ("SELECT :a", None, "SELECT :a"),
    ],
)
def test_parameters(sql: str, args: Args | None, expected: str) -> None:
    assert with_args(sql, args) == expected


@pytest.mark.parametrize(
    ("sql", "args", "place"),
    [
        ("SELECT :lenght", {"length": 1}, ":lenght"),
        ("SELECT ?", {"a": 1}, "?"),
        ("SELECT :a", [1], ":a"),
        ("SELECT ? + ?", [1], "?"),
        ("SELECT ?", [1, 2], "?"),
    ],
)
def test_refused(sql: str, args: Args, place: str) -> None:
    with pytest.raises(PanesError) as caught:
        with_args(sql, args)
    assert (caught.value.code, present(caught.value.span).text) == ("parse-error", place)
    assert caught.value.hint
