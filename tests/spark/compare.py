"""Results of two engines, side by side: rows as multisets, numbers to 1e-9, types exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame

Row = dict[str, Any]


def check_same(left: DataFrame, right: DataFrame) -> list[Row]:
    """Both have the same columns, types and rows; the rows."""
    assert types(left) == types(right)
    rows, others = rows_of(left), rows_of(right)
    check_rows(rows, others)
    return rows


def types(df: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in df.schema.fields]


def rows_of(df: DataFrame) -> list[Row]:
    return [plain(row) for row in df.toArrow().to_pylist()]


def check_rows(rows: Iterable[Row], others: Iterable[Row], ordered: bool = False) -> None:
    left, right = list(rows), list(others)
    if not ordered:
        left, right = sorted(left, key=sort_key), sorted(right, key=sort_key)
    assert len(left) == len(right), f"{len(left)} rows are not {len(right)}:\n{left}\n{right}"
    for one, other in zip(left, right, strict=True):
        assert set(one) == set(other)
        wrong = {name: (value, other[name]) for name, value in one.items() if not same(value, other[name])}
        assert not wrong, f"{wrong} in {one}"


def same(left: Any, right: Any) -> bool:
    """Equal: NaN to itself, 0.0 to -0.0, floating-point numbers to 1e-9."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, float) and isinstance(right, int | float):
        return (left != left and right != right) or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return type(left) is type(right) and bool(left == right)


def sort_key(row: Row) -> str:
    """By the columns that are not floating-point first, so that digits after the ninth do not sort."""
    exact = {name: value for name, value in row.items() if not isinstance(value, float | list)}
    inexact = {name: f"{value + 0.0:.6g}" for name, value in row.items() if isinstance(value, float)}
    return repr((sorted(exact.items()), sorted(inexact.items())))


def plain(value: Any) -> Any:
    """Times as naive UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value
