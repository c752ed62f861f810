"""Constant expressions, computed without Spark: `2 * 2`, `CAST(2 AS INT)`, `INTERVAL 1 MINUTE + INTERVAL 30 SECONDS`.

What is not understood here is None, which means "only Spark can tell".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import trunc
from typing import TypeAlias

from sqlglot import exp

from panes.sql.duration import MICROSECONDS

MOST_ROWS = 2_147_483_647  # of a frame, or of lag: Spark's INT
DAY = MICROSECONDS["day"]
MONTHS = {"month": 1, "quarter": 3, "year": 12}
INTEGERS = frozenset((exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT))
NUMBERS = INTEGERS | {exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL}


@dataclass(frozen=True)
class Length:
    """An interval; months differ in length."""

    months: Fraction = Fraction(0)
    microseconds: Fraction = Fraction(0)

    def times(self, factor: int | Fraction) -> Length:
        return Length(self.months * factor, self.microseconds * factor)

    def plus(self, other: Length) -> Length:
        return Length(self.months + other.months, self.microseconds + other.microseconds)


Constant: TypeAlias = int | Fraction | Length  # an int is an integer to Spark, too


def fold(tree: exp.Expr) -> Constant | None:
    """The value of a constant expression.

    >>> from sqlglot import parse_one
    >>> fold(parse_one("2 * (3 - 1)")), fold(parse_one("-1.5")), fold(parse_one("a + 1"))
    (4, Fraction(-3, 2), None)
    """
    match tree:
        case exp.Paren():
            return fold(tree.this)
        case exp.Literal() if not tree.is_string:
            return _number(tree.name)
        case exp.Neg():
            return _times(fold(tree.this), -1)
        case exp.Cast():
            literal = isinstance(tree.this, exp.Literal)
            return _cast(_number(tree.this.name) if literal else fold(tree.this), tree.to.this)
        case exp.Interval():
            return _interval(tree)
        case exp.Add():
            return _plus(fold(tree.this), fold(tree.expression))
        case exp.Sub():
            return _plus(fold(tree.this), _times(fold(tree.expression), -1))
        case exp.Mul():
            return _times(fold(tree.this), fold(tree.expression))
        case exp.Div() | exp.IntDiv() | exp.Mod():
            return _divided(tree, fold(tree.this), fold(tree.expression))
        case _:
            return None


def is_null(tree: exp.Expr) -> bool:
    """Whether an expression is a NULL that was written as one."""
    return isinstance(tree, exp.Null) or (isinstance(tree, exp.Paren | exp.Cast) and is_null(tree.this))


def least(value: Constant) -> int | Fraction:
    """The value, of an interval the least number of microseconds that it can be."""
    if not isinstance(value, Length):
        return value
    return value.microseconds + value.months * DAY * (28 if value.months >= 0 else 31)


def difference(one: Constant, other: Constant) -> Constant | None:
    """One less the other, of two numbers or two intervals."""
    return _plus(one, _times(other, -1))


def _number(text: str) -> int | Fraction | None:
    if text.isdecimal() and text.isascii():
        return int(text)
    try:
        return Fraction(text) if "e" not in text.lower() else Fraction(float(text))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def _cast(value: Constant | None, to: exp.DType) -> Constant | None:
    if value is None or isinstance(value, Length) or to not in NUMBERS:
        return None
    return trunc(value) if to in INTEGERS else Fraction(value)


def _plus(one: Constant | None, other: Constant | None) -> Constant | None:
    if isinstance(one, Length) and isinstance(other, Length):
        return one.plus(other)
    if one is None or other is None or isinstance(one, Length) or isinstance(other, Length):
        return None
    return one + other


def _times(one: Constant | None, other: Constant | None) -> Constant | None:
    if one is None or other is None:
        return None
    if isinstance(one, Length):
        return None if isinstance(other, Length) else one.times(other)
    return other.times(one) if isinstance(other, Length) else one * other


def _divided(tree: exp.Expr, one: Constant | None, other: Constant | None) -> Constant | None:
    if not other or one is None or isinstance(one, Length) or isinstance(other, Length):
        return None
    quotient = Fraction(one) / other
    if isinstance(tree, exp.Div):
        return quotient
    return trunc(quotient) if isinstance(tree, exp.IntDiv) else one - other * trunc(quotient)


# ── Intervals ─────────────────────────────────────────────────────────────────────────────────────────────────────

_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_PART = re.compile(r"\s*([+-]?\s*\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def _interval(tree: exp.Interval) -> Length | None:
    amount, unit = tree.this, tree.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return _fields(amount.name, unit.this.name.lower())
    if unit is None:
        return _parts(amount.name)
    literal = isinstance(amount, exp.Literal)
    return _of_unit(_number(amount.name.replace(" ", "")) if literal else fold(amount), unit.name)


def _of_unit(amount: Constant | None, unit: str) -> Length | None:
    name = unit.lower().removesuffix("s")
    if amount is None or isinstance(amount, Length):
        return None
    if name in MONTHS:
        return Length(months=Fraction(amount) * MONTHS[name])
    return Length(microseconds=Fraction(amount) * MICROSECONDS[name]) if name in MICROSECONDS else None


def _parts(text: str) -> Length | None:
    """`INTERVAL '1 day -2 hours'`."""
    total, position = Length(), 0
    while position < len(text):
        part = _PART.match(text, position)
        length = _of_unit(_number(part[1].replace(" ", "")), part[2]) if part is not None else None
        if part is None or length is None:
            return None
        total, position = total.plus(length), part.end()
    return total


def _fields(text: str, first: str) -> Length | None:
    """`INTERVAL '-1 02:03:04.5' DAY TO SECOND`: one sign for all."""
    numbers = re.findall(r"\d+(?:\.\d+)?", text)
    if first not in _FIELDS or len(numbers) > len(_FIELDS) - _FIELDS.index(first):
        return None
    total = Length()
    for number, unit in zip(numbers, _FIELDS[_FIELDS.index(first) :], strict=False):
        length = _of_unit(_number(number), unit)
        total = total.plus(length) if length is not None else total
    return total.times(-1) if text.strip().startswith("-") else total
