"""Constant expressions, computed without Spark."""

from fractions import Fraction

import pytest

from panes.source import Source
from panes.sql.constants import DAY, Constant, Length, least
from panes.sql.expr import Expr
from panes.sql.tokens import tokenize

SECOND = 1_000_000


def constant(sql: str) -> Constant | None:
    return Expr(tokenize(Source(sql))).constant


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("0 + 1", 1),
        ("2*2", 4),
        ("((3))", 3),
        ("-(1 - 3)", 2),
        ("+3", 3),
        ("2L", 2),
        ("CAST(2 AS INT)", 2),
        ("CAST('2' AS INT)", 2),
        ("CAST(2.9 AS INT)", 2),
        ("CAST(-2.9 AS INT)", -2),
        ("2::int * 3", 6),
        ("7 DIV 2", 3),
        ("-7 DIV 2", -3),
        ("7 % 4", 3),
        ("-7 % 4", -3),
        ("mod(7, 4)", 3),
        ("1.5", Fraction(3, 2)),
        ("0.5BD", Fraction(1, 2)),
        ("5 / 2", Fraction(5, 2)),
        ("1e3", Fraction(1000)),
        ("0.1 + 0.2", Fraction(3, 10)),
    ],
)
def test_numbers(sql: str, value: Fraction | int) -> None:
    assert constant(sql) == value
    assert isinstance(constant(sql), type(value))


@pytest.mark.parametrize("sql", ["4 / 2", "2.0", "1e0", "CAST(2 AS DOUBLE)"])
def test_what_spark_takes_for_no_integer_is_none_here(sql: str) -> None:
    assert not isinstance(constant(sql), int)


@pytest.mark.parametrize(
    ("sql", "months", "microseconds"),
    [
        ("INTERVAL 1 SECOND", 0, SECOND),
        ("INTERVAL '90' SECONDS", 0, 90 * SECOND),
        ("INTERVAL 1.5 SECONDS", 0, 1_500_000),
        ("INTERVAL -1 SECOND", 0, -SECOND),
        ("-(INTERVAL 1 SECOND)", 0, -SECOND),
        ("INTERVAL 1 DAY 2 HOURS", 0, 26 * 3600 * SECOND),
        ("INTERVAL '1 day 2 hours'", 0, 26 * 3600 * SECOND),
        ("INTERVAL '1 2' DAY TO HOUR", 0, 26 * 3600 * SECOND),
        ("INTERVAL '01:02:03.5' HOUR TO SECOND", 0, 3_723_500_000),
        ("INTERVAL '-1-2' YEAR TO MONTH", -14, 0),
        ("INTERVAL 2 SECOND + INTERVAL 1 SECOND", 0, 3 * SECOND),
        ("2 * INTERVAL 1 SECOND", 0, 2 * SECOND),
        ("INTERVAL 1 YEAR 2 MONTHS", 14, 0),
        ("INTERVAL 1 WEEK", 0, 7 * DAY),
        ("INTERVAL 1 + 1 DAYS", 0, 2 * DAY),
    ],
)
def test_intervals(sql: str, months: int, microseconds: int) -> None:
    assert constant(sql) == Length(Fraction(months), Fraction(microseconds))


@pytest.mark.parametrize(
    "sql",
    ["a", "a + 1", "abs(1)", "NULL", "'2'", "1 / 0", "1 % 0", "1 DIV (1 - 1)", "INTERVAL 1 SECOND + 1", "1e999", "TRUE",
     "INTERVAL 1 FORTNIGHT", "INTERVAL 1 DAY * INTERVAL 1 DAY", "CAST(INTERVAL 1 DAY AS INT)", "CAST('x' AS INT)"],
)  # fmt: skip
def test_what_only_spark_can_tell(sql: str) -> None:
    assert constant(sql) is None


def test_a_month_has_at_least_28_days() -> None:
    month, difference = constant("INTERVAL 1 MONTH"), constant("INTERVAL 28 DAYS - INTERVAL 1 MONTH")
    assert month is not None and difference is not None
    assert (least(month), least(difference)) == (28 * DAY, -3 * DAY)
